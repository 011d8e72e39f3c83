"""Steady-state test of a window: fractions of the outcomes (holds, fails, undecided) for series with noise and with
drift.
"""

from __future__ import annotations

import numpy as np
import pytest
from certification import Section, percent
from covering import SERIES, autoregressive

from towtank.analysis.windows import window as windows

RUNS = SERIES or 150


def outcomes(seed, seconds, noise, correlation, drift):
    """Return the fractions of windows whose trend test holds, fails and is undecided.

    The response time grows by the fraction `drift` during the window.
    """
    stream, found = np.random.default_rng(seed), []
    edges = np.arange(seconds + 1.0)
    for _ in range(RUNS):
        tested = windows.Window(0.0, seconds, 0.0, seconds, seconds)
        logs = noise * (autoregressive(stream, seconds, correlation) - 10) + np.linspace(0, np.log1p(drift), seconds)
        rates = 100 + 2 * (autoregressive(stream, seconds, 0.0) - 10)
        windows._test_trends(tested, {"throughput": rates, "response_time": logs}, edges)
        tested.steady = not tested.changes
        found.append(tested.outcome)
    return tuple(found.count(word) / RUNS for word in ("holds", "fails", "undecided"))


NOISES = [(60, 0.1, 0.3), (60, 0.2, 0.7), (60, 0.3, 0.8), (300, 0.1, 0.3), (300, 0.2, 0.7), (300, 0.3, 0.8)]


SECTION = Section(
    "The steady state of a window",
    "window | noise between seconds | correlation of the noise | drift of the response time | holds | fails | "
    "undecided",
    f"{RUNS} windows each. Without a drift, the test may fail in at most 3 % of the windows, and in at most 6 % with "
    "a noise of 30 % in 60 s. With a drift of 60 %, it may hold in at most 10 % of the windows. The tolerance is "
    "four standard deviations.",
)


@pytest.mark.certify
@pytest.mark.parametrize("drift", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize(("seconds", "noise", "correlation"), NOISES)
def test_a_window_without_a_drift_hardly_ever_fails_and_with_one_hardly_ever_holds(
    seconds, noise, correlation, drift, tabled
):
    # Noise of 0.3 with a correlation of 0.8 can cause large changes by chance, so more of the short windows may fail.
    nominal = 0.06 if noise > 0.2 and seconds < 100 else 0.03
    found = outcomes(seconds, seconds, noise, correlation, drift)
    allowed = drift > 0.0 or found[1] <= nominal + 4 * (nominal / RUNS) ** 0.5
    allowed &= drift < 0.6 or found[0] <= 0.10
    cells = (f"{seconds} s", percent(noise), str(correlation), percent(drift), *map(percent, found))
    tabled(SECTION, *cells, holds=allowed)


def test_a_long_quiet_window_decides_both():
    assert outcomes(1, 300, 0.1, 0.3, 0.0)[0] >= 0.95
    assert outcomes(2, 300, 0.1, 0.3, 0.6)[1] >= 0.95
