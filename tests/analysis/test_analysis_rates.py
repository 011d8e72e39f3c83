from __future__ import annotations

import numpy as np
import pytest

from towtank.analysis.system import rates
from towtank.analysis.system.rates import Samples, track


def test_rate_between_samples_is_linear():
    counter = track([0.0, 1.0, 2.0, 3.0], [5.0, 7.0, 9.0, 15.0])
    assert counter.growth(0.5, 2.5) == pytest.approx(1 + 2 + 3)
    assert counter.rate(0.5, 2.5) == pytest.approx(6 / 2)
    assert counter.growth(0.0, 3.0) == 10.0


def test_a_gap_keeps_the_growth():
    counter = track([0.0, 1.0, 9.0, 10.0], [0.0, 1.0, 9.0, 10.0])
    assert counter.rate(2.0, 8.0) == pytest.approx(1.0)


def test_missing_values_are_left_out():
    counter = track([0.0, 1.0, 2.0], [0.0, None, 4.0])
    assert counter.growth(0.0, 1.0) == pytest.approx(2.0)


def test_a_counter_that_falls_began_again_at_zero():
    counter = track([0.0, 1.0, 2.0, 3.0], [10.0, 12.0, 1.0, 4.0])
    assert counter.restarts == 1
    assert counter.growth(0.0, 3.0) == pytest.approx(2 + 1 + 3)


def test_nothing_is_reported_if_nothing_was_observed():
    counter = track([5.0, 6.0], [0.0, 1.0])
    assert counter.rate(0.0, 6.0) is None
    assert counter.rate(5.0, 9.0) is None
    assert track([], []).rate(0.0, 1.0) is None
    assert np.isnan(counter.by_bin(np.array([0.0, 5.0]), np.array([1.0, 6.0]))).tolist() == [True, False]


def test_growth_by_bin_adds_up():
    counter = track(np.arange(-1.0, 6.0) + 0.3, 2.0 * np.arange(7.0))
    grown = counter.by_bin(np.arange(5.0), np.arange(1.0, 6.0))
    # The last bin ends at 5 s, between two samples of the counter; between samples a counter is assumed to grow
    # linearly.
    assert grown.tolist() == pytest.approx([2.0] * 5)


def samples(offsets, jump_at=None):
    origin = 10_000_000_000
    found = []
    for number, at in enumerate(offsets):
        jump = 2_000_000_000 if jump_at is not None and number >= jump_at else 0
        t = origin + round(at * 1e9)
        found.append({"t_ns": t, "wall_ns": t + 7 + jump, "a": {"b": float(number)}, "flag": True})
    return Samples(found, origin)


def test_samples_count_from_the_start_of_the_run():
    stream = samples([-1.0, 0.0, 1.0])
    assert stream.times_s == [-1.0, 0.0, 1.0]
    assert stream.gauge(0.0, 1.0, "a", "b") == [1.0, 2.0]
    assert stream.gauge(0.0, 1.0, "a", "missing") == []
    assert stream.gauge(0.0, 1.0, "flag") == []


def test_longest_gap():
    assert samples([0.0, 1.0, 5.0, 6.0]).longest_gap(0.0, 6.0) == pytest.approx(4.0)
    assert samples([0.0, 1.0]).longest_gap(0.0, 8.0) == pytest.approx(7.0)
    assert samples([]).longest_gap(0.0, 8.0) == pytest.approx(8.0)


def test_a_jump_of_the_wall_clock_is_seen():
    assert samples([0.0, 1.0, 2.0]).clock_jump() == 0.0
    assert samples([0.0, 1.0, 2.0], jump_at=1).clock_jump() == pytest.approx(2.0)
    assert rates.CLOCK_JUMP_S < 2.0
