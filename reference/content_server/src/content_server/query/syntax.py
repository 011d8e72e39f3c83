"""Syntax tree of a query statement."""

from __future__ import annotations

from dataclasses import dataclass

Value = str | int | float | bool


@dataclass(frozen=True)
class Timestamp:
    """Point in time, in milliseconds since 1970-01-01 UTC. [ms]"""

    milliseconds: int


Literal = Value | Timestamp


@dataclass(frozen=True)
class Comparison:
    """Comparison of a column with a literal by an operator."""

    column: str
    operator: str
    value: Literal


@dataclass(frozen=True)
class Within:
    """Condition: column [NOT] IN (literals)."""

    column: str
    values: tuple[Literal, ...]
    negated: bool


@dataclass(frozen=True)
class Like:
    """Condition: column [NOT] LIKE pattern; the pattern contains backslashes as written."""

    column: str
    pattern: str
    negated: bool


@dataclass(frozen=True)
class IsNull:
    """Condition: column IS [NOT] NULL."""

    column: str
    negated: bool


@dataclass(frozen=True)
class InFolder:
    """Condition IN_FOLDER('id'), or IN_TREE('id') if `deep` is set."""

    folder: str
    deep: bool


@dataclass(frozen=True)
class Contains:
    """Condition CONTAINS('expression')."""

    expression: str


@dataclass(frozen=True)
class Not:
    """Negated condition: NOT condition."""

    condition: Condition


@dataclass(frozen=True)
class Junction:
    """Conditions joined by `AND` or `OR`."""

    operator: str
    conditions: tuple[Condition, ...]


Condition = Comparison | Within | Like | IsNull | InFolder | Contains | Not | Junction


@dataclass(frozen=True)
class Select:
    """SELECT statement.

    Attributes
    ----------
    columns : tuple of (str, str) or None
        Property and its name in the result; None for `*`.
    type_id : str
        Type after FROM.
    order : tuple of (str, bool)
        Property, and True for descending order.
    """

    columns: tuple[tuple[str, str], ...] | None
    type_id: str
    where: Condition | None
    order: tuple[tuple[str, bool], ...]
