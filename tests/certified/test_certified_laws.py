"""The utilization law as a test: how often it is doubted by chance, and what it can tell."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from covering import SERIES, autoregressive

from towtank.analysis import laws

RUNS = SERIES or 200
RATE = 100.0
DEMAND_S = 0.005


def outcomes(seed, seconds, noise, correlation, step):
    """Shares of runs in which the law fails, holds, and cannot tell; the second half has a demand larger by `step`."""
    stream, found = np.random.default_rng(seed), []
    for _ in range(RUNS):
        ended = stream.poisson(RATE, seconds).astype(float)
        cpu_s = DEMAND_S * ended * (1 + noise * (autoregressive(stream, seconds, correlation) - 10))
        cpu_s[seconds // 2 :] *= 1 + step
        run = SimpleNamespace(transactions=SimpleNamespace(ended=ended), length_of=lambda chosen: float(len(chosen)))
        found.append(laws.utilization("web", cpu_s, run, np.ones(seconds, dtype=bool))["holds"])
    return tuple(sum(one is verdict for one in found) / RUNS for verdict in (False, True, None))


CASES = [
    (seconds, noise, correlation)
    for seconds in (30, 60, 120, 300)
    for noise, correlation in ((0.05, 0.3), (0.10, 0.3), (0.10, 0.6), (0.15, 0.6))
]


@pytest.mark.parametrize(("seconds", "noise", "correlation"), CASES)
def test_an_even_demand_is_hardly_ever_doubted(seconds, noise, correlation):
    # 1 of 1,000 is promised; the former limit was passed in 2.3 % at a correlation of 0.6 and 30 s.
    failed, _, _ = outcomes(seconds, seconds, noise, correlation, 0.0)
    assert failed <= 0.001 + 4 * (0.001 / RUNS) ** 0.5


@pytest.mark.parametrize(("seconds", "noise", "correlation"), CASES)
def test_a_demand_that_grows_by_a_fifth_is_never_told_to_hold(seconds, noise, correlation):
    # The law cannot tell where its limit is above 15 %: a step of 20 % then passes unseen, but not as "holds".
    _, held, _ = outcomes(seconds + 1, seconds, noise, correlation, 0.20)
    assert held <= 0.05 + 4 * (0.05 * 0.95 / RUNS) ** 0.5


def test_a_long_quiet_run_tells_both():
    failed, _, _ = outcomes(5, 120, 0.05, 0.3, 0.20)
    _, held, _ = outcomes(6, 120, 0.05, 0.3, 0.0)
    assert failed >= 0.95
    assert held >= 0.95


def rows():
    """Lines of the table: window, noise, correlation, then shares that fail, hold and cannot tell by step."""
    for seconds, noise, correlation in CASES:
        for step in (0.0, 0.1, 0.2, 0.3):
            shares = (f"{100 * share:.1f} %" for share in outcomes(seconds, seconds, noise, correlation, step))
            yield (f"{seconds} s", f"{100 * noise:.0f} %", str(correlation), f"{100 * step:.0f} %", *shares)
