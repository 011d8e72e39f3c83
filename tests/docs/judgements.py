"""Kinds of judgements of the fenced blocks of the documentation; `accounts.py` lists a judgement for each block.

`begins` is the beginning of the first line of the block, so that a judgement keeps its block when blocks are moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Judgement:
    """Base of all judgements.

    Attributes
    ----------
    begins : str
        Beginning of the first line that is not blank.
    """

    begins: str


@dataclass(frozen=True)
class Shown(Judgement):
    """A block that is neither run nor compared, with the reason."""

    because: str


@dataclass(frozen=True)
class Same(Judgement):
    """A block that shows a file of the repository, named in the line above; `saved` as in `Snippet`."""

    file: str
    keeps_first_line: bool = False
    saved: str = ""


@dataclass(frozen=True)
class Python(Judgement):
    """A Python session that continues over the blocks of the page; `...` stands for parts that differ between runs."""


@dataclass(frozen=True)
class Snippet(Judgement):
    """A valid YAML block: a whole file, or a part of one.

    Attributes
    ----------
    kind : str
        Kind of the file, as in its `schema` key.
    onto : str
        File of the repository whose keys the block replaces; its folder is copied.
    without : tuple of str
        Keys of that file that do not go with the block.
    files : mapping
        Files that the block names: name and text.
    fills : mapping
        Comments that stand for something left out, and what they stand for.
    before : tuple of mappings
        Steps before those of the block.
    beside : mapping
        Keys that the block needs and does not show.
    under : tuple of str
        Place of the block in the file.
    saved : str
        Name under which commands of the page find the block.
    """

    kind: str
    onto: str = ""
    without: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    fills: Mapping[str, str] = field(default_factory=dict)
    before: tuple[Mapping[str, Any], ...] = ()
    beside: Mapping[str, Any] = field(default_factory=dict)
    under: tuple[str, ...] = ()
    saved: str = ""


@dataclass(frozen=True)
class Line:
    """Settings of the commands of a block with this beginning, if they do not run as shown.

    Attributes
    ----------
    begins : str
        Beginning of the command.
    more : str
        Options that shorten it, put after its own: the last of two counts.
    sets : tuple of str
        Values of `--set` that shorten it.
    measures : bool
        Whether status 4 is right, too, if the machine was disturbed.
    statuses : tuple of int
        Statuses that are right.
    serves : bool
        Whether it runs on until the page ends.
    planned : str
        Reason why the suite loads and checks the study of the command, and runs nothing.
    nightly : bool
        Whether a planned command is run by `make nightly`, as it stands.
    instead : str
        The command that `make` runs for this one, as `make -n` says: it is run in its place.
    shown : str
        Reason why it is neither run nor planned.
    free : tuple of str
        Beginnings of lines of its output that depend on what was measured: no more of them is compared.
    needs : str
        A program of others; the command runs only if it is installed.
    """

    begins: str
    more: str = ""
    sets: tuple[str, ...] = ()
    measures: bool = False
    statuses: tuple[int, ...] = (0,)
    serves: bool = False
    planned: str = ""
    nightly: bool = False
    instead: str = ""
    shown: str = ""
    free: tuple[str, ...] = ()
    needs: str = ""


_PLAIN = Line("")


@dataclass(frozen=True)
class Run(Judgement):
    """Commands, run in the order of the page; the output below a command is compared by its shape.

    Attributes
    ----------
    lines : tuple of Line
        Settings of some of them.
    exact : bool
        Whether output is the same to the byte, not only in its shape.
    """

    lines: tuple[Line, ...] = ()
    exact: bool = False


@dataclass(frozen=True)
class Output(Judgement):
    """Output of a command, or a part of it: its lines occur in the same order.

    Attributes
    ----------
    of : str
        Beginning of a command of the page; a whole command if the page has it nowhere.
    line : Line
        Settings of that command if the page does not contain it.
    """

    of: str
    line: Line = _PLAIN


@dataclass(frozen=True)
class Texts(Judgement):
    """Messages with invented values: the words of each line occur in the code, in the same order."""


@dataclass(frozen=True)
class Synopsis(Judgement):
    """Forms of commands with placeholders: the commands and their options exist."""


@dataclass(frozen=True)
class Keys(Judgement):
    """JSON, possibly with values left out, whose keys are compared with those of a real document.

    Attributes
    ----------
    document : str
        Name of a document of `documents.py`.
    """

    document: str
