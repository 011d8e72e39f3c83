"""Encodes metrics for Prometheus remote write: counters for each stage of the load, classic histograms, and gauges for
each second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import cramjam
import numpy as np

from towtank.results import DecodedHistogram, HistogramReader, RecordedSecond, SecondItem
from towtank.sending import remote_write
from towtank.sending.remote_write import COUNTER, GAUGE, HISTOGRAM
from towtank.sending.update import Body, SentRun, Update

HEADERS = (
    ("Content-Type", "application/x-protobuf"),
    ("Content-Encoding", "snappy"),
    ("X-Prometheus-Remote-Write-Version", "0.1.0"),
)
BOUNDS_S = tuple(digit * 10.0**power for power in range(-4, 2) for digit in (1, 2, 5))
"""Upper bounds of the histogram buckets: 100 µs to 50 s, three in each decade. [s]"""
QUANTILES = (0.5, 0.95, 0.99)
# Number of requests after which the metadata of the metrics are sent again, for receivers that were restarted. [1]
_METADATA_EVERY = 60
_EDGES = np.array(BOUNDS_S)

_FAMILIES = {
    "users": (GAUGE, "Mean number of active users in the second."),
    "requests_in_flight": (GAUGE, "Requests without a response at the end of the second."),
    "connections": (GAUGE, "Open connections at the end of the second."),
    "generator_cpus_used": (GAUGE, "CPUs that the load threads used in the second."),
    "tier_cpus_used": (GAUGE, "CPUs that a tier used between two samples of the probe."),
    "transactions_total": (COUNTER, "Transactions that ended, by outcome."),
    "requests_total": (COUNTER, "Requests that ended, by outcome."),
    "bytes_total": (COUNTER, "Bytes sent and received."),
    "transaction_response_time_seconds": (HISTOGRAM, "End minus intended start, without pauses."),
    "request_response_time_seconds": (HISTOGRAM, "End minus intended start."),
    "response_time_quantile_seconds": (GAUGE, "Response time of all transactions of the second."),
    "start_lag_quantile_seconds": (GAUGE, "Actual minus intended start of the requests of the second."),
    "connection_wait_quantile_seconds": (GAUGE, "Wait for a connection of a pool, 0 if a connection was free."),
}

Labels = tuple[tuple[str, str], ...]
_Series = tuple[str, Labels]


@dataclass(slots=True)
class _Row:
    """Time series of Prometheus: encoded labels, time of the last sample, and unsent samples."""

    labels: bytes
    last_ms: int = -1
    samples: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class _Counter:
    """Prometheus counter that grows during a stage of the run."""

    row: _Row
    total: float = 0.0


class PrometheusEncoder:
    """Encodes updates as write requests.

    Every series has the stage of the load as a label, and ends when the next stage begins. A counter begins with a
    sample of zero at the start of its first second, so that PromQL's `increase` includes this second.
    """

    def __init__(self, source: SentRun, histograms: HistogramReader) -> None:
        self._histograms = histograms
        factors = {label_name(name): level for name, level in source.factors.items()}
        self._source = tuple({"study": source.study, "run": source.run, **factors}.items())
        # Counters, and series that have not ended, by stage. They are stored, because encoding labels again is slower.
        self._counters: dict[Labels, dict[_Series, _Counter]] = {}
        self._open: dict[Labels, dict[_Series, _Row]] = {}
        self._rows: dict[_Series, _Row] = {}
        self._fresh: list[_Row] = []
        self._requests = 0

    def encode(self, update: Update) -> list[Body]:
        """Return one write request with the samples of an update; an empty list if the update has none."""
        wall_ms = update.wall_ns // 1_000_000
        for second in update.seconds:
            self._second(second, wall_ms)
        for sample in update.tiers:
            stage = self._stage(sample.stage, sample.phase)
            for tier, used in sample.cpus_used.items():
                self._gauge("tier_cpus_used", (*stage, ("tier", tier)), used, stage, _millis(wall_ms, sample.end_s))
        return self._body()

    def finish(self) -> list[Body]:
        """Return a write request that ends all time series."""
        for stage in list(self._open):
            self._end(stage)
        return self._body()

    def _stage(self, name: str, phase: str) -> Labels:
        return (*self._source, ("stage", name), ("phase", phase))

    def _second(self, second: RecordedSecond, wall_ms: int) -> None:
        stage = self._stage(second.stage, second.phase)
        for other in [opened for opened in self._open if opened != stage]:
            self._end(other)
        start_ms, end_ms = _millis(wall_ms, second.start_s), _millis(wall_ms, second.end_s)
        for family, value in _plain(second).items():
            self._gauge(family, stage, value, stage, end_ms)
        for family, labels, value in self._quantiles(second):
            self._gauge(family, (*stage, *labels), value, stage, end_ms)
        counters = self._counters.setdefault(stage, {})
        for series, growth in self._growth(second, stage):
            counter = counters.get(series)
            if counter is None:
                counter = counters[series] = _Counter(self._row(series, stage))
                self._sample(counter.row, 0.0, start_ms)
            counter.total += growth
        for series, counter in counters.items():
            self._open[stage][series] = counter.row
            self._sample(counter.row, counter.total, end_ms)

    def _quantiles(self, second: RecordedSecond) -> Iterator[tuple[str, Labels, float]]:
        every = [text for item in second.of("transaction") for text in item.response]
        for family, encoded in (
            ("response_time_quantile_seconds", every),
            ("start_lag_quantile_seconds", second.lag),
            ("connection_wait_quantile_seconds", second.connection_wait),
        ):
            merged = self._histograms.merged(encoded)
            values = merged.quantiles(QUANTILES) if merged else ()
            for probability, value in zip(QUANTILES, values, strict=False):
                yield family, (("quantile", f"{probability:g}"),), value

    def _growth(self, second: RecordedSecond, stage: Labels) -> Iterator[tuple[_Series, float]]:
        """Yield the increase of each counter in a second."""
        for of, plural in (("transaction", "transactions_total"), ("step", "requests_total")):
            family = f"{'request' if of == 'step' else of}_response_time_seconds"
            for item in second.of(of):
                about = (*stage, (of, item.name))
                for outcome, count in {"ok": item.ok, **item.failed}.items():
                    if count:
                        yield (plural, (*about, ("outcome", outcome))), count
                yield from self._histogram(family, about, item)
        for item in second.of("step"):
            for direction, count in (("transmit", item.bytes_out), ("receive", item.bytes_in)):
                if count:
                    yield ("bytes_total", (*stage, ("step", item.name), ("direction", direction))), count

    def _histogram(self, family: str, about: Labels, item: SecondItem) -> Iterator[tuple[_Series, float]]:
        merged = self._histograms.merged(item.response)
        if merged is None:
            return
        for edge, count in zip(BOUNDS_S, counts_up_to(merged), strict=True):
            yield (f"{family}_bucket", (*about, ("le", repr(edge)))), count
        yield (f"{family}_bucket", (*about, ("le", "+Inf"))), merged.total
        yield (f"{family}_count", about), merged.total
        yield (f"{family}_sum", about), item.response_sum_s

    def _gauge(self, family: str, labels: Labels, value: float, stage: Labels, at_ms: int) -> None:
        self._sample(self._row((family, labels), stage), value, at_ms)

    def _row(self, series: _Series, stage: Labels) -> _Row:
        row = self._rows.get(series)
        if row is None:
            row = self._rows[series] = _Row(remote_write.labels(f"towtank_live_{series[0]}", dict(series[1])))
        self._open.setdefault(stage, {})[series] = row
        return row

    def _sample(self, row: _Row, value: float, at_ms: int) -> None:
        """Add a sample to a time series.

        Receivers refuse a sample that is older than the previous one, so such a sample gets the time of the previous
        one plus 1 ms.
        """
        row.last_ms = max(at_ms, row.last_ms + 1)
        self._add(row, remote_write.sample(value, row.last_ms))

    def _add(self, row: _Row, sample: bytes) -> None:
        if not row.samples:
            self._fresh.append(row)
        row.samples.append(sample)

    def _end(self, stage: Labels) -> None:
        for row in self._open.pop(stage).values():
            row.last_ms += 1
            self._add(row, remote_write.stale(row.last_ms))

    def _body(self) -> list[Body]:
        if not self._fresh:
            return []
        content = b"".join([remote_write.time_series(row.labels, row.samples) for row in self._fresh])
        if self._requests % _METADATA_EVERY == 0:
            content += b"".join(
                remote_write.metadata(f"towtank_live_{name}", kind, meaning)
                for name, (kind, meaning) in _FAMILIES.items()
            )
        points = sum(len(row.samples) for row in self._fresh)
        for row in self._fresh:
            row.samples = []
        self._fresh, self._requests = [], self._requests + 1
        return [Body(bytes(cramjam.snappy.compress_raw(content)), points)]


def label_name(factor: str) -> str:
    """Return the Prometheus label name of a study's factor, as in the export format `openmetrics`.

    Examples
    --------
    >>> label_name("search index")
    'factor_search_index'
    """
    return "factor_" + re.sub(r"[^a-zA-Z0-9_]", "_", factor)


def counts_up_to(values: DecodedHistogram) -> list[int]:
    """Return the number of values up to each bound in `BOUNDS_S`; the values of a bucket of `values` count as its
    middle. [1]
    """
    running = np.concatenate([[0], np.cumsum(values.counts)])
    return [int(count) for count in running[np.searchsorted(values.middles_s, _EDGES, side="right")]]


def _plain(second: RecordedSecond) -> Mapping[str, float]:
    length = second.end_s - second.start_s
    return {
        "users": second.users,
        "requests_in_flight": float(second.in_flight),
        "connections": float(second.connections),
        **({"generator_cpus_used": second.cpu_s / length} if length > 0 else {}),
    }


def _millis(wall_ms: int, at_s: float) -> int:
    return wall_ms + round(1e3 * at_s)
