"""Splits query statements into tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from content_server.errors import InvalidArgument

KEYWORDS = frozenset(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "ORDER",
        "BY",
        "ASC",
        "DESC",
        "AND",
        "OR",
        "NOT",
        "IN",
        "LIKE",
        "IS",
        "NULL",
        "AS",
        "TRUE",
        "FALSE",
        "TIMESTAMP",
        "IN_FOLDER",
        "IN_TREE",
        "CONTAINS",
    ]
)
# Largest accepted length of a statement. [characters]
MAX_LENGTH = 32_768

_TOKEN = re.compile(
    r"""\s+
    |(?P<string>'(?:[^'\\]|''|\\.)*')
    |(?P<number>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w:]))
    |(?P<name>(?:[A-Za-z_]\w*\.)?[A-Za-z_]\w*:\w+)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<symbol><=|>=|<>|!=|[=<>(),*])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """Token of a query statement.

    `kind` is `string`, `number`, `name`, `word`, `keyword`, `symbol` or `end`; `place` is the position in the
    statement, from 1. [characters]
    """

    kind: str
    text: str
    place: int


def tokenize(statement: str) -> list[Token]:
    """Split a query statement into tokens; the last token is of kind `end`.

    Raises
    ------
    InvalidArgument
        If the statement is too long, or a character begins no token.
    """
    if len(statement) > MAX_LENGTH:
        raise InvalidArgument(f"query: at most {MAX_LENGTH} characters, got {len(statement)}")
    tokens = []
    position = 0
    while position < len(statement):
        match = _TOKEN.match(statement, position)
        if match is None:
            raise InvalidArgument(
                f"query: character {position + 1}: cannot read {statement[position : position + 20]!r}"
            )
        if match.lastgroup is not None:
            tokens.append(_token(match.lastgroup, match.group(), position + 1))
        position = match.end()
    tokens.append(Token("end", "end of the query", len(statement) + 1))
    return tokens


def _token(kind: str, text: str, place: int) -> Token:
    if kind == "word" and text.upper() in KEYWORDS:
        return Token("keyword", text.upper(), place)
    if kind == "string":
        # Doubled quotes are replaced here. Backslashes are kept, because their meaning depends on the condition.
        return Token(kind, text[1:-1].replace("''", "'"), place)
    return Token(kind, text, place)
