"""Coverage of the interval of throughput for steady stages that end when a requested precision is reached."""

import numpy as np
import pytest

from towtank.analysis.statistics import ratio_of_sums
from towtank.analysis.windows.precision import Precision
from towtank.analysis.windows.settling import SteadySeconds

RUNS = 300
RATE = 120.0


def record(counts, response_s=0.01):
    ends = np.arange(1.0, len(counts) + 1)
    zero = np.zeros(len(counts))
    return SteadySeconds(ends, np.ones(len(counts)), counts, counts * response_s, zero, zero, None)


def series(stream, correlation, most):
    """Return random counts for `most` seconds, with mean and variance RATE and the given lag-1 correlation."""
    noise = stream.normal(size=most) * np.sqrt(RATE * (1 - correlation**2))
    noise[0] = stream.normal() * np.sqrt(RATE)
    for second in range(1, most):
        noise[second] += correlation * noise[second - 1]
    return RATE + noise


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_interval_of_a_stage_that_ended_itself_holds_the_mean(correlation):
    """Stages that end at a precision of 6 % must have the same coverage as stages of 30 s, less at most 3 percentage
    points.
    """
    stream = np.random.default_rng(11)
    held = early = fixed = 0
    for _ in range(RUNS):
        counts = series(stream, correlation, 60)
        precision = Precision(0.06, 15.0)
        length = next((n for n in range(15, 61) if precision.take(record(counts[:n]))), 60)
        assert length >= 20, "shorter stages have no interval"
        early += length < 60
        found, _ = ratio_of_sums(counts[:length], np.ones(length))
        held += found.low is None or found.low <= RATE <= found.high
        plain, _ = ratio_of_sums(counts[:30], np.ones(30))
        fixed += plain.low is None or plain.low <= RATE <= plain.high
    assert early > RUNS / 2, "most stages must end before their time limit"
    assert held / RUNS >= fixed / RUNS - 0.03
    assert held / RUNS >= 0.93


def test_a_stage_never_ends_on_too_wide_an_interval():
    stream = np.random.default_rng(2)
    counts = stream.poisson(4, size=60).astype(float)  # at 4 /s, an interval of 15 s has a half-width of about 25 %
    precision = Precision(0.05, 10.0)
    assert not any(precision.take(record(counts[:n])) for n in range(8, 61))
    assert precision.half_width > 0.05


def test_a_stage_does_not_end_while_the_mean_response_time_is_vague():
    """A few seconds contribute most of the sum of response times.

    Therefore the throughput is precise enough, but the error of the mean response time exceeds 35 %.
    """
    counts = np.full(40, 100.0)
    levels = np.random.default_rng(3).lognormal(0.0, 2.0, size=40)
    precision = Precision(0.05, 10.0)
    assert not any(precision.take(record(counts[:n], levels[:n])) for n in range(8, 41))
    assert precision.half_width == 0
    assert any(Precision(0.05, 10.0).take(record(counts[:n])) for n in range(8, 41))


def test_a_stage_does_not_end_while_response_time_drifts():
    stream = np.random.default_rng(4)
    counts = series(stream, 0.0, 40)
    drift = 0.1 * np.exp(np.linspace(0.0, 0.8, 40) + stream.normal(size=40) * 0.05)
    precision = Precision(0.08, 10.0)
    assert not any(precision.take(record(counts[:n], drift[:n])) for n in range(8, 41))
    assert precision.half_width < 0.08, "a drifting response time has no interval"


def with_transient(seed, transient, most):
    """Return counts and response times for `most` seconds. Response times in the first `transient` seconds are ten
    times as long.
    """
    stream = np.random.default_rng(seed)
    counts = series(stream, 0.0, most)
    responses = 0.1 * np.exp(stream.normal(size=most) * 0.05)
    responses[:transient] *= 10
    return counts, responses


def test_a_stage_is_judged_without_the_transient_at_its_start():
    """The interval after the transient reaches the precision long before the entire stage would reach it."""
    counts, responses = with_transient(5, 6, 40)
    precision = Precision(0.08, 10.0)
    length = next(n for n in range(8, 41) if precision.take(record(counts[:n], responses[:n])))
    assert 26 <= length < 34, "6 s of transient plus the 20 s that an interval needs"


def test_what_is_left_after_a_transient_counts_and_not_the_stage():
    """The transient takes 14 of 24 seconds. At most half of a stage may be excluded as transient, so the stage
    continues.
    """
    counts, responses = with_transient(6, 14, 24)
    precision = Precision(0.08, 12.0)
    assert not any(precision.take(record(counts[:n], responses[:n])) for n in range(17, 25))


def test_a_stage_whose_transient_takes_half_goes_on():
    """MSER excludes half of the stage. Only ten steady seconds remain, but an interval needs twenty, so the stage
    continues.
    """
    counts, responses = with_transient(7, 15, 40)
    precision = Precision(0.08, 12.0)
    ends_s = [n for n in range(20, 41) if precision.take(record(counts[:n], responses[:n]))]
    assert ends_s
    assert min(ends_s) > 31, "the stage must end after twice the transient"
