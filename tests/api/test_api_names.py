"""The public names: no module hides one."""

from __future__ import annotations

import pkgutil

import towtank


def test_no_module_of_the_package_hides_a_public_function() -> None:
    """An import of a submodule sets the attribute of the package with its name, so that a function would be gone."""
    modules = {module.name for module in pkgutil.iter_modules(towtank.__path__)}
    assert modules & set(towtank.__all__) == {"errors"}
