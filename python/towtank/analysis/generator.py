"""Describes the load generator within the analysed window: CPU use, start lag, request rate and connections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from towtank.analysis.measurement import Mask, MeasuredColumn, Measurement
from towtank.analysis.system.rates import lookup

_RESPONSES = 30
"""Smallest number of responses for a mean to be reported. A percentile needs at least this number of responses above
it. [1]
"""
_LONG_STALL_S = 1.0
"""Stalls of at least this length are listed with their start and end. On an otherwise idle machine, the scheduler never
delays a thread for so long. [s]
"""


def generator(
    measurement: Measurement, chosen: Mask, engine: dict[str, Any] | None, manifest: dict[str, Any]
) -> dict[str, Any]:
    """Return the description of the generator for a run summary.

    Parameters
    ----------
    measurement : Measurement
    chosen : ndarray of shape (n_bins,)
        Bins of the window.
    engine : dict or None
        `engine.json`.
    manifest : dict
        `run.json`, which contains the calibrated request rate of the machine and the limits of the generator, if known.

    Returns
    -------
    dict
        Entry of the run summary, as `docs/reference/summary.md` describes; unknown values are None.
    """
    counted = (engine or {}).get("generator") or {}
    length = measurement.length_of(chosen)
    cpu, started = float(measurement.cpu_s.sum()), float(measurement.requests.started.sum())
    lag = measurement.lag.merged(chosen)
    cores = cores_of(engine, measurement.recording.workers)
    rate = float(measurement.requests.started[chosen].sum()) / length if length else None
    return {
        "cpus_used": float(measurement.cpu_s[chosen].sum()) / length if length else None,
        "cpu_us_per_request": counted.get("cpu_us_per_request", 1e6 * cpu / started if started else None),
        "start_lag_p99_s": lag.quantile(0.99) if lag else None,
        **_lag_shares(measurement, chosen),
        "peak_rss_bytes": counted.get("peak_rss_bytes"),
        "saturated": False,
        **_stalls(measurement, chosen),
        "requests_started_per_s": rate,
        **_of_envelope(rate, cores, manifest),
        "connections_at_most": most_connections(measurement),
        "limits": {
            "open_files": _open_files(engine, manifest),
            "connections_by_ports": lookup(manifest, ("generator_limits", "connections_by_ports")),
        },
    }


def _lag_shares(measurement: Measurement, chosen: Mask) -> dict[str, Any]:
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
        return {"start_lag_share": None, "start_lag_share_p99": None, "start_lag_most": None}
    waits_s = float(measurement.waiting[chosen].sum()) * measurement.bin_s
    lag_s = responses_s - float(requests.exchange_sum_s[chosen].sum()) - waits_s
    mean = max(0.0, lag_s) / responses_s
    if waits_s > 0:
        return {"start_lag_share": mean, "start_lag_share_p99": None, "start_lag_most": None}
    steps = {name: _timed_share(column, chosen) for name, column in measurement.columns("step").items()}
    known = {name: share for name, share in steps.items() if share is not None}
    most = max(known, key=lambda name: known[name], default=None)
    return {
        "start_lag_share": mean,
        "start_lag_share_p99": _p99_share(requests, chosen),
        "start_lag_most": None if most is None else {"step": most, "share": known[most]},
    }


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


def _stalls(measurement: Measurement, chosen: Mask) -> dict[str, Any]:
    """Return the longest gap between two iterations of a load thread's event loop in the window, the sum of all gaps of
    at least 100 ms in the window, and the long stalls of the run. Values are None if not recorded. [s]
    """
    gaps = measurement.longest_gap_s[chosen]
    long = {"long_stalls": list(_long_stalls(measurement))}
    if not len(gaps) or np.isnan(gaps).all():
        return {"longest_gap_s": None, "stalled_s": None, **long}
    return {"longest_gap_s": float(np.nanmax(gaps)), "stalled_s": float(measurement.stalled_s[chosen].sum()), **long}


def _long_stalls(measurement: Measurement) -> Iterator[dict[str, float]]:
    """Yield start and end of each stall of a load thread in the run that lasted at least a second. [s]

    Notes
    -----
    Each bin records the stalled time within the bin. A stall begins that time before the end of its first bin, and ends
    that time after the start of its last bin. For a stall within a single bin, the edges of the bin are reported.
    """
    inside = np.flatnonzero(measurement.stalled_s > 0)
    for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
        if not len(run) or np.nan_to_num(measurement.longest_gap_s[run]).max() < _LONG_STALL_S:
            continue
        first, last = int(run[0]), int(run[-1])
        start, end = float(measurement.starts[first]), float(measurement.ends[last])
        if first < last:
            start = float(measurement.ends[first] - measurement.stalled_s[first])
            end = float(measurement.starts[last] + measurement.stalled_s[last])
        yield {"start_s": start, "end_s": end}


def cores_of(engine: dict[str, Any] | None, workers: int | None) -> int:
    """Return the number of CPUs on which load threads run in parallel. Additional threads add connections, but no CPU
    time.

    Parameters
    ----------
    engine : dict or None
        `engine.json`; older versions lack `cores` and have one thread per core.
    workers : int or None
        Number of load threads found in the recording, used if the engine recorded neither cores nor threads.
    """
    counted = engine or {}
    return int(counted.get("cores") or counted.get("threads") or workers or 1)


def _open_files(engine: dict[str, Any] | None, manifest: dict[str, Any]) -> float | None:
    """Return the number of files that the generator may open, summed over the file tables of its processes. Return None
    if the number is unlimited or unknown. [1]
    """
    limit = lookup(manifest, ("generator_limits", "open_files"))
    tables = lookup(engine or {}, ("open_files", "tables"))
    return limit if limit is None or tables is None else limit * tables


def _of_envelope(rate_per_s: float | None, cores: int, manifest: dict[str, Any]) -> dict[str, float | None]:
    """Return the calibrated request rate of all CPUs in use [1/s], and the measured rate divided by it [1]."""
    per_core = lookup(manifest, ("envelope", "rate_per_core_per_s"))
    if rate_per_s is None or per_core is None or per_core <= 0:
        return {"envelope_per_s": None, "envelope_share": None}
    return {"envelope_per_s": per_core * cores, "envelope_share": rate_per_s / (per_core * cores)}


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
