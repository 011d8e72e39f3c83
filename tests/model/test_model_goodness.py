from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from towtank.model.fitting import goodness
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curves import LINEAR
from towtank.model.fitting.fit import Fit, fit_curve
from towtank.model.fitting.intervals import profile_intervals
from towtank.model.fitting.least_squares import Bounds
from towtank.model.fitting.observations import Floats, Observations, observations
from towtank.model.fitting.selection import candidate
from towtank.model.fitting.utilization_law import highest_throughput


def proportional(pairs: list[tuple[float, float]], error: float = 1e5) -> Fit:
    """Fit a line through the origin to two repetitions at each of the loads 1, 2 and 3.

    All points have the same error. It must be larger than half a percent, the smallest error that a throughput can have
    in a fit.
    """
    rates = np.array(pairs).ravel()
    return fit_curve(LINEAR, observations(np.repeat([1.0, 2.0, 3.0], 2), rates, error=np.full(6, error)))


def test_lack_of_fit_is_the_f_of_its_definition() -> None:
    """F is the mean square of the lack of fit, divided by that of the pure error (Draper and Smith, section 2.1).

    The slope is 268 / 28, so the residual sum of squares is 2616 - 268^2 / 28. The two repetitions at each of three
    levels differ by 2, so the pure error is 3 x 2, with 3 degrees of freedom. The lack of fit is the rest of the sum,
    with 3 levels - 1 parameter = 2 degrees of freedom.
    """
    found = goodness.judge(proportional([(9, 11), (22, 24), (25, 27)]), None)
    test = next(test for test in found.tests if test.test == "lack of fit")
    statistic = (2616 - 268**2 / 28 - 6) / 2 / (6 / 3)
    assert test.freedom == (2, 3)
    assert test.statistic == pytest.approx(statistic, rel=1e-6)
    assert test.p_value == pytest.approx(stats.f.sf(statistic, 2, 3), rel=1e-6)


def test_repetitions_that_do_not_differ_are_no_pure_error() -> None:
    found = goodness.judge(proportional([(10, 10), (23, 23), (26, 26)], error=1.0), None)
    assert not [test for test in found.tests if test.test == "lack of fit"]


class Saturating:
    """Curve 1 - exp(-k N). If all points are near 1, they determine only a lower bound of k."""

    name = "saturating"
    parameters = ("k",)

    def __init__(self, edge: float) -> None:
        self.bounds = Bounds(np.zeros(1), np.array([edge]))

    def throughput(self, parameters: Floats, load: Floats) -> Floats:
        return np.asarray(1 - np.exp(-parameters[:, :1] * load), dtype=float)

    def starts(self, points: Observations) -> Floats:
        return np.array([[0.5], [1.0], [3.0]])

    def derived(self, parameters: Floats) -> dict[str, Floats]:
        return {}


def saturating(edge: float) -> tuple[float | None, float | None]:
    load = np.array([1.0, 2, 3, 4, 5, 6])
    rates = 1 - np.exp(-2.0 * load) + np.array([0.04, -0.05, 0.03, -0.04, 0.05, -0.03])
    return profile_intervals(fit_curve(Saturating(edge), observations(load, rates, error=np.ones(6))))["k"]


def test_a_side_that_the_data_do_not_bound_has_no_end() -> None:
    """Every large k fits the points, so the interval of k has no upper end.

    A bound of the parameter at 1e12 changes nothing. A bound at 5 becomes the end of the interval.
    """
    low, high = saturating(1e12)
    assert low is not None
    assert 1.0 < low < 2.0
    assert high is None
    assert saturating(5.0) == (pytest.approx(low, rel=1e-6), 5.0)


def test_the_end_of_a_profile_is_where_the_sum_of_squares_has_risen_to_its_limit() -> None:
    """For a straight line, the sum of squares as a function of the slope is a parabola. So the interval is Student's:
    slope +- t s / sqrt(sum N^2).
    """
    fit = proportional([(9, 11), (22, 24), (25, 27)])
    slope, spread = 268 / 28, np.sqrt((2616 - 268**2 / 28) / 5 / 28)
    reach = stats.t.ppf(0.975, 5) * spread
    # `profile_intervals` computes twelve points of the profile and interpolates between them, so a tolerance is needed.
    assert profile_intervals(fit)["lambda"] == pytest.approx((slope - reach, slope + reach), rel=1e-6)


