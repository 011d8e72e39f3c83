"""Describes the load generator within the analysed window: CPU use, start lag, request rate and connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from towtank.analysis.measurement import Mask, MeasuredColumn, Measurement
from towtank.analysis.system.rates import lookup
from towtank.results import EngineForm, Stalled

_RESPONSES = 30
"""Smallest number of responses for a mean to be reported. A percentile needs at least this number of responses above
it. [1]
"""
_LONG_STALL_S = 1.0
"""Stalls of at least this length are listed with their start and end. On an otherwise idle machine, the scheduler never
delays a thread for so long. [s]
"""


@dataclass(frozen=True)
class StepLag:
    """Request of a transaction (step), and the share of start lag in its mean response time, in [0, 1]."""

    step: str
    share: float


@dataclass(frozen=True)
class Stall:
    """Start and end of a stall of a load thread, in run time. [s]"""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class GeneratorLimits:
    """Largest numbers of open files and of connections; None if unlimited or unknown. [1]"""

    open_files: float | None = None
    connections_by_ports: float | None = None


@dataclass(frozen=True)
class Generator:
    """Entry `generator` of a run summary, with the units in the names of its keys; unknown values are None. Shares are
    in [0, 1].
    """

    cpus_used: float | None = None
    cpu_us_per_request: float | None = None
    start_lag_p99_s: float | None = None
    start_lag_share: float | None = None
    start_lag_share_p99: float | None = None
    start_lag_most: StepLag | None = None
    peak_rss_bytes: int | float | None = None
    saturated: bool = False
    longest_gap_s: float | None = None
    stalled_s: float | None = None
    long_stalls: tuple[Stall, ...] = ()
    requests_started_per_s: float | None = None
    envelope_per_s: float | None = None
    envelope_share: float | None = None
    connections_at_most: int = 0
    limits: GeneratorLimits = field(default_factory=GeneratorLimits)


def generator(
    measurement: Measurement, chosen: Mask, engine: EngineForm | None, manifest: Mapping[str, Any]
) -> Generator:
    """Return the description of the generator for a run summary.

    Parameters
    ----------
    measurement : Measurement
    chosen : ndarray of shape (n_bins,)
        Bins of the window.
    engine : EngineForm or None
        `engine.json`.
    manifest : dict
        `run.json`, which contains the calibrated request rate of the machine and the limits of the generator, if known.
    """
    counted = None if engine is None else engine.generator
    length = measurement.length_of(chosen)
    cpu, started = float(measurement.cpu_s.sum()), float(measurement.requests.started.sum())
    lag = measurement.lag.merged(chosen)
    cores = cores_of(engine, measurement.recording.workers)
    rate = float(measurement.requests.started[chosen].sum()) / length if length else None
    mean_share, p99_share, most = _lag_shares(measurement, chosen)
    longest_gap_s, stalled_s = _stalls(measurement, chosen)
    envelope, envelope_share = _of_envelope(rate, cores, manifest)
    return Generator(
        cpus_used=float(measurement.cpu_s[chosen].sum()) / length if length else None,
        cpu_us_per_request=counted.cpu_us_per_request if counted else 1e6 * cpu / started if started else None,
        start_lag_p99_s=lag.quantile(0.99) if lag else None,
        start_lag_share=mean_share,
        start_lag_share_p99=p99_share,
        start_lag_most=most,
        peak_rss_bytes=counted.peak_rss_bytes if counted else None,
        longest_gap_s=longest_gap_s,
        stalled_s=stalled_s,
        long_stalls=tuple(_long_stalls(measurement)),
        requests_started_per_s=rate,
        envelope_per_s=envelope,
        envelope_share=envelope_share,
        connections_at_most=most_connections(measurement),
        limits=GeneratorLimits(
            _open_files(engine, manifest), lookup(manifest, ("generator_limits", "connections_by_ports"))
        ),
    )


def _lag_shares(measurement: Measurement, chosen: Mask) -> tuple[float | None, float | None, StepLag | None]:
    """Return the share of start lag in the mean response time and in p99, in [0, 1]. Also return the request of a
    transaction (step) with the largest share, and this share.

    Notes
    -----
    A response time is the sum of start lag and exchange time. Both times are recorded for the same requests, so the
    share is 1 - exchange time / response time. If arrivals of an open load wait for a free user, their response times
    include this wait. The mean wait is then computed by Little's law and subtracted, and the shares of p99 and of the
    steps are unknown.
    """
    requests = measurement.requests
    responses_s = float(requests.response_sum_s[chosen].sum())
    if responses_s <= 0:
        return None, None, None
    waits_s = float(measurement.waiting[chosen].sum()) * measurement.bin_s
    lag_s = responses_s - float(requests.exchange_sum_s[chosen].sum()) - waits_s
    mean = max(0.0, lag_s) / responses_s
    if waits_s > 0:
        return mean, None, None
    steps = {name: _timed_share(column, chosen) for name, column in measurement.columns("step").items()}
    known = {name: share for name, share in steps.items() if share is not None}
    most = max(known, key=lambda name: known[name], default=None)
    return mean, _p99_share(requests, chosen), None if most is None else StepLag(most, known[most])


def _timed_share(column: MeasuredColumn, chosen: Mask) -> float | None:
    """Return the share of start lag in the mean response time of a request (step), in [0, 1]; None if too few responses
    were timed.
    """
    if float(column.response.counts[chosen].sum()) < _RESPONSES:
        return None
    return max(0.0, 1 - float(column.exchange_sum_s[chosen].sum()) / float(column.response_sum_s[chosen].sum()))


def _p99_share(requests: MeasuredColumn, chosen: Mask) -> float | None:
    """Return 1 - p99 of exchange times / p99 of response times: the share of p99 that start lag causes, in [0, 1].
    Return None if too few responses were timed.
    """
    responses, exchanges = requests.response.merged(chosen), requests.exchange.merged(chosen)
    if responses is None or exchanges is None or responses.total < _RESPONSES / 0.01:
        return None
    return max(0.0, 1 - exchanges.quantile(0.99) / responses.quantile(0.99))


def _stalls(measurement: Measurement, chosen: Mask) -> tuple[float | None, float | None]:
    """Return the longest gap between two iterations of a load thread's event loop in the window, and the sum of all
    gaps of at least 100 ms. Values are None if not recorded. [s]
    """
    gaps = measurement.longest_gap_s[chosen]
    if not len(gaps) or np.isnan(gaps).all():
        return None, None
    return float(np.nanmax(gaps)), float(measurement.stalled_s[chosen].sum())


def _long_stalls(measurement: Measurement) -> Iterator[Stall]:
    """Yield start and end of each stall of a load thread in the run that lasted at least a second. [s]

    Notes
    -----
    Each second records the stalled time within the second. A stall begins that time before the end of its first second,
    and ends that time after the start of its last second. For a stall within a single second, the edges of the second
    are reported.
    """
    joined: list[list[Stalled]] = []
    last_number = -1
    for number, stall in measurement.stalls:
        if joined and number - last_number <= 1:
            joined[-1].append(stall)
        else:
            joined.append([stall])
        last_number = number
    for seconds in joined:
        first, last = seconds[0], seconds[-1]
        if max(stall.gap_s for stall in seconds) < _LONG_STALL_S:
            continue
        if first is last:
            yield Stall(first.start_s, first.end_s)
        else:
            yield Stall(first.end_s - first.stalled_s, last.start_s + last.stalled_s)


def cores_of(engine: EngineForm | None, workers: int | None) -> int:
    """Return the number of CPUs on which load threads run in parallel. Additional threads add connections, but no CPU
    time.

    Parameters
    ----------
    engine : EngineForm or None
        `engine.json`; older versions lack `cores` and have one thread per core.
    workers : int or None
        Number of load threads found in the recording, used if the engine recorded neither cores nor threads.
    """
    return (engine and (engine.cores or engine.threads)) or workers or 1


def _open_files(engine: EngineForm | None, manifest: Mapping[str, Any]) -> float | None:
    """Return the number of files that the generator may open, summed over the file tables of its processes. Return None
    if the number is unlimited or unknown. [1]
    """
    limit = lookup(manifest, ("generator_limits", "open_files"))
    tables = engine.open_files.tables if engine is not None and engine.open_files is not None else None
    return limit if limit is None or tables is None else limit * tables


def _of_envelope(
    rate_per_s: float | None, cores: int, manifest: Mapping[str, Any]
) -> tuple[float | None, float | None]:
    """Return the calibrated request rate of all CPUs in use [1/s], and the measured rate divided by it [1]."""
    per_core = lookup(manifest, ("envelope", "rate_per_core_per_s"))
    if rate_per_s is None or per_core is None or per_core <= 0:
        return None, None
    return per_core * cores, rate_per_s / (per_core * cores)


def most_connections(measurement: Measurement) -> int:
    """Return the largest number of connections that were open at the end of a recorded interval, summed over all load
    threads. [1]
    """
    last: dict[int, int] = {}
    most = 0
    for interval in measurement.recording.intervals:
        last[interval.worker] = interval.connections
        most = max(most, sum(last.values()))
    return most
