"""Generates random texts from common English words, business words, and names composed of syllables.

Word frequencies follow Zipf's law, so that the number of documents that contain a word varies widely.
"""

from __future__ import annotations

import itertools
import random
from functools import cache
from importlib import resources

# Number of generated names in addition to the word list. Names are rare words, which only few texts contain. [1]
NAMES = 12_000
# Exponent of Zipf's law for word frequencies; in natural language, it is near 1.
EXPONENT = 1.05

_FIRST = [
    "al",
    "ar",
    "bel",
    "ber",
    "bor",
    "bran",
    "cal",
    "car",
    "cor",
    "dal",
    "dor",
    "el",
    "fal",
    "far",
    "gar",
    "gor",
    "hal",
    "har",
    "hol",
    "kal",
    "kar",
    "ker",
    "lan",
    "lin",
    "lor",
    "mal",
    "mar",
    "mer",
    "nor",
    "or",
    "pel",
    "per",
    "ral",
    "ran",
    "ros",
    "sal",
    "san",
    "sel",
    "tal",
    "tor",
    "ul",
    "val",
    "ver",
    "vol",
    "wal",
    "wes",
    "win",
    "yor",
    "zan",
]
_MIDDLE = ["a", "e", "i", "o", "u", "an", "en", "er", "in", "on", "ar", "el", "or", "il", "ed"]
_LAST = [
    "berg",
    "bury",
    "by",
    "dale",
    "den",
    "field",
    "ford",
    "gate",
    "ham",
    "hofer",
    "holm",
    "house",
    "land",
    "ley",
    "man",
    "mere",
    "mont",
    "more",
    "ness",
    "port",
    "ridge",
    "rop",
    "sen",
    "shire",
    "son",
    "stad",
    "stein",
    "ston",
    "thorp",
    "ton",
    "vale",
    "vik",
    "ward",
    "well",
    "wick",
    "wood",
    "worth",
]


@cache
def vocabulary() -> tuple[str, ...]:
    """Return all words, sorted by falling frequency."""
    text = resources.files("content_server.populate").joinpath("words.txt").read_text(encoding="utf-8")
    common = list(dict.fromkeys(text.split()))
    names = ["".join(parts) for parts in itertools.product(_FIRST, _MIDDLE, _LAST)]
    # The order of the names does not depend on the seed, because word frequencies are a property of a language.
    random.Random("names").shuffle(names)
    known = set(common)
    return (*common, *[name for name in dict.fromkeys(names) if name not in known][:NAMES])


@cache
def _cumulative_weights() -> tuple[float, ...]:
    return tuple(itertools.accumulate(1.0 / rank**EXPONENT for rank in range(1, len(vocabulary()) + 1)))


def words(source: random.Random, count: int) -> list[str]:
    """Return random words, chosen according to word frequencies."""
    return source.choices(vocabulary(), cum_weights=_cumulative_weights(), k=count)


def text(source: random.Random, length: int) -> str:
    """Return a text of sentences and paragraphs with exactly `length` ASCII characters. [bytes]"""
    # This number of words is nearly always sufficient, because a word and a space have more than five characters on
    # average.
    drawn = words(source, length // 5 + 8)
    parts: list[str] = []
    written = position = 0
    while written < length:
        size = source.randint(5, 18)
        sentence = " ".join(drawn[position : position + size])
        position += size
        if position >= len(drawn):
            drawn, position = words(source, 200), 0
        if not sentence:
            continue
        end = ".\n\n" if source.random() < 0.15 else ". "
        parts.append(sentence[0].upper() + sentence[1:] + end)
        written += len(parts[-1])
    return "".join(parts)[: length - 1].rstrip().ljust(length - 1, ".") + "\n"
