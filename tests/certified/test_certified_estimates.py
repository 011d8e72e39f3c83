"""An interval converted to another confidence level equals the interval computed directly at this level."""

from __future__ import annotations

import math

import pytest

from towtank.analysis.statistics.estimates import BATCH_MEANS, ORDER_STATISTICS, RUNS, Estimate

# Two-sided quantiles of Student's t distribution from tables, by confidence level, with 9 and with infinitely many
# degrees of freedom.
T_9, Z = {0.95: 2.262157, 0.99: 3.249836}, {0.95: 1.959964, 0.99: 2.575829}


@pytest.mark.parametrize(("method", "times"), [(BATCH_MEANS, T_9), (ORDER_STATISTICS, Z)])
@pytest.mark.parametrize("error", [0.01, 0.1, 0.5])
def test_an_interval_of_a_logarithm_is_widened_in_the_logarithm(
    method: str, times: dict[float, float], error: float
) -> None:
    given = Estimate(8.0, 8.0 * math.exp(-times[0.95] * error), 8.0 * math.exp(times[0.95] * error), method, 10)
    wide = given.at(0.99)
    assert wide.low == pytest.approx(8.0 * math.exp(-times[0.99] * error), rel=1e-5)
    assert wide.high == pytest.approx(8.0 * math.exp(times[0.99] * error), rel=1e-5)
    assert wide.confidence == 0.99


@pytest.mark.parametrize("value", [-3.0, 0.0, 0.5, 8.0])
@pytest.mark.parametrize("error", [0.01, 0.1, 3.0])
def test_a_symmetric_interval_is_widened_evenly(value: float, error: float) -> None:
    given = Estimate(value, value - T_9[0.95] * error, value + T_9[0.95] * error, BATCH_MEANS, 10)
    wide = given.at(0.99)
    assert wide.low == pytest.approx(value - T_9[0.99] * error, rel=1e-5)
    assert wide.high == pytest.approx(value + T_9[0.99] * error, rel=1e-5)


@pytest.mark.parametrize(
    ("low", "high"),
    [(2.0, 2.0), (0.0, 5.0), (1.0, 2.0), (2.0, math.inf), (None, None), (1.999999999999, 2.000000000001)],
)
def test_an_interval_on_an_edge_stays_one(low: float | None, high: float | None) -> None:
    given = Estimate(2.0, low, high, BATCH_MEANS, 10)
    wide = given.at(0.99)
    if low is None or high is None:
        assert wide == given
    else:
        assert wide.low is not None
        assert wide.high is not None
        assert wide.low <= low
        assert wide.high >= high


def test_two_runs_widened_far_have_no_upper_end() -> None:
    """With one degree of freedom, the half-width grows by the factor 501 from 95 % to 99.99 %. The upper bound would be
    100 ** 501, which exceeds the range of floats.
    """
    wide = Estimate(2.0, 0.02, 200.0, RUNS, 2).at(0.9999)
    assert (wide.low, wide.high) == (pytest.approx(0.0, abs=1e-300), math.inf)
