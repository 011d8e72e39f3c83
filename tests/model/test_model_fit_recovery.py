from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from certification import Tabled
from certified_shares import record_share

from towtank.model.fitting import intervals
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curves import AMDAHL, LINEAR, USL
from towtank.model.fitting.fit import fit_curve
from towtank.model.fitting.goodness import FIT_REJECTED, aicc, at_most_runs, judge
from towtank.model.fitting.observations import observations, pooled_errors
from towtank.model.fitting.prediction import PredictedValue, Prediction, _reach_down, predict_curve
from towtank.model.fitting.replicates import block_length, replicates
from towtank.model.fitting.selection import candidate, choose

LOAD = np.array([1.0, 2, 4, 8, 16, 24, 32, 48])
TRUE = np.array([[100.0, 0.04, 0.0005]])
SETS = 200
SYSTEM = "scalability law, throughput known to 2 %"


def measured(seed: int, spread: float = 0.02, load: Any = LOAD) -> Any:
    stream = np.random.default_rng(seed)
    rate = USL.throughput(TRUE, load)[0]
    return observations(load, rate * (1 + spread * stream.standard_normal(len(load))), error=spread * rate)


def holds(interval: Any, value: float) -> bool:
    low, high = interval
    return (low is None or low <= value) and (high is None or value <= high)


def test_points_on_the_curve_give_its_parameters() -> None:
    found = fit_curve(USL, observations(LOAD, USL.throughput(TRUE, LOAD)[0]))
    assert found.parameters == pytest.approx(TRUE[0], rel=1e-6)
    assert found.r_squared == pytest.approx(1.0, abs=1e-12)


