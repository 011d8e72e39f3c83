"""MSER-5 for published and small cases, and the verdict on the steady state of simulated queues."""

from __future__ import annotations

import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from cases import case, column
from simulated_windows import closed_queue, open_queue, verdict_on, window_of

from towtank.analysis.checks import window as checks
from towtank.analysis.doubts import DoubtKind, DoubtLevel, percent_text
from towtank.analysis.windows import changes, steady

NAMES = ["exp_decay", "ar1_from_empty", "trend"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("rule", "batch"), [("MSER1", 1), ("MSER5", 5)])
def test_mser_truncates_where_the_definition_says(name, rule, batch):
    expected = case("V64")["verified"][name][rule]
    cut = steady.mser(column(name, "mser_series.csv"), batch)
    assert cut.observations == expected["truncate"]
    # The method is exact, so results may differ only by rounding.
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
    # If d of the n values 10, 2, 4, 2, 4 are removed, the MSER statistic is the sum of squares about the mean of the
    # others, divided by (n - d)^2. For d = 0 it is 43.2 / 25 = 1.728, for d = 1 it is 4 / 16 = 0.25, and for d = 2 it
    # is 8/3 / 9 = 0.2963. The minimum is at d = 1.
    cut = steady.mser(np.array([10.0, 2.0, 4.0, 2.0, 4.0]), 1)
    assert cut.observations == 1
    assert cut.statistic == pytest.approx(0.25, rel=1e-12)
    assert not cut.at_limit


@pytest.mark.parametrize(("count", "batch"), [(1, 1), (9, 1), (19, 1), (20, 2), (39, 3), (49, 4), (50, 5), (1000, 5)])
def test_batches_of_mser_are_five_unless_fewer_than_ten_are_left(count, batch):
    assert steady.batch_for(count) == batch


def test_a_constant_series_is_not_cut():
    assert steady.mser(np.full(100, 7.0)) == steady.Truncation(0, 0.0, False, 5)


def test_trend_of_a_straight_line_by_hand():
    # The values are 10 + 0.5 t with errors +1, -1, -1 and +1 at t = 0, 1, 2 and 3. The sum of the errors and the sum of
    # t * error are zero, so the fitted slope is exactly 0.5.
    values = np.array([11.0, 9.5, 10.0, 12.5])
    line = steady.trend(np.arange(4.0), values)
    assert line.slope_per_s == pytest.approx(0.5, rel=1e-12)
    assert line.relative_change == pytest.approx(0.5 * 3 / 10.75, rel=1e-12)


def test_false_alarms_of_the_trend_test_are_as_rare_as_announced():
    # The series are autoregressive noise without a trend, tested at 1 %. The correction for correlation is approximate,
    # so 2 to 3 % of the series show a significant trend.
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


SERIES = 150
SERVICE_S, THINK_S = 0.01014, 1.0


def verdicts(window):
    """Return the number of windows by verdict, from `SERIES` simulated series."""
    stream = np.random.default_rng(11)
    return Counter(verdict_on(window(stream)) for _ in range(SERIES))


@pytest.mark.waits
@pytest.mark.parametrize(
    ("utilization", "rate", "invalid", "valid"),
    [(0.7, 90, 0.01, 0.90), (0.9, 90, 0.02, 0.82), (0.9, 20, 0.04, 0.75), (0.95, 20, 0.07, 0.60)],
)
@pytest.mark.parametrize("seconds", [12, 60])
def test_a_queue_at_rest_is_hardly_ever_invalid(utilization, rate, invalid, valid, seconds):
    """The response time of a queue at high utilization varies over tens of seconds. A test that ignores the relaxation
    time of the queue would report 5 to 16 % of the windows as invalid.
    """

    def window(stream):
        arrivals, ends = open_queue(stream, rate, utilization / rate, 30 + seconds)
        return window_of(arrivals, ends, 30, seconds, is_open=True)

    found = verdicts(window)
    assert found["invalid"] <= invalid * SERIES
    assert found["valid"] >= valid * SERIES


