"""Compiles the syntax tree of a query to SQL.

Values become SQL parameters, and only names listed in `types` become part of the SQL text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from content_server.errors import InvalidArgument
from content_server.query.fulltext import parse_contains, to_fts5, to_tsquery
from content_server.query.parser import unescape
from content_server.query.syntax import (
    Comparison,
    Condition,
    Contains,
    InFolder,
    IsNull,
    Junction,
    Like,
    Literal,
    Not,
    Select,
    Timestamp,
    Within,
)
from content_server.types import TYPES, Property, properties_of, with_subtypes

_NUMERIC = ("integer", "decimal", "datetime", "boolean")


@dataclass(frozen=True)
class CompiledQuery:
    """SQL of a query after `FROM object o`: the condition of WHERE, the ORDER BY clause, and their parameters.

    Attributes
    ----------
    columns : tuple of (str, str)
        Property and column name of each column of the result.
    """

    columns: tuple[tuple[str, str], ...]
    where: str
    order: str
    parameters: tuple[Any, ...]


def compile_query(select: Select, database: str) -> CompiledQuery:
    """Compile a query statement for `sqlite` or `postgresql`.

    Raises
    ------
    InvalidArgument
        If the statement names an unknown type or property, or compares values that cannot be compared.
    """
    if select.type_id not in TYPES:
        raise InvalidArgument(f"query: unknown type {select.type_id}")
    known = properties_of(select.type_id)
    columns = select.columns
    if columns is None:
        columns = tuple((name, name) for name in known)
    for name, _ in columns:
        if name not in known:
            raise InvalidArgument(f"query: type {select.type_id} has no property {name}")
    compiler = _Compiler(known, database)
    types = with_subtypes(select.type_id)
    where = f"o.latest = 1 AND o.type IN ({', '.join('?' * len(types))})"
    parameters: list[Any] = list(types)
    if select.where is not None:
        where += f" AND {compiler.condition(select.where, parameters)}"
    return CompiledQuery(columns, where, compile_order(select.order, known), tuple(parameters))


def compile_order(order: tuple[tuple[str, bool], ...], known: dict[str, Property]) -> str:
    """Return an ORDER BY clause.

    It ends with the object's number, so that the order is unique and pages of results do not overlap.
    """
    terms = []
    for name, descending in order:
        definition = known.get(name)
        if definition is None or (definition.column is None and not definition.custom):
            raise InvalidArgument(f"cannot order by {name}")
        if definition.custom:
            column = "number" if definition.kind in _NUMERIC else "value"
            term = f"(SELECT s.{column} FROM property s WHERE s.object = o.number AND s.name = '{name}')"
        else:
            term = f"o.{definition.column}"
        terms.append(term + (" DESC" if descending else ""))
    return " ORDER BY " + ", ".join([*terms, "o.number"])


class _Compiler:
    def __init__(self, known: dict[str, Property], database: str) -> None:
        self._known = known
        self._database = database

    def condition(self, node: Condition, parameters: list[Any]) -> str:
        match node:
            case Junction():
                return "(" + f" {node.operator} ".join(self.condition(c, parameters) for c in node.conditions) + ")"
            case Not():
                return f"NOT ({self.condition(node.condition, parameters)})"
            case InFolder():
                return self._folder(node, parameters)
            case Contains():
                return self._contains(node, parameters)
            case _:
                return self._predicate(node, parameters)

    def _property(self, name: str) -> Property:
        definition = self._known.get(name)
        if definition is None:
            raise InvalidArgument(f"query: the type has no property {name}")
        if not definition.queryable:
            raise InvalidArgument(f"query: property {name} cannot be queried")
        return definition

    def _predicate(self, node: Comparison | Within | Like | IsNull, parameters: list[Any]) -> str:
        definition = self._property(node.column)
        if node.column == "cmis:objectId":
            return _object_id(node, parameters)
        if not definition.custom:
            return _test(f"o.{definition.column}", node, definition, parameters)
        # A condition on a custom property becomes a membership test, which the database evaluates by an index if the
        # property has an index, otherwise by a scan.
        rows = f"SELECT p.object FROM property p WHERE p.name = '{definition.id}'"
        if isinstance(node, IsNull):
            return self._member(rows, not node.negated)
        column = "p.number" if definition.kind in _NUMERIC else "p.value"
        return self._member(f"{rows} AND {_test(column, node, definition, parameters)}", False)

    def _member(self, rows: str, negated: bool) -> str:
        """Return SQL that tests membership in the result of the query `rows`, which the database executes once."""
        if self._database == "sqlite":
            return f"o.number {'NOT ' if negated else ''}IN ({rows})"
        return f"o.number {'<> ALL' if negated else '= ANY'} (ARRAY({rows}))"

    def _folder(self, node: InFolder, parameters: list[Any]) -> str:
        parameters.append(unescape(node.folder))
        if not node.deep:
            return "o.parent = (SELECT f.number FROM object f WHERE f.id = ? AND f.path IS NOT NULL)"
        return (
            "o.parent IN (SELECT d.number FROM object f JOIN object d ON d.path IS NOT NULL "
            "AND (d.number = f.number OR f.path = '/' "
            "OR substr(d.path, 1, length(f.path) + 1) = f.path || '/') WHERE f.id = ? AND f.path IS NOT NULL)"
        )

    def _contains(self, node: Contains, parameters: list[Any]) -> str:
        alternatives = parse_contains(unescape(node.expression))
        if self._database == "sqlite":
            parameters.append(to_fts5(alternatives))
            return self._member("SELECT rowid FROM fulltext WHERE fulltext MATCH ?", False)
        parameters.append(to_tsquery(alternatives))
        return self._member("SELECT w.object FROM fulltext w WHERE w.words @@ to_tsquery('simple', ?)", False)


def _object_id(node: Comparison | Within | Like | IsNull, parameters: list[Any]) -> str:
    if isinstance(node, Comparison) and node.operator in ("=", "<>"):
        values: tuple[Literal, ...] = (node.value,)
        negated = node.operator == "<>"
    elif isinstance(node, Within):
        values, negated = node.values, node.negated
    else:
        raise InvalidArgument("query: cmis:objectId can be compared by =, <> and IN only")
    tests = []
    for value in values:
        if not isinstance(value, str):
            raise InvalidArgument("query: cmis:objectId requires strings")
        identifier, _, label = value.partition(";")
        parameters.append(identifier)
        if label:
            parameters.append(label)
        tests.append("(o.id = ? AND o.label = ?)" if label else "o.id = ?")
    return f"{'NOT ' if negated else ''}({' OR '.join(tests)})"


def _test(column: str, node: Comparison | Within | Like | IsNull, definition: Property, parameters: list[Any]) -> str:
    match node:
        case IsNull():
            return f"{column} IS {'NOT ' if node.negated else ''}NULL"
        case Comparison():
            parameters.append(_parameter(node.value, definition))
            return f"{column} {node.operator} ?"
        case Within():
            parameters.extend(_parameter(value, definition) for value in node.values)
            return f"{column} {'NOT ' if node.negated else ''}IN ({', '.join('?' * len(node.values))})"
        case Like():
            if definition.kind in _NUMERIC:
                raise InvalidArgument(f"query: LIKE requires a text property, {definition.id} is {definition.kind}")
            parameters.append(_pattern(node.pattern))
            return f"{column} {'NOT ' if node.negated else ''}LIKE ? ESCAPE '\\'"


def _pattern(pattern: str) -> str:
    pattern = pattern.replace("\\'", "'")
    trailing = len(pattern) - len(pattern.rstrip("\\"))
    if trailing % 2:
        raise InvalidArgument("query: a pattern cannot end in a single backslash")
    return pattern


def _parameter(value: Literal, definition: Property) -> Any:
    """Convert a literal to the type of the column with which it is compared.

    Raises
    ------
    InvalidArgument
        If the literal cannot be compared with the column.
    """
    kind = definition.kind
    if kind == "boolean" and isinstance(value, bool):
        return int(value)
    if kind == "datetime" and isinstance(value, Timestamp):
        return value.milliseconds
    if kind in ("integer", "decimal") and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if kind in ("string", "id", "uri") and isinstance(value, str):
        return value
    shown = "a TIMESTAMP" if isinstance(value, Timestamp) else repr(value)
    raise InvalidArgument(f"query: {definition.id} is {kind}, it cannot be compared with {shown}")
