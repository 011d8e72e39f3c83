"""Sends the results of a run to receivers during the run, labelled with the names of study, run and factor levels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from towtank.conduct.display import Display
from towtank.results import RunFolder

if TYPE_CHECKING:
    from towtank.sending import Receiver


@dataclass(frozen=True)
class LiveSending:
    """Receivers to which a run sends its results, and the names of study, run and factor levels by which they identify
    the run. Nothing is sent without receivers.
    """

    receivers: tuple[Receiver, ...] = ()
    study: str = ""
    run: str = ""
    factors: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def open(self, run: RunFolder, display: Display, notes: list[str]) -> Iterator[None]:
        """Send results to all receivers while the block runs. Messages for the user are appended to `notes`."""
        if not self.receivers:
            yield
            return
        from towtank.sending import SentRun, send_live  # noqa: PLC0415 - brings the analysis, which takes a second

        source = SentRun(self.study, self.run, self.factors)
        with send_live(run, source, self.receivers, display.note) as report:
            yield
        notes += report.notes
