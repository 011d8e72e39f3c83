"""Defers the imports of packages: a public name is imported from its module when it is first used.

Importing all modules of a large package would take longer than the actual work of most commands.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^    from (\S+) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)


def door(package: str, homes: Mapping[str, str] | None = None) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package whose public names are imported when first used.

    Parameters
    ----------
    package : str
        Name of the package. It imports its public names under `TYPE_CHECKING`, which type checkers read, and from
        which the functions find the module of each name.
    homes : dict of str to str, optional
        Public names that each module of the package defines, separated by blanks; by default, the names that the
        package imports under `TYPE_CHECKING`.

    Examples
    --------
    >>> get, names = door("json", {"decoder": "JSONDecoder JSONDecodeError"})
    >>> names(), get("JSONDecoder").__name__
    (['JSONDecodeError', 'JSONDecoder'], 'JSONDecoder')
    """

    @cache
    def modules() -> dict[str, str]:
        if homes is not None:
            return {name: f"{package}.{module}" for module, names in homes.items() for name in names.split()}
        module = sys.modules[package]
        # A package in a ZIP archive is no file, and not every loader, such as that of pytest, has its source.
        source = getattr(module.__loader__, "get_source", None)
        text = source(package) if source else Path(str(module.__file__)).read_text("utf-8")
        return {name: module for module, *names in _IMPORT.findall(text) for name in re.findall(r"\w+", "".join(names))}

    def get(name: str) -> Any:
        if name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(modules()[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return get, lambda: sorted(modules())
