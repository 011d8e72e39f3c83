"""Converts sampler paths to templates. A variable at the beginning of a path may contain the slash or a whole address.

JMeter substitutes variables first. A result that begins with http:// or https:// is a whole address. Any other
result gets a leading slash if it has none (HTTPSamplerBase.getUrl of JMeter 5.5).
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, urlsplit

from towtank.workload.importers.draft import literal
from towtank.workload.importers.jmx.texts import Texts

ADDRESSES = ("http://", "https://")
_SAFE = "/%:@!$&'()*+,;=~-._?"
Place = tuple[int, int]


def split_address(address: str) -> SplitResult:
    """Split an address. If its host is invalid, as in `http://[a/x`, only path and query are kept.

    Examples
    --------
    >>> split_address("http://[a/x").hostname, split_address("http://[a/x").path
    (None, '/x')
    """
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit(f"///{address.partition('://')[2].partition('/')[2]}")


def path_of(text: str, place: Place, texts: Texts) -> str:
    """Return the path and the query of a sampler as a template."""
    text = texts.opened(text, ADDRESSES)
    if text.startswith(ADDRESSES):
        split = split_address(text)
        text = split.path + (f"?{split.query}" if split.query else "")
    # The fragment after # is removed, because clients never send it to the server.
    text = _sendable(text.partition("#")[0], place, texts)
    template = texts.template(text, place, lambda part: literal(quote(part, safe=_SAFE)))
    return template if _begins_with_slash(text, place, texts) else f"/{template}"


def _sendable(text: str, place: Place, texts: Texts) -> str:
    """Return a path in which constants are replaced by their values, if JMeter or HttpClient would change these values.

    JMeter turns repeated slashes into one slash, and encodes characters that are not allowed in paths. If values of a
    data column contain such characters, a note is added.
    """
    path, mark, query = texts.static(text).partition("?")
    if "//" in path:
        text = re.sub("/{2,}", "/", path) + mark + query
    known, rows = texts.values_in(text)
    if any(_is_encoded(value) for value in known):
        text = texts.static(text)
    for variable in [variable for variable, values in rows.items() if any(map(_is_encoded, values))]:
        why = (
            "some contain characters that are not allowed in paths: encode them in the data, as JMeter does when it "
            "sends them"
        )
        texts.draft.notes.add(place, f"values of ${{{variable}}} in a path", why)
    return text


def _is_encoded(value: str) -> bool:
    """Return True if a value contains characters that must be encoded in a path."""
    return quote(value, safe=_SAFE) != value


def _begins_with_slash(text: str, place: Place, texts: Texts) -> bool:
    """Return True if a path begins with a slash, or with a variable whose values must themselves begin with a slash.

    A note is added if the values of the variable are unknown, or if only some of the values begin with a slash.
    """
    known = texts.static(text)
    variable = texts.first_variable(known)
    if variable is None:
        return known.startswith("/")
    if variable in texts.behind_slash:
        return False
    values = texts.values_of(variable)
    if values and all(value.startswith("/") for value in values):
        return True
    if values and not any(value.startswith(("/", *ADDRESSES)) for value in values):
        return False
    why = "in the workload its values must begin with /: JMeter adds a missing / and accepts whole addresses"
    texts.draft.notes.add(place, f"path that begins with ${{{variable}}}", why)
    return True
