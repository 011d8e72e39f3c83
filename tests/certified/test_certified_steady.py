"""MSER-5 against case V64 and against cases small enough for a sheet of paper."""

from __future__ import annotations

import numpy as np
import pytest
from cases import case, column

from towtank.analysis.windows import steady

SERIES = ["exp_decay", "ar1_from_empty", "trend"]


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize(("rule", "batch"), [("MSER1", 1), ("MSER5", 5)])
def test_mser_truncates_where_the_definition_says(name, rule, batch):
    expected = case("V64")["verified"][name][rule]
    cut = steady.mser(column(name, "mser_series.csv"), batch)
    assert cut.observations == expected["truncate"]
    # Exact method: only rounding of the sums is left.
    assert cut.statistic == pytest.approx(expected["statistic"], rel=1e-9)


@pytest.mark.parametrize("name", ["exp_decay", "ar1_from_empty"])
def test_mean_after_truncation_is_that_of_the_case(name):
    values = column(name, "mser_series.csv")
    expected = case("V64")["verified"][name]
    assert values.mean() == pytest.approx(expected["mean_all"], rel=1e-9)
    assert values[steady.mser(values).observations :].mean() == pytest.approx(expected["mean_after_MSER5"], rel=1e-9)


def test_a_trend_is_never_steady():
    values = column("trend", "mser_series.csv")
    cut = steady.mser(values)
    assert cut.at_limit
    assert steady.differs(values, cut.observations)[0] < steady.CUT_SIGNIFICANCE
    assert steady.trend(np.arange(600.0), values).p_value < steady.SIGNIFICANCE


def test_mser_by_hand():
    # Batches of one: 10, 2, 4, 2, 4. Statistics by hand, d = 0: mean 4.4, squares 43.2, / 25 = 1.728;
    # d = 1: mean 3, squares 4, / 16 = 0.25; d = 2: 4 2 4, squares 8/3, / 9 = 0.2963. The minimum is d = 1.
    cut = steady.mser(np.array([10.0, 2.0, 4.0, 2.0, 4.0]), 1)
    assert cut.observations == 1
    assert cut.statistic == pytest.approx(0.25, rel=1e-12)
    assert not cut.at_limit


@pytest.mark.parametrize(("count", "batch"), [(1, 1), (9, 1), (19, 1), (20, 2), (39, 3), (49, 4), (50, 5), (1000, 5)])
def test_batches_of_mser_are_five_unless_fewer_than_ten_are_left(count, batch):
    assert steady.batch_for(count) == batch


def test_a_constant_series_is_not_cut():
    assert steady.mser(np.full(100, 7.0)) == steady.Cut(0, 0.0, False, 5)


def test_trend_of_a_straight_line_by_hand():
    # 10 + 0.5 t with errors +1 -1 -1 +1 at t = 0 1 2 3: sums of errors and of t * errors vanish, so slope 0.5
    # exactly.
    values = np.array([11.0, 9.5, 10.0, 12.5])
    line = steady.trend(np.arange(4.0), values)
    assert line.slope_per_s == pytest.approx(0.5, rel=1e-12)
    assert line.relative_change == pytest.approx(0.5 * 3 / 10.75, rel=1e-12)


def test_false_alarms_of_the_trend_test_are_as_rare_as_announced():
    # 400 series of first-order autoregressive noise (0.5) without any trend. The test is made for 1 %; the
    # correction is an approximation, 2 to 3 % are usual for 100 observations, a test without it gives about
    # 15 %.
    stream = np.random.default_rng(20)
    alarms = sum(
        steady.trend(np.arange(100.0), autoregressive(stream, 100, 0.5)).p_value < steady.SIGNIFICANCE
        for _ in range(400)
    )
    assert alarms <= 0.05 * 400


def autoregressive(stream, count, correlation):
    noise = stream.normal(size=count + 100)
    values = np.zeros(count + 100)
    for number in range(1, count + 100):
        values[number] = correlation * values[number - 1] + noise[number]
    return 10 + values[100:]
