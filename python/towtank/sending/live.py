"""Sends the recordings of one run to its receivers while the run lasts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from towtank.analysis import MaterialReader
from towtank.documents import document_of
from towtank.posting import Poster
from towtank.results import DecodedHistogram, HistogramReader, RunFolder
from towtank.secrets import basic_authorization
from towtank.sending import otlp, prometheus
from towtank.sending.gathering import Gatherer
from towtank.sending.receiver import Receiver
from towtank.sending.sender import Sender, Sent
from towtank.sending.update import Encoder, SentRun

FORMS: dict[str, tuple[Callable[[SentRun, HistogramReader], Encoder], tuple[tuple[str, str], ...]]] = {
    "prometheus": (prometheus.PrometheusEncoder, prometheus.HEADERS),
    "otlp": (otlp.OtlpEncoder, otlp.HEADERS),
}
"""Encoder and HTTP headers of each format."""
# Interval between reads of the recordings. [s]
_LOOK_EVERY_S = 0.5
# Time limit for sending the remaining data points at the end of a run. [s]
_FINISH_WITHIN_S = 5.0
# Time limit of each connection attempt, send and receive. [s]
_TIMEOUT_S = 10.0


class _Remembering(MaterialReader):
    """Cache of decoded histograms, which several encoders use; it is cleared after each update."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, ...], DecodedHistogram | None] = {}

    def merged(self, encoded: Sequence[str]) -> Any:
        key = tuple(encoded)
        if key not in self._known:
            self._known[key] = super().merged(encoded)
        return self._known[key]

    def forget(self) -> None:
        self._known.clear()


@dataclass
class _Outlet:
    receiver: Receiver
    encoder: Encoder
    sender: Sender


@dataclass
class Report:
    """Result of sending, complete when the run has ended: counts of sent and lost data points of each receiver, notes
    for the user, CPU time of the threads that encode and send, and the elapsed time while they ran. [s]
    """

    sent: list[dict[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cpu_s: float = 0.0
    seconds: float = 0.0


@contextmanager
def send_live(
    run: RunFolder, source: SentRun, receivers: Sequence[Receiver], note: Callable[[str], None]
) -> Iterator[Report]:
    """Send the recordings of engine and probe to all receivers while the context is open; nothing without receivers.
    `note` is called with a message when sending to a receiver fails for the first time.
    """
    report = Report()
    if not receivers:
        yield report
        return
    live = _Live(run, source, receivers, note)
    live.start()
    try:
        yield report
    finally:
        live.finish(report)
        run.event("sent", cpu_s=report.cpu_s, seconds=report.seconds, receivers=report.sent)


class _Live:
    """Thread that reads the recordings of a run, and passes encoded requests to the senders."""

    def __init__(
        self, run: RunFolder, source: SentRun, receivers: Sequence[Receiver], note: Callable[[str], None]
    ) -> None:
        self._gatherer = Gatherer(run)
        self._histograms = _Remembering()
        self._outlets = [self._outlet(receiver, source, note) for receiver in receivers]
        self._stop = threading.Event()
        self._broken: str | None = None
        self._cpu_s, self._began_s = 0.0, time.monotonic()
        self._thread = threading.Thread(target=self._follow, name="towtank-following", daemon=True)

    def _outlet(self, receiver: Receiver, source: SentRun, note: Callable[[str], None]) -> _Outlet:
        make, headers = FORMS[receiver.form]
        shown = receiver.shown
        own = {**basic_authorization(receiver.url), **dict(headers), **dict(receiver.headers)}
        poster = Poster(receiver.url, receiver.addresses, own, _TIMEOUT_S)
        sender = Sender(poster, lambda text: note(f"sending to {shown}: {text}; the run is not affected"))
        return _Outlet(receiver, make(source, self._histograms), sender)

    def start(self) -> None:
        for outlet in self._outlets:
            outlet.sender.start()
        self._thread.start()

    def finish(self, report: Report) -> None:
        """Send the remaining data points within a few seconds, and add the counts of sent and lost points to the
        report.
        """
        self._stop.set()
        self._thread.join(_FINISH_WITHIN_S)
        until = time.monotonic() + _FINISH_WITHIN_S
        for outlet in self._outlets:
            outlet.sender.finish(max(0.1, until - time.monotonic()))
            receiver, sent = outlet.receiver, outlet.sender.sent
            report.sent.append({"form": receiver.form, "to": receiver.shown, **document_of(sent)})
            report.notes += _notes(receiver, sent)
            report.cpu_s += outlet.sender.cpu_s
        if self._broken is not None:
            report.notes.append(f"sending ended early: {self._broken}; the run is not affected")
        report.cpu_s = round(report.cpu_s + self._cpu_s, 6)
        report.seconds = round(time.monotonic() - self._began_s, 3)

    def _follow(self) -> None:
        try:
            while not self._stop.wait(_LOOK_EVERY_S):
                self._look()
            self._look(last=True)
            for outlet in self._outlets:
                for body in outlet.encoder.finish():
                    outlet.sender.put(body)
        # All exceptions are caught here, because an error in sending must not affect the run.
        except Exception as error:
            self._broken = f"{type(error).__name__}: {error}"
        self._cpu_s = time.thread_time()

    def _look(self, *, last: bool = False) -> None:
        update = self._gatherer.update(last=last)
        if update is not None:
            for outlet in self._outlets:
                for body in outlet.encoder.encode(update):
                    outlet.sender.put(body)
            self._histograms.forget()
        self._cpu_s = time.thread_time()


def _notes(receiver: Receiver, sent: Sent) -> list[str]:
    if not sent.lost_points:
        return []
    whole = sent.lost_points + sent.points
    last = f"; the last error was: {sent.last_error}" if sent.last_error else ""
    return [f"{receiver.shown} did not accept {sent.lost_points:,} of {whole:,} {receiver.form} points{last}"]
