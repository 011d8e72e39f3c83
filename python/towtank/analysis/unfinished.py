"""Requests that a window left unfinished: in flight at its end, and failed once the load was over."""

from __future__ import annotations

from typing import Any

import numpy as np

from towtank.analysis.measurement import DRAIN, Column, Mask, Measurement
from towtank.analysis.windows.window import Window


def unfinished(measurement: Measurement, window: Window | None, chosen: Mask) -> dict[str, Any] | None:
    """Describe what the window began and did not end.

    Parameters
    ----------
    measurement : Measurement
    window : Window or None
        The window that is analysed.
    chosen : ndarray of bool of shape (n_bins,)
        Its bins.

    Returns
    -------
    dict or None
        As `docs/reference/summary.md` describes; None without a window.

    Notes
    -----
    No request begins once the load is over, so that what fails in the drain was under way at the end of a window that
    the drain follows. `failed_later` is null where another stage lies between them.
    """
    if window is None or not chosen.any():
        return None
    drain = _drain(measurement, window)
    requests = measurement.requests
    return {
        "in_flight": int(measurement.in_flight[np.flatnonzero(chosen)[-1]]),
        "failed_later": None if drain is None else failed_by_kind(requests, drain),
        "transactions_failed_later": None
        if drain is None
        else {
            name: int(column.failed[drain].sum())
            for name, column in measurement.columns("transaction").items()
            if column.failed[drain].any()
        },
    }


def _drain(measurement: Measurement, window: Window) -> Mask | None:
    """Bins of the drain; None where it does not follow the window at once."""
    stages = measurement.stages
    if not stages or stages[-1].get("name") != DRAIN or window.planned_end_s < stages[-1]["start_s"] - 1e-6:
        return None
    return np.asarray(measurement.stage == len(stages) - 1)


def failed_by_kind(column: Column, chosen: Mask) -> dict[str, int]:
    """Failures in the chosen bins, by kind; kinds without any are left out."""
    counted = {kind: int(counts[chosen].sum()) for kind, counts in sorted(column.failed_by_kind.items())}
    return {kind: count for kind, count in counted.items() if count}
