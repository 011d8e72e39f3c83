"""Computes the arrival rates and the expected numbers of arrivals that the plan of an open load requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis.measurement import Floats
from towtank.results import RecordedStage


@dataclass(frozen=True)
class RateCurve:
    """Arrival rate as a function of run time. It is linear between the knots, and constant before the first and after
    the last knot.

    Attributes
    ----------
    times : ndarray of shape (n_knots,)
        Run times of the knots, increasing. [s]
    rates : ndarray of shape (n_knots,)
        Arrival rate at each knot. [1/s]
    """

    times: Floats
    rates: Floats

    @property
    def is_constant(self) -> bool:
        return bool((self.rates == self.rates[0]).all())

    def arrivals(self, starts: Floats, ends: Floats) -> Floats:
        """Return the expected number of arrivals in each interval: the integral of the arrival rate over the interval.
        [1]
        """
        return np.asarray(self._until(ends) - self._until(starts), dtype=float)

    def _until(self, instants: Floats) -> Floats:
        """Return the integral of the arrival rate from the first knot to each run time; negative for times before the
        first knot. [1]
        """
        widths = np.diff(self.times)
        at_knots = np.concatenate([[0.0], np.cumsum(widths * (self.rates[:-1] + self.rates[1:]) / 2)])
        left = np.clip(np.searchsorted(self.times, instants, side="right") - 1, 0, len(self.times) - 1)
        since = instants - self.times[left]
        slopes = np.concatenate([np.diff(self.rates) / widths, [0.0]])
        slope = np.where(instants < self.times[0], 0.0, slopes[left])
        return np.asarray(at_knots[left] + since * (self.rates[left] + slope * since / 2), dtype=float)


def constant(rate: float) -> RateCurve:
    """Return a curve with a constant arrival rate. [1/s]"""
    return RateCurve(np.array([0.0]), np.array([rate]))


@dataclass(frozen=True)
class Arrivals:
    """Arrivals that the plan requests in a steady stage of an open load.

    Attributes
    ----------
    curves : tuple of RateCurve
        One curve for all user groups together, or one curve per group.
    by_group : bool
        True if each user group has its own arrival process.
    """

    curves: tuple[RateCurve, ...]
    by_group: bool

    @property
    def is_constant(self) -> bool:
        """True if the arrival rate of every user group is constant."""
        return all(curve.is_constant for curve in self.curves)

    def expected(self, starts: Floats, ends: Floats) -> Floats:
        """Return the expected number of arrivals of all user groups together in each interval. [1]"""
        return np.asarray(sum(curve.arrivals(starts, ends) for curve in self.curves), dtype=float)


def of_stage(plan: dict[str, Any], recorded: Sequence[RecordedStage], number: int) -> Arrivals:
    """Return the arrivals that the plan requests in a steady stage.

    Parameters
    ----------
    plan : dict
        Content of `plan.json`. It does not contain stages that were appended while the load ran; the rate of such a
        stage is read from `recorded`.
    recorded : sequence of RecordedStage
        Recorded stages, with their actual times.
    number : int
        Number of the stage.

    Raises
    ------
    KeyError, TypeError, ValueError
        If `plan` is not a plan, or the rate of an appended stage is unknown.
    """
    planned = plan["load"]["stages"]
    start = recorded[number].start_s if number < len(recorded) else 0.0
    if number >= len(planned):
        appended = recorded[number]
        rates = [appended.rate or 0.0] if appended.rates_by_group is None else appended.rates_by_group
        return Arrivals(tuple(_curve(rate, start) for rate in rates), by_group=appended.rates_by_group is not None)
    stage = planned[number]
    if stage.get("rates_by_group") is not None:
        return Arrivals(tuple(_curve(rate, start) for rate in stage["rates_by_group"]), by_group=True)
    rates = stage.get("rates")
    return Arrivals((_curve(stage.get("rate") or 0.0 if rates is None else rates, start),), by_group=False)


def _curve(rate: Any, start: float) -> RateCurve:
    if isinstance(rate, int | float):
        return constant(float(rate))
    times, rates = np.array(rate, dtype=float).T
    return RateCurve(np.asarray(times + start, dtype=float), np.asarray(rates, dtype=float))


def moves(plan: dict[str, Any] | None, recorded: Sequence[RecordedStage], number: int) -> bool:
    """Return True if the planned arrival rate changes within the stage `number`; False if the plan cannot be read."""
    try:
        return not of_stage(plan or {}, recorded, number).is_constant
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return False
