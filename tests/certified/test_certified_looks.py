"""Studies that are evaluated after each block of runs: rate of false differences, and sufficiency of the reported
number of runs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from towtank.analysis.claims.needs import runs_needed
from towtank.analysis.statistics import ratio_interval, t_interval
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.statistics.looks import Looks
from towtank.claim_bounds import NumberBounds

pytestmark = pytest.mark.waits


def wrong_decisions(studies: int, blocks: int, deviation: float, seed: int) -> float:
    """Return the fraction of studies of two equal systems in which any of the evaluations finds a difference."""
    draws = np.exp(deviation * np.random.default_rng(seed).standard_normal((studies, 2, blocks)))
    confidence = Looks(blocks).confidence
    wrong = 0
    for first, second in draws:
        for count in Looks(blocks).until(blocks):
            found = ratio_interval(*(t_interval(values[:count]).at(confidence) for values in (first, second)))
            if found.low is not None and found.high is not None and not found.low <= 1 <= found.high:
                wrong += 1
                break
    return wrong / studies


@pytest.mark.parametrize("deviation", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("blocks", [3, 6, 10])
def test_equal_systems_differ_in_five_of_a_hundred_studies_at_most(blocks: int, deviation: float) -> None:
    # In 2,000 studies, a fraction of 5 % has a standard deviation of 0.49 %. The limit is 5 % plus three standard
    # deviations.
    assert wrong_decisions(2000, blocks, deviation, seed=blocks) < 0.05 + 0.015


@pytest.mark.parametrize(("deviation", "ratio_of_means", "block"), [(0.05, 1.05, 3), (0.03, 1.05, 3), (0.2, 1.2, 2)])
def test_the_stated_number_of_runs_decides_most_studies(deviation: float, ratio_of_means: float, block: int) -> None:
    """Studies that are undecided after a block report a number of runs. Most of them are decided after this number of
    runs.
    """
    random, confidence, decided, stated = np.random.default_rng(7), Looks(10).confidence, 0, 0
    bounds = NumberBounds(1.0, math.inf)
    for _ in range(600):
        values = np.array([[ratio_of_means], [1.0]]) * np.exp(deviation * random.standard_normal((2, 1000)))

        def at(count: int, values: Any = values) -> Estimate:
            return ratio_interval(*(t_interval(side[:count]).at(confidence) for side in values))

        early = at(block)
        found = runs_needed(early, bounds, places=2)
        needs = found and found.probably
        if bounds.verdict(early.low, early.high) is None and needs is not None:
            stated += 1
            later = at(needs)
            decided += bounds.verdict(later.low, later.high) is not None
    assert stated > 100
    assert decided / stated > 0.6
