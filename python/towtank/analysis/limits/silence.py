"""Detects a plateau (a stage of constant load) at which requests are in flight, but no request ends.

Response times are known only for requests that ended, so no metric shows this fault. If requests were in flight at some
time, and none ended until the end of the plateau, their response times exceed the time in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from towtank.analysis import objective_scopes
from towtank.analysis.measurement import Floats, Mask, MeasuredColumn, Measurement
from towtank.analysis.objective import Objective

_TIMES = frozenset({"mean", "min", "max", "p50", "p90", "p95", "p99", "p99.9"})
_EDGE_S = 1e-6


def is_missed(objective: Objective, measurement: Measurement, chosen: Mask) -> bool:
    """Return True if an objective is certainly missed, because requests were in flight for longer than its limit and
    none ended.

    Parameters
    ----------
    objective : Objective
        If it has `every_s`, it applies to each window of that length.
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the plateau.
    """
    if objective.metric not in _TIMES or objective.is_upward or objective.limit is None:
        return False
    every, limit = objective.every_s, objective.limit
    requests = _Requests.of(measurement, chosen, objective.transaction)
    windows = [chosen] if every is None else objective_scopes.windows_of(measurement, chosen, every)
    return any(requests.are_silent(window, limit) for window in windows)


def waited_for(objectives: Sequence[Objective], measurement: Measurement, chosen: Mask) -> float | None:
    """Return a time for which requests were certainly in flight at a plateau while no request ended. [s]

    Returns
    -------
    float or None
        Half of the length of the plateau, or the largest limit of an objective about response times, whichever is
        longer. None if a request ended, or if no request was in flight for so long.
    """
    limits = [each.limit for each in objectives if each.metric in _TIMES and each.limit is not None]
    waited = max(measurement.length_of(chosen) / 2, *limits, 0.0)
    return waited if _Requests.of(measurement, chosen).are_silent(chosen, waited) else None


@dataclass(frozen=True)
class _Requests:
    """Requests of one transaction, or of all transactions, at a plateau, whose bins `chosen` marks: their number that
    ended in each bin, and their number in progress at the end of each bin. All arrays have shape (n_bins,). [1]
    """

    measurement: Measurement
    chosen: Mask
    ended: Floats
    under_way: Floats

    @classmethod
    def of(cls, measurement: Measurement, chosen: Mask, transaction: str | None = None) -> _Requests:
        """Return the requests of a transaction; of all transactions if `transaction` is None."""
        if transaction is None:
            under_way = measurement.in_flight + measurement.waiting
            return cls(measurement, chosen, measurement.requests.ended, under_way)
        steps = [step for name, step in measurement.columns("step").items() if name.partition(" / ")[0] == transaction]
        requests = MeasuredColumn.total(measurement.bins, steps)
        return cls(measurement, chosen, requests.ended, np.cumsum(requests.started - requests.ended))

    def are_silent(self, window: Mask, longer_than_s: float) -> bool:
        """Return True if no request ended in a window, and if a request in progress at the end of the window had been
        in progress for longer than `longer_than_s`.

        The request may have started before the window, but only after the last end of a request at this plateau.
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
