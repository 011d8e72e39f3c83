"""Reports the progress of a run to a callback, and displays it on a terminal or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from towtank.api.quantity import MILLISECONDS, PER_SECOND, Quantity

if TYPE_CHECKING:
    from towtank.conduct import Display
    from towtank.engine import Frame


@dataclass(frozen=True)
class Progress:
    """Progress step of a run, passed to the callback of `towtank.run` and `towtank.drive`.

    Attributes
    ----------
    kind : str
        `note`, `run_started`, `second` (once per second under load) or `run_ended`.
    text : str
        Description of the step.
    run : str
        Title of the current run; empty between runs.
    elapsed_s, planned_s : float
        Elapsed and planned time under load. [s]
    stage : str
        Name of the current stage of the load.
    users : int or None
        Number of active users. [1]
    throughput_per_s : Quantity or None
        Throughput in the last second. [1/s]
    p95_ms : Quantity or None
        95th percentile of the response time in the last second. [ms]
    errors : int
        Number of requests that failed in the last second. [1]
    """

    kind: str
    text: str
    run: str = ""
    elapsed_s: float = 0.0
    planned_s: float = 0.0
    stage: str = ""
    users: int | None = None
    throughput_per_s: Quantity | None = None
    p95_ms: Quantity | None = None
    errors: int = 0

    @property
    def share(self) -> float:
        """Elapsed time under load divided by planned time under load, in [0, 1]. [ratio]"""
        return min(1.0, self.elapsed_s / self.planned_s) if self.planned_s > 0 else 0.0

    def __str__(self) -> str:
        return f"{self.elapsed_s:.0f} of {self.planned_s:.0f} s, {self.text}" if self.kind == "second" else self.text


Callback = Callable[[Progress], object]


class Reporting:
    """Display that passes each progress step to a callback."""

    def __init__(self, report: Callback) -> None:
        self._report = report
        self._run, self._planned_s = "", 0.0

    def note(self, text: str) -> None:
        """Report a note about the current activity."""
        self._report(Progress("note", text, self._run))

    def run_starts(self, title: str, duration_s: float, at_least_s: float | None = None) -> None:
        from towtank.conduct import describe_length  # noqa: PLC0415 - imports rich

        self._run, self._planned_s = title, duration_s
        if at_least_s is not None:
            self.note(f"{title}: {describe_length(duration_s, at_least_s)}")
        self._report(Progress("run_started", title, title, 0.0, duration_s))

    def frame(self, frame: Frame) -> None:
        """Report the results of the last second under load."""
        from towtank.conduct import describe_frame  # noqa: PLC0415 - imports rich

        if frame.get("k") != "live":
            return
        rate, p95 = frame.get("throughput_per_s"), frame.get("p95_ms")
        self._report(
            Progress(
                "second",
                describe_frame(frame),
                self._run,
                float(frame.get("t_s", 0.0)),
                self._planned_s,
                str(frame.get("stage", "")),
                frame.get("users"),
                None if rate is None else Quantity(float(rate), PER_SECOND),
                None if p95 is None else Quantity(float(p95), MILLISECONDS),
                int(frame.get("errors") or 0),
            )
        )

    def run_ends(self, text: str) -> None:
        self._report(Progress("run_ended", text, self._run, self._planned_s, self._planned_s))
        self._run, self._planned_s = "", 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Shown:
    """Callback that displays progress: in a notebook as a line that is replaced by the next one, on a terminal as a
    bar.
    """

    def __init__(self) -> None:
        self._line = _notebook_line()
        self._display = None if self._line is not None else _terminal()
        self._open = False

    def __call__(self, step: Progress) -> None:
        if self._line is not None:
            self._line(str(step))
        elif self._display is not None:
            self._draw(self._display, step)

    def _draw(self, display: Display, step: Progress) -> None:
        if not self._open:
            display.__enter__()
            self._open = True
        if step.kind == "note":
            display.note(step.text)
        elif step.kind == "run_started":
            display.run_starts(step.run, step.planned_s)
        elif step.kind == "run_ended":
            display.run_ends(step.text)
        else:
            display.frame(
                {
                    "k": "live",
                    "t_s": step.elapsed_s,
                    "stage": step.stage,
                    "users": step.users,
                    "throughput_per_s": step.throughput_per_s or 0.0,
                    "p95_ms": step.p95_ms,
                    "errors": step.errors,
                }
            )

    def close(self, *, done: bool = True) -> None:
        """End the display. In a notebook, the line becomes `done` or `stopped`."""
        if self._line is not None:
            self._line("done" if done else "stopped")
        if self._open and self._display is not None:
            self._display.__exit__(None, None, None)
            self._open = False


def _notebook_line() -> Callable[[str], object] | None:
    """Return a function that replaces the text in the output of a notebook cell; None outside of a notebook."""
    if "ipykernel" not in sys.modules:
        return None
    display: Any = sys.modules["IPython"].display
    handle = display.display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: handle.update({"text/plain": text}, raw=True)


def _terminal() -> Display:
    from rich.console import Console  # noqa: PLC0415 - heavy, and only if progress is shown

    from towtank.conduct import display_for  # noqa: PLC0415

    return display_for(Console(stderr=True, highlight=False), quiet=False)
