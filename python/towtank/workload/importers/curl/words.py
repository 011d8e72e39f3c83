"""Splits a file of command lines into words as a POSIX shell does, with their positions.

The splitter handles blanks, `'...'`, `"..."`, `$'...'` (used by browsers for special characters), backslashes,
continued lines, comments, and the command separators: line end, `;`, `&`, `&&`, `||`, `|`. It neither runs commands
nor expands variables.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

from towtank.errors import StudyError

_ANSI_C = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
_CODE = re.compile(r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})")
_REDIRECT = re.compile(r"[<>]+\|?(&[\d-])?")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")


@dataclass
class Word:
    """Word of a command line, as a sequence of pieces.

    A piece is a pair of its kind and its text: `text`, `variable` with the name of a shell variable, or `quoted` for a
    variable within double quotes.
    """

    line: int
    column: int
    pieces: list[tuple[str, str]] = field(default_factory=list)
    # True if the word is a redirection sign such as `<` or `>`. The shell applies it to the next word.
    redirects: bool = False
    # Texts that `end` joins into the next piece.
    _texts: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def text(self) -> str:
        """Text of the word, with its variables as written."""
        return "".join(text if kind == "text" else f"${{{text}}}" for kind, text in self.pieces)

    def add(self, kind: str, text: str) -> None:
        """Append a text or a variable to the word."""
        if kind == "text":
            self._texts.append(text)
        else:
            self.end()
            self.pieces.append((kind, text))

    def end(self) -> None:
        """Join the texts that were added after the last piece into a new piece."""
        if self._texts:
            self.pieces.append(("text", "".join(self._texts)))
            self._texts = []


class Splitter:
    """Splits a file into commands; each command is a list of words."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.at = 0
        self._line_ends = [found.start() for found in re.finditer("\n", text)]
        self.commands: list[list[Word]] = [[]]
        self.word: Word | None = None
        self.substitutions: list[tuple[int, int]] = []
        # Commands that follow `||`, and commands that follow `&&`.
        self.otherwise: list[list[Word]] = []
        self.chained: list[list[Word]] = []

    def split(self) -> list[list[Word]]:
        """Return all non-empty commands. Commands after `||` are stored in `otherwise` and not returned.

        Raises
        ------
        StudyError
            If a quote is not closed.
        """
        while self.at < len(self.text):
            self._step(self.text[self.at])
        self._end_word()
        otherwise = set(map(id, self.otherwise))
        return [command for command in self.commands if command and id(command) not in otherwise]

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset in the text, both from 1."""
        lines = bisect_left(self._line_ends, offset)
        return lines + 1, offset - (self._line_ends[lines - 1] if lines else -1)

    def _step(self, char: str) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if char in " \t\r":
            self._end_word()
            self.at += 1
        elif char in "\n;&|":
            self._end_word()
            # after `||`, the command may continue on the next line, so that a line end does not end the command
            if char != "\n" or self.commands[-1]:
                self.commands.append([])
            if char == following and char in "|&":
                (self.otherwise if char == "|" else self.chained).append(self.commands[-1])
            self.at += 2 if char == following != "\n" else 1
        elif char in "<>":
            self._redirect()
        elif char == "#" and self.word is None:
            end = self.text.find("\n", self.at)
            self.at = end if end >= 0 else len(self.text)
        elif char == "\\":
            self._backslash(following)
        elif char == "'":
            self._single()
        elif char == '"':
            self._double()
        elif char == "$" and following == "'":
            self._ansi_c()
        elif char in "$`":
            self._dollar()
        else:
            self._current().add("text", char)
            self.at += 1

    def _redirect(self) -> None:
        """Read a redirection such as `<`, `<<<`, `>`, `2>` or `2>&1`."""
        if self.word is not None:
            self.word.end()
            if self.word.text.isdecimal():
                self.word = None
        self._end_word()
        found = _REDIRECT.match(self.text, self.at)
        assert found is not None  # this method is called only at < or >, which always match
        self.at = found.end()
        if found.group(1) is None:
            self.commands[-1].append(Word(*self.place(found.start()), [("text", found.group())], redirects=True))

    def _current(self) -> Word:
        if self.word is None:
            self.word = Word(*self.place(self.at))
        return self.word

    def _end_word(self) -> None:
        if self.word is not None:
            self.word.end()
            self.commands[-1].append(self.word)
        self.word = None

    def _backslash(self, following: str) -> None:
        if following == "\r" and self.text[self.at + 2 : self.at + 3] == "\n":
            self.at += 3
        elif following == "\n":
            self.at += 2
        else:
            self._current().add("text", following)
            self.at += 2

    def _closing(self, quote: str, start: int) -> int:
        end = self.text.find(quote, start)
        if end < 0:
            line, column = self.place(self.at)
            raise StudyError.at(
                self.file, f"must close the quote {quote}, got the end of the file", line=line, column=column
            )
        return end

    def _single(self) -> None:
        end = self._closing("'", self.at + 1)
        self._current().add("text", self.text[self.at + 1 : end])
        self.at = end + 1

    def _double(self) -> None:
        word, start = self._current(), self.at
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            char, following = self.text[self.at], self.text[self.at + 1 : self.at + 2]
            if char == "\\" and following in {'"', "\\", "$", "`", "\n"}:
                word.add("text", "" if following == "\n" else following)
                self.at += 2
            elif char in "$`":
                self._dollar("quoted")
            else:
                word.add("text", char)
                self.at += 1
        if self.at >= len(self.text):
            self.at = start
            self._closing('"', len(self.text))
        self.at += 1

    def _ansi_c(self) -> None:
        word, start = self._current(), self.at
        self.at += 2
        while self.at < len(self.text) and self.text[self.at] != "'":
            if self.text[self.at] != "\\":
                word.add("text", self.text[self.at])
                self.at += 1
                continue
            code = _CODE.match(self.text, self.at + 1)
            if code is not None:
                digits = code.group(4)
                number = int(digits, 8) if digits else int(code.group(1) or code.group(2) or code.group(3), 16)
                word.add("text", chr(number) if number <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}")
                self.at = code.end()
                continue
            escaped = self.text[self.at + 1 : self.at + 2]
            word.add("text", _ANSI_C.get(escaped, escaped))
            self.at += 2
        if self.at >= len(self.text):
            self.at = start
            self._closing("'", len(self.text))
        self.at += 1

    def _dollar(self, kind: str = "variable") -> None:
        """Read a shell variable. A command substitution is kept as text, and its position is recorded."""
        word = self._current()
        match = _VARIABLE.match(self.text, self.at)
        if match is not None:
            word.add(kind, match.group(1) or match.group(2))
            self.at = match.end()
            return
        if self.text[self.at] == "`" or self.text[self.at + 1 : self.at + 2] == "(":
            self.substitutions.append(self.place(self.at))
        word.add("text", self.text[self.at])
        self.at += 1
