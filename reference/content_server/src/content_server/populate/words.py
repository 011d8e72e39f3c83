"""Generates words and sentences. Common English and business words come first, then names composed of syllables.

The frequencies of all words follow Zipf's law, so that a search may find one document or a thousand.
"""

from __future__ import annotations

import itertools
import random
from functools import cache
from importlib import resources

# Number of generated names in addition to the word list. Because of them, a text of 10 KiB contains words that few
# other texts contain.
NAMES = 12_000
# Exponent of Zipf's law for the frequencies of words; natural language has an exponent near 1.
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
    """Return all words of the generated texts, the most frequent first."""
    text = resources.files("content_server.populate").joinpath("words.txt").read_text(encoding="utf-8")
    common = list(dict.fromkeys(text.split()))
    names = ["".join(parts) for parts in itertools.product(_FIRST, _MIDDLE, _LAST)]
    # The order of words is the same in all populations, because the rank of a word is a property of the language, not
    # of the seed.
    random.Random("names").shuffle(names)
    known = set(common)
    return (*common, *[name for name in dict.fromkeys(names) if name not in known][:NAMES])


@cache
def _cumulative_weights() -> tuple[float, ...]:
    return tuple(itertools.accumulate(1.0 / rank**EXPONENT for rank in range(1, len(vocabulary()) + 1)))


def words(source: random.Random, count: int) -> list[str]:
    """Choose random words according to their frequencies."""
    return source.choices(vocabulary(), cum_weights=_cumulative_weights(), k=count)


def text(source: random.Random, length: int) -> str:
    """Generate sentences in paragraphs with exactly `length` ASCII characters. [bytes]"""
    # A word and a space have fewer than six characters on average. So this number of words nearly always suffices at
    # once.
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