@pytest.mark.waits
@pytest.mark.parametrize("users", [20, 80, 100, 150])
def test_a_closed_queue_at_rest_is_hardly_ever_invalid(users):
    def window(stream):
        arrivals, ends = closed_queue(stream, users, THINK_S, lambda _: SERVICE_S, 12 + 12)
        return window_of(arrivals, ends, 12, 12, is_open=False)

    found = verdicts(window)
    assert found["invalid"] <= 0.03 * SERIES
    assert found["valid"] >= 0.88 * SERIES


@pytest.mark.waits
@pytest.mark.parametrize(
    ("users", "service_s", "growth", "seconds", "valid"),
    [(20, 0.0068, 0.19, 15, 1.0), (50, 0.0063, 0.29, 12, 0.95), (80, 0.008, 0.6, 60, 0.20)],
)
def test_a_leak_is_found_or_not_excluded(users, service_s, growth, seconds, valid):
    """Service times grow by at least a fifth during the window. If the window is too short to detect this, the verdict
    must state that growth is not excluded.
    """

    def window(stream):
        service = lambda at: service_s * (1 + growth * max(0.0, at - 12) / seconds)  # noqa: E731
        arrivals, ends = closed_queue(stream, users, THINK_S, service, 12 + seconds)
        return window_of(arrivals, ends, 12, seconds, is_open=False)

    stream = np.random.default_rng(5)
    windows = [window(stream) for _ in range(SERIES)]
    assert sum(each.steady for each in windows) <= valid * SERIES
    shown = [each.steady and all(rest.is_shown for rest in each.rest.values()) for each in windows]
    assert sum(shown) <= 0.02 * SERIES


@pytest.mark.waits
@pytest.mark.parametrize(("rate", "seconds", "at_most"), [(115, 12, 0.20), (130, 12, 0.01), (120, 30, 0.01)])
def test_an_overloaded_queue_is_hardly_ever_valid(rate, seconds, at_most):
    """The service time is 10.14 ms, so the capacity is 98.6 /s, which the arrival rate exceeds."""

    def window(stream):
        arrivals, ends = open_queue(stream, rate, SERVICE_S, 3 + seconds)
        return window_of(arrivals, ends, 3, seconds, is_open=True)

    assert verdicts(window)["valid"] <= at_most * SERIES


@pytest.mark.waits
def test_a_start_of_five_times_the_response_time_is_left_out():
    """In the first 8 of 60 s, the response time is five times as long; its noise has a lag-1 correlation of 0.6. In
    nine of ten windows, these seconds are excluded.
    """
    stream, start = np.random.default_rng(5), np.where(np.arange(60) < 8, np.log(5), 0.0)
    ends, kept = np.arange(0.025, 60, 0.05), 0
    for _ in range(SERIES):
        noise = 0.08 * (autoregressive(stream, 60, 0.6) - 10)
        responses = 0.1 * np.exp(start + noise)[ends.astype(int)]
        kept += window_of(ends - responses, ends, 0, 60, is_open=True).start_s < 8
    assert kept <= 0.1 * SERIES


def test_what_is_at_rest_behind_half_a_window_is_kept():
    # Response times are twice as long in exactly the first half, so MSER's minimum is at the end of its search range.
    window = halves(first=0.2, second=0.1, slope=0.0)
    assert (window.start_s, window.steady) == (30.0, True)
    # The response time falls by half. The relative error of this change is 0.3 sqrt(2 / 600) = 1.7 %.
    beginning, change = window.note.split(", after which ")
    assert beginning == "the first 30 s of the steady stage were left out as transient"
    assert change in [f"response time is {percent} % lower" for percent in range(48, 53)]
    assert window.rest["response_time"].is_shown


def test_what_still_changes_behind_half_a_window_is_no_steady_state():
    window = halves(first=0.4, second=0.1, slope=0.05)
    assert not window.steady
    assert "response_time" in {change.metric for change in window.changes}


def test_a_rise_at_half_of_a_window_is_a_rise():
    """A change is relative to the first part of the window. Relative to the second part, this rise would be a change of
    −43 %, to which the limit for a fall applies.
    """
    window = halves(first=0.1, second=0.15, slope=0.05)
    (change,) = [change for change in window.changes if change.metric == "response_time"]
    # For a linear rise from a = 0.15 s to b = 0.2 s, the mean logarithm is (b log b - a log a) / (b - a) - 1. This
    # corresponds to 0.1744 s, which is 74.4 % more than 0.1 s.
    assert change.share == pytest.approx(0.744, abs=0.03)
    assert "response time changes by +" in window.note
    assert "% higher" in window.note


