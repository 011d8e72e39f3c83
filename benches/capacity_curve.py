"""Measures the CPU time of a capacity curve with confidence bands: a fit, and 1,000 bootstrap replicates of the
curve.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import harness
import numpy as np

from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.dependent_curve import DependentCurve
from towtank.model.fitting.observations import Observations, observations
from towtank.model.fitting.prediction import predict_curve
from towtank.model.fitting.selection import candidate

# Longest acceptable CPU time for one curve with its bands. [s]
_LIMIT_S = 2.0
_LOADS = np.linspace(25, 1000, 40)


def run(*, quick: bool) -> None:
    """Measure the closed and the load-dependent curve; print median CPU times with intervals; store the single
    results.
    """
    users = np.array([60.0, 120, 240, 360, 420, 500, 620, 750])
    ones: dict[str, Observations] = {
        "closed": _measured(ClosedCurve(1, 1.0, with_busy=True), (0.0015, 0.001, 0.02), users),
        "load-dependent": _measured(DependentCurve(1, 1.0, with_busy=True), (0.0015, 0.001, 1.2), users),
    }
    once: Callable[[str], dict[str, Any]] = lambda name: _once(name, ones[name])  # noqa: E731 - as the turns require
    runs = harness.turns(list(ones), 3 if quick else 10, once)
    for name in ones:
        found = harness.interval([row["cpu_s"] for row in runs if row["generator"] == name])
        what = f"s CPU for 1,000 replicates at {len(_LOADS)} loads, limit {_LIMIT_S:g} s"
        print(f"  {name}: {harness.shown(found)} {what}")
    harness.keep("capacity-curve", {}, runs=runs, limit_s=_LIMIT_S)


def _measured(curve: ClosedCurve, truth: tuple[float, ...], users: Any) -> Observations:
    noise = np.random.default_rng(1).standard_normal((3, len(users)))
    parameters = np.array([truth])
    rate = curve.throughput(parameters, users)[0]
    busy = curve.busy(parameters, rate[None, :])[0]
    response = users / rate - curve.think_s
    return observations(
        users,
        rate * (1 + 0.01 * noise[0]),
        error=0.01 * rate,
        response=response * (1 + 0.05 * noise[1]),
        response_error=0.05 * response,
        think=np.full(len(users), curve.think_s),
        busy=busy * (1 + 0.01 * noise[2]),
        busy_error=0.01 * busy,
    )


def _once(name: str, points: Observations) -> dict[str, float]:
    """Return the CPU time of fitting a curve to the points and computing its bands. [s]

    The time includes the exact solution of the model. No results are cached between calls.
    """
    before = time.process_time()
    rows = predict_curve(candidate(name, points, 1, 1.0, None), [float(load) for load in _LOADS], 1.0)
    spent = time.process_time() - before
    if any("throughput" not in row for row in rows):
        raise SystemExit("error: a load was refused")
    return {"cpu_s": spent}
