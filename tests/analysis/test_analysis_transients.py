"""Variations that a system causes by itself stay in the window; different starts are excluded."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_windows import window_of

from towtank.analysis.windows import steady
from towtank.analysis.windows import window as windows
from towtank.analysis.windows.relaxation import is_short, relaxation_s
from towtank.analysis.windows.transient import transient_of


def response_times(slow_from, slow_until, seconds=60):
    """Return logarithms of response times that are twelve times as long for some seconds, with 5 % of noise."""
    values = np.log(0.1) + 0.05 * np.random.default_rng(5).normal(size=seconds)
    values[slow_from:slow_until] += np.log(12)
    return values


def test_a_convoy_that_begins_within_the_window_is_no_transient():
    """MSER cuts off a convoy, which begins after five seconds of the common level."""
    series = response_times(5, 10)
    assert steady.mser(series).observations == 10
    assert transient_of({"response_time": series}).observations == 0


def test_a_start_that_differs_is_left_out():
    assert transient_of({"response_time": response_times(0, 10)}).observations == 10


@pytest.mark.parametrize("settled", [False, True])
def test_nothing_is_left_out_behind_a_stage_that_settled(settled, monkeypatch):
    """Response times are twelve times as long in the first ten seconds."""
    plain = windows.tested
    monkeypatch.setattr("simulated_windows.tested", lambda *given: plain(*given, settled=settled))
    ends = np.arange(0.025, 60, 0.05)
    responses = np.where(ends < 10, 1.2, 0.1) * np.random.default_rng(3).gamma(50, 1 / 50, len(ends))
    found = window_of(ends - responses, ends, 0, 60, is_open=False)
    assert found.start_s == 0.0 if settled else 10.0 <= found.start_s <= 20.0
    assert ("left out" in found.note) != settled


def test_the_relaxation_time_is_that_of_the_queue():
    """rho = 0.8, S = 50 ms: N = 4, R = 0.25 s, S / (1 - sqrt(rho))^2 = 4.487 s."""
    assert relaxation_s(4.0, 0.25) == pytest.approx(0.05 / (1 - 0.8**0.5) ** 2)
    rate = 16.0
    assert is_short(4.0 * 35, rate * 35, 35.0)
    assert not is_short(4.0 * 36, rate * 36, 36.0)
    assert not is_short(0.0, 0.0, 60.0)


def test_correlation_beneath_noise_counts_in_the_cautious_test():
    """A slow variation over 30 s beneath noise of the same size: its lag-1 correlation alone overrates the values
    sixfold."""
    stream, swing = np.random.default_rng(2), np.zeros(240)
    for second in range(1, 240):
        swing[second] = 0.967 * swing[second - 1] + 0.255 * stream.normal()
    values = swing + stream.normal(size=240)
    assert steady._stretch(values, 1) > 2 * steady._stretch(values)
