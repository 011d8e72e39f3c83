"""Public names: no module hides a function, and every type of a result is on the reference page of the API."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reference_pages import public_names

import towtank
from towtank import errors

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
NAMES = {name: getattr(towtank, name) for name in towtank.__all__ if name != "errors"}
ERRORS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.TowtankError)]


def test_no_module_of_the_package_hides_a_public_function() -> None:
    """The import of a submodule sets an attribute of the package, which would replace a function of the same name."""
    modules = {module.name for module in pkgutil.iter_modules(towtank.__path__)}
    assert modules & set(towtank.__all__) == {"errors"}


def hints(found: type | Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a class or function. Names that are imported for type checkers only are resolved."""
    module = sys.modules[found.__module__]
    names = dict(vars(module))
    for statement in ast.parse(inspect.getsource(module)).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            exec(ast.unparse(statement.body), names)
    return typing.get_type_hints(found, names)


def types_in(annotation: object) -> Iterator[type]:
    """Yield the types of Towtank that an annotation contains."""
    if isinstance(annotation, type) and annotation.__module__.partition(".")[0] == "towtank":
        yield annotation
    for part in typing.get_args(annotation):
        yield from types_in(part)


def types_of(found: type | Callable[..., Any]) -> Iterator[type]:
    """Yield the types of the public attributes and method results of a class, or the result types of a function."""
    if not isinstance(found, type):
        yield from types_in(hints(found)["return"])
        return
    for name, annotation in hints(found).items():
        if not name.startswith("_"):
            yield from types_in(annotation)
    for name, member in inspect.getmembers(found):
        function = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and inspect.isfunction(function):
            yield from types_in(hints(inspect.unwrap(function)).get("return"))


def reachable() -> dict[type, str]:
    """Return the types that can be reached from public names and errors, each with a path of attributes."""
    found: dict[type, str] = {}
    ahead: list[tuple[str, Any]] = [*NAMES.items(), *((kind.__name__, kind) for kind in ERRORS)]
    while ahead:
        way, each = ahead.pop()
        if isinstance(each, type):
            if each in found:
                continue
            found[each] = way
        ahead += [(f"{way} > {kind.__name__}", kind) for kind in types_of(each)]
    return found


def test_every_type_of_a_public_attribute_has_an_entry() -> None:
    page = PAGE.read_text("utf-8").partition(public_names.MARK)[2]
    titles = {line.strip("# `").removeprefix("towtank.").removeprefix("errors.") for line in page.splitlines()
              if line.startswith("###")}  # fmt: skip
    found = reachable()
    assert {towtank.Cause, towtank.Place, towtank.Difference, errors.Fault} <= set(found)
    assert {kind.__name__: way for kind, way in found.items() if kind.__name__ not in titles} == {}


def test_every_type_of_a_result_is_a_public_name() -> None:
    """Users need these names to annotate variables."""
    of_errors = {*ERRORS, *public_names._OF_ERRORS}
    assert {kind.__name__: way for kind, way in reachable().items() if kind not in of_errors}.keys() <= NAMES.keys()
