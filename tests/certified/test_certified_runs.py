"""Comparisons of equal systems: rate of reported differences."""

from __future__ import annotations

import numpy as np
import pytest
from certification import Section, percent
from covering import SERIES
from scipy import stats

from towtank.analysis import aggregation, comparison
from towtank.analysis.factors import Factor
from towtank.analysis.statistics.estimates import BATCH_MEANS, Estimate
from towtank.analysis.study_summary import Configuration

pytestmark = pytest.mark.waits

PAIRS = SERIES or 400
WITHIN = 0.004
WORTH = 30


def runs_of(stream, repetitions, run_to_run, truth):
    """Return random runs. The means of runs vary by the fraction `run_to_run` around `truth`; each run states an error
    of 0.4 %.
    """
    runs = []
    for _ in range(repetitions):
        value = stream.normal(stream.normal(truth, run_to_run * truth), WITHIN * truth)
        error = WITHIN * truth * np.sqrt(stream.chisquare(WORTH - 1) / (WORTH - 1))
        half = float(stats.t.ppf(0.975, WORTH - 1)) * error
        runs.append(Estimate(value, value - half, value + half, BATCH_MEANS, WORTH))
    return runs


def point_of(runs):
    return {
        "users": 10, "load": 10, "verdicts": ["valid"] * len(runs), "transactions": {}, "tiers": {},
        "throughput_per_s": aggregation.combined(runs).document(), "response_time_s": {},
    }  # fmt: skip


def is_called_different(pair):
    """Return True if a comparison of two lists of runs shows a difference."""
    configurations = [
        Configuration.model_validate({"key": {"cache": level}, "points": [point_of(runs)]})
        for level, runs in zip(("a", "b"), pair, strict=True)
    ]
    (line,) = comparison.comparisons([Factor("cache", ("a", "b"))], "users", configurations)
    # `differs` is None for single runs. With two runs on each side it may be None, too, because two very different
    # values yield no interval of the ratio.
    assert (line.differs is None) == (len(pair[0]) == 1) or len(pair[0]) == 2
    return line.is_certain


def pairs_of(seed, repetitions, run_to_run, effect=1.0):
    """Yield pairs of lists of runs. The second list has `effect` times the values of the first list."""
    stream = np.random.default_rng(seed)
    for _ in range(PAIRS):
        yield [runs_of(stream, repetitions, run_to_run, truth) for truth in (100.0, 100.0 * effect)]


def claimed(seed, repetitions, run_to_run, effect=1.0):
    return sum(map(is_called_different, pairs_of(seed, repetitions, run_to_run, effect))) / PAIRS


SECTION = Section(
    "Equal systems, and different ones",
    "runs of each system | error from run to run | truth | reported as different",
    f"{PAIRS} comparisons each; the error within a run is {100 * WITHIN:g} %. At most 5 % of the comparisons of equal "
    "systems may report a difference; the tolerance is four standard deviations.",
)


@pytest.mark.certify
@pytest.mark.parametrize("effect", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("repetitions", [1, 2, 3, 5])
@pytest.mark.parametrize("run_to_run", [0.01, 0.03, 0.10])
def test_equal_systems_are_called_different_in_at_most_5_percent(repetitions, run_to_run, effect, tabled):
    # Values vary by up to 10 % between runs. Intervals from the errors within single runs ignore this; at 3 %, they
    # would report a difference in 80 % of the comparisons.
    allowed = 0.05 + 4 * (0.05 * 0.95 / PAIRS) ** 0.5
    share = claimed(repetitions, repetitions, run_to_run, effect)
    truth = "equal" if effect == 1.0 else f"{effect:g} times"
    cells = (str(repetitions), percent(run_to_run), truth, percent(share))
    tabled(SECTION, *cells, holds=effect != 1.0 or share <= allowed)


PLANTED = Section(
    "Planted differences",
    "runs of each system | error from run to run | truth | reported as different | reported by Welch's test",
    f"{PAIRS} comparisons each. Towtank may report at most 5 percentage points fewer differences than Welch's test at "
    "5 % of the logarithms of the same runs; the tolerance is four standard deviations.",
)


@pytest.mark.certify
@pytest.mark.parametrize("effect", [1.05, 1.1, 1.2, 1.5])
@pytest.mark.parametrize("repetitions", [2, 3, 5, 10])
@pytest.mark.parametrize("run_to_run", [0.01, 0.03, 0.10])
def test_planted_differences_are_found_as_by_a_test_of_the_same_runs(run_to_run, repetitions, effect, tabled):
    ours = theirs = 0
    for pair in pairs_of(round(1000 * effect) + repetitions, repetitions, run_to_run, effect):
        ours += is_called_different(pair)
        first, second = (np.log([run.value for run in runs]) for runs in pair)
        theirs += stats.ttest_ind(first, second, equal_var=False).pvalue < 0.05
    missed = (theirs - ours) / PAIRS
    cells = (str(repetitions), percent(run_to_run), f"{effect:g} times", percent(ours / PAIRS), percent(theirs / PAIRS))
    tabled(PLANTED, *cells, holds=missed <= 0.05 + 4 * (0.05 * 0.95 / PAIRS) ** 0.5)


def test_large_effects_of_single_runs_are_seen():
    assert claimed(8, 1, 0.03, effect=3.0) == 1.0