def test_the_criterion_is_that_of_hurvich_and_tsai() -> None:
    """The criterion (AICc) is n ln(S / n) + 2 k + 2 k (k + 1) / (n - k - 1) with n = 6 points and the sum of squares S.

    k = 2 counts the slope and the variance.
    """
    fit = proportional([(9, 11), (22, 24), (25, 27)], error=1e5)
    squares = (2616 - 268**2 / 28) / 1e10
    assert goodness.aicc(fit) == pytest.approx(6 * np.log(squares / 6) + 4 + 2 * 2 * 3 / 3, rel=1e-6)
    assert goodness.joint_aicc(fit) is None


def test_the_joint_criterion_counts_the_use_of_the_bottleneck_as_points() -> None:
    """The criterion is n ln(S / n) + 2 k + 2 k (k + 1) / (n - k - 1), with the sum S of all squared residuals.

    Five values of throughput and five of utilization are n = 10 points. Demand, time at other stations, background and
    the variance are k = 4 parameters.
    """
    stream = np.random.default_rng(2)
    curve = ClosedCurve(1, 1.0, with_busy=True)
    load = np.array([10.0, 30, 60, 100, 150])
    truth = np.array([[0.01, 0.02, 0.05]])
    rate = curve.throughput(truth, load)[0] * (1 + 0.01 * stream.standard_normal(5))
    busy = curve.busy(truth, rate[None, :])[0] * (1 + 0.01 * stream.standard_normal(5))
    points = observations(load, rate, error=0.01 * rate, think=np.ones(5), busy=busy, busy_error=0.01 * busy)
    fit = fit_curve(curve, points)
    fitted = curve.throughput(fit.parameters[None, :], load)
    misses = (rate - fitted[0]) / points.deviations
    assert points.busy_deviations is not None
    beside = (busy - curve.busy(fit.parameters[None, :], fitted)[0]) / points.busy_deviations
    squares = float(misses @ misses + beside @ beside)
    assert goodness.joint_aicc(fit) == pytest.approx(10 * np.log(squares / 10) + 8 + 2 * 4 * 5 / 5, rel=1e-9)


@pytest.mark.parametrize(("above", "below"), [(2, 2), (3, 5), (6, 4)])
def test_the_probability_of_few_runs_is_that_of_counting(above: int, below: int) -> None:
    """The probability of few runs (sequences of equal signs) equals a count over all orders of the signs."""
    counts = [1 + sum(sign != after for sign, after in itertools.pairwise(order)) for order in orders(above, below)]
    for runs in range(2, above + below + 1):
        expected = sum(count <= runs for count in counts) / len(counts)
        assert goodness.at_most_runs(above, below, runs) == pytest.approx(expected, rel=1e-12)


def orders(above: int, below: int) -> list[str]:
    places = itertools.combinations(range(above + below), above)
    return ["".join("+" if number in chosen else "-" for number in range(above + below)) for chosen in places]


def test_errors_of_a_prediction_are_relative_to_what_was_measured() -> None:
    """A line of 20 /s per user predicts 200 /s at 10 users, but 160 /s were measured: an error of 200 / 160 - 1 = 25 %.

    The predicted response time is 10 / 200 s - 10 ms = 40 ms, but 50 ms were measured: an error of 40 / 50 - 1 = -20 %.
    """
    fit = fit_curve(LINEAR, observations(np.array([1.0, 2, 3]), np.array([20.0, 40, 60])))
    above = observations(
        np.array([10.0]), np.array([160.0]), response=np.array([0.05]), think=np.array([0.01])
    )  # fmt: skip
    found = goodness.predicted_against_measured(fit, above, 1)
    (row,) = found.points
    assert (row.predicted_throughput, row.error) == (pytest.approx(200.0), pytest.approx(0.25))
    assert row.predicted_response_s == pytest.approx(0.04)
    assert row.response_error == pytest.approx(-0.2)
    assert found.worst_error == pytest.approx(0.25)


