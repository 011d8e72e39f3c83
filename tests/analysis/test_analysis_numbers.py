from __future__ import annotations

import math

import pytest
from scipy import stats

from towtank.analysis import aggregation, comparison, narrative
from towtank.analysis.factors import Factor
from towtank.analysis.limits import of_runs
from towtank.analysis.load_point import FoundLimit
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.study_summary import Configuration


def of_run(value, half, n=20):
    return Estimate(value, value - half, value + half, "batch means", n)


def test_equal_runs_are_no_more_exact_than_each_of_them():
    # The mean of three runs has a third of the variance of a run, and 3 x 19 = 57 degrees of freedom.
    found = aggregation.combined([of_run(10.0, 1.0)] * 3)
    error = 1.0 / stats.t.ppf(0.975, 19)
    assert found.high - 10 == pytest.approx(stats.t.ppf(0.975, 57) * error / math.sqrt(3), rel=1e-9)
    assert found.method == "runs"


def test_equal_values_without_errors_have_no_interval():
    assert aggregation.combined([Estimate(10.0, n=1)] * 3) == Estimate(10.0, n=3)


def test_runs_that_differ_keep_the_interval_over_runs():
    found = aggregation.combined([of_run(value, 0.01) for value in (9.0, 10.0, 11.0)])
    # The half width is t s / sqrt(3) = 2.4841, with t(0.975, 2) = 4.3027 and the standard deviation s = 1.
    assert found.high == pytest.approx(12.4841, abs=1e-4)


def limit(value, low, high, method="bracket"):
    return {
        "of": "users", "value": value, "low": low, "high": high, "method": method,
        "confidence": 0.95 if method == "tested bracket" else None, "n": 6, "failure": {"kind": "errors"},
        "binding": None, "is_lower_bound": False, "ended": "bracketed",
    }  # fmt: skip


def searches(*limits):
    return of_runs.found_limit([RunSummary(run=f"r{n}", limit=found) for n, found in enumerate(limits)])


def test_three_searches_with_one_bracket_leave_the_limit_anywhere_in_it():
    found = searches(*[limit(400, 400, 500)] * 3)
    assert [found[key] for key in ("value", "low", "high", "confidence")] == [400, 400, 500, None]
    assert FoundLimit.model_validate(found).in_words == "400 users (bracket 400 to 500, no confidence level)"


def test_searches_that_agree_are_no_narrower_than_what_all_leave_open():
    found = searches(*[limit(410, 400, 420, "tested bracket")] * 3)
    assert [found[key] for key in ("value", "low", "high", "confidence")] == [410, 400, 420, 0.95]
    apart = searches(limit(400, 395, 405, "tested bracket"), limit(500, 495, 505, "tested bracket"))
    # The mean of 400 and 500 has the standard error 50, and t(0.975, 1) = 12.706.
    assert apart["high"] == pytest.approx(450 + 12.706 * 50, rel=1e-4)


def point(level, runs, mean, half, method):
    value = {"value": mean, "low": mean - half, "high": mean + half, "confidence": 0.95, "method": method, "n": runs}
    return {
        "users": 10, "load": 10, "verdicts": ["valid"], "throughput_per_s": value, "transactions": {}, "tiers": {},
        "response_time_s": {"mean": {**value, "value": None}},
    }  # fmt: skip


def compared(*points):
    factor = Factor("cache", ("small", "large"))
    configurations = [
        Configuration.model_validate({"key": {"cache": level}, "points": [measured]})
        for level, measured in zip(factor.levels, points, strict=True)
    ]
    (line,) = comparison.comparisons([factor], "users", configurations)
    return line


def test_one_run_against_one_is_no_difference():
    line = compared(point("small", 20, 100.0, 0.8, "batch means"), point("large", 20, 105.0, 0.8, "batch means"))
    assert line.ratio.low > 1
    assert line.differs is None
    assert (line.assumed.run_to_run, line.assumed.differs) == (0.1, False)
    assert not line.is_certain
    tenfold = compared(point("small", 20, 100.0, 0.8, "batch means"), point("large", 20, 1000.0, 8.0, "batch means"))
    assert (tenfold.differs, tenfold.assumed.differs, tenfold.is_certain) == (
        None,
        True,
        True,
    )


@pytest.mark.parametrize(("to_s", "shown"), [(56e-6, "1.2 times as much CPU time"), (48e-6, None), (None, None)])
def test_a_comparison_says_if_the_machine_itself_was_slower(to_s, shown):
    """The same work takes 56 / 45 = 1.24 times as long, so the machine was slower. A ratio of 48 / 45 = 1.07 is within
    the tolerance of 10 %.
    """
    small = {**point("small", 3, 100.0, 0.8, "runs"), "pace_s": 45e-6}
    large = {**point("large", 3, 105.0, 0.8, "runs"), "pace_s": to_s}
    line = compared(small, large)
    assert line.pace_ratio == (None if to_s is None else pytest.approx(to_s / 45e-6))
    sentence = narrative._change(line, [])
    assert (shown is not None) == ("fixed piece of work" in sentence.text)
    assert shown is None or shown in sentence.text


@pytest.mark.parametrize(("to_s", "shown"), [(41e-6, True), (9e-6, True), (39e-6, False), (None, False)])
def test_a_comparison_says_if_memory_was_slower(to_s, shown):
    """Only a time that is at least twice the other counts, because the time varies in a lasting state, too."""
    small = {**point("small", 3, 100.0, 0.8, "runs"), "rested_page_s": 20e-6}
    large = {**point("large", 3, 105.0, 0.8, "runs"), "rested_page_s": to_s}
    line = compared(small, large)
    assert (line.rested_page_from_s, line.rested_page_to_s) == (20e-6, to_s)
    text = narrative._change(line, []).text
    assert ("of CPU time, before 20 µs, so the speed of memory differed, too" in text) is shown
    line = compared({**small, "pace_s": 45e-6}, {**large, "pace_s": 56e-6})
    text = narrative._change(line, []).text
    assert ("fixed piece of work" in text, "speed of memory" in text) == (True, shown)


def test_repeated_runs_differ_by_their_interval():
    line = compared(point("small", 3, 100.0, 0.8, "runs"), point("large", 3, 105.0, 0.8, "runs"))
    assert (line.differs, line.assumed) == (True, None)
