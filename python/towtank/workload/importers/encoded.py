"""Decodes names and values of queries and forms, unless encoding them again would give other bytes.

The engine encodes texts as UTF-8. Three forms would therefore change if they were decoded and encoded again: a byte
that is not UTF-8 (`%E9`), a `%` without two digits (`100%`, `%ZZ`), and a `+` in a query. The URL standard leaves such
a `%` as it is (https://url.spec.whatwg.org/#percent-decode). A `+` is a blank in forms, but a plus sign by RFC 3986,
section 2.2.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, unquote_plus, unquote_to_bytes

_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLACE = re.compile(r"(\$\{[^}]*\})")
# Characters that encoding leaves unchanged in a query.
QUERY_SAFE = "/%:@!$&()*+,;=~-._?[]{}"


def survives(text: str, *, in_query: bool) -> bool:
    """Return True if a text gives the same bytes when it is decoded and encoded again.

    Examples
    --------
    >>> [survives(text, in_query=True) for text in ("caf%C3%A9", "caf%E9", "100%", "a+b")]
    [True, False, False, False]
    """
    if _NO_ESCAPE.search(text) or (in_query and "+" in text):
        return False
    try:
        unquote_to_bytes(text).decode("utf-8")
    except UnicodeError:
        return False
    return True


def pairs_of(text: str, *, in_query: bool) -> list[tuple[str, str]] | None:
    """Return the decoded pairs of a query or form; None if a mapping cannot represent all pairs.

    A mapping cannot represent a repeated name, a name without `=`, or a text that decoding and encoding would change.

    Examples
    --------
    >>> pairs_of("q=red%20shoes&size=", in_query=True)
    [('q', 'red shoes'), ('size', '')]
    >>> pairs_of("q=red+shoes", in_query=True)
    >>> pairs_of("q=red+shoes", in_query=False)
    [('q', 'red shoes')]
    """
    parts = [part.partition("=") for part in text.split("&")]
    if not all(sign and survives(name + sign + value, in_query=in_query) for name, sign, value in parts):
        return None
    pairs = [(decoded(name, in_query=in_query), decoded(value, in_query=in_query)) for name, _, value in parts]
    return pairs if len(dict(pairs)) == len(pairs) else None


def decoded(text: str, *, in_query: bool) -> str:
    """Decode a text of a query or form. `survives` must return True for the text."""
    return unquote(text) if in_query else unquote_plus(text)


def encoded(template: str, safe: str = "") -> str:
    """Return a template encoded for a query or form.

    The literal text is encoded here. Placeholders `${...}` get the encoding `url`, so that the engine encodes their
    values.

    Examples
    --------
    >>> encoded("a b${x}"), encoded("%E9 ${x}", QUERY_SAFE)
    ('a%20b${x|url}', '%E9%20${x|url}')
    """
    pieces = _PLACE.split(template.replace("$${", "$\0{"))
    return "".join(
        _place(piece) if piece.startswith("${") else _text(piece.replace("$\0{", "${"), safe) for piece in pieces
    )


def _text(text: str, safe: str) -> str:
    """Encode a text for a query or form, and return it as a template."""
    return quote(text, safe=safe, errors="replace").replace("${", "$${")


def _place(place: str) -> str:
    """Return a placeholder `${...}` with the encoding `url`, unless the placeholder already has an encoding."""
    return place if "|" in place else f"{place[:-1]}|url}}"


def texts_of(template: str) -> str:
    """Return the literal text of a template, with a blank for each placeholder `${...}`.

    Examples
    --------
    >>> texts_of("%${x}41")
    '% 41'
    """
    return _PLACE.sub(" ", template.replace("$${", "$\0{"))
