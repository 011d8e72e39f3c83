"""Defers the imports of packages: a public name is imported from its module when it is first used.

Importing all modules of a large package would take longer than the actual work of most commands.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import CodeType
from typing import Any


def door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package whose public names are imported when first used.

    The package imports its public names under `TYPE_CHECKING`, which type checkers read. The functions find the module
    of each name in the compiled code of the package, which contains these imports although they are never executed.

    Examples
    --------
    >>> __getattr__, __dir__ = door(__name__)  # doctest: +SKIP
    """
    caller = sys._getframe(1)
    code, executed = caller.f_code, frozenset(caller.f_globals)

    @cache
    def modules() -> dict[str, str]:
        return {name: module for name, module in _imports(code) if name not in executed}

    def get(name: str) -> Any:
        if name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(modules()[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return get, lambda: sorted(modules())


def _imports(code: CodeType) -> Iterator[tuple[str, str]]:
    """Yield the names that the statements `from MODULE import NAME` of compiled code import, each with the module."""
    before = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME" and before is not None:
            # The instruction before loads the list of names; it is None for `import MODULE`.
            yield from ((name, instruction.argval) for name in before.argval or ())
        before = instruction
