"""The syntax tree of a statement."""

from __future__ import annotations

from dataclasses import dataclass

Value = str | int | float | bool


@dataclass(frozen=True)
class Timestamp:
    """A point in time, in milliseconds since 1970-01-01 UTC. [ms]"""

    milliseconds: int


Literal = Value | Timestamp


@dataclass(frozen=True)
class Comparison:
    """Column, operator, literal."""

    column: str
    operator: str
    value: Literal


@dataclass(frozen=True)
class Within:
    """Column [NOT] IN (literals)."""

    column: str
    values: tuple[Literal, ...]
    negated: bool


@dataclass(frozen=True)
class Like:
    """Column [NOT] LIKE pattern; the pattern keeps its backslashes."""

    column: str
    pattern: str
    negated: bool


@dataclass(frozen=True)
class IsNull:
    """Column IS [NOT] NULL."""

    column: str
    negated: bool


@dataclass(frozen=True)
class InFolder:
    """IN_FOLDER('id'), or IN_TREE('id') when `deep`."""

    folder: str
    deep: bool


@dataclass(frozen=True)
class Contains:
    """CONTAINS('expression')."""

    expression: str


@dataclass(frozen=True)
class Not:
    """NOT condition."""

    condition: Condition


@dataclass(frozen=True)
class Junction:
    """Conditions joined by `AND` or `OR`."""

    operator: str
    conditions: tuple[Condition, ...]


Condition = Comparison | Within | Like | IsNull | InFolder | Contains | Not | Junction


@dataclass(frozen=True)
class Select:
    """A statement.

    Attributes
    ----------
    columns : tuple of (str, str) or None
        Property and the name it is given; None for `*`.
    type_id : str
        The type after FROM.
    order : tuple of (str, bool)
        Property and whether descending.
    """

    columns: tuple[tuple[str, str], ...] | None
    type_id: str
    where: Condition | None
    order: tuple[tuple[str, bool], ...]
