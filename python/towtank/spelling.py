"""Finds corrections of misspelt words, and attaches them to messages."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# Smallest similarity, as computed by `difflib`, at which a word is suggested. [1]
_SIMILAR = 0.6
# Words with at least this many letters may contain two typing errors, shorter words only one. [1]
_LONG_WORD = 6
_SLIPS_AT_MOST = 2
# Largest number of known names that are compared by similarity. Among more names, only typing errors are found. [1]
_COMPARED = 500


@dataclass(frozen=True)
class Typo:
    """Misspelt word of a file, and the known word that was most likely meant.

    Attributes
    ----------
    got, meant : str
        Word as written in the file, and the known word.
    is_form : bool
        True for a key or a value of the format itself, false for a name that the user chose.
    """

    got: str
    meant: str
    is_form: bool = False


class Misspelt(str):
    typo: Typo

    @classmethod
    def of(cls, message: str, typo: Typo | None) -> str:
        """Attach a correction to a message; if `typo` is None, return the plain message."""
        if typo is None:
            return message
        marked = cls(message)
        marked.typo = typo
        return marked


@lru_cache(maxsize=4096)
def _nearest(written: str, words: tuple[str, ...]) -> str | None:
    slipped = [other for other in words if abs(len(other) - len(written)) <= _SLIPS_AT_MOST and is_slip(written, other)]
    if slipped:
        return min(slipped, key=lambda other: (_slips(written, other), -_similarity(written, other)))
    near = difflib.get_close_matches(written, words, n=1, cutoff=_SIMILAR) if len(words) <= _COMPARED else []
    return near[0] if near else None


def nearest(word: object, known: Iterable[str]) -> str | None:
    """Return the most similar known word; None if no word is similar.

    Examples
    --------
    >>> nearest("laod", ["name", "load", "loop"])
    'load'
    >>> nearest("fi", ["get", "if"])
    'if'
    """
    return _nearest(str(word), tuple(dict.fromkeys(known)))


def meant(word: object, known: Iterable[str], *, is_form: bool = False) -> Typo | None:
    """Return the correction of a misspelt word; None if the word differs from all known words by more than a typing
    error.
    """
    if not isinstance(word, str):
        return None
    near = nearest(word, known)
    return Typo(word, near, is_form) if near is not None and is_slip(word, near) else None


def misnamed(allowed: str, got: object, known: Iterable[str], *, is_form: bool = False) -> str:
    """Return the message `must be ALLOWED, got 'GOT' instead`, with the most similar known name as a suggestion."""
    words = list(known)
    near = nearest(got, words)
    hint = f", did you mean {near!r}?" if near is not None else ""
    return Misspelt.of(f"must be {allowed}, got {got!r} instead{hint}", meant(got, words, is_form=is_form))


def is_slip(word: str, known: str) -> bool:
    """Return True if a word differs from a known word by a typing error: by one letter, or by two in a long word.

    Words that differ only in a number, such as `host-1` and `host-2`, are different names.

    Examples
    --------
    >>> is_slip("dta", "data"), is_slip("host-3", "host-2"), is_slip("post", "page")
    (True, False, False)
    """
    one, other = _plain(word), _plain(known)
    if re.sub(r"\d+", "0", one) == re.sub(r"\d+", "0", other):
        return one == other and word != known
    slips = _distance(one, other, 2)
    if len(other) <= 2 and len(one) == len(other):
        return slips == 1 and sorted(one) == sorted(other)
    return slips < len(other) and slips <= (2 if len(other) >= _LONG_WORD else 1)


def _plain(word: str) -> str:
    """Return a word in lower case, with `_` for hyphens."""
    return word.casefold().replace("-", "_")


def _similarity(word: str, known: str) -> float:
    return difflib.SequenceMatcher(None, word, known).ratio()


def _slips(word: str, known: str) -> int:
    return _distance(_plain(word), _plain(known), 2)


def _distance(one: str, other: str, at_most: int) -> int:
    """Return the number of typing errors between two words; `at_most + 1` if there are more.

    A typing error adds, omits or replaces a letter, or swaps two adjacent letters (optimal string alignment
    distance).
    """
    if abs(len(one) - len(other)) > at_most:
        return at_most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        following = [i]
        for j, wanted in enumerate(other, 1):
            best = min(row[j] + 1, following[-1] + 1, row[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, before[j - 2] + 1)
            following.append(best)
        if min(following) > at_most:
            return at_most + 1
        before, row = row, following
    return min(row[-1], at_most + 1)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Render the hint `, did you mean 'x'?` with the most similar known word; empty if no word is similar."""
    near = nearest(word, known)
    return f", did you mean {near!r}?" if near is not None else ""