def halves(first, second, slope):
    """Return a window of 60 s with 20 responses per second. The response time changes after the first half."""
    stream = np.random.default_rng(3)
    ends = np.arange(0.025, 60, 0.05)
    level = np.where(ends < 30, first, second + slope * (ends - 30) / 30)
    return window_of(ends - level * stream.gamma(11, 1 / 11, len(ends)), ends, 0, 60, is_open=False)


def test_a_window_that_excludes_nothing_says_how_long_one_would_have_to_be():
    # The mean of 20 response times with a coefficient of variation of 1 has a relative error of 1 / sqrt(20) = 22 %.
    stream = np.random.default_rng(4)
    ends = np.arange(0.025, 12, 0.05)
    window = window_of(ends - stream.exponential(0.1, len(ends)), ends, 0, 12, is_open=False)
    assert window.steady
    rest = window.rest["response_time"]
    assert not rest.is_shown
    assert rest.at_most > rest.allowed
    assert rest.needed_s > 12
    (doubt,) = checks.rest(SimpleNamespace(window=window))
    assert (doubt.kind, doubt.level) == (DoubtKind.REST_NOT_SHOWN, DoubtLevel.NOTE)
    assert (doubt.seen, doubt.limit) == (rest.at_most, rest.allowed)
    most, limit = percent_text(rest.at_most), percent_text(rest.allowed)
    stated = re.fullmatch(
        r"the window of 12 s does not exclude a change of response time by up to (.+) \(limit (.+)\); "
        r"a window of about (\d+) s would",
        doubt.message,
    )
    assert stated is not None, doubt.message
    assert stated.groups()[:2] == (most, limit)
    # The length is rounded up to a multiple of 10 s, and then to two digits.
    assert rest.needed_s <= int(stated[3]) <= 1.1 * (rest.needed_s + 10)
    # A window with twice the length named in the doubt excludes the change.
    ends = np.arange(0.025, 2 * rest.needed_s, 0.05)
    longer = window_of(ends - stream.exponential(0.1, len(ends)), ends, 0, int(2 * rest.needed_s), is_open=False)
    assert longer.rest["response_time"].is_shown


def test_response_time_that_rises_by_half_is_no_steady_state_at_a_weaker_level():
    # A change of response time by +60 % with p = 0.02 is reported. A change of 30 % with p = 0.02, or of 60 % with p =
    # 0.2, is not.
    line = steady.Trend(np.log(1.6) / 11, 0.0, 0.02, np.log(1.6) / 11 / 2.8, 9.0)
    found = changes.of_trend("response_time", line, line, 11.0, -2.0)
    assert found.share == pytest.approx(0.6)
    assert not found.is_gross
    small = steady.Trend(np.log(1.3) / 11, 0.0, 0.02, np.log(1.3) / 11 / 2.8, 9.0)
    assert changes.of_trend("response_time", small, small, 11.0, -2.0) is None
    chance = steady.Trend(np.log(1.6) / 11, 0.0, 0.2, np.log(1.6) / 11 / 1.4, 9.0)
    assert changes.of_trend("response_time", chance, chance, 11.0, -2.0) is None


def test_a_change_is_gross_if_its_interval_is():
    # The logarithm of a rise by the factor 6 is 1.79, with a standard error of 0.3. With t(0.975, 9) = 2.262, the
    # change is at least exp(1.79 - 2.262 * 0.3) - 1 = 2.04.
    line = steady.Trend(np.log(6) / 11, 0.0, 1e-4, 0.3 / 11, 9.0)
    found = changes.of_trend("response_time", line, line, 11.0, -2.0)
    assert found.at_least == pytest.approx(2.04, abs=0.01)
    assert found.is_gross
    wide = steady.Trend(np.log(6) / 11, 0.0, 0.009, 0.6 / 11, 9.0)
    assert not changes.of_trend("response_time", wide, wide, 11.0, -2.0).is_gross
