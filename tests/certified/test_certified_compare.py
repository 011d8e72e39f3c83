"""False alarms, statistical power and coverage of `towtank compare`, from simulations with known true values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from certification import Section
from compared_runs import NAMES, drawn_side
from covering import SERIES
from scipy.signal import lfilter

from towtank.analysis import compare
from towtank.analysis.comparing.lines import line_of
from towtank.analysis.comparing.runs import ComparedRun, Measured, Metric, Place
from towtank.analysis.statistics.change_points import change_points
from towtank.analysis.statistics.permuted import permuted_steps

PAIRS = SERIES or 40
PLANTED = 1.2
SECTION = Section(
    "Comparisons of two results",
    "runs on each side | deviation between runs, common and separate | equal systems reported as different | change "
    "of 20 % reported | for this transaction only",
    f"{PAIRS} pairs each, with fixed seeds. Compared are mean and three percentiles of each of six transactions, "
    "throughput and CPU time. In the last two columns, one transaction of B takes 20 % longer. With three runs on "
    "each side, at most 10 % of the pairs of equal systems may show a difference, at least 90 % of the changes must "
    "be reported, and at least 85 % for the changed transaction only. The tolerance is three standard deviations.",
)
INTERVALS = Section(
    "Intervals of ratios over runs",
    "runs on each side | coverage by Student's t | coverage by the percentile bootstrap over runs",
    "The logarithms are normal, with one value for each run. 95 % intervals by Student's t must contain the true "
    "ratio in 95 % of the cases; the tolerance is three standard deviations. With two or three runs on each side, "
    "Welch's degrees of freedom are conservative, so the coverage may be up to 98 %. Towtank does not use the "
    "bootstrap; it is given for comparison.",
)
HISTORIES = Section(
    "Changes of level in a history of results",
    "results | deviations | series without a change: reported by permutation | reported by the t-test of "
    "`change_points` at 1 % | series with a change of 2, 3, 5 standard deviations in the middle: reported",
    f"{PAIRS} series each, with fixed seeds. A change may be reported in at most 1 % of the series without a change, "
    "and must be reported in at least 85 % of the series with a change of 5 standard deviations. The tolerance is "
    "three standard deviations. If neighbouring results are correlated, changes are reported more often; `towtank "
    "history` states this, and the test does not limit these rows.",
)
# With fewer runs on each side, the two sample variances often differ much by chance, so Welch's test has few degrees of
# freedom and is conservative.
_WELCH_IS_CAUTIOUS = 5
CASES = [(3, 0.0, 0.03), (3, 0.03, 0.0), (3, 0.02, 0.02), (5, 0.02, 0.02)]


def slack(share: float) -> float:
    return 3 * math.sqrt(share * (1 - share) / PAIRS)


@pytest.mark.certify
@pytest.mark.parametrize(("runs", "together", "apart"), CASES)
def test_false_alarms_and_power(runs: int, together: float, apart: float, tabled) -> None:
    rng = np.random.default_rng(round(1000 * (runs + together + 2 * apart)))
    alarms = found = only = 0
    for _ in range(PAIRS):
        for planted in (None, NAMES[2]):
            sides = [
                drawn_side(rng, runs, {} if lift is None else {lift: PLANTED}, together=together, apart=apart)
                for lift in (None, planted)
            ]
            findings = compare(sides[0], sides[1]).findings
            places = {each.transaction for each in findings if str(each.verdict) in ("worse", "better")}
            if planted is None:
                alarms += bool(places)
            else:
                found += planted in places
                only += planted in places and places <= {planted, None}
    shares = [count / PAIRS for count in (alarms, found, only)]
    right = shares[0] <= 0.10 + slack(0.10) and shares[1] >= 0.90 - slack(0.90) and shares[2] >= 0.85 - slack(0.85)
    spread = f"{100 * together:.0f} and {100 * apart:.0f} %"
    tabled(SECTION, str(runs), spread, *(f"{100 * share:.1f} %" for share in shares), holds=right)


@pytest.mark.certify
@pytest.mark.parametrize("runs", [2, 3, 5])
def test_intervals_hold_by_t_and_not_by_the_bootstrap(runs: int, tabled) -> None:
    rng = np.random.default_rng(runs)
    pairs, held, drawn = 10 * PAIRS, 0, 0
    for _ in range(pairs):
        values = rng.normal(0, 0.05, (2, runs))
        sides = [
            [ComparedRun("", "", "valid", {Place(Metric.MEAN): Measured(math.exp(value))}, {}) for value in side]
            for side in values
        ]
        line = line_of(Place(Metric.MEAN), *sides)
        low, high = line.interval(0.95)
        held += low <= 1 <= high
        means = [values[side][rng.integers(0, runs, (400, runs))].mean(axis=1) for side in (0, 1)]
        ends = np.quantile(means[1] - means[0], [0.025, 0.975])
        drawn += ends[0] <= 0 <= ends[1]
    margin = 3 * math.sqrt(0.05 * 0.95 / pairs)
    right = 0.95 - margin <= held / pairs <= (0.98 if runs < _WELCH_IS_CAUTIOUS else 0.95) + margin
    tabled(INTERVALS, str(runs), f"{100 * held / pairs:.1f} %", f"{100 * drawn / pairs:.1f} %", holds=right)


def deviations(rng: np.random.Generator, kind: str, count: int) -> np.ndarray:
    """Return a series without a change. The standard deviation of both normal kinds is 1."""
    if kind == "lognormal":
        return rng.lognormal(0, 1, count)
    noise = rng.normal(size=count)
    return noise if kind == "normal" else np.asarray(lfilter([math.sqrt(0.75)], [1.0, -0.5], noise))


@pytest.mark.certify
@pytest.mark.parametrize("kind", ["normal", "lognormal", "correlated 0.5"])
@pytest.mark.parametrize("count", [10, 20, 50])
def test_changes_of_level_in_histories(count: int, kind: str, tabled) -> None:
    rng = np.random.default_rng(count + len(kind))
    series = [deviations(rng, kind, count) for _ in range(PAIRS)]
    alarms = sum(bool(permuted_steps(values)) for values in series) / PAIRS
    by_t = sum(bool(change_points(values, max_p_value=0.01)) for values in series) / PAIRS
    later = np.arange(count) >= count // 2
    found = [sum(bool(permuted_steps(values + size * later)) for values in series) / PAIRS for size in (2, 3, 5)]
    shown = ", ".join(f"{100 * share:.0f} %" for share in found) if kind == "normal" else "-"
    right = alarms <= 0.01 + slack(0.01) and (kind != "normal" or found[-1] >= 0.85 - slack(0.85))
    cells = str(count), kind, f"{100 * alarms:.1f} %", f"{100 * by_t:.1f} %", shown
    tabled(HISTORIES, *cells, holds=right or kind.startswith("correlated"))
