"""Describes the trend of a history: exponential growth or a straight line, fitted to the logarithms of the loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from towtank.arrays import Floats

Form = Literal["exponential", "linear"]
SURE = 6.0
"""If the information criteria of exponential and linear growth differ by more than this, the better form is chosen. A
difference of 6 corresponds to odds of 20 to 1. [1]
"""
_LEAST_LEFT = 1e-3
"""Smallest load that a straight line may reach, relative to the load on the first day. A load of 0 has no logarithm.
[ratio]
"""
_RATES = (1e-4, 1e4)
"""Bounds of the search for the slope of a straight line, as total growth over the length of the history. [ratio]"""


@dataclass(frozen=True)
class Trend:
    """Trend of the logarithm of a load over the days since the first day.

    Attributes
    ----------
    form : str
        `exponential` or `linear`.
    rate : float
        Growth k of a straight line per day, relative to the load on the first day. For an exponential trend it is 0,
        because the growth rate of the exponential is the first parameter of the fit. [1/d]
    """

    form: Form = "exponential"
    rate: float = 0.0

    def offset(self, times: Floats) -> Floats:
        """Return the part of the logarithm of the load that is fixed before the other parameters are fitted: ln(1 + k
        t) for a straight line, 0 for exponential growth. [1]
        """
        return np.log(self._left(times)) if self.form == "linear" else np.zeros(len(times))

    def column(self, times: Floats) -> Floats:
        """Return the derivative of the logarithm of the load with respect to the growth rate: t / (1 + k t) for a
        straight line, t for exponential growth. [d]
        """
        return times / self._left(times) if self.form == "linear" else np.asarray(times, dtype=float)

    def _left(self, times: Floats) -> Floats:
        return np.asarray(np.maximum(1 + self.rate * times, _LEAST_LEFT), dtype=float)


def fitted_line(times: Floats, rest: Floats, logs: Floats) -> Trend | None:
    """Fit a growing straight line; return None if the best line does not grow.

    The times are days since the first day, of shape (n_days,) [d]. `rest` has the columns of season and steps, of shape
    (n_days, n_columns), and `logs` the logarithms of the loads, of shape (n_days,).

    Notes
    -----
    The model is ln N = ln(1 + k t) + s(t) for the load N, with season and steps s(t). For each rate k, s is fitted by
    least squares; k is found by bounded minimization.
    """
    length = float(times.max())
    basis = np.linalg.qr(rest)[0]

    def left(log_growth: float) -> float:
        target = logs - Trend("linear", float(np.exp(log_growth)) / length).offset(times)
        miss = target - basis @ (basis.T @ target)
        return float(miss @ miss)

    grid = np.linspace(np.log(_RATES[0]), np.log(_RATES[1]), 60)
    place = int(np.argmin([left(value) for value in grid]))
    if place == 0:
        return None
    around = (float(grid[place - 1]), float(grid[min(place + 1, len(grid) - 1)]))
    best = scipy.optimize.minimize_scalar(left, bounds=around, method="bounded", options={"xatol": 1e-10})
    return Trend("linear", float(np.exp(best.x)) / length)
