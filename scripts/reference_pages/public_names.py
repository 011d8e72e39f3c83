"""Generates the list of all public names for the page `docs/reference/python.md` from the docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from typing import Any

import towtank
from towtank import errors
from towtank.spelling import Typo

MARK = "<!-- every public name, made from the docstrings by scripts/schemas -->\n"
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?P<name>\S.*?) : (?P<type>.+)$")
_UNSHOWN = ("Examples", "Notes", "References")
_CONSTRUCTED = (towtank.Session,)
_OF_ERRORS = (errors.Fault, Typo)
"""Types of attributes of errors that the page also lists."""


def with_names(page: str) -> str:
    """Replace everything after the comment `MARK` of a page by a new list of public names."""
    head = page.partition(MARK)[0]
    return f"{head}{MARK}\n" + "\n".join(_sections())


def _sections() -> Iterator[str]:
    found = {name: getattr(towtank, name) for name in towtank.__all__ if name != "errors"}
    yield "## Functions\n"
    for name, function in found.items():
        if not isinstance(function, type):
            yield from _entry(f"towtank.{name}", function, "###")
    yield from _class("towtank.Session", towtank.Session)
    yield "## Results\n"
    for name, kind in found.items():
        if isinstance(kind, type) and kind is not towtank.Session:
            yield from _class(name, kind)
    yield "## Types of errors\n"
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.TowtankError):
            yield from _class(f"errors.{name}", kind)
    for kind in _OF_ERRORS:
        yield from _class(kind.__name__, kind)


def _class(name: str, kind: type) -> Iterator[str]:
    yield from _entry(name, kind, "###")
    yield from _values(kind) if issubclass(kind, Enum) else _members(kind)


def _values(kind: type[Enum]) -> Iterator[str]:
    """List the values of an enumeration, each with the docstring below it in the source."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    texts = {
        ast.unparse(statement.targets[0]): _joined(ast.literal_eval(below.value))
        for statement, below in pairwise(body)
        if isinstance(statement, ast.Assign) and isinstance(below, ast.Expr)
    }
    yield "\n".join([*(f"- `{member.value}`: {texts[member.name]}" for member in kind), ""])


def _members(kind: type) -> Iterator[str]:
    """List the properties of a class, then describe each of its methods."""
    members = [(name, value) for name, value in vars(kind).items() if not name.startswith("_")]
    rows = [f"- `{name}`: {_joined(inspect.getdoc(value))}" for name, value in members if isinstance(value, property)]
    if rows:
        yield "\n".join([*rows, ""])
    for name, value in members:
        function = value.__func__ if isinstance(value, classmethod) else value
        if inspect.isfunction(function) and not isinstance(value, classmethod):
            yield from _entry(f"{kind.__name__}.{name}", function, "####")


def _entry(name: str, of: Any, level: str) -> Iterator[str]:
    text, sections = _parts(inspect.getdoc(of) or "")
    yield f"{level} `{name}`\n"
    if inspect.isfunction(of) or of in _CONSTRUCTED:
        yield f"`{name.rpartition('.')[2]}{_signature(of)}`\n"
    yield f"{text}\n"
    for title, content in sections:
        if title == "Parameters" and isinstance(of, type) and of not in _CONSTRUCTED:
            continue  # Users never construct results, so the parameters are not listed.
        yield f"{title}:\n"
        yield "\n".join([*_list(content), ""])


def _signature(function: Any) -> str:
    """Return the parameters of a function with their defaults, but without types, which the list of parameters
    contains.
    """
    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def _parts(docstring: str) -> tuple[str, list[tuple[str, str]]]:
    """Split a docstring into the text before the first section, and the sections that the page shows."""
    text, *rest = _SECTION.split(docstring)
    pairs = zip(rest[::2], rest[1::2], strict=True)
    paragraphs = "\n\n".join(_joined(part) for part in text.strip().split("\n\n"))
    return paragraphs, [(title, content) for title, content in pairs if title not in _UNSHOWN]


def _list(content: str) -> Iterator[str]:
    """Render the entries of a docstring section as a Markdown list; each line without indentation begins an entry."""
    entries: list[list[str]] = []
    for line in content.strip("\n").splitlines():
        if line and not line.startswith(" "):
            entries.append([line])
        elif entries and line.strip():
            entries[-1].append(line.strip())
    for first, *rest in entries:
        named, text = _ENTRY.match(first), " ".join(rest)
        if named is None:
            yield f"- `{first}`{text and ': '}{text}"
        else:
            names = ", ".join(f"`{name.strip()}`" for name in named["name"].split(","))
            yield f"- {names} ({named['type']}){text and ': '}{text}"


def _joined(text: str | None) -> str:
    return " ".join((text or "").split())
