"""Keeps the values of shell variables that are set within a file of command lines."""

from __future__ import annotations

import re

from towtank.workload.importers.curl.words import Word

# Characters that a shell expands into several words or file names, unless they are quoted.
_SPLIT = re.compile(r"[\s*?\[]")


class Variables:
    """Values of the shell variables that earlier commands of the file have set."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def set(self, words: list[Word]) -> list[Word]:
        """Record the variables that a command sets.

        Return the assignments whose values are unknown, because only a shell could determine them.
        """
        unknown = []
        for word in map(self.known, words):
            name, equals, value = word.text.partition("=")
            if all(kind == "text" for kind, _ in word.pieces) and "$(" not in value and "`" not in value:
                self._values.update({name: value} if equals else {})
            else:
                self._values.pop(name, None)
                unknown.append(word)
        return unknown

    def known(self, word: Word) -> Word:
        """Return a word in which known variables are replaced by their values."""
        return Word(word.line, word.column, [self._piece(*piece) for piece in word.pieces], word.redirects)

    def forget(self, words: list[Word]) -> None:
        """Discard the values of variables that a command sets, because the new values are unknown."""
        for word in words:
            self._values.pop(word.text.partition("=")[0], None)

    def _piece(self, kind: str, piece: str) -> tuple[str, str]:
        value = self._values.get(piece) if kind != "text" else None
        if value is None or (kind != "quoted" and _SPLIT.search(value)):
            return kind, piece
        return "text", value
