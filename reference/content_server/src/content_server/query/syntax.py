"""Classes for the syntax tree of a query statement."""

from __future__ import annotations

from dataclasses import dataclass

Value = str | int | float | bool


@dataclass(frozen=True)
class Timestamp:
    """Time in milliseconds since 1970-01-01 UTC. [ms]"""

    milliseconds: int


Literal = Value | Timestamp


@dataclass(frozen=True)
class Comparison:
    """Condition: column operator literal."""

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
    """Condition: column [NOT] LIKE pattern; backslashes in the pattern are not yet resolved."""

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
    """Condition: IN_FOLDER('id'), or IN_TREE('id') if `deep` is true."""

    folder: str
    deep: bool


@dataclass(frozen=True)
class Contains:
    """Condition: CONTAINS('expression')."""

    expression: str


@dataclass(frozen=True)
class Not:
    """Condition: NOT condition."""

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
        Each property, and the name of its column in the result; None for `*`.
    type_id : str
        Type after FROM.
    order : tuple of (str, bool)
        Each property to sort by, and True for descending order.
    """

    columns: tuple[tuple[str, str], ...] | None
    type_id: str
    where: Condition | None
    order: tuple[tuple[str, bool], ...]
