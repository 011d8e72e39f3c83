"""Describes the connections of a run: their number, the time to connect, and how long requests waited for a
connection.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np

from towtank.analysis.load import throughput
from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.statistics.estimates import NO_ESTIMATE, Estimate
from towtank.analysis.statistics.histograms import Histogram, encode
from towtank.documents import Sparse
from towtank.results import EngineForm

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class ConnectionTimes:
    """Mean, quantiles and maximum of times. [s]"""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True)
class Waits(Sparse):
    """Waits of requests for a pooled connection. Numbers of requests [1], shares in [0, 1], and times of the requests
    that waited [s]. A value that is None is left out of the document.
    """

    requests: int = 0
    waited: int = 0
    share_waited: float = 0.0
    share_of_response_time: float | None = None
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None
    histogram: str | None = None


@dataclass(frozen=True)
class Connections:
    """Entry `connections` of a run summary. Most connections are established before the window begins, so
    `opened_in_run`, connection times, handshakes and reasons of failures cover the whole run; all other values cover
    the window.
    """

    open_mean: float | None = None
    opened: int = 0
    opened_per_s: Estimate = NO_ESTIMATE
    opened_in_run: int = 0
    surplus: int = 0
    unasked: int = 0
    connect_time_s: ConnectionTimes | None = None
    tls_time_s: ConnectionTimes | None = None
    handshakes: dict[str, int] | None = None
    connect_failures: dict[str, int] = field(default_factory=dict)
    broken_answers: dict[str, int] = field(default_factory=dict)
    wait_time_s: Waits | None = None


def connections(measurement: Measurement, chosen: Mask, engine: EngineForm | None, keep: bool = False) -> Connections:
    """Describe the connections of a run for the run summary.

    Parameters
    ----------
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.
    engine : EngineForm or None
        `engine.json`, which contains the reasons why connections failed.
    keep : bool, default False
        True to include the histogram of the waits, from which percentiles over several runs are computed.
    """
    every = np.ones(measurement.bins, dtype=bool)
    length = measurement.length_of(chosen)
    made = measurement.connect.counts
    rate = throughput(made, measurement, chosen) if length else NO_ESTIMATE
    return Connections(
        open_mean=float((measurement.connections * measurement.lengths)[chosen].sum()) / length if length else None,
        opened=int(made[chosen].sum()),
        opened_per_s=rate,
        opened_in_run=int(made.sum()),
        surplus=int(measurement.surplus[chosen].sum()),
        unasked=int(measurement.unasked[chosen].sum()),
        connect_time_s=_times(measurement.connect.merged(every)),
        tls_time_s=_times(measurement.tls.merged(every)),
        handshakes=_handshakes(measurement, engine),
        connect_failures=dict((engine and engine.connect_failures) or {}),
        broken_answers=dict((engine and engine.broken_answers) or {}),
        wait_time_s=_waits(measurement, chosen, keep),
    )


def _times(merged: Histogram | None) -> ConnectionTimes | None:
    """Return the statistics of the times in a histogram. The mean is computed from the bucket centres."""
    if merged is None:
        return None
    p50, p95, p99 = (merged.quantile(probability) for probability in QUANTILES.values())
    return ConnectionTimes(merged.mean_s, p50, p95, p99, merged.maximum_s)


def _handshakes(measurement: Measurement, engine: EngineForm | None) -> dict[str, int] | None:
    counted = None if engine is None else engine.handshakes
    kinds = ("full", "resumed")
    if counted is None:  # An engine that was killed did not write this count.
        counted = {
            kind: sum(interval.handshakes.get(kind, 0) for interval in measurement.recording.intervals)
            for kind in kinds
        }
    found = {kind: counted.get(kind, 0) for kind in kinds}
    return found if any(found.values()) else None


def _waits(measurement: Measurement, chosen: Mask, keep: bool) -> Waits | None:
    """Return statistics of the time that requests waited for a pooled connection; None without a connection pool.

    Notes
    -----
    The engine records 0 for a request that found a free connection. Otherwise it records the waiting time in whole
    nanoseconds. The lowest bucket is 0.5 µs wide and no wait is as short, so this bucket contains exactly the requests
    that did not wait.
    """
    merged = measurement.connection_wait.merged(chosen)
    if merged is None:
        return None
    waited = merged.indices > 0
    number = int(merged.counts[waited].sum())
    if not number:
        return Waits(merged.total, share_of_response_time=0.0)
    only = Histogram(merged.layout, merged.indices[waited], merged.counts[waited])
    responses = float(measurement.requests.response_sum_s[chosen].sum())
    times = _times(only)
    assert times is not None
    return Waits(
        merged.total,
        number,
        number / merged.total,
        only.mean_s * only.total / responses if responses > 0 else None,
        **asdict(times),
        histogram=encode(only) if keep else None,
    )