@pytest.mark.waits
@pytest.mark.certify
def test_intervals_of_the_usl_hold_nineteen_times_in_twenty(tabled: Tabled) -> None:
    linear, profile = np.zeros(3), np.zeros(3)
    for seed in range(SETS):
        found = fit_curve(USL, measured(seed))
        document = intervals.t_intervals(found)
        linear += [holds(document[name], value) for name, value in zip(USL.parameters, TRUE[0], strict=True)]
        if seed % 4 == 0:
            document = intervals.profile_intervals(found)
            profile += [holds(document[name], value) for name, value in zip(USL.parameters, TRUE[0], strict=True)]
    # The limits are 95 % minus three standard deviations: 1.5 % each for 200 sets of measurements, 3 % each for 50.
    for name, by_error, by_profile in zip(USL.parameters, linear, profile, strict=True):
        record_share(tabled, f"{name}, by its standard error", SYSTEM, int(by_error), SETS, least=0.90)
        record_share(tabled, f"{name}, by the profile", SYSTEM, int(by_profile), SETS // 4, least=0.86)


@pytest.mark.waits
@pytest.mark.certify
def test_bootstrap_bands_hold_with_few_points(tabled: Tabled) -> None:
    target = float(USL.throughput(TRUE, np.array([64.0]))[0, 0])
    hits = 0
    for seed in range(SETS):
        found = fit_curve(USL, measured(seed, load=LOAD[:7]))
        drawn = USL.throughput(replicates(found, 200), np.array([64.0]))[:, 0]
        hits += holds(intervals.percentiles(drawn), target)
    record_share(tabled, "throughput at twice the highest load", SYSTEM, hits, SETS, least=0.90)


@pytest.mark.certify
def test_a_closed_system_gives_its_demands_back(tabled: Tabled) -> None:
    users = np.array([20.0, 60, 120, 200, 300, 400])
    curve = ClosedCurve(4, 2.0)
    truth = np.array([[0.05, 0.15]])
    rate = curve.throughput(truth, users)[0]
    hits = np.zeros(2)
    for seed in range(60):
        stream = np.random.default_rng(seed)
        seen = rate * (1 + 0.01 * stream.standard_normal(len(users)))
        times = np.maximum(users / rate - 2.0, 0.0) * (1 + 0.03 * stream.standard_normal(len(users)))
        points = observations(
            users, seen, error=0.01 * rate, response=times, response_error=0.03 * times, think=np.full(6, 2.0)
        )
        found = fit_curve(curve, points)
        assert found.parameters == pytest.approx(truth[0], rel=0.25)
        document = intervals.t_intervals(found)
        hits += [holds(document[name], value) for name, value in zip(curve.parameters, truth[0], strict=True)]
    for name, held in zip(curve.parameters, hits, strict=True):
        record_share(tabled, name, "4 servers, users who think, response times known to 3 %", int(held), 60, least=0.90)


@pytest.mark.certify
def test_cpu_time_determines_the_demand_below_saturation(tabled: Tabled) -> None:
    users = np.array([20.0, 50, 80, 110])
    curve = ClosedCurve(2, 2.0, with_busy=True)
    # Background work uses 0.2 of two servers, so a demand of 40 ms takes 40 / 0.9 ms.
    truth = np.array([[0.040, 0.1, 0.2]])
    rate = curve.throughput(truth, users)[0]
    assert rate == pytest.approx(ClosedCurve(2, 2.0).throughput(np.array([[0.040 / 0.9, 0.1]]), users)[0], rel=1e-9)
    assert float(curve.derived(truth)["limit_throughput"][0]) == pytest.approx((2 - 0.2) / 0.040)
    busy = 0.2 + 0.040 * rate
    hits = np.zeros(3)
    for seed in range(60):
        noise = np.random.default_rng(seed).standard_normal((2, 4))
        points = observations(
            users,
            rate * (1 + 0.01 * noise[0]),
            error=0.01 * rate,
            think=np.full(4, 2.0),
            busy=busy * (1 + 0.02 * noise[1]),
            busy_error=0.02 * busy,
        )
        found = fit_curve(curve, points)
        assert found.freedom == 5
        assert found.parameters[0] == pytest.approx(0.040, rel=0.25)
        document = intervals.t_intervals(found)
        hits += [holds(document[name], value) for name, value in zip(curve.parameters, truth[0], strict=True)]
    for name, held in zip(curve.parameters, hits, strict=True):
        record_share(tabled, name, "2 servers below saturation, CPU time known to 2 %", int(held), 60, least=0.88)


@pytest.mark.parametrize("name", ["closed", "amdahl", "linear"])
def test_the_curve_that_made_the_points_is_chosen(name: str) -> None:
    users = np.array([5.0, 10, 20, 40, 80, 120, 160, 240])
    rates = {
        "closed": ClosedCurve(2, 1.0).throughput(np.array([[0.03, 0.1]]), users)[0],
        "amdahl": AMDAHL.throughput(np.array([[10.0, 0.03]]), users)[0],
        "linear": LINEAR.throughput(np.array([[3.0]]), users)[0],
    }
    rate = rates[name] * (1 + 0.003 * np.random.default_rng(7).standard_normal(len(users)))
    points = observations(users, rate, think=np.full(8, 1.0))
    choice = choose(("usl", "amdahl", "linear", "closed"), points, 2, 1.0, None)
    assert choice.chosen is not None
    assert choice.chosen.name == name, choice.why


def test_points_without_a_curve_are_rejected_in_words() -> None:
    rate = np.array([10.0, 60, 12, 80, 9, 70, 11, 90])
    choice = choose(("usl", "amdahl", "linear", "closed"), observations(LOAD, rate), 1, 0.0, None)
    assert choice.chosen is None
    assert choice.why.startswith("every curve is rejected")
    assert "misses the points by" in choice.why


def test_a_straight_line_through_a_saturating_system_is_rejected() -> None:
    judgement = judge(fit_curve(LINEAR, measured(3)), None)
    assert judgement.level == FIT_REJECTED
    assert any("amdahl describes the points better" in text for _, text in judgement.reasons)


def test_repetitions_show_a_lack_of_fit() -> None:
    load = np.repeat(LOAD, 3)
    rate = 50 * load / (1 + (load / 12) ** 3) + np.tile([-0.1, 0.0, 0.1], len(LOAD))
    judgement = judge(fit_curve(AMDAHL, observations(load, rate)), None)
    test = next(each for each in judgement.tests if each.test == "lack of fit")
    assert test.p_value < 1e-6
    assert test.freedom == (6, 16)
    assert judgement.level == FIT_REJECTED


def test_lack_of_fit_by_hand() -> None:
    # Two points at each of x = 1, 2 and 4 lie 0.1 above and below the line y = x. Their means are on the line, so the
    # lack of fit is 0.
    load = np.array([1.0, 1, 2, 2, 4, 4])
    rate = load + np.tile([0.1, -0.1], 3)
    test = next(
        found for found in judge(fit_curve(LINEAR, observations(load, rate)), None).tests if found.test == "lack of fit"
    )
    assert test.statistic == pytest.approx(0.0, abs=1e-9)
    assert test.p_value == pytest.approx(1.0)


def test_runs_of_signs_by_hand() -> None:
    # The signs +++--- can be arranged in 20 orders. Two of these orders consist of two runs of equal signs, and four of
    # three runs.
    assert at_most_runs(3, 3, 2) == pytest.approx(2 / 20)
    assert at_most_runs(3, 3, 3) == pytest.approx(6 / 20)
    assert at_most_runs(3, 3, 6) == pytest.approx(1.0)


def test_aicc_by_hand() -> None:
    # Five points of y = 2 x have errors of +-0.3. So n = 5, and k = 2 counts one parameter and the variance.
    load = np.arange(1.0, 6)
    found = fit_curve(LINEAR, observations(load, 2 * load + 0.3 * np.array([1.0, -1, 1, -1, 0])))
    squares = float(found.misses @ found.misses)
    assert aicc(found) == pytest.approx(5 * np.log(squares / 5) + 4 + 12 / 2)
    assert aicc(fit_curve(USL, observations(load[:4], load[:4] ** 0.9))) is None


def test_the_highest_level_is_predicted_without_having_been_seen() -> None:
    tested = candidate("usl", measured(5), 1, 0.0, None).held_out
    assert tested is not None
    assert [row.load for row in tested.points] == [48.0]
    assert abs(tested.worst_error) < 0.15
    only = candidate("usl", measured(5), 1, 0.0, 2)
    assert only.fit.points.load.max() == 24.0
    assert only.held_out is not None
    assert [row.load for row in only.held_out.points] == [32.0, 48.0]


def test_predictions_have_bands_within_bands_and_an_end() -> None:
    fitted = candidate("usl", measured(2), 1, 0.0, None)
    rows = {row.load: row for row in predict_curve(fitted, [24.0, 40.0, 80.0, 200.0], 0.0)}
    assert [row.range for row in rows.values()] == ["measured", "between", "beyond", "beyond"]
    assert "2 times the highest load measured" in (rows[200.0].refused or "")
    rates: Any = {at: rows[at].throughput for at in (24.0, 40.0, 80.0)}
    wide = [rates[at].band_95 for at in (24.0, 80.0)]
    assert wide[1][1] - wide[1][0] > wide[0][1] - wide[0][0]
    for rate in rates.values():
        low, inner_low, inner_high, high = (
            rate.band_95[0], rate.band_80[0], rate.band_80[1], rate.band_95[1],
        )  # fmt: skip
        assert low <= inner_low <= rate.median <= inner_high <= high
        assert rate.measurement_95[0] < low
        assert high < rate.measurement_95[1]


def test_a_line_knows_no_limit_beyond_what_was_measured() -> None:
    # Throughput grows linearly up to 160 users, the highest measured load. The true limit of 451 /s is not visible in
    # these data, so it must be inside the prediction bands.
    load = np.repeat([20.0, 40, 80, 160], 3)
    rate = 2 * load * (1 + 0.01 * np.random.default_rng(5).normal(size=12))
    inside, beyond = predict_curve(candidate("linear", observations(load, rate), 1, 0.45, None), [160.0, 320.0], 0.45)
    assert inside.bound is None
    assert beyond.bound == "upper"
    for band in ("band_80", "band_95", "measurement_95"):
        low, high = getattr(beyond.throughput, band)
        assert low == pytest.approx(320, rel=0.03)
        assert high == pytest.approx(640, rel=0.05)
        assert low < 451 < high
        # The longest response time is N / X - Z, if 320 users have only the throughput X of 160 users.
        assert getattr(beyond.response_s, band)[1] == pytest.approx(320 / low - 0.45)


def value(band: tuple[float, float | None]) -> PredictedValue:
    return PredictedValue(0.0, 0.0, band, band, band)


def test_a_line_that_may_carry_nothing_has_no_slowest_response() -> None:
    row = Prediction(96.0, "beyond", value((1.0, 2.0)), value((1.0, 9.0)))
    line = fit_curve(LINEAR, observations(LOAD, LOAD))
    row = _reach_down(row, line, np.zeros((40, len(line.parameters))), 0.0)
    assert row.throughput == value((0.0, 2.0))
    assert row.response_s == value((1.0, None))


def test_a_band_of_a_line_that_reaches_down_to_zero_stays_there() -> None:
    """Prediction bands beyond the measured loads are extended downwards. A band that begins at zero stays as it is."""
    row = Prediction(96.0, "beyond", value((0.0, 120.0)))
    line = fit_curve(LINEAR, observations(LOAD, LOAD))
    row = _reach_down(row, line, np.ones((40, len(line.parameters))), 0.0)
    assert row.throughput == value((0.0, 120.0))


def test_a_rejected_curve_is_not_carried_beyond_what_was_measured() -> None:
    fitted = candidate("linear", measured(3), 1, 0.0, None)
    rows = predict_curve(fitted, [48.0, 60.0], 0.0)
    assert rows[0].throughput is not None
    assert "rejected" in (rows[1].refused or "")


def test_residuals_that_resemble_their_neighbours_are_drawn_in_blocks() -> None:
    stream = np.random.default_rng(11)
    load = np.tile(np.linspace(1, 20, 60), 3)
    noise = np.zeros(180)
    for place in range(1, 180):
        noise[place] = 0.8 * noise[place - 1] + stream.normal(0, 2)
    rate = USL.throughput(TRUE, load)[0]
    assert block_length(fit_curve(USL, observations(load, rate + noise))) > 3
    assert block_length(fit_curve(USL, observations(load, rate + stream.normal(0, 2, 180)))) == 1


def test_errors_of_few_runs_are_pooled() -> None:
    values, errors = np.array([100.0, 200, 300]), np.array([0.01, 4.0, 3.0])
    # Three runs have relative errors of 0.0001, 0.02 and 0.01. The pooled error is their root mean square, 0.01291.
    pooled = pooled_errors(values, errors, np.array([3.0, 3, 3]))
    assert pooled / values == pytest.approx(np.full(3, np.sqrt((0.0001**2 + 0.02**2 + 0.01**2) / 3)))
    assert pooled_errors(values, errors, np.array([1.0, 1, 1])) is errors
