"""Counts the parameters `$1`, `$2`, ... of SQL statements by the rules of the engine."""

from __future__ import annotations

import re

# Quoted texts and comments come first, so that parameters within them are skipped; an open quote ends the statement.
_PIECES = re.compile(r"'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|--[^\n]*|\$([0-9]*)")
MOST = 65_535
"""Largest number of parameters that the databases accept in a statement."""


def parameters(statement: str) -> int:
    """Return the number of the highest parameter outside of quotes and comments; 0 without any.

    Examples
    --------
    >>> parameters("select * from t where a = $2 and b = '$9' -- $8")
    2
    """
    numbers = (match.group(1) for match in _PIECES.finditer(statement))
    return max((int(number) for number in numbers if number), default=0)
