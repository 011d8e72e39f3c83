"""Parameters `$1`, `$2` and so on of SQL statements, counted as the engine counts them."""

from __future__ import annotations

import re

# In this order: what is in quotes or a comment goes to its end, or to the end of the statement.
_PIECES = re.compile(r"'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|--[^\n]*|\$([0-9]*)")
MOST = 65_535
"""Most parameters that a statement of any of the databases can have."""


def parameters(statement: str) -> int:
    """Number of the highest parameter outside of quotes and comments; 0 without any.

    Examples
    --------
    >>> parameters("select * from t where a = $2 and b = '$9' -- $8")
    2
    """
    numbers = (match.group(1) for match in _PIECES.finditer(statement))
    return max((int(number) for number in numbers if number), default=0)
