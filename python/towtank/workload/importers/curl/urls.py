"""Expands URLs in the syntax of curl, where a set or a range denotes several URLs. Resolves `..` in paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product

from towtank.workload.importers.curl.words import Word

# Largest number of URLs that are read from one word, because a range could denote any number. [1]
URLS_AT_MOST = 100
# Matches a set `{a,b}` or a range such as `[1-9]` or `[a-z:2]`. Other brackets belong to IPv6 addresses.
_GLOB = re.compile(r"\\([{}\[\]])|\{([^{}]*)\}|\[(\d+)-(\d+)(?::(\d+))?\]|\[([a-zA-Z])-([a-zA-Z])(?::(\d+))?\]")
# Characters that mark the beginning and end of a shell variable's name while a URL is expanded. No URL contains them.
_OPEN, _CLOSE = "\ue000", "\ue001"


def urls_of(word: Word) -> tuple[list[str], bool]:
    """Return the URLs that a word denotes, and True if the word denotes more URLs than are returned.

    Examples
    --------
    >>> urls_of(Word(1, 1, [("text", "a/{x,y}/[08-10]")]))[0][:4]
    ['a/x/08', 'a/x/09', 'a/x/10', 'a/y/08']
    """
    text = "".join(piece if kind == "text" else f"{_OPEN}{piece}{_CLOSE}" for kind, piece in word.pieces)
    parts: list[Iterator[str] | list[str]] = []
    end = 0
    for found in _GLOB.finditer(text):
        parts += [[text[end : found.start()]], list(islice(_values(found), URLS_AT_MOST + 1))]
        end = found.end()
    made = ["".join(each) for each in islice(product(*parts, [text[end:]]), URLS_AT_MOST + 1)]
    urls = [each.replace(_OPEN, "${").replace(_CLOSE, "}") for each in made]
    return urls[:URLS_AT_MOST], len(urls) > URLS_AT_MOST


def _values(found: re.Match[str]) -> Iterator[str]:
    """Yield the values of a set such as `{a,b}` or of a range such as `[1-9]`."""
    sign, words, low, high, step, first, last, stride = found.groups()
    if sign:
        yield sign
    elif words is not None:
        yield from words.split(",")
    elif low is not None:
        # If the first number of a range begins with 0, curl pads all numbers of the range to its length.
        width = len(low) if low.startswith("0") else 0
        yield from (str(number).zfill(width) for number in range(int(low), int(high) + 1, int(step or 1) or 1))
    else:
        yield from (chr(code) for code in range(ord(first), ord(last) + 1, int(stride or 1) or 1))


def resolved(url: str) -> str:
    """Return a URL with `.` and `..` resolved (RFC 3986, 5.2.4), as curl sends it without `--path-as-is`.

    Examples
    --------
    >>> resolved("http://a/x/../b/./c/..?q=..")
    'http://a/b/?q=..'
    """
    found = re.fullmatch(r"([a-z]+://[^/?#]*)(/[^?#]*)(.*)", url, re.DOTALL)
    if found is None:
        return url
    kept: list[str] = []
    segments = found[2][1:].split("/")
    for segment in segments:
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return f"{found[1]}/{'/'.join(kept)}{found[3]}"


def separator(url: str) -> str:
    """Return the character that curl inserts between a URL and additional query text.

    The result is an empty text if the URL ends with `?` or `&`.
    """
    if "?" not in url:
        return "?"
    return "" if url.endswith(("?", "&")) else "&"
