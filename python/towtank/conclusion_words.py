"""Defines the conclusion of a study as its readers use it: certainty, sentences by kind, and words of commands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towtank.digging import dig

NOT_REPEATED = "Each level ran once"
"""Beginning of the sentence about a study with one run of each level."""
SUSPECT_MARK = "†"
"""Sign after a value or claim that depends on a suspect run."""
FURTHER = "Also: "
"""Beginning of the statement about claims that no other statement contains."""
FOLDER = "FOLDER"
"""Word in a command of a conclusion that stands for the results folder."""
_LISTS = ("found", "open", "sure", "do", "measure")


class Certainty(StrEnum):
    """Certainty of an answer, from the most to the least."""

    SURE = "sure"
    FAIRLY_SURE = "fairly sure"
    NOT_SURE = "not sure"
    NO_ANSWER = "no answer"


@dataclass(frozen=True)
class Conclusion:
    """Conclusion of a study, in sentences with full stops. In commands, `FOLDER` stands for the results folder.

    Attributes
    ----------
    found : tuple of str
        At most three statements, the most important first, and a sentence about the other claims and objectives.
    open : tuple of str
        Parts of the question without an answer, each with its reason.
    certainty : Certainty or None
        Certainty of the answer; None in summaries of Towtank before this key.
    sure : tuple of str
        Reasons of the certainty: runs that count, claims that rest on suspect runs, repetitions, relaxed limits.
    do : tuple of str
        Next steps for the system.
    measure : tuple of str
        Next steps for the measurement.
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
        lists = {name: tuple(map(str, dig(found, name) or ())) for name in _LISTS}
        word = dig(found, "certainty")
        return cls(**lists, certainty=Certainty(word) if word in set(Certainty) else None)

    def document(self) -> dict[str, str | list[str] | None]:
        """Return the conclusion as JSON for the summary of a study."""
        lists = {name: list(getattr(self, name)) for name in _LISTS}
        return {**lists, "certainty": self.certainty}

    @property
    def headline(self) -> str:
        """Statements and parts without an answer, as one text."""
        return " ".join((*self.found, *self.open))

    @property
    def certainty_words(self) -> str:
        """Certainty as a sentence, such as `Fairly sure.`; empty if it is unknown."""
        return f"{self.certainty.capitalize()}." if self.certainty else ""

    def in_folder(self, folder: str) -> Conclusion:
        """Return the conclusion with commands for a results folder; `folder` is quoted for a shell."""
        named = {
            name: tuple(text.replace(FOLDER, folder) for text in getattr(self, name)) for name in ("do", "measure")
        }
        return Conclusion(self.found, self.open, self.certainty, self.sure, **named)
