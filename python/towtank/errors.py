"""Defines all errors that Towtank raises intentionally, and their exit statuses.

The base class is `TowtankError`; its subclasses are:

- `StudyError` (exit status 2): a study, workload, system or model file, or a command line, is wrong.
- `TargetError` (6): the system under test could not be started or reached.
- `EngineError` (1): the engine or the probe ended abnormally.
- `MeasurementError` (4): the measured data do not suffice for the requested result.
- `ModelError` (2): a model, such as a queueing network, has no result for its input.
- `ReportError`: a file could not be written, because its path accepts no file (2) or the disk is full (1).
- `Stopped` (5): the user stopped the work.

A request that fails during a run raises no exception. Failed requests are counted by kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from towtank.files import UNUSABLE
from towtank.secrets import redacted_text
from towtank.spelling import Misspelt, Typo

# Maximum length of a word and of a message. A message may repeat a wrong value of any length, so longer words and
# messages are shortened. [characters]
_RUN_AT_MOST = 400
_MESSAGE_AT_MOST = 4000
_LONG_RUN = re.compile(rf"(\S{{{_RUN_AT_MOST}}})\S+")
COMMAND_LINE = "<command line>"
"""Name of the command line as a file."""


def without_runs(text: str) -> str:
    """Shorten very long words in a message.

    Examples
    --------
    >>> without_runs("must be a host, got " + 1000 * "a")[-21:]
    'aaa... (1000 letters)'
    """
    return _LONG_RUN.sub(lambda run: f"{run.group(1)}... ({len(run.group())} letters)", text)


def shortened(text: str) -> str:
    text = without_runs(text)
    return text if len(text) <= _MESSAGE_AT_MOST else f"{text[:_MESSAGE_AT_MOST]}... ({len(text)} letters)"


class ExitStatus(IntEnum):
    """Exit statuses of `towtank`, which are documented and never change."""

    DONE = 0
    INTERNAL = 1
    INPUT = 2
    OBJECTIVE_MISSED = 3
    INVALID_MEASUREMENT = 4
    STOPPED = 5
    TARGET = 6
    REGRESSION = 7


@dataclass(frozen=True, order=True)
class Fault:
    """Fault in a file of the user or in a command line, with its position.

    Attributes
    ----------
    file : str
        Name of the file as the user gave it, or `<command line>`.
    line, column : int
        Position of the faulty value, counted from 1; 0 if the position is unknown, as for a file that cannot be read.
    where : str
        Path of keys to the faulty value, such as `groups.editors.mix`; empty if the fault concerns the whole file.
    message : str
        Message with the expected and the actual value, without secrets.
    typo : Typo or None
        Misspelt word at this position and its correction; None if the fault is not a typing error.
    """

    file: str
    line: int
    column: int
    where: str = ""
    message: str = field(default="")
    typo: Typo | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return f"{place}: {self.where}: {self.message}" if self.where else f"{place}: {self.message}"

    def __post_init__(self) -> None:
        if isinstance(self.message, Misspelt):
            object.__setattr__(self, "typo", self.message.typo)
        object.__setattr__(self, "message", shortened(redacted_text(self.message)))
        object.__setattr__(self, "where", shortened(self.where))

    @classmethod
    def of_option(cls, option: str, message: str) -> Fault:
        """Make the fault of an option or argument of the command line."""
        return cls(COMMAND_LINE, 0, 0, option, message)


class TowtankError(Exception):
    """Base class of all errors that Towtank raises intentionally.

    Parameters
    ----------
    message : str
        Description of the error for the user, without a final full stop; secrets are removed.
    hint : str, optional
        Advice to the user.

    Attributes
    ----------
    failed_parts : tuple of str
        Messages about parts of the output that failed before this error; set by `towtank.containment`.
    """

    exit_status = ExitStatus.INTERNAL
    failed_parts: tuple[str, ...] = ()

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(without_runs(redacted_text(message)))
        self.hint = hint if hint is None else redacted_text(hint)

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n\nhint: {self.hint}" if self.hint else message


class StudyError(TowtankError):
    """Raised if a file or command line is wrong; contains all faults, sorted by position."""

    exit_status = ExitStatus.INPUT

    def __init__(self, faults: list[Fault], *, hint: str | None = None) -> None:
        self.faults = sorted(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults), hint=hint)

    @classmethod
    def at(cls, file: Path | str, message: str, *, line: int = 0, column: int = 0, where: str = "") -> StudyError:
        """Make the error for a single fault."""
        return cls([Fault(str(file), line, column, where, message)])

    @classmethod
    def of_option(cls, option: str, message: str) -> StudyError:
        """Make the error for a single fault in an option or argument of the command line."""
        return cls([Fault.of_option(option, message)])


class TargetError(TowtankError):
    """Raised if the system under test could not be started or reached."""

    exit_status = ExitStatus.TARGET


class EngineError(TowtankError):
    """Raised if the engine or the probe ended abnormally."""


class MeasurementError(TowtankError):
    """Raised if the measured data do not suffice for the requested result; the data stay on disk."""

    exit_status = ExitStatus.INVALID_MEASUREMENT


class ModelError(TowtankError):
    """Raised if a model, such as a queueing network, has no result for its input."""

    exit_status = ExitStatus.INPUT


class ReportError(TowtankError):
    """Raised if a report or another file could not be written.

    If no file can be created at the path, the exit status is 2 (wrong input), otherwise 1.
    """

    @classmethod
    def unwritten(cls, what: str, path: Path, error: OSError) -> ReportError:
        """Make the error for a file that the operating system refused to write, with the message `WHAT to PATH:
        REASON`.
        """
        found = cls(f"{what} to {path}: {error.strerror or error}")
        if error.errno in UNUSABLE:
            found.exit_status = ExitStatus.INPUT
        return found


class Stopped(TowtankError):  # noqa: N818 - the user asked for it, so it is not an error
    """Raised if the user stopped the work; existing results are not deleted."""

    exit_status = ExitStatus.STOPPED
