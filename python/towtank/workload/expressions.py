"""Syntax of the expressions the engine evaluates on answers: JSON paths and regular expressions."""

from __future__ import annotations

import re

_STEP = re.compile(
    r"""
      \.\.(?P<deep>[A-Za-z_$][\w$:-]*)          # ..name    at any depth
    | \.(?P<name>[A-Za-z_$][\w$:-]*)            # .name
    | \[\s*'(?P<single>[^']*)'\s*\]             # ['name']
    | \[\s*"(?P<double>[^"]*)"\s*\]             # ["name"]
    | \[\s*(?P<index>-?\d{1,9})\s*\]            # [2], [-1]
    | \[\s*(?P<all>\*)\s*\]                     # [*]
    """,
    re.VERBOSE,
)
# The engine's expressions run in time linear in their input and so have neither of these.
_NOT_LINEAR = re.compile(r"\(\?(?:=|!|<=|<!|P=|\()|\\[1-9]")


def json_path(expression: str) -> str:
    """Check a JSON path and write it the one way the engine reads.

    Parameters
    ----------
    expression : str
        `$` followed by `.name`, `['name']`, `[2]`, `[-1]`, `[*]`, `..name`.

    Raises
    ------
    ValueError
        If it is none; the message has the position.

    Examples
    --------
    >>> json_path('$.objects[*]["id"]')
    "$.objects[*]['id']"
    """
    if not expression.startswith("$"):
        raise ValueError(f"must be a JSON path that begins with $, got {expression!r} instead")
    written, position = "$", 1
    while position < len(expression):
        step = _STEP.match(expression, position)
        if step is None:
            rest = expression[position : position + 20]
            raise ValueError(
                "must be a JSON path of $, .name, ['name'], [2], [-1], [*] and ..name, "
                f"got {rest!r} at position {position + 1} of {expression!r}"
            )
        double = step.group("double")
        if double is not None and "'" in double:
            raise ValueError(f"must have no ' inside a name of a JSON path, got {expression!r} instead")
        written += f"['{double}']" if double is not None else step.group(0)
        position = step.end()
    return written


def regex(pattern: str) -> str:
    """Check a regular expression.

    Raises
    ------
    ValueError
        If it is none, or uses look-around or back-references, which the engine's linear-time matching does not have.
    """
    if _NOT_LINEAR.search(pattern):
        raise ValueError(f"must be a regular expression without look-around and back-references, got {pattern!r}")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"must be a regular expression, got {pattern!r} instead: {error}") from None
    return pattern


def capturing_regex(pattern: str) -> str:
    """Check a regular expression that takes something out of an answer: it has one group or none."""
    groups = re.compile(regex(pattern)).groups
    if groups > 1:
        raise ValueError(f"must have one group in parentheses at most (others as (?:...)), got {groups} in {pattern!r}")
    return pattern
