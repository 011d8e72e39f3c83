"""Demands that drift beyond the measured utilizations. Prediction bands have the right coverage only if they include
this drift.
"""

from __future__ import annotations

import numpy as np
import pytest
from certification import Tabled
from certified_shares import record_share

from towtank.model.fitting import drift
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.dependent_curve import DependentCurve
from towtank.model.fitting.fit import Fit, fit_curve
from towtank.model.fitting.intervals import percentiles
from towtank.model.fitting.observations import observations
from towtank.model.fitting.replicates import replicates

THINK_S = 1.0
TRUE = np.array([[0.002, 0.003, 0.0]])
LOW = np.array([100.0, 200, 300, 400])  # loads with a utilization of 0.2, 0.4, 0.6 and 0.79
BEYOND = np.array([800.0])
SYSTEMS = 120


def fitted(
    loads: np.ndarray, stream: np.random.Generator, curve: ClosedCurve | None = None, noise: float = 0.002
) -> Fit:
    truth = ClosedCurve(1, THINK_S, with_busy=True)
    rate = truth.throughput(TRUE, loads)[0]
    seen = rate * (1 + noise * stream.standard_normal(len(loads)))
    think = np.full(len(loads), THINK_S)
    points = observations(loads, seen, error=noise * rate, think=think, busy=rate * TRUE[0, 0], busy_error=noise * rate)
    return fit_curve(curve or truth, points)


@pytest.mark.waits
@pytest.mark.certify
def test_bands_hold_for_systems_whose_demand_moves(tabled: Tabled) -> None:
    stream = np.random.default_rng(5)
    holds = narrow = 0
    for _ in range(SYSTEMS):
        fit = fitted(LOW, stream)
        moved = TRUE.copy()
        # The highest measured utilization is 0.79. Between 0.79 and saturation, the standard deviation of the drift is
        # proportional to 1 - 0.79.
        moved[0, 0] *= np.exp(drift.DRIFT * stream.standard_normal() * (1 - 0.79))
        truth = fit.curve.throughput(moved, BEYOND)[0, 0]
        drawn = replicates(fit, 200)
        low, high = percentiles(drift.drifted(fit, drawn, BEYOND).rates[:, 0], 0.95)
        holds += low <= truth <= high
        low, high = percentiles(fit.curve.throughput(drawn, BEYOND)[:, 0], 0.95)
        narrow += low <= truth <= high
    # The limit is 95 % minus three standard errors of 2 % each (120 systems).
    system = "one server measured up to 79 %, whose demand moves"
    record_share(tabled, "throughput at twice the highest load", system, holds, SYSTEMS, least=0.89)
    assert narrow / SYSTEMS < 0.80


def test_nothing_is_added_where_it_was_measured() -> None:
    fit = fitted(np.array([*LOW, 800.0]), np.random.default_rng(7))
    drawn = replicates(fit, 50)
    loads = np.array([100.0, 400.0])
    found = drift.drifted(fit, drawn, loads)
    assert found.rates == pytest.approx(fit.curve.throughput(drawn, loads), rel=1e-12)
    assert (found.factors == 1).all()
    # At the highest measured level, the bottleneck was busy all the time, so no drift is added.
    assert drift.at_saturation(fit, drawn) == pytest.approx(drawn, rel=0.005)


def test_the_demand_at_saturation_is_as_far_as_the_utilization_was_short() -> None:
    fit = fitted(LOW, np.random.default_rng(11), noise=1e-6)
    drawn = np.repeat(fit.parameters[None, :], 20_000, axis=0)
    moved = np.log(drift.at_saturation(fit, drawn)[:, 0] / drawn[:, 0])
    assert moved.mean() == pytest.approx(0, abs=0.002)
    assert moved.std() == pytest.approx(drift.DRIFT * (1 - 0.79), rel=0.05)
    found = drift.drifted(fit, drawn, BEYOND)
    assert np.log(found.factors[:, 0]) == pytest.approx(moved, rel=0.01, abs=1e-6)
    # At saturation the server is always busy, so the throughput is 1 / demand.
    assert found.rates[:, 0] * found.factors[:, 0] * drawn[:, 0] == pytest.approx(np.ones(len(drawn)), rel=0.02)


def test_a_curve_that_fits_the_change_itself_gets_none() -> None:
    fit = fitted(LOW, np.random.default_rng(13), DependentCurve(1, THINK_S, with_busy=True))
    drawn = np.repeat(fit.parameters[None, :], 5, axis=0)
    assert drift.at_saturation(fit, drawn) is drawn
    assert drift.drifted(fit, drawn, BEYOND).rates == pytest.approx(fit.curve.throughput(drawn, BEYOND))
