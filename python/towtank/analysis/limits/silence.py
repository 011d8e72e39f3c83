"""Silence of a server at a plateau: requests under way of which nothing is answered, so that no value shows it.

A response time exists only of what was answered. Requests that were under way at an instant, of which nothing ended
until the end of the plateau, took longer than the time between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis import objective_scopes
from towtank.analysis.measurement import Column, Floats, Mask, Measurement

_TIMES = frozenset({"mean", "min", "max", "p50", "p90", "p95", "p99", "p99.9"})
_EDGE_S = 1e-6


def is_missed(objective: dict[str, Any], measurement: Measurement, chosen: Mask) -> bool:
    """Return True if requests took longer than the limit of an objective and nothing of them was answered.

    Parameters
    ----------
    objective : dict
        As the manifest of a study has it; about each window of its length if it has `every_s`.
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        The plateau.
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
    """Return the time that requests were at least under way at a plateau in which nothing was answered. [s]

    Returns
    -------
    float or None
        Half of the plateau, or the longest limit of an objective about response times if that is longer; None if
        something was answered, or nothing was under way for so long.
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
    """The requests of a transaction, or all, at a plateau: those that ended, and those under way after each bin."""

    measurement: Measurement
    chosen: Mask
    ended: Floats
    under_way: Floats

    @classmethod
    def of(cls, measurement: Measurement, chosen: Mask, transaction: str | None = None) -> _Requests:
        """Gather those of a transaction; all if it is None."""
        if transaction is None:
            under_way = measurement.in_flight + measurement.waiting
            return cls(measurement, chosen, measurement.requests.ended, under_way)
        steps = [step for name, step in measurement.columns("step").items() if name.partition(" / ")[0] == transaction]
        requests = Column.total(measurement.bins, steps)
        return cls(measurement, chosen, requests.ended, np.cumsum(requests.started - requests.ended))

    def are_silent(self, window: Mask, longer_than_s: float) -> bool:
        """Return True if none ended in a window, and some were under way for so long at its end.

        The time counts back beyond the start of the window, to the last that ended within the plateau.
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
