"""Kinds of judgements. A judgement defines how a fenced block of the documentation is tested; `accounts.py` lists one
for each block.

A judgement contains the beginning of the first line of its block (`begins`). So it still belongs to this block when
blocks are moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Judgement:
    """Base class of all judgements (how a fenced block of the documentation is tested).

    Attributes
    ----------
    begins : str
        Beginning of the first line of the block that is not blank.
    """

    begins: str


@dataclass(frozen=True)
class Shown(Judgement):
    """A block that is neither run nor compared, with the reason for this."""

    because: str


@dataclass(frozen=True)
class Same(Judgement):
    """A block that shows a file of the repository; the line above the block contains its path. `saved` is as in
    `Snippet`.
    """

    file: str
    keeps_first_line: bool = False
    saved: str = ""


@dataclass(frozen=True)
class Python(Judgement):
    """A Python session that continues over all Python blocks of a page; `...` stands for output that differs from run
    to run.
    """


@dataclass(frozen=True)
class Snippet(Judgement):
    """A YAML block that must be valid: a whole file, or a part of a file.

    Attributes
    ----------
    kind : str
        Kind of the file, as in the `schema` key.
    onto : str
        File of the repository whose keys the block replaces; the folder of the file is copied.
    without : tuple of str
        Keys of this file that are removed because they conflict with the block.
    files : mapping
        Files to which the block refers: name and text.
    fills : mapping
        Comments that stand for omitted text, each with the omitted text.
    before : tuple of mappings
        Workload steps that the test inserts before the steps of the block.
    beside : mapping
        Keys that the block needs and does not show.
    under : tuple of str
        Path of keys in the file at which the block is inserted.
    saved : str
        File name under which commands of the page find the block.
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
    """Settings for commands of a block that are not run as shown: those that begin with `begins`.

    Attributes
    ----------
    begins : str
        Beginning of the command.
    more : str
        Options that shorten the run of the command. They are appended: if an option occurs twice, the last one applies.
    sets : tuple of str
        Values of `--set` that shorten the run of the command.
    measures : bool
        True if status 4 is also correct, because other programs may disturb the measurement.
    statuses : tuple of int
        Correct exit statuses.
    serves : bool
        True if the command runs until the end of the page.
    planned : str
        Reason why the suite only loads and checks the study of the command and does not run it.
    nightly : bool
        True if `make nightly` runs a planned command unchanged.
    instead : str
        Command that `make -n` prints for the shown command; it is run instead of the shown command.
    shown : str
        Reason why the command is neither run nor planned.
    free : tuple of str
        Beginnings of output lines whose rest depends on the measurement; only the beginnings are compared.
    needs : str
        Third-party program; the command runs only if this program is installed.
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
    """Commands of a block, run in the order of the page; only the shape of the output below a command is compared.

    Attributes
    ----------
    lines : tuple of Line
        Settings of some commands.
    exact : bool
        True if every byte of the output is compared, not only its shape.
    """

    lines: tuple[Line, ...] = ()
    exact: bool = False


@dataclass(frozen=True)
class Output(Judgement):
    """A block with the output of a command, or with a part of it; its lines must occur in the same order.

    Attributes
    ----------
    of : str
        Beginning of a command on the page, or the whole command if the page does not contain it.
    line : Line
        Settings of a command that the page does not contain.
    """

    of: str
    line: Line = _PLAIN


@dataclass(frozen=True)
class Texts(Judgement):
    """Messages with invented values; the words of each line must occur in the code in the same order."""


@dataclass(frozen=True)
class Synopsis(Judgement):
    """Forms of commands with placeholders; the commands and their options must exist."""


@dataclass(frozen=True)
class Keys(Judgement):
    """A JSON block whose keys are compared with the keys of a real document; values may be omitted.

    Attributes
    ----------
    document : str
        Name of a document of `documents.py`.
    """

    document: str
