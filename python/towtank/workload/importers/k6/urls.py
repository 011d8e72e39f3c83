"""Separates addresses from the URLs of a script, because requests of a workload have only paths, and targets have the
addresses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from towtank.workload.importers.draft import ImportDraft, literal, unique, url_address, user_info

PLACEHOLDER = "change-me"
_PLACE = re.compile(r"(?<!\$)(\$\{[^}]*\})")
_PARAMETER = re.compile(r"\$\{parameters\.(\w+)\}")
# Matches the placeholder for a column of a row. The row is named after its pool, possibly followed by a number.
_COLUMN = re.compile(r"\$\{([a-z]\w*?)((?:__row\d+)?)\.(\w+)\}")
_AUTHORITY = re.compile(r"[^/?#]*?://[^/?#]*")
_OF_ANSWER = "its address is a value from a response: extract a path that begins with / instead"
_OF_THE_RUN = "its address is not known before the run"
Place = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """Part of a template, with its text as written, its value if this is known before the run, and the name of its
    parameter, if any.
    """

    written: str
    known: str | None
    parameter: str | None = None


@dataclass(frozen=True)
class Located:
    """Parts of a URL: scheme, host and port, or None without an address; user and password, if any; and the template of
    path and query.
    """

    address: str | None
    login: dict[str, str] | None
    path: str


def located(template: str, draft: ImportDraft, place: Place) -> Located:
    """Split a URL template into address, login and path. Parameters are replaced by their defaults.

    Raises
    ------
    ValueError
        If the target is known only at run time; the message gives the reason.
    """
    rows = _COLUMN.match(template)
    if rows is not None and rows[1] in draft.data:
        return _of_rows(rows, draft, place)
    pieces = _pieces(template, draft)
    first_unknown = next((index for index, piece in enumerate(pieces) if piece.known is None), len(pieces))
    known = "".join(piece.known or "" for piece in pieces[:first_unknown])
    found = _AUTHORITY.match(known)
    if found is None:
        return _without_address(pieces, draft, place)
    if found.end() == len(known) and _goes_on(known, pieces[first_unknown:]):
        raise ValueError(_OF_THE_RUN)
    rest, asked = _behind(pieces, found.end())
    if PLACEHOLDER in found[0].rpartition("@")[2]:
        unset = [name for name in asked if draft.parameters[name] == PLACEHOLDER]
        return Located(_unset(draft, place, unset), None, _path(rest))
    try:
        return Located(url_address(found[0]), user_info(found[0]), _path(rest))
    except ValueError as error:
        draft.notes.add(place, "URL", str(error))
        return Located(None, None, _path(rest))


def _pieces(template: str, draft: ImportDraft) -> list[Piece]:
    found = []
    for written in filter(None, _PLACE.split(template)):
        parameter = _PARAMETER.fullmatch(written)
        if parameter is not None:
            default = str(draft.parameters.get(parameter[1], "")).replace("$${", "${")
            found.append(Piece(written, default, parameter[1]))
        else:
            found.append(Piece(written, None if written.startswith("${") else written.replace("$${", "${")))
    return found


def _goes_on(known: str, rest: list[Piece]) -> bool:
    """Return True if the host or port of a URL continues with a value that is known only at run time.

    Otherwise, the host and port end here, and a path that begins with `/` follows.
    """
    behind = rest[1].known if len(rest) > 1 else None
    return bool(rest) and (known.endswith(("://", ":", ".", "@")) or (behind or "").startswith((".", ":", "@")))


def _behind(pieces: list[Piece], end: int) -> tuple[list[Piece], list[str]]:
    """Return the pieces of a template after its first `end` characters, and the parameters in earlier pieces."""
    at, rest, asked = 0, [], []
    for piece in pieces:
        text = piece.known or ""
        if at >= end:
            rest.append(piece)
        elif piece.parameter is not None:
            asked.append(piece.parameter)
        if at < end < at + len(text):
            rest.append(Piece(literal(text[end - at :]), text[end - at :]))
        at += len(text)
    return rest, asked


def _without_address(pieces: list[Piece], draft: ImportDraft, place: Place) -> Located:
    """Return the parts of a URL whose address is not known.

    Either the address is the value of a parameter, or the URL is a path only.
    """
    if pieces and pieces[0].known is None:
        raise ValueError(_OF_THE_RUN if pieces[0].written.startswith("${draw__") else _OF_ANSWER)
    if pieces and pieces[0].parameter is not None:
        return Located(_unset(draft, place, [pieces[0].parameter]), None, _path(pieces[1:]))
    return Located(None, None, _path(pieces))


def _path(pieces: list[Piece]) -> str:
    """Return a path with a leading slash.

    If the path begins with a value known only at run time, this value is assumed to contain the slash.
    """
    template = "".join(piece.written for piece in pieces)
    if pieces and (pieces[0].known is None or pieces[0].known.startswith("/")):
        return template
    return f"/{template}"


def _unset(draft: ImportDraft, place: Place, parameters: list[str]) -> str:
    """Add a target, named after the last parameter, whose address consists of parameters; return the address."""
    shown = ", ".join(f"parameters.{name}" for name in parameters)
    draft.notes.add(place, "URL", f"the destination of requests is not in the script ({shown}): only the path is kept")
    address = f"http://{'.'.join(f'${{{name}}}' for name in parameters)}"
    draft.target(address, parameters[-1])
    return address


def _of_rows(found: re.Match[str], draft: ImportDraft, place: Place) -> Located:
    """Split URLs that begin with a column of a data pool into address and path.

    If all rows have the same address, the paths become a new column.
    """
    pool, row, column, rest = found[1], found[2], found[3], found.string[found.end() :]
    columns, rows = draft.data[pool].columns, draft.data[pool].rows
    values = [str(each[columns.index(column)]) for each in rows]
    if not any("://" in value for value in values):
        why = "its values must be paths that begin with /, without an address"
        draft.notes.add(place, f"URL that begins with a value of the data {pool!r}", why)
        return Located(None, None, f"${{{pool}{row}.{column}}}{rest}")
    addresses = {_address(value) for value in values}
    if len(addresses) > 1 or None in addresses:
        raise ValueError(f"its address is a value of the data {pool!r}, which has several addresses")
    return Located(addresses.pop(), None, f"${{{pool}{row}.{_paths(columns, rows, column, values)}}}{rest}")


def _address(url: str) -> str | None:
    """Return the address (scheme, host and port) of a URL; None if the URL is invalid or has a login."""
    try:
        return url_address(url) if user_info(url) is None else None
    except ValueError:
        return None


def _paths(columns: list[str], rows: list[list[Any]], column: str, values: list[str]) -> str:
    """Return the name of the column with the paths of a column of URLs, after adding it if necessary."""
    paths = []
    for value in values:
        split = urlsplit(value)
        paths.append((split.path or "/") + (f"?{split.query}" if split.query else ""))
    for index, name in enumerate(columns):
        if name.startswith(f"{column}_path") and [row[index] for row in rows] == paths:
            return name
    added = unique(f"{column}_path", columns)
    columns.append(added)
    for row, path in zip(rows, paths, strict=True):
        row.append(path)
    return added
