"""Detects a plateau (a stage of constant load) at which requests are in flight, but none of them ends.

Response times are known for answered requests only, so no metric shows this fault. If requests were in flight at an
instant and none ended until the end of the plateau, their response times exceed the time from that instant to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis import objective_scopes
from towtank.analysis.measurement import Floats, Mask, MeasuredColumn, Measurement

_TIMES = frozenset({"mean", "min", "max", "p50", "p90", "p95", "p99", "p99.9"})
_EDGE_S = 1e-6


def is_missed(objective: dict[str, Any], measurement: Measurement, chosen: Mask) -> bool:
    """Return True if an objective is certainly missed, because requests were in flight for longer than its limit
    without any answer.

    Parameters
    ----------
    objective : dict
        Objective from the manifest of a study. With `every_s`, the objective applies to each window of that length.
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the plateau.
    """
    limit = objective.get("value")
    if objective.get("metric") not in _TIMES or objective.get("comparison") not in ("<", "<="):
        return False
    if not isinstance(limit, int | float):
        return False
    every = objective.get("every_s")
    requests = _Requests.of(measurement, chosen, objective.get("transaction"))
    windows = [chosen] if every is None else objective_scopes.windows_of(measurement, chosen, float(every))
    return any(requests.are_silent(window, float(limit)) for window in windows)


def waited_for(objectives: Sequence[dict[str, Any]], measurement: Measurement, chosen: Mask) -> float | None:
    """Return a time for which requests were certainly in flight at a plateau without any answer. [s]

    Returns
    -------
    float or None
        Half of the length of the plateau, or the longest response time limit of an objective, whichever is longer.
        None if a request was answered, or if no request was in flight for so long.
    """
    limits = [
        float(objective["value"])
        for objective in objectives
        if objective.get("metric") in _TIMES and isinstance(objective.get("value"), int | float)
    ]
    waited = max(measurement.length_of(chosen) / 2, *limits, 0.0)
    return waited if _Requests.of(measurement, chosen).are_silent(chosen, waited) else None


@dataclass(frozen=True)
class _Requests:
    """Requests at a plateau, of one transaction or of all transactions. `ended` counts the requests that ended in each
    bin, `under_way` those in progress at the end of the bin.
    """

    measurement: Measurement
    chosen: Mask
    ended: Floats
    under_way: Floats

    @classmethod
    def of(cls, measurement: Measurement, chosen: Mask, transaction: str | None = None) -> _Requests:
        """Return the requests of a transaction, or of all transactions if `transaction` is None."""
        if transaction is None:
            under_way = measurement.in_flight + measurement.waiting
            return cls(measurement, chosen, measurement.requests.ended, under_way)
        steps = [step for name, step in measurement.columns("step").items() if name.partition(" / ")[0] == transaction]
        requests = MeasuredColumn.total(measurement.bins, steps)
        return cls(measurement, chosen, requests.ended, np.cumsum(requests.started - requests.ended))

    def are_silent(self, window: Mask, longer_than_s: float) -> bool:
        """Return True if no request ended in a window, although at its end a request had been in progress for longer
        than `longer_than_s`.

        This time may begin before the window, but only after the last end of a request within the plateau.
        """
        if not window.any() or self.ended[window].any():
            return False
        ends = self.measurement.ends
        end = float(ends[window].max())
        before = np.flatnonzero(self.chosen & (ends <= end + _EDGE_S))
        answered = np.flatnonzero(self.ended[before] > 0)
        since = before[answered[-1] + 1 :] if len(answered) else before
        early = since[ends[since] <= end - longer_than_s + _EDGE_S]
        return bool((self.under_way[early] > 0).any())
