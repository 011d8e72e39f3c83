"""Counts the parameters `$1`, `$2`, ... of SQL statements by the rules of the engine."""

from __future__ import annotations

import re

# The expression also matches quoted texts and comments, so that parameters in them are not counted. If a quote is not
# closed, the search ends at the quote.
_PIECES = re.compile(r"'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|--[^\n]*|\$([0-9]*)")
MOST = 65_535
"""Largest number of parameters that the databases accept in an SQL statement."""


def parameters(statement: str) -> int:
    """Return the highest number of a parameter in an SQL statement, outside quotes and comments; 0 without parameters.

    Examples
    --------
    >>> parameters("select * from t where a = $2 and b = '$9' -- $8")
    2
    """
    numbers = (match.group(1) for match in _PIECES.finditer(statement))
    return max((int(number) for number in numbers if number), default=0)
