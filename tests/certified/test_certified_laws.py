"""Test for a constant CPU demand by the utilization law: false alarms, and detected changes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from certification import Section, percent
from covering import SERIES, autoregressive

from towtank.analysis import laws

RUNS = SERIES or 200
RATE = 100.0
DEMAND_S = 0.005


def outcomes(seed, seconds, noise, correlation, step):
    """Return the fractions of runs in which the test of the utilization law fails, holds and is undecided.

    In the second half of each run, the CPU demand is larger by the fraction `step`.
    """
    stream, found = np.random.default_rng(seed), []
    for _ in range(RUNS):
        ended = stream.poisson(RATE, seconds).astype(float)
        cpu_s = DEMAND_S * ended * (1 + noise * (autoregressive(stream, seconds, correlation) - 10))
        cpu_s[seconds // 2 :] *= 1 + step
        run = SimpleNamespace(transactions=SimpleNamespace(ended=ended), length_of=lambda chosen: float(len(chosen)))
        found.append(laws.utilization("web", cpu_s, run, np.ones(seconds, dtype=bool)).holds)
    return tuple(sum(holds is verdict for holds in found) / RUNS for verdict in (False, True, None))


CASES = [
    (seconds, noise, correlation)
    for seconds in (30, 60, 120, 300)
    for noise, correlation in ((0.05, 0.3), (0.10, 0.3), (0.10, 0.6), (0.15, 0.6))
]


SECTION = Section(
    "The utilization law",
    "window | noise between seconds | correlation of the noise | step of the demand | fails | holds | undecided",
    f"{RUNS} runs each. Without a step of the CPU demand, the test may fail in at most 1 of 1,000 runs. With a step "
    "of 20 % or more, it may hold in at most 5 % of the runs. The tolerance is four standard deviations.",
)


@pytest.mark.certify
@pytest.mark.parametrize("step", [0.0, 0.1, 0.2, 0.3])
@pytest.mark.parametrize(("seconds", "noise", "correlation"), CASES)
def test_an_even_demand_is_hardly_ever_doubted_and_a_step_hardly_ever_holds(seconds, noise, correlation, step, tabled):
    # At most 1 of 1,000 runs may fail by chance. A step of 20 % may remain undecided, but must not yield "holds".
    found = outcomes(seconds, seconds, noise, correlation, step)
    allowed = step > 0.0 or found[0] <= 0.001 + 4 * (0.001 / RUNS) ** 0.5
    allowed &= step < 0.2 or found[1] <= 0.05 + 4 * (0.05 * 0.95 / RUNS) ** 0.5
    cells = (f"{seconds} s", percent(noise), str(correlation), percent(step), *map(percent, found))
    tabled(SECTION, *cells, holds=allowed)


def test_a_long_quiet_run_decides_both():
    failed, _, _ = outcomes(5, 120, 0.05, 0.3, 0.20)
    _, held, _ = outcomes(6, 120, 0.05, 0.3, 0.0)
    assert failed >= 0.95
    assert held >= 0.95
