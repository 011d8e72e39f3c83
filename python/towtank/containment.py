"""Limits the effect of faults: if a section of a command's output fails, the command still produces all other sections.

A command enters the context `contained`. Inside this context, `attempt` produces one part of the output: a summary, a
fit, a figure or a section. If a part raises an exception, its traceback is written to a file, and the caller gets a
`Failed` to show instead of the part. Outside a boundary, `attempt` does not catch the exception, so that library calls
never hide a fault.
"""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar

from towtank.errors import EngineError, ExitStatus, Stopped, TowtankError
from towtank.secrets import redacted_text

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Failed:
    """Part of a command's output that could not be produced, such as `capacity model of workers 4`, with the message of
    the error in one line.

    `fault_file` has the traceback; it is None for a known error, and if no file could be written. `internal` is True
    for an error in Towtank, and False for a known error, such as wrong input.
    """

    part: str
    what: str
    fault_file: str | None = None
    internal: bool = True
    error: Exception | None = field(default=None, compare=False, repr=False)

    @property
    def sentence(self) -> str:
        """Message about the failed part, in one line."""
        place = f" (the fault is described in {self.fault_file})" if self.fault_file else ""
        return f"{self.part}: this part could not be made: {self.what}{place}"

    def document(self) -> dict[str, object]:
        """Return the failed part as JSON object for the list `failed_parts`: its name, the error, and the file with the
        traceback.
        """
        return {"part": self.part, "what": self.what, "fault_file": self.fault_file}


@dataclass
class Parts:
    """Parts of a command's output that were attempted within one boundary, in the order of their start, and those that
    failed.
    """

    attempted: list[str] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)

    @property
    def faults(self) -> list[Failed]:
        """Parts that failed because of an error in Towtank."""
        return [each for each in self.failed if each.internal]

    def status(self, otherwise: ExitStatus) -> ExitStatus:
        """Return exit status 1 if a part failed because of an error in Towtank, otherwise the given exit status."""
        return ExitStatus.INTERNAL if self.faults else otherwise

    def documents(self) -> list[dict[str, object]]:
        """Return the failed parts as JSON objects for the list `failed_parts` of a document."""
        return [each.document() for each in self.failed]


_OPEN: ContextVar[Parts | None] = ContextVar("contained parts", default=None)


@contextmanager
def contained() -> Iterator[Parts]:
    """Open a boundary that contains faults, or join the boundary that is already open."""
    known = _OPEN.get()
    if known is not None:
        yield known
        return
    parts = Parts()
    token = _OPEN.set(parts)
    try:
        yield parts
    except Stopped:
        raise
    except TowtankError as error:
        # A part that failed earlier may be the cause of this error, so the messages of all failed parts are added to
        # it.
        error.failed_parts = tuple(each.sentence for each in parts.faults)
        raise
    finally:
        _OPEN.reset(token)


def failures_so_far() -> int:
    """Return the number of parts that failed within the open boundary; 0 if no boundary is open."""
    parts = _OPEN.get()
    return 0 if parts is None else len(parts.failed)


def attempt(part: str, make: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T | Failed:
    """Call a function that makes one part of a command's output from the other arguments. Inside a boundary opened by
    `contained`, record an error of the function instead of raising it, and return `Failed`.
    """
    parts = _OPEN.get()
    if parts is None:
        return make(*arguments, **keywords)
    parts.attempted.append(part)
    try:
        return _make(part, make, *arguments, **keywords)
    except Stopped:
        raise
    except TowtankError as error:
        failed = _failed(parts, part, error, internal=isinstance(error, EngineError))
    # All exceptions are caught, because a fault in one part must not affect the other parts.
    except Exception as error:
        failed = _failed(parts, part, error, internal=True)
    if all((each.part, each.what) != (failed.part, failed.what) for each in parts.failed):
        parts.failed.append(failed)
    return failed


def _make(part: str, make: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:  # noqa: ARG001
    """Call `make`; tests replace this function to raise an error in a chosen part."""
    return make(*arguments, **keywords)


def attempt_or(part: str, otherwise: T, make: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
    """Make one part of the output as `attempt` does; return `otherwise` if the part failed."""
    made = attempt(part, make, *arguments, **keywords)
    return otherwise if isinstance(made, Failed) else made


def attempt_unknown(part: str, make: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T | Failed:
    """Make one part of the output as `attempt` does, but contain only internal faults.

    An error that Towtank itself reports, such as a wrong input, is raised and ends the command.
    """
    made = attempt(part, make, *arguments, **keywords)
    if isinstance(made, Failed) and not made.internal and made.error is not None:
        raise made.error
    return made


def _failed(parts: Parts, part: str, error: Exception, *, internal: bool) -> Failed:
    if not internal:
        return Failed(part, in_a_line(error), None, internal=False, error=error)
    known = next((each.fault_file for each in parts.failed if each.fault_file), None)
    kept = keep_fault(error, part, None if known is None else Path(known))
    what = f"{type(error).__name__}: {in_a_line(error)}"
    return Failed(part, what, None if kept is None else str(kept), error=error)


def in_a_line(error: Exception) -> str:
    """Render the message of an error in one line, without its hint and without secrets."""
    lines = [line.strip() for line in redacted_text(str(error)).split("\n\nhint:")[0].splitlines()]
    return " ".join(line for line in lines if line)


def fault_text(error: BaseException) -> str:
    """Render the traceback of a fault without secrets."""
    return redacted_text("".join(traceback.format_exception(error)))


def keep_fault(error: BaseException, part: str = "", path: Path | None = None) -> Path | None:
    """Write the traceback of a fault to a new file, or append it to `path`. Return the path; None if no file could be
    written.
    """
    head = f"in {part}:\n" if part else ""
    text = f"{head}{fault_text(error)}".encode("utf-8", "backslashreplace")
    try:
        if path is not None:
            with path.open("ab") as stream:
                stream.write(text)
            return path
        with tempfile.NamedTemporaryFile("wb", prefix="towtank-fault-", suffix=".txt", delete=False) as made:
            made.write(text)
        return Path(made.name)
    except OSError:
        return None
