"""Shows the progress of runs on standard error, as a bar on a terminal, otherwise as a line every ten seconds."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from towtank.engine import Frame

# Interval between progress lines if standard error is not a terminal. [s]
_LINE_EVERY_S = 10.0


class Display(Protocol):
    """Receiver of messages about the progress of runs."""

    def note(self, text: str) -> None:
        """Show a message about the current step of the command."""

    def run_starts(self, title: str, duration_s: float, at_least_s: float | None = None) -> None:
        """Show that the load of a run begins.

        The load lasts `duration_s`, or, if `at_least_s` is given, between `at_least_s` and `duration_s`. [s]
        """

    def frame(self, frame: Frame) -> None:
        """Show a report of the engine about one second of the load."""

    def run_ends(self, text: str) -> None:
        """Show how a run ended."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def describe_length(duration_s: float, at_least_s: float | None) -> str:
    """Describe the planned length of a load; for a search for the highest load, describe the range of lengths."""
    if at_least_s is None:
        return f"{duration_s:.0f} s"
    return f"about {at_least_s:.0f} to {duration_s:.0f} s, depending on the limit"


def describe_frame(frame: Frame) -> str:
    """Describe the results of one second of the load in one line of text."""
    parts = [f"{frame.get('stage', '')}: {frame.get('users', 0)} users"]
    parts.append(f"{frame.get('throughput_per_s', 0.0):.1f}/s")
    if frame.get("p95_ms") is not None:
        parts.append(f"p95 {frame['p95_ms']:.0f} ms")
    if frame.get("errors"):
        parts.append(f"{frame['errors']} errors")
    return ", ".join(parts)


class Silent:
    """Display that shows nothing."""

    def note(self, text: str) -> None:
        """Show no message."""

    def run_starts(self, title: str, duration_s: float, at_least_s: float | None = None) -> None:
        """Show no message about the start of a load."""

    def frame(self, frame: Frame) -> None:
        """Do not show the results of a second of the load."""

    def run_ends(self, text: str) -> None:
        """Show no message about the end of a run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Lines(Silent):
    """Display for logs and pipes: it prints a line for each message, and a line for every ten seconds of a run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said_s = 0.0

    def note(self, text: str) -> None:
        """Print the message."""
        self._console.print(text, markup=False, soft_wrap=True)

    def run_starts(self, title: str, duration_s: float, at_least_s: float | None = None) -> None:
        """Print the title and planned length of the run."""
        self._said_s = 0.0
        self._console.print(f"{title}: {describe_length(duration_s, at_least_s)}", markup=False, soft_wrap=True)

    def frame(self, frame: Frame) -> None:
        """Print the report of the engine if ten seconds have passed since the last progress line."""
        now = float(frame.get("t_s", 0.0))
        if frame.get("k") == "live" and now - self._said_s >= _LINE_EVERY_S:
            self._said_s = now
            self._console.print(f"  {now:4.0f} s  {describe_frame(frame)}", markup=False, soft_wrap=True)

    def run_ends(self, text: str) -> None:
        """Print how the run ended."""
        self._console.print(f"  {text}", markup=False, soft_wrap=True)


class Bar(Silent):
    """Display with a progress bar.

    The bar is drawn only once per second, because drawing takes CPU time from the generator.
    """

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[state]}", markup=False),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def note(self, text: str) -> None:
        """Print the message above the progress bar."""
        self._progress.console.print(text, markup=False, soft_wrap=True)

    def run_starts(self, title: str, duration_s: float, at_least_s: float | None = None) -> None:
        """Begin a progress bar. If the length of the load depends on its results, print the range of lengths above the
        bar.
        """
        if at_least_s is not None:
            self.note(f"{title}: {describe_length(duration_s, at_least_s)}")
        self._task = self._progress.add_task(title, total=duration_s, state="")
        self._progress.refresh()

    def frame(self, frame: Frame) -> None:
        """Advance the progress bar, and show the results of the last second beside it."""
        if self._task is not None and frame.get("k") == "live":
            self._progress.update(self._task, completed=frame.get("t_s", 0.0), state=describe_frame(frame))
            self._progress.refresh()

    def run_ends(self, text: str) -> None:
        """Print how the run ended. If the load has begun, first remove the progress bar."""
        title = ""
        if self._task is not None:
            title = f"{self._progress.tasks[0].description}: "
            self._progress.remove_task(self._task)
            self._task = None
        self._progress.console.print(f"{title}{text}", markup=False)
        self._progress.refresh()


def display_for(console: Console, *, quiet: bool) -> Display:
    """Return a display without output if `quiet`, with a bar if standard error is a terminal, otherwise with lines."""
    if quiet:
        return Silent()
    return Bar(console) if console.is_terminal else Lines(console)