def test_a_limit_from_scattered_readings_is_reported_with_its_margin() -> None:
    """The number of busy servers, 0.1 + 0.01 X, reaches two, all servers, at X = 190 /s. This is the limit.

    If the readings lie on the line, the upper bound of the limit is also 190 /s. If they scatter, it is higher.
    """
    rates = np.array([20.0, 40, 60, 80, 100, 120])
    scatter = 0.02 * np.array([1, -1, 1, -1, 1, -1])
    points = observations(rates, rates, busy=0.1 + 0.01 * rates)
    exact = highest_throughput(points, 2)
    assert exact is not None
    # `highest_throughput` searches the upper bound only at the points of a grid, so a tolerance is needed.
    assert exact == (pytest.approx(190.0), pytest.approx(190.0, rel=0.01))
    scattered = highest_throughput(observations(rates, rates, busy=0.1 + 0.01 * rates + scatter), 2)
    assert scattered is not None
    assert scattered[1] > 1.05 * scattered[0]


@pytest.mark.parametrize("sigma", [-0.02, -0.005])
def test_superlinear_points_are_fitted_with_their_cause_in_question(sigma: float) -> None:
    """Points follow the scalability law with a negative sigma and 0.5 % of noise; the fit must give this sigma."""
    stream = np.random.default_rng(2)
    load = np.array([1.0, 2, 4, 8, 12, 16, 24, 32, 48, 64])
    exact = 20 * load / (1 + sigma * (load - 1) + 6e-4 * load * (load - 1))
    points = observations(load, exact * (1 + 0.005 * stream.standard_normal(len(load))))
    found = candidate("usl", points, 1, 0.0, None)
    assert found.fit.parameters[1] == pytest.approx(sigma, abs=0.002)
    assert found.judgement.level == goodness.FIT_DOUBTFUL
    (doubt,) = [sentence for _, sentence in found.judgement.reasons if "more than in proportion" in sentence]
    assert "find the cause" in doubt


def test_points_without_contention_are_no_reason_to_reject_the_law() -> None:
    """Points follow the law with sigma = 0 and 0.5 % of noise, so half of the fits have sigma at its bound.

    The law must still be accepted: its peak is at sqrt(1 / kappa), within 5 %, and predictions are not refused.
    """
    load = np.array([1.0, 2, 4, 8, 12, 16, 24, 32, 48, 64])
    exact = 20 * load / (1 + 6e-4 * load * (load - 1))
    at_bound = 0
    for seed in range(6):
        noise = 1 + 0.005 * np.random.default_rng(seed).standard_normal(len(load))
        found = candidate("usl", observations(load, exact * noise), 1, 0.0, None)
        assert found.judgement.level != goodness.FIT_REJECTED
        sigma, kappa = found.fit.parameters[1:]
        assert np.sqrt((1 - sigma) / kappa) == pytest.approx(np.sqrt(1 / 6e-4), rel=0.05)
        at_bound += sigma == 0
    assert at_bound >= 2


def test_points_in_proportion_stay_within_the_bounds() -> None:
    """Noise rarely makes proportional growth seem superlinear: at most 2 of 40 fits may have a negative sigma."""
    load = np.array([1.0, 2, 4, 8, 16, 32])
    negative = 0
    for seed in range(40):
        stream = np.random.default_rng(seed)
        points = observations(load, 20 * load * (1 + 0.02 * stream.standard_normal(len(load))))
        negative += candidate("usl", points, 1, 0.0, None).fit.parameters[1] < 0
    assert negative <= 2


@pytest.mark.parametrize(
    ("name", "lowest", "doubted"), [("usl", 3.0, True), ("usl", 2.0, False), ("closed", 3.0, False)]
)
def test_only_a_law_of_scalability_extrapolates_its_throughput_at_load_1(
    name: str, lowest: float, doubted: bool
) -> None:
    load = np.array([lowest, 4.0, 8, 12, 16, 24, 32])
    points = observations(load, 10 * load / (1 + 0.02 * (load - 1)), error=np.full(7, 0.5))
    reasons = [text for _, text in candidate(name, points, 1, 0.1, None).judgement.reasons]
    assert any("throughput at load 1, is extrapolated" in text for text in reasons) is doubted
