"""Separates imported request headers into headers that the workload keeps and headers that it drops."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from towtank.workload.importers.draft import TRANSPORT_HEADERS, ImportNotes, literal

_CONDITIONAL = frozenset({"if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range"})
_OF_BROWSER = ("sec-ch-", "sec-fetch-", "sec-gpc")
# Headers that are dropped from a recording, but kept if the author of the request wrote them deliberately.
_ANY_REQUEST = frozenset({"host", "priority", "upgrade-insecure-requests"})
# Characters that a header name may contain: RFC 9110, section 5.6.2.
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OF_CONNECTION = "left out: the engine sets the headers of a connection"
Place = tuple[int, int]


@dataclass
class ImportedHeaders:
    """Headers of one request that remain after the import, as templates, with the user and password or the bearer token
    of the Authorization header.
    """

    headers: dict[str, str] = field(default_factory=dict)
    basic: tuple[str, str] | None = None
    bearer: str | None = None


def carry(
    pairs: Iterable[tuple[str, str, Place]], notes: ImportNotes, *, recorded: bool = True, keep: Collection[str] = ()
) -> ImportedHeaders:
    """Return the headers of a request that the workload keeps. Dropped headers are reported in notes.

    `recorded` is True if a browser generated the headers, and False if an author wrote each header deliberately.
    Headers whose lower-case names are in `keep` are always kept.
    """
    carried = ImportedHeaders()
    for name, value, place in pairs:
        low = name.lower()
        if not _TOKEN.fullmatch(name.removeprefix(":")):
            notes.add(place, f"header {name[:40]!r}", "left out: this is not a valid header name")
            continue
        if low in keep or (not recorded and low in _ANY_REQUEST):
            _keep(name, " ".join(value.splitlines()), carried)
            continue
        if name.startswith(":") or low in TRANSPORT_HEADERS:
            if not recorded:
                notes.add(place, f"header {name}", _OF_CONNECTION)
            continue
        reason = _why_not(low)
        if reason is not None:
            # A browser describes itself in about ten headers of every request; all of them share one note.
            what = "headers sec-ch-*, sec-fetch-*" if low.startswith(_OF_BROWSER) else f"header {name}"
            notes.add(place, what, reason)
        elif low == "authorization":
            _authorization(value, place, carried, notes)
        else:
            _keep(name, " ".join(value.splitlines()), carried)
    return carried


def _why_not(name: str) -> str | None:
    """Return the reason why a header is dropped; None if the header is kept."""
    if name == "cookie":
        return "left out: every user keeps the cookies that the server sets; recorded cookies belong to another user"
    if name in _CONDITIONAL:
        return "left out: users have no cache and request the whole content"
    if name == "accept-encoding":
        return "left out: responses are requested without compression, so that they can be checked"
    if name.startswith(_OF_BROWSER):
        return "left out: it describes the browser"
    return None


def _authorization(value: str, place: Place, carried: ImportedHeaders, notes: ImportNotes) -> None:
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            user, colon, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            colon = ""
        if colon:
            carried.basic = (user, password)
            return
        notes.add(place, "header Authorization (Basic)", "left out: its value is not a user and a password in base64")
        return
    if scheme.lower() == "bearer" and rest.strip():
        carried.bearer = rest.strip()
        return
    notes.add(
        place,
        f"header Authorization ({scheme[:20]})",
        "left out: only Basic authentication and bearer tokens are supported",
    )


def _keep(name: str, value: str, carried: ImportedHeaders) -> None:
    """Add a header to the kept headers. Repeated headers are joined with a comma (RFC 9110, section 5.3)."""
    known = next((each for each in carried.headers if each.lower() == name.lower()), None)
    if known is not None:
        carried.headers[known] += ", " + literal(value)
    else:
        carried.headers[name] = literal(value)
