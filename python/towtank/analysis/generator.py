"""What the generator itself did and had left in the window: CPU, start lag, envelope, connections."""

from __future__ import annotations

from typing import Any

import numpy as np

from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.system.rates import lookup


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
    length = measurement.length_of(chosen)
    cpu, started = float(measurement.cpu_s.sum()), float(measurement.requests.started.sum())
    lag = measurement.lag.merged(chosen)
    cores = cores_of(engine, measurement.recording.workers)
    rate = float(measurement.requests.started[chosen].sum()) / length if length else None
    return {
        "cpus_used": float(measurement.cpu_s[chosen].sum()) / length if length else None,
        "cpu_us_per_request": told.get("cpu_us_per_request", 1e6 * cpu / started if started else None),
        "start_lag_p99_s": lag.quantile(0.99) if lag else None,
        "peak_rss_bytes": told.get("peak_rss_bytes"),
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


def _stalls(measurement: Measurement, chosen: Mask) -> dict[str, float | None]:
    """Longest gap of a load thread, and the time of the window that lies in gaps; None if not recorded. [s]"""
    gaps = measurement.longest_gap_s[chosen]
    if not len(gaps) or np.isnan(gaps).all():
        return {"longest_gap_s": None, "stalled_s": None}
    return {"longest_gap_s": float(np.nanmax(gaps)), "stalled_s": float(measurement.stalled_s[chosen].sum())}


def cores_of(engine: dict[str, Any] | None, workers: int | None) -> int:
    """CPUs that the load threads could work on at once: there may be more threads than that, to hold connections. [1]

    Parameters
    ----------
    engine : dict or None
        `engine.json`; one written before it told `cores` has a thread for each.
    workers : int or None
        Load threads by the segments, where the engine told nothing.
    """
    told = engine or {}
    return int(told.get("cores") or told.get("threads") or workers or 1)


def _open_files(engine: dict[str, Any] | None, manifest: dict[str, Any]) -> float | None:
    """Files that the generator may open, over all its tables of open files; None without a limit. [1]"""
    limit = lookup(manifest, ("generator_limits", "open_files"))
    tables = lookup(engine or {}, ("open_files", "tables"))
    return limit if limit is None or tables is None else limit * tables


def _of_envelope(rate_per_s: float | None, cores: int, manifest: dict[str, Any]) -> dict[str, float | None]:
    """Rate that the cores can start by calibration [1/s], and the share of it that was used."""
    per_core = lookup(manifest, ("envelope", "rate_per_core_per_s"))
    if rate_per_s is None or per_core is None or per_core <= 0:
        return {"envelope_per_s": None, "envelope_share": None}
    return {"envelope_per_s": per_core * cores, "envelope_share": rate_per_s / (per_core * cores)}


def most_connections(measurement: Measurement) -> int:
    """Most connections that all threads together had open at the end of any second of the run. [1]"""
    last: dict[int, int] = {}
    most = 0
    for one in measurement.recording.intervals:
        last[one.worker] = one.connections
        most = max(most, sum(last.values()))
    return most
