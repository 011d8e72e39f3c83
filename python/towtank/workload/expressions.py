"""Checks JSON paths, with which the engine finds values in responses. Regular expressions are checked in `patterns`."""

from __future__ import annotations

import re

from towtank.workload.patterns import capturing_regex, regex

__all__ = ["capturing_regex", "json_path", "regex"]

_STEP = re.compile(
    r"""
      \.\.(?P<deep>[A-Za-z_$][\w$:-]*)          # ..name    at any depth
    | \.(?P<name>[A-Za-z_$][\w$:-]*)            # .name
    | \[\s*'(?P<single>[^']*)'\s*\]             # ['name']
    | \[\s*"(?P<double>[^"]*)"\s*\]             # ["name"]
    | \[\s*(?P<index>-?[0-9]{1,9})\s*\]         # [2], [-1]
    | \[\s*(?P<all>\*)\s*\]                     # [*]
    """,
    re.VERBOSE,
)

# Blanks between the brackets of a JSON path element and its content. Blanks within quotes are part of the name.
_BLANKS = re.compile(r"(?<=^\[)\s+|\s+(?=\]$)")


def json_path(expression: str) -> str:
    """Check a JSON path and return it in the canonical form that the engine reads. A path is `$` followed by `.name`,
    `['name']`, `[2]`, `[-1]`, `[*]`, `..name`.

    Raises
    ------
    ValueError
        If the path is invalid; the message gives the position.

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
        written += f"['{double}']" if double is not None else _BLANKS.sub("", step.group(0))
        position = step.end()
    return written
