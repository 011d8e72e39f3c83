"""Defines the conclusion of a study as its readers use it: certainty, sentences by kind, and words of commands.

In sentences, commands and names of study files stand between backquotes. `marked` splits a sentence at them, and
`plain` removes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from towtank.digging import dig

NOT_REPEATED = "Each level ran once"
"""Beginning of the sentence about a study with one run of each level."""
SUSPECT_MARK = "†"
"""Sign after a value or claim that depends on a suspect run."""
FURTHER = "Also: "
"""Beginning of the statement about claims that no other statement contains."""
SURER = "To be surer: "
"""Beginning of a step that repeats measurements, if other steps stand before it."""
FOLDER = "FOLDER"
"""Word in a command of a conclusion that stands for the results folder."""
_LISTS = ("found", "open", "sure", "do", "measure")
_QUOTES = {ord("`"): "'"}
_CODE = re.compile(r"`([^`]+)`")


class Certainty(StrEnum):
    """Certainty of an answer, from the most to the least."""

    SURE = "sure"
    FAIRLY_SURE = "fairly sure"
    NOT_SURE = "not sure"
    NO_ANSWER = "no answer"

    @property
    def meaning(self) -> str:
        """Place among the four words, and the evidence that separates the word from the others."""
        return _MEANINGS[self]


_MEANINGS = {
    Certainty.SURE: "first of four degrees: the evidence is valid and repeated",
    Certainty.FAIRLY_SURE: "second of four degrees: a part of the evidence is weak",
    Certainty.NOT_SURE: "third of four degrees: the main evidence is weak",
    Certainty.NO_ANSWER: "last of four degrees: the runs decide nothing",
}


def level_name(factor: str, *levels: object) -> str:
    """Render levels of a factor as names of the study file.

    Examples
    --------
    >>> level_name("settings", "default"), level_name("disk", "old", "new", "none")
    ('`settings = default`', '`disk = old`, `new` and `none`')
    """
    first, *others = (str(level).translate(_QUOTES) for level in levels)
    names = [f"`{factor} = {first}`", *(f"`{level}`" for level in others)]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def configuration_name(key: object, label: object) -> str:
    """Render the levels of a configuration as names of the study file; its label if it has no levels.

    Examples
    --------
    >>> configuration_name({"rows": "tenfold", "query": "probe"}, "rows tenfold, query probe")
    '`rows = tenfold, query = probe`'
    """
    if not isinstance(key, Mapping) or not key:
        return str(label)
    return f"`{', '.join(f'{factor} = {level}' for factor, level in key.items()).translate(_QUOTES)}`"


def marked(text: str) -> list[tuple[str, bool]]:
    """Split a sentence into its parts, each with True if it stands between backquotes.

    Examples
    --------
    >>> marked("Run `towtank list`.")
    [('Run ', False), ('towtank list', True), ('.', False)]
    """
    return [(part, place % 2 == 1) for place, part in enumerate(_CODE.split(text)) if part]


def plain(text: str) -> str:
    """Return a sentence without the backquotes around commands and names."""
    return _CODE.sub(r"\1", text)


@dataclass(frozen=True)
class Conclusion:
    """Conclusion of a study, in sentences with full stops. In commands, `FOLDER` stands for the results folder.

    Commands and names of the study file stand between backquotes. `found` has at most three statements, the most
    important first, and a sentence about the other claims and objectives; `open` the parts of the question without an
    answer, each with its reason. `certainty` is None in summaries of Towtank before this key; `sure` has its reasons:
    runs that count, claims that rest on suspect runs, repetitions, relaxed limits. `do` and `measure` are next steps
    for the system, and for the measurement.
    """

    found: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    certainty: Certainty | None = None
    sure: tuple[str, ...] = ()
    do: tuple[str, ...] = ()
    measure: tuple[str, ...] = ()

    @classmethod
    def of(cls, summary: object) -> Conclusion:
        """Read the conclusion in the summary of a study; empty without one."""
        found = dig(summary, "conclusion")
        given = {name: dig(found, name) for name in _LISTS}
        lists = {name: tuple(map(str, each)) for name, each in given.items() if isinstance(each, list | tuple)}
        word = dig(found, "certainty")
        return cls(**lists, certainty=Certainty(word) if isinstance(word, str) and word in set(Certainty) else None)

    def document(self) -> dict[str, str | list[str] | None]:
        """Return the conclusion as JSON for the summary of a study."""
        lists = {name: list(getattr(self, name)) for name in _LISTS}
        return {**lists, "certainty": self.certainty}

    @property
    def headline(self) -> str:
        """Statements and parts without an answer, as one text without backquotes."""
        return plain(" ".join((*self.found, *self.open)))

    @property
    def certainty_parts(self) -> tuple[str, str]:
        """Certainty as a sentence in two parts: its word, and its meaning in parentheses; empty if it is unknown."""
        return (self.certainty.capitalize(), f"({self.certainty.meaning}).") if self.certainty else ("", "")

    @property
    def certainty_words(self) -> str:
        """Certainty as a sentence, such as `Sure (first of four degrees: ...).`; empty if it is unknown."""
        return " ".join(filter(None, self.certainty_parts))

    def in_folder(self, folder: str) -> Conclusion:
        """Return the conclusion with commands for a results folder; `folder` is quoted for a shell."""
        named = {
            name: tuple(text.replace(FOLDER, folder) for text in getattr(self, name)) for name in ("do", "measure")
        }
        return Conclusion(self.found, self.open, self.certainty, self.sure, **named)
