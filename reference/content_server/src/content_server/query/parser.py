"""Parses query statements by recursive descent, with this grammar:

query     = SELECT ("*" | column {"," column}) FROM type [[AS] alias] [WHERE or] [ORDER BY order {"," order}]
or        = and {OR and}
and       = not {AND not}
not       = NOT not | "(" or ")" | predicate
predicate = name operator literal | name [NOT] IN "(" literal {"," literal} ")" | name [NOT] LIKE string
          | name IS [NOT] NULL | IN_FOLDER "(" string ")" | IN_TREE "(" string ")" | CONTAINS "(" string ")"
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import NoReturn

from content_server.errors import InvalidArgument
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
from content_server.query.tokens import Token, tokenize

# Largest depth of nested conditions, so that no statement can exhaust the stack. [1]
MAX_DEPTH = 40
# Largest integer in a statement; a larger integer fits no database column.
_LARGEST_INTEGER = 2**63 - 1
_COMPARISONS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


@lru_cache(maxsize=1024)
def parse(statement: str) -> Select:
    """Parse a query statement into a syntax tree.

    Raises
    ------
    InvalidArgument
        If the text is not a statement of the language; the message states the position.
    """
    return _Parser(tokenize(statement)).query()


def milliseconds(text: str) -> int:
    """Convert an ISO 8601 time to milliseconds since 1970-01-01 UTC; a time without zone is UTC. [ms]"""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(f"not a time: {text!r}, must be e.g. 2024-01-31T12:00:00.000Z") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _fail(self, wanted: str) -> NoReturn:
        raise InvalidArgument(f"query: character {self._token.place}: {wanted} expected, got {self._token.text[:40]!r}")

    def _accept(self, text: str) -> bool:
        if self._token.kind in ("keyword", "symbol") and self._token.text == text:
            self._next += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            self._fail(text)

    def _take(self, kind: str, wanted: str) -> str:
        if self._token.kind != kind:
            self._fail(wanted)
        self._next += 1
        return self._tokens[self._next - 1].text

    def query(self) -> Select:
        self._expect("SELECT")
        columns = None if self._accept("*") else self._columns()
        self._expect("FROM")
        type_id = self._take("name", "a type")
        if self._accept("AS") or self._token.kind == "word":
            self._take("word", "an alias")
        where = self._or() if self._accept("WHERE") else None
        order = self._order() if self._accept("ORDER") else ()
        if self._token.kind != "end":
            self._fail("AND, OR, ORDER BY or the end")
        return Select(columns, type_id, where, order)

    def _name(self) -> str:
        # An alias before the name of a property is ignored, because a statement queries only one type.
        return self._take("name", "a property").rpartition(".")[2]

    def _columns(self) -> tuple[tuple[str, str], ...]:
        columns = []
        while True:
            name = self._name()
            columns.append((name, self._take("word", "a name") if self._accept("AS") else name))
            if not self._accept(","):
                return tuple(columns)

    def _order(self) -> tuple[tuple[str, bool], ...]:
        self._expect("BY")
        order = []
        while True:
            name = self._name()
            descending = self._accept("DESC")
            if not descending:
                self._accept("ASC")
            order.append((name, descending))
            if not self._accept(","):
                return tuple(order)

    def _or(self) -> Condition:
        conditions = [self._and()]
        while self._accept("OR"):
            conditions.append(self._and())
        return conditions[0] if len(conditions) == 1 else Junction("OR", tuple(conditions))

    def _and(self) -> Condition:
        conditions = [self._not()]
        while self._accept("AND"):
            conditions.append(self._not())
        return conditions[0] if len(conditions) == 1 else Junction("AND", tuple(conditions))

    def _not(self) -> Condition:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidArgument(f"query: conditions can be nested at most {MAX_DEPTH} levels deep")
        try:
            if self._accept("NOT"):
                return Not(self._not())
            if self._accept("("):
                inner = self._or()
                self._expect(")")
                return inner
            return self._predicate()
        finally:
            self._depth -= 1

    def _predicate(self) -> Condition:
        for function in ("IN_FOLDER", "IN_TREE"):
            if self._accept(function):
                return InFolder(self._argument(), function == "IN_TREE")
        if self._accept("CONTAINS"):
            return Contains(self._argument())
        column = self._name()
        if self._accept("IS"):
            negated = self._accept("NOT")
            self._expect("NULL")
            return IsNull(column, negated)
        negated = self._accept("NOT")
        if self._accept("IN"):
            return Within(column, self._literals(), negated)
        if self._accept("LIKE"):
            return Like(column, self._take("string", "a pattern"), negated)
        operator = _COMPARISONS.get(self._token.text) if self._token.kind == "symbol" and not negated else None
        if operator is None:
            self._fail("an operator")
        self._next += 1
        return Comparison(column, operator, self._literal())

    def _argument(self) -> str:
        self._expect("(")
        text = self._take("string", "a string")
        self._expect(")")
        return text

    def _literals(self) -> tuple[Literal, ...]:
        self._expect("(")
        values = [self._literal()]
        while self._accept(","):
            values.append(self._literal())
        self._expect(")")
        return tuple(values)

    def _literal(self) -> Literal:
        if self._accept("TIMESTAMP"):
            return Timestamp(milliseconds(self._take("string", "a time")))
        for word, value in (("TRUE", True), ("FALSE", False)):
            if self._accept(word):
                return value
        if self._token.kind == "number":
            return self._number()
        return unescape(self._take("string", "a literal"))

    def _number(self) -> int | float:
        text = self._take("number", "a number")
        if not text.lstrip("+-").isdigit():
            return float(text)
        if len(text) > 20 or abs(int(text)) > _LARGEST_INTEGER:
            raise InvalidArgument(f"query: number out of range: {text[:24]}")
        return int(text)


def unescape(text: str) -> str:
    r"""Replace `\'` by `'` and `\\` by `\`; keep any other backslash.

    Examples
    --------
    >>> unescape(r"it\'s C:\\x\y")
    "it's C:\\x\\y"
    """
    parts = text.split("\\\\")
    return "\\".join(part.replace("\\'", "'") for part in parts)
