"""Scrapes all services in one thread, at the times of the probe's samples on CLOCK_MONOTONIC."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from towtank.observe.scraper import Concluding, ScrapeError, Scraper
from towtank.results import lines, stream_forms

NANOSECONDS = 1_000_000_000
SCHEMA = "towtank/service-metrics/1"
STOP_WITHIN_S = 10.0
"""Time within which the scraping thread must end. Scraping one service takes two seconds at most. [s]"""


class LineStream:
    """File to which checksummed lines are appended; it is created if missing, and existing content is kept."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, document: Mapping[str, object]) -> None:
        """Append a document as one line. The line survives if this process is killed after this call."""
        line = memoryview(lines.encode(document))
        while line:
            line = line[os.write(self._descriptor, line) :]

    def close(self) -> None:
        """Flush the file to disk, and close it."""
        try:
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)


def next_instant(now_ns: int, interval_ns: int) -> int:
    """Return the first multiple of the interval after `now_ns` on CLOCK_MONOTONIC. [ns]

    The probe uses the same rule, so that scrapes and samples have the same times.

    Examples
    --------
    >>> next_instant(2_500, 1_000), next_instant(3_000, 1_000)
    (3000, 4000)
    """
    return (now_ns // interval_ns + 1) * interval_ns


class _Target:
    """Service to be scraped: its scraper, the stream that receives the metrics, and counts of scrapes and failures."""

    def __init__(self, scraper: Scraper, folder: Path) -> None:
        self.scraper = scraper
        self.scrapes = 0
        self.failed = 0
        self.last_failure = ""
        self.broken = ""
        self.concluded_not = ""
        self.too_large: set[str] = set()
        self._stream = LineStream(folder / f"{scraper.service}.ndjson")
        header = {"k": "header", "schema": SCHEMA, "service": scraper.service, "kind": scraper.kind}
        self._stream.write({**header, "source": scraper.source})

    def scrape(self) -> None:
        """Scrape the service once, and record its metrics or the reason why they are missing."""
        if self.broken:
            return
        now_ns, wall_ns = time.monotonic_ns(), time.time_ns()
        found: Mapping[str, object]
        try:
            values = self.scraper.scrape()
            kept = self._keep(values)
            left_out = {"left_out": len(values) - len(kept)} if len(kept) < len(values) else {}
            kind, found = "metrics", {"values": kept, **left_out}
        except ScrapeError as error:
            kind, found = "failure", self._failure(str(error))
        # All errors are caught here, because an error of one scraper must not end the other scrapers.
        except Exception as error:
            kind, found = "failure", self._failure(f"{type(error).__name__}: {error}")
        self.scrapes += 1
        took_s = round((time.monotonic_ns() - now_ns) / NANOSECONDS, 6)
        costs = {"took_s": took_s, "cpu_s_total": round(time.thread_time(), 6)}
        self._write({"k": kind, "t_ns": now_ns, "wall_ns": wall_ns, **found, **costs})

    def _write(self, line: Mapping[str, object]) -> None:
        try:
            self._stream.write(line)
        except OSError as error:
            self.broken = f"cannot be recorded: {error}"

    def _keep(self, values: dict[str, float]) -> dict[str, float]:
        """Drop values above the largest value that a stream may contain, and remember the names of these metrics."""
        large = {name for name, value in values.items() if not abs(value) <= stream_forms.LARGEST_METRIC}
        self.too_large |= large
        return {name: value for name, value in values.items() if name not in large} if large else values

    def conclude(self) -> None:
        """Record the results about the whole run if the scraper provides any."""
        if self.broken or not isinstance(self.scraper, Concluding):
            return
        now_ns, wall_ns = time.monotonic_ns(), time.time_ns()
        try:
            found = self.scraper.conclude()
        except Exception as error:  # All errors are caught here, because the metrics recorded so far must be kept.
            self.concluded_not = f"{type(error).__name__}: {error}"
            return
        self._write({"k": "conclusion", "t_ns": now_ns, "wall_ns": wall_ns, "conclusion": found})

    def _failure(self, message: str) -> dict[str, object]:
        self.failed += 1
        self.last_failure = message
        return {"message": message}

    def report(self) -> str | None:
        """Describe failed scrapes and omitted values in one sentence; None if there are none."""
        if self.broken:
            return f"{self.scraper.service}: {self.broken}"
        parts = []
        if self.failed:
            parts.append(f"{self.failed} of {self.scrapes} scrapes failed, last: {self.last_failure}")
        elif self.concluded_not:
            parts.append(f"results about the whole run are missing: {self.concluded_not}")
        if self.too_large:
            what = f"the values of {len(self.too_large)} metrics, such as {min(self.too_large)}"
            parts.append(f"{what}, were left out because they exceed {stream_forms.LARGEST_METRIC:.0e}")
        return f"{self.scraper.service}: {'; '.join(parts)}" if parts else None

    def close(self) -> None:
        try:
            self.scraper.close()
        finally:
            self._stream.close()


class ScrapingThread:
    """Thread that scrapes all services one after the other, once per interval [s].

    If scraping all services takes longer than the interval, the thread skips the scrape times that have passed.
    """

    def __init__(self, scrapers: Sequence[Scraper], folder: Path, interval_s: float) -> None:
        self._targets = [_Target(scraper, folder) for scraper in scrapers]
        self._interval_ns = round(interval_s * NANOSECONDS)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="towtank-scraping", daemon=True)

    def start(self) -> None:
        """Start the scraping thread; do nothing if there are no scrapers."""
        if self._targets:
            self._thread.start()

    def stop(self) -> None:
        """Scrape all services once more, close their streams, and end the thread; wait at most `STOP_WITHIN_S`."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(STOP_WITHIN_S)

    def failures(self) -> list[str]:
        """Return the failures of the scrapers, one sentence for each service."""
        return [report for target in self._targets if (report := target.report())]

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._time_to_next_s()):
                for target in self._targets:
                    if not self._stop.is_set():
                        target.scrape()
        finally:
            # This last scrape makes the samples enclose the whole measurement.
            for target in self._targets:
                target.scrape()
            # Connections must be closed in the thread that opened them.
            for target in self._targets:
                target.conclude()
                target.close()

    def _time_to_next_s(self) -> float:
        now_ns = time.monotonic_ns()
        return (next_instant(now_ns, self._interval_ns) - now_ns) / NANOSECONDS
