"""Equal systems compared: how often a difference is claimed that does not exist."""

from __future__ import annotations

import numpy as np
import pytest
from covering import SERIES
from scipy import stats

from towtank.analysis import aggregation, comparison
from towtank.analysis.statistics.estimates import BATCH_MEANS, Estimate

PAIRS = SERIES or 400
WITHIN = 0.004
WORTH = 30


def study(stream, repetitions, run_to_run, truth=100.0):
    """A point of a study: runs whose means differ by `run_to_run`, each known to itself to 0.4 %."""
    runs = []
    for _ in range(repetitions):
        value = stream.normal(stream.normal(truth, run_to_run * truth), WITHIN * truth)
        error = WITHIN * truth * np.sqrt(stream.chisquare(WORTH - 1) / (WORTH - 1))
        half = float(stats.t.ppf(0.975, WORTH - 1)) * error
        runs.append(Estimate(value, value - half, value + half, BATCH_MEANS, WORTH))
    value = aggregation.combined(runs).document()
    return {
        "users": 10, "load": 10, "verdicts": ["valid"] * repetitions, "throughput_per_s": value, "transactions": {},
        "tiers": {}, "response_time_s": {},
    }  # fmt: skip


def claimed(seed, repetitions, run_to_run, effect=1.0):
    """Share of comparisons that show a difference."""
    stream, found = np.random.default_rng(seed), 0
    factor = {"name": "cache", "levels": ["a", "b"]}
    for _ in range(PAIRS):
        points = [study(stream, repetitions, run_to_run, truth) for truth in (100.0, 100.0 * effect)]
        configurations = [
            {"key": {"cache": level}, "points": [one]} for level, one in zip(("a", "b"), points, strict=True)
        ]
        (line,) = comparison.comparisons([factor], "users", configurations)
        assert (line["differs"] is None) == (repetitions == 1)
        found += comparison.is_certain(line)
    return found / PAIRS


def rows():
    """Lines of the table: runs, run-to-run error, differences claimed of equal systems, of a factor of 1.5 and of 3."""
    for repetitions in (1, 2, 3, 5):
        for share in (0.01, 0.03, 0.10):
            rates = [claimed(repetitions, repetitions, share, effect) for effect in (1.0, 1.5, 3.0)]
            yield (str(repetitions), f"{100 * share:.0f} %", *(f"{100 * rate:.1f} %" for rate in rates))


@pytest.mark.parametrize("repetitions", [1, 3])
@pytest.mark.parametrize("run_to_run", [0.01, 0.03, 0.10])
def test_equal_systems_are_called_different_in_at_most_5_percent(repetitions, run_to_run):
    # Four standard deviations of a count of 5 % are allowed; within-run intervals alone claim 80 % at 3 %.
    allowed = 0.05 + 4 * (0.05 * 0.95 / PAIRS) ** 0.5
    assert claimed(7, repetitions, run_to_run) <= allowed


def test_large_effects_of_single_runs_are_seen():
    assert claimed(8, 1, 0.03, effect=3.0) == 1.0
