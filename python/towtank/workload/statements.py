"""Counts the parameters `$1`, `$2`, ... of SQL statements by the rules of the engine."""

from __future__ import annotations

import re

# Matches quoted texts and comments as well as parameters, so that a `$1` inside a text or comment is not counted. An
# open quote extends to the end of the statement.
_PIECES = re.compile(r"'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|--[^\n]*|\$([0-9]*)")
MOST = 65_535
"""Largest number of parameters that the databases accept in an SQL statement."""


def parameters(statement: str) -> int:
    """Return the highest number of a parameter outside quotes and comments; 0 if the statement has no parameters.

    Examples
    --------
    >>> parameters("select * from t where a = $2 and b = '$9' -- $8")
    2
    """
    numbers = (match.group(1) for match in _PIECES.finditer(statement))
    return max((int(number) for number in numbers if number), default=0)
