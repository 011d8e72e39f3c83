"""Computes the errors of predictions at load levels that were left out of a fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.drift import drifted
from towtank.model.fitting.fit import Fit
from towtank.model.fitting.observations import Floats, Observations
from towtank.model.fitting.replicates import further_measurement, replicates

Interval = tuple[float | None, float | None]


def measured_again(tested: Fit, above: Observations) -> Floats:
    """Simulate repeated measurements of the throughputs at the points that were left out of a fit. [1/s]

    `tested` is a fit to the lower levels, and `above` are the points of the highest levels. The result has the shape
    (n_replicates, n_points): throughputs of the replicates' curves, with a drifting demand and a measurement error.
    """
    asked = above.conditions(tested.curve.think_s) if isinstance(tested.curve, ClosedCurve) else None
    curves = drifted(tested, replicates(tested), above.load, asked).rates
    return np.maximum(further_measurement(tested, above.load, curves), 0.0)


def error_of_band(band: Sequence[float | None], measured: float) -> Interval:
    """Return the interval of a prediction's relative error, from the band of the prediction; an unbounded end is None.
    [ratio]

    Examples
    --------
    >>> error_of_band((9.0, None), 8.0)
    (0.125, None)
    """
    low, high = band
    return None if low is None else low / measured - 1, None if high is None else high / measured - 1


def error_lines(error: float, interval: Interval | None) -> list[str]:
    """Return the lines below the key `fitted` of a model file that state the error at the held-out load levels, and its
    interval. [ratio]

    Examples
    --------
    >>> error_lines(0.25, (0.125, 0.375)), error_lines(0.25, (0.125, None))
    (['  held_out_error: 0.25', '  held_out_interval: [0.125, 0.375]'], ['  held_out_error: 0.25'])
    """
    lines = [f"  held_out_error: {error:.4g}"]
    low, high = interval or (None, None)
    return lines if low is None or high is None else [*lines, f"  held_out_interval: [{low:.4g}, {high:.4g}]"]
