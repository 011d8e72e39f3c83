"""Parses templates, which are texts with placeholders `${...}`, and converts them for the engine's plan.

    template  = (text | "$${" | "${" reference ["|" encoding] "}")*
    reference = name ["." name]                     a variable, or a column of a pool row read before
              | "user.number" | "iteration" | "uuid" | "now.ms"
              | "random.int(LOW, HIGH)" | "random.text(BYTES)"
              | "system." service "." export        filled in when the system is up
              | "parameters." name                  filled in when the file is read
    encoding  = "url" | "json" | "html" | "none"

`$${` stands for a literal `${`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

ENCODINGS = ("none", "url", "json", "html")
FUNCTIONS = {"uuid": "uuid", "user.number": "user", "iteration": "iteration", "now.ms": "now_ms"}

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_REFERENCE = re.compile(rf"{_NAME}(?:\.{_NAME}){{0,2}}")
_RANDOM = re.compile(r"random\.(int|text)\(\s*(-?\d{1,18})\s*(?:,\s*(-?\d{1,18})\s*)?\)")
_FORMS = "a variable, POOL.COLUMN, user.number, iteration, uuid, now.ms, random.int(1, 6) or random.text(12)"


@dataclass(frozen=True)
class Variable:
    """Placeholder for a variable of a virtual user or for a column of a pool row, such as `documents.id`."""

    name: str
    encode: str | None = None


@dataclass(frozen=True)
class Function:
    """Placeholder that the engine fills with a generated value."""

    name: str
    arguments: tuple[int, ...] = ()


@dataclass(frozen=True)
class Export:
    """Placeholder for a value that the running system exports: `${system.SERVICE.NAME}`."""

    service: str
    name: str


Part = str | Variable | Function | Export


def parse(text: str) -> list[Part]:
    """Parse a template, that is, a text with placeholders `${...}`.

    Returns
    -------
    list of str, Variable, Function or Export
        Adjacent texts are joined; an empty template has no parts.

    Raises
    ------
    ValueError
        If a placeholder is not closed or has an unknown form.

    Examples
    --------
    >>> parse("id=${documents.id|url}")
    ['id=', Variable(name='documents.id', encode='url')]
    """
    parts: list[Part] = []
    position = 0
    while (start := text.find("${", position)) >= 0:
        literal = text[position:start]
        if literal.endswith("$"):
            _add_text(parts, literal + "{")
            position = start + 2
            continue
        _add_text(parts, literal)
        end = text.find("}", start)
        if end < 0:
            raise ValueError(
                f"must close every ${{ with }} (write $${{ for a literal one), got {text[start : start + 30]!r}"
            )
        parts.append(_place(text[start + 2 : end]))
        position = end + 1
    _add_text(parts, text[position:])
    return parts


def _add_text(parts: list[Part], text: str) -> None:
    if not text:
        return
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    else:
        parts.append(text)


def _place(inside: str) -> Part:
    """Parse the text of a placeholder between `${` and `}`."""
    reference, bar, encoding = inside.partition("|")
    reference, encoding = reference.strip(), encoding.strip()
    if bar and encoding not in ENCODINGS:
        raise ValueError(f"must have an encoding among {', '.join(ENCODINGS)} after |, got ${{{inside}}} instead")
    if reference in FUNCTIONS:
        return Function(FUNCTIONS[reference])
    if reference.startswith("random."):
        return _random(reference)
    if not _REFERENCE.fullmatch(reference):
        raise ValueError(f"must have {_FORMS} inside ${{}}, got ${{{inside}}} instead")
    names = reference.split(".")
    if names[0] == "system":
        if len(names) != 3:
            raise ValueError(f"must be ${{system.SERVICE.NAME}}, got ${{{inside}}} instead")
        return Export(names[1], names[2])
    if len(names) > 2:
        raise ValueError(f"must have {_FORMS} inside ${{}}, got ${{{inside}}} instead")
    return Variable(reference, encoding if bar else None)


def _random(reference: str) -> Function:
    match = _RANDOM.fullmatch(reference)
    if match is None:
        raise ValueError(f"must be random.int(LOW, HIGH) or random.text(BYTES), got ${{{reference}}} instead")
    kind, first, second = match.group(1), int(match.group(2)), match.group(3)
    if kind == "int":
        if second is None or int(second) < first:
            raise ValueError(f"must be random.int(LOW, HIGH) with LOW at most HIGH, got ${{{reference}}} instead")
        return Function("random_int", (first, int(second)))
    if second is not None or not 1 <= first <= 2**20:
        raise ValueError(f"must be random.text(BYTES) with 1 to 1048576 bytes, got ${{{reference}}} instead")
    return Function("random_text", (first,))


def check(text: str) -> str:
    """Return a template after a check of its syntax. This function serves as a validator of model fields."""
    parse(text)
    return text


def literals(text: str) -> list[str]:
    """Return the literal texts of a template, without its placeholders."""
    return [part for part in parse(text) if isinstance(part, str)]


def check_plain(text: str) -> str:
    """Return a text, such as a file name, after a check that it has no placeholders. This function serves as a
    validator.

    Raises
    ------
    ValueError
        If the text has a placeholder, because the engine would not fill it.
    """
    if any(not isinstance(part, str) for part in parse(text)):
        raise ValueError(f"must be the same for all users, without ${{...}}, got {text!r} instead")
    return text


def variables(text: str) -> list[str]:
    """Return the names of the variables and columns that a template reads, in order of appearance."""
    return [part.name for part in parse(text) if isinstance(part, Variable)]


def exports(text: str) -> list[Export]:
    """Return the exports of the running system that a template reads."""
    return [part for part in parse(text) if isinstance(part, Export)]


class Writer:
    """Converts templates for the engine's plan. `number_of` returns the index of a variable; `exported` has the exports
    of the running system, by service and name.
    """

    def __init__(self, number_of: Callable[[str], int], exported: dict[str, dict[str, str]]) -> None:
        self._number_of = number_of
        self._exported = exported

    def export(self, part: Export) -> str:
        """Return the value of an export, which the running system provides.

        Raises
        ------
        KeyError
            If the system does not have the export.
        """
        return self._exported[part.service][part.name]

    def write(self, text: str, encode: str = "none", *, literal: Callable[[str], str] = str) -> list[Any]:
        """Return a template in the form of the engine's plan, as a list of texts and placeholders.

        `encode` applies to placeholders that do not name an encoding; `literal` encodes the literal text and the
        exported values.
        """
        written: list[Any] = []
        for part in parse(text):
            if isinstance(part, Variable):
                written.append({"variable": self._number_of(part.name), "encode": part.encode or encode})
            elif isinstance(part, Function):
                written.append(_function(part))
            else:
                append_text(written, literal(self.export(part) if isinstance(part, Export) else part))
        return written


def append_text(written: list[Any], text: str) -> None:
    """Append literal text to a converted template. If the template already ends with text, both texts become one."""
    if text and written and isinstance(written[-1], str):
        written[-1] += text
    elif text:
        written.append(text)


def extend(written: list[Any], more: list[Any]) -> None:
    """Append a converted template to another converted template. Adjacent texts become one."""
    for part in more:
        if isinstance(part, str):
            append_text(written, part)
        else:
            written.append(part)


def percent_encoded(text: str) -> str:
    """Percent-encode text for a query or a form, except letters, digits and -._~ (RFC 3986, section 2.3)."""
    return quote(text, safe="-._~")


def _function(part: Function) -> dict[str, object]:
    if part.name == "random_int":
        return {"function": "random_int", "min": part.arguments[0], "max": part.arguments[1]}
    if part.name == "random_text":
        return {"function": "random_text", "bytes": part.arguments[0]}
    return {"function": part.name}
