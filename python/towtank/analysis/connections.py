"""Describes the connections of a run: their number, the time to connect, and how long requests waited for a
connection.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towtank.analysis.load import throughput
from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.merged_percentiles import HISTOGRAM
from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.histograms import Histogram, encode

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def connections(
    measurement: Measurement, chosen: Mask, engine: dict[str, Any] | None, keep: bool = False
) -> dict[str, Any]:
    """Describe the connections of a run for the run summary.

    Parameters
    ----------
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.
    engine : dict or None
        `engine.json`, which contains the reasons why connections failed.
    keep : bool, default False
        True to include the histogram of the waits, from which percentiles over several runs are computed.

    Returns
    -------
    dict
        Entry of the run summary, as `docs/reference/summary.md` describes. Most connections are established before
        the window begins, so connection times and reasons of failures cover the whole run; all other values cover
        the window.
    """
    every = np.ones(measurement.bins, dtype=bool)
    length = measurement.length_of(chosen)
    made = measurement.connect.counts
    rate = throughput(made, measurement, chosen) if length else estimates.NO_ESTIMATE
    return {
        "open_mean": float((measurement.connections * measurement.lengths)[chosen].sum()) / length if length else None,
        "opened": int(made[chosen].sum()),
        "opened_per_s": rate.document(),
        "opened_in_run": int(made.sum()),
        "surplus": int(measurement.surplus[chosen].sum()),
        "unasked": int(measurement.unasked[chosen].sum()),
        "connect_time_s": _times(measurement.connect.merged(every)),
        "tls_time_s": _times(measurement.tls.merged(every)),
        "handshakes": _handshakes(measurement, engine),
        "connect_failures": dict((engine or {}).get("connect_failures") or {}),
        "broken_answers": dict((engine or {}).get("broken_answers") or {}),
        "wait_time_s": _waits(measurement, chosen, keep),
    }


def _times(merged: Histogram | None) -> dict[str, float] | None:
    """Return mean, quantiles and maximum of the times in a histogram. The mean is computed from the bucket centres.
    [s]
    """
    if merged is None:
        return None
    quantiles = {name: merged.quantile(probability) for name, probability in QUANTILES.items()}
    return {"mean": merged.mean_s, **quantiles, "max": merged.maximum_s}


def _handshakes(measurement: Measurement, engine: dict[str, Any] | None) -> dict[str, int] | None:
    counted = (engine or {}).get("handshakes")
    kinds = ("full", "resumed")
    if not isinstance(counted, dict):  # An engine that was killed did not write this count.
        counted = {
            kind: sum(interval.handshakes.get(kind, 0) for interval in measurement.recording.intervals)
            for kind in kinds
        }
    found = {kind: int(counted.get(kind) or 0) for kind in kinds}
    return found if any(found.values()) else None


def _waits(measurement: Measurement, chosen: Mask, keep: bool) -> dict[str, float | str] | None:
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
    requests, share = {"requests": merged.total, "waited": number}, number / merged.total
    if not number:
        return {**requests, "share_waited": 0.0, "share_of_response_time": 0.0}
    only = Histogram(merged.layout, merged.indices[waited], merged.counts[waited])
    responses = float(measurement.requests.response_sum_s[chosen].sum())
    total = only.mean_s * only.total
    times = _times(only) or {}
    of_response = {"share_of_response_time": total / responses} if responses > 0 else {}
    kept = {HISTOGRAM: encode(only)} if keep else {}
    return {**requests, "share_waited": share, **of_response, **times, **kept}
