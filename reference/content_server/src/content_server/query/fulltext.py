"""Translates full-text expressions of CONTAINS to expressions of SQLite or PostgreSQL.

Adjacent words must all occur; `OR` separates alternatives; `-word` excludes a word; a phrase is in double quotes or in
escaped single quotes; `begin*` matches words with a prefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from content_server.errors import InvalidArgument

_TERM = re.compile(r"""-?"[^"]*"|-?'[^']*'|\S+""")


@dataclass(frozen=True)
class Term:
    """Word or phrase of a full-text search; it must not occur if `negated`, and may be the start of a word if
    `prefix`.
    """

    text: str
    negated: bool
    prefix: bool


def parse_contains(expression: str) -> list[list[Term]]:
    """Parse an expression of CONTAINS; return its alternatives, each a list of terms that must all match.

    Raises
    ------
    InvalidArgument
        If an alternative has only excluded words.
    """
    alternatives: list[list[Term]] = [[]]
    for raw in _TERM.findall(expression):
        if raw == "OR":
            alternatives.append([])
        elif raw != "AND":
            negated = raw.startswith("-")
            text = raw.removeprefix("-")
            if re.search(r"\w", text):
                alternatives[-1].append(Term(text.strip("\"'").rstrip("*"), negated, text.endswith("*")))
    for terms in alternatives:
        if all(term.negated for term in terms):
            raise InvalidArgument("CONTAINS: every alternative needs a word that is not excluded")
    return alternatives


def to_fts5(alternatives: list[list[Term]]) -> str:
    """Return the alternatives as a MATCH expression of SQLite's FTS5."""

    def quoted(term: Term) -> str:
        return '"' + term.text.replace('"', '""') + '"' + ("*" if term.prefix else "")

    return " OR ".join(
        "("
        + " AND ".join(quoted(t) for t in terms if not t.negated)
        + "".join(" NOT " + quoted(t) for t in terms if t.negated)
        + ")"
        for terms in alternatives
    )


def to_tsquery(alternatives: list[list[Term]]) -> str:
    """Return the alternatives as the argument of PostgreSQL's `to_tsquery`."""

    def quoted(term: Term) -> str:
        text = term.text.replace("\\", " ").replace("'", "''")
        return ("!" if term.negated else "") + f"'{text}'" + (":*" if term.prefix else "")

    return " | ".join("(" + " & ".join(quoted(t) for t in terms) + ")" for terms in alternatives)
