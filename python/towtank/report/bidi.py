"""Isolates right-to-left words, so that the surrounding text keeps its order.

Names of studies and services may contain Hebrew or Arabic letters, after which digits and signs would be displayed on
the wrong side. A name with the control character U+202E would reverse the text after it. Therefore, words with
right-to-left letters or control characters are isolated: in HTML by the element `bdi`, in attributes and figures by the
Unicode characters FSI and PDI [1]_.

References
----------
.. [1] M. Davis et al., Unicode Standard Annex 9, "Unicode Bidirectional Algorithm", sections 2.4 and 3.1.2.
"""

from __future__ import annotations

import re
from typing import Any

from markupsafe import Markup, escape

_INITIATORS = "\u2066\u2067\u2068"
_FSI, _PDI = "\u2068", "\u2069"
_CONTROLS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Unicode blocks of the right-to-left scripts, including their presentation forms.
_LETTERS = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_FOREIGN = re.compile(f"[{_CONTROLS}{_LETTERS}]")
_TOKEN = re.compile(r"\S+")
# Signs that may belong to a name; a comma, for example, belongs to the sentence around the name.
_SIGNS = "_./\\@#+~=-"


def marked(text: str) -> Markup:
    """Escape a text for HTML, with right-to-left words in `bdi` elements.

    Examples
    --------
    >>> print(marked("<b>"), marked("a \u05d0\u05d1-1, 5 ms") == "a <bdi>\u05d0\u05d1-1</bdi>, 5 ms")
    &lt;b&gt; True
    """
    if not _FOREIGN.search(text):
        return escape(text)
    parts: list[str] = []
    end = 0
    for start, stop in _words(text):
        parts += [escape(text[end:start]), Markup("<bdi>{}</bdi>").format(_balanced(text[start:stop]))]
        end = stop
    return Markup("").join([*parts, escape(text[end:])])


def plain(text: str) -> str:
    """Return a text for attributes and figures, with right-to-left words between FSI and PDI.

    Examples
    --------
    >>> plain("users"), plain("a \u05d0, b") == "a \u2068\u05d0\u2069, b"
    ('users', True)
    """
    if not _FOREIGN.search(text):
        return text
    parts, end = [], 0
    for start, stop in _words(text):
        parts += [text[end:start], _FSI, _balanced(text[start:stop]), _PDI]
        end = stop
    return "".join([*parts, text[end:]])


def of_specification(part: Any) -> Any:
    """Isolate right-to-left words in all string values of a figure's specification."""
    if isinstance(part, str):
        return plain(part)
    if isinstance(part, dict):
        return {key: of_specification(value) for key, value in part.items()}
    return [of_specification(value) for value in part] if isinstance(part, list) else part


def _words(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each sequence of adjacent words with right-to-left letters."""
    found: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(text):
        places = [letter.start() for letter in _FOREIGN.finditer(text, *token.span())]
        if not places:
            continue
        start, stop = places[0], places[-1] + 1
        while start > token.start() and _is_of_name(text[start - 1]):
            start -= 1
        end = stop
        while end < token.end() and _is_of_name(text[end]):
            end += 1
            stop = end if text[end - 1].isalnum() else stop
        if found and not text[found[-1][1] : start].strip():
            start = found.pop()[0]
        found.append((start, stop))
    return found


def _is_of_name(letter: str) -> bool:
    return letter.isalnum() or letter in _SIGNS


def _balanced(word: str) -> str:
    """Close all Unicode isolates in a word, and remove unmatched PDIs, because either would break the isolate around
    it.
    """
    kept, depth = [], 0
    for letter in word:
        depth += (letter in _INITIATORS) - (letter == _PDI)
        if depth < 0:
            depth = 0
        else:
            kept.append(letter)
    return "".join(kept) + depth * _PDI
