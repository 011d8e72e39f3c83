"""What the generator itself did and had left in the window: CPU, start lag, envelope, connections."""

from __future__ import annotations

from typing import Any

from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.rates import lookup


def generator(
    measurement: Measurement, chosen: Mask, engine: dict[str, Any] | None, manifest: dict[str, Any]
) -> dict[str, Any]:
    """The generator's part of a run summary.

    Parameters
    ----------
    measurement : Measurement
    chosen : ndarray of shape (n_bins,)
        Bins of the window.
    engine : dict or None
        `engine.json`.
    manifest : dict
        `run.json`, with the envelope of the machine and the limits of the generator where they are known.

    Returns
    -------
    dict
        As `docs/reference/summary.md` describes; None for what is not known.
    """
    told = (engine or {}).get("generator") or {}
    length = float(measurement.lengths[chosen].sum())
    cpu, started = float(measurement.cpu_s.sum()), float(measurement.requests.started.sum())
    lag = measurement.lag.merged(chosen)
    threads = int((engine or {}).get("threads") or measurement.recording.workers or 1)
    rate = float(measurement.requests.started[chosen].sum()) / length if length else None
    return {
        "cpus_used": float(measurement.cpu_s[chosen].sum()) / length if length else None,
        "cpu_us_per_request": told.get("cpu_us_per_request", 1e6 * cpu / started if started else None),
        "start_lag_p99_s": lag.quantile(0.99) if lag else None,
        "peak_rss_bytes": told.get("peak_rss_bytes"),
        "saturated": False,
        "requests_started_per_s": rate,
        **_of_envelope(rate, threads, manifest),
        "connections_at_most": most_connections(measurement),
        "limits": {
            name: lookup(manifest, ("generator_limits", name)) for name in ("open_files", "connections_by_ports")
        },
    }


def _of_envelope(rate_per_s: float | None, threads: int, manifest: dict[str, Any]) -> dict[str, float | None]:
    """Rate that the threads can start by calibration [1/s], and the share of it that was used."""
    per_core = lookup(manifest, ("envelope", "rate_per_core_per_s"))
    if rate_per_s is None or per_core is None or per_core <= 0:
        return {"envelope_per_s": None, "envelope_share": None}
    return {"envelope_per_s": per_core * threads, "envelope_share": rate_per_s / (per_core * threads)}


def most_connections(measurement: Measurement) -> int:
    """Most connections that all threads together had open at the end of any second of the run. [1]"""
    last: dict[int, int] = {}
    most = 0
    for one in measurement.recording.intervals:
        last[one.worker] = one.connections
        most = max(most, sum(last.values()))
    return most
