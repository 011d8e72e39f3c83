"""Defers the imports of packages: a public name is imported from its module when it is first used.

Importing all modules of a large package would take longer than the actual work of most commands.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def door(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package whose public names are imported when first used.

    Parameters
    ----------
    package : str
        Name of the package.
    homes : dict of str to str
        Public names that each module of the package defines, separated by blanks. The package also imports these names
        under `TYPE_CHECKING`, for type checkers.

    Examples
    --------
    >>> get, names = door("json", {"decoder": "JSONDecoder JSONDecodeError"})
    >>> names(), get("JSONDecoder").__name__
    (['JSONDecodeError', 'JSONDecoder'], 'JSONDecoder')
    """
    modules = {name: f"{package}.{module}" for module, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return get, lambda: sorted(modules)
