"""Checks property values from clients, and stores them in table columns and property rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from content_server.database import Session
from content_server.errors import Constraint, InvalidArgument, NameConstraintViolation
from content_server.query.parser import milliseconds
from content_server.types import Property, properties_of

MAX_NAME = 255
# Largest length of a property value, because PostgreSQL cannot index longer values. [characters]
MAX_VALUE = 2000
_LARGEST_INTEGER = 2**53  # Largest integer that all JSON readers represent exactly.


@dataclass
class Changes:
    """Changes of an object that a request demands.

    Attributes
    ----------
    columns : dict of str to object
        New values by column of table `object`.
    custom : dict of str to (str or None, float or None) or None
        New values of the columns `value` and `number` of table `property`, by property; None removes the property.
    """

    columns: dict[str, Any] = field(default_factory=dict)
    custom: dict[str, tuple[str | None, float | None] | None] = field(default_factory=dict)


def parse_changes(properties: Mapping[str, str | None], type_id: str) -> Changes:
    """Check property values against a type; return the changes.

    Raises
    ------
    Constraint
        If the type lacks a property, or the property is read-only.
    InvalidArgument
        If a value is not of the property's kind.
    """
    known = properties_of(type_id)
    changes = Changes()
    for name, text in properties.items():
        definition = known.get(name)
        if definition is None:
            raise Constraint(f"type {type_id} has no property {name[:80]}")
        if name == "cmis:objectTypeId":
            continue
        if not definition.updatable:
            raise Constraint(f"property {name} is read-only")
        if definition.custom:
            changes.custom[name] = _custom(definition, text)
        else:
            changes.columns[definition.column or name] = (
                check_name(text) if name == "cmis:name" else _text(definition, text)
            )
    return changes


def check_name(name: str | None) -> str:
    """Return the name of an object if it is valid.

    Raises
    ------
    NameConstraintViolation
        If the name is empty, too long, `.` or `..`, or has a slash, a backslash or a control character.
    """
    if not name or name in (".", "..") or len(name) > MAX_NAME:
        raise NameConstraintViolation(f"a name must have 1 to {MAX_NAME} characters, and must not be . or ..")
    if any(character in "/\\" or ord(character) < 32 for character in name):
        raise NameConstraintViolation("a name cannot contain a slash, a backslash or a control character")
    return name


def _text(definition: Property, text: str | None) -> str | None:
    if not text:
        return None
    if len(text) > MAX_VALUE:
        raise Constraint(f"{definition.id}: at most {MAX_VALUE} characters, got {len(text)}")
    if "\x00" in text:
        raise InvalidArgument(f"{definition.id}: character NUL is not allowed")
    return text


def _custom(definition: Property, text: str | None) -> tuple[str | None, float | None] | None:
    text = _text(definition, text)
    if text is None:
        return None
    if definition.kind == "string":
        return text, None
    return None, _number(definition, text)


def _number(definition: Property, text: str) -> float:
    try:
        if definition.kind == "datetime":
            return int(text) if text.lstrip("-").isdigit() else milliseconds(text)
        number = int(text) if definition.kind == "integer" else float(text)
    except ValueError:
        raise InvalidArgument(f"{definition.id} must be {definition.kind}, got {text[:40]!r}") from None
    if not math.isfinite(number) or abs(number) > _LARGEST_INTEGER:
        raise InvalidArgument(f"{definition.id} is out of range: {text[:40]}")
    return number


def write_custom(session: Session, number: int, custom: Mapping[str, tuple[str | None, float | None] | None]) -> None:
    """Set or remove custom properties of the object `number`."""
    rows = [(number, name, *pair) for name, pair in custom.items() if pair is not None]
    if rows:
        slots = ", ".join(["(?, ?, ?, ?)"] * len(rows))
        session.change(
            "properties_write",
            f"INSERT INTO property (object, name, value, number) VALUES {slots} "
            "ON CONFLICT (object, name) DO UPDATE SET value = excluded.value, number = excluded.number",
            [value for row in rows for value in row],
        )
    for name, pair in custom.items():
        if pair is None:
            session.change("properties_write", "DELETE FROM property WHERE object = ? AND name = ?", (number, name))


def insert_object(session: Session, columns: Mapping[str, Any]) -> int:
    """Insert a row into table `object`; return the object's number."""
    names = ", ".join(columns)
    row = session.row(
        "insert",
        f"INSERT INTO object ({names}) VALUES ({', '.join('?' * len(columns))}) RETURNING number",
        tuple(columns.values()),
    )
    if row is None:
        raise RuntimeError("INSERT ... RETURNING gave no row")
    return int(row[0])


def update_object(session: Session, number: int, token: int, columns: Mapping[str, Any]) -> bool:
    """Update the row of an object, and increment its change token.

    Return False without a change if `token` is outdated, because another request changed the row.
    """
    assignments = ", ".join(f"{name} = ?" for name in columns)
    return (
        session.change(
            "update",
            f"UPDATE object SET {assignments}, change_token = change_token + 1 WHERE number = ? AND change_token = ?",
            (*columns.values(), number, token),
        )
        == 1
    )
