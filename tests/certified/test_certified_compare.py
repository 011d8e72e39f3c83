"""Rate of false alarms, power and coverage of the intervals of `towtank compare`, from simulations with known true
values.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from certification import Section
from compared_runs import NAMES, drawn_side
from covering import SERIES

from towtank.analysis import compare
from towtank.analysis.comparing.lines import line_of
from towtank.analysis.comparing.runs import ComparedRun, Measured, Metric, Place

PAIRS = SERIES or 40
PLANTED = 1.2
SECTION = Section(
    "Comparisons of two results",
    "runs a side | from run to run, together and apart | equal systems found to differ | change of 20 % found | there "
    "only",
    f"{PAIRS} pairs each, seeds fixed: six transactions, mean and three percentiles of each, throughput and CPU time; "
    "one transaction of B takes 20 % longer in the last two columns. With three runs a side at most 10 % of equal "
    "pairs are to show a difference, 90 % of the changes are to be found, and 85 % there only, with three standard "
    "deviations of so many allowed.",
)
INTERVALS = Section(
    "Intervals of ratios over runs",
    "runs a side | Student's t, held | percentile bootstrap over runs, held",
    "Normal logarithms, one value a run. 95 % intervals by t are to hold in 94 to 96 %; the bootstrap is not used.",
)
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
    right = 0.95 - margin <= held / pairs <= 0.95 + margin
    tabled(INTERVALS, str(runs), f"{100 * held / pairs:.1f} %", f"{100 * drawn / pairs:.1f} %", holds=right)
