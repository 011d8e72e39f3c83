"""Detection of a transient at the start of a window; variations caused by the tested system itself are kept."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_windows import verdict_on, window_of

from towtank.analysis.windows import steady
from towtank.analysis.windows import window as windows
from towtank.analysis.windows.relaxation import Memory, _growth_at_rest, memory_of, relaxation_s
from towtank.analysis.windows.transient import transient_of


def response_times(slow_from, slow_until, seconds=60):
    """Return logarithms of response times with 5 % of noise; in the given seconds the times are twelve times
    as long.
    """
    values = np.log(0.1) + 0.05 * np.random.default_rng(5).normal(size=seconds)
    values[slow_from:slow_until] += np.log(12)
    return values


def test_a_convoy_that_begins_within_the_window_is_no_transient():
    """A convoy (five slow seconds after five normal seconds) stays in the window. The MSER rule alone would leave it
    out.
    """
    series = response_times(5, 10)
    assert steady.mser(series).observations == 10
    assert transient_of({"response_time": series}).observations == 0


@pytest.mark.parametrize(("ratio", "counts"), [(1.23, True), (1.17, False), (1 / 1.3, True), (1 / 1.17, False)])
def test_the_limit_of_a_change_at_half_is_that_of_its_own_direction(ratio, counts):
    """A change is relative to the earlier level: a rise by 23 % exceeds the limit of 20 %. Relative to the later level
    it would be only 18.7 %.
    """
    series = np.log(0.1) + 0.02 * np.random.default_rng(5).normal(size=60)
    series[30:] += np.log(ratio)
    found = transient_of({"response_time": series})
    assert found.observations == 30
    assert [change.share for change in found.removed] == pytest.approx([ratio - 1], abs=0.02)
    assert bool(found.at_limit) == counts


def test_throughput_that_starts_from_zero_is_left_out():
    """The change of throughput is relative to the later level, because the throughput at the start is zero."""
    series = 20 + 0.2 * np.random.default_rng(5).normal(size=60)
    series[:10] = 0
    found = transient_of({"throughput": series})
    assert found.observations == 10
    assert [change.share for change in found.removed] == pytest.approx([1.0], abs=0.01)


def test_a_start_that_differs_is_left_out():
    assert transient_of({"response_time": response_times(0, 10)}).observations == 10


@pytest.mark.parametrize("settled", [False, True])
def test_nothing_is_left_out_behind_a_stage_that_settled(settled, monkeypatch):
    """Response times are twelve times as long in the first 10 s. These seconds stay in the window if the load stage has
    waited for stability.
    """
    plain = windows.tested
    monkeypatch.setattr("simulated_windows.tested", lambda *given: plain(*given, settled=settled))
    ends = np.arange(0.025, 60, 0.05)
    responses = np.where(ends < 10, 1.2, 0.1) * np.random.default_rng(3).gamma(50, 1 / 50, len(ends))
    found = window_of(ends - responses, ends, 0, 60, is_open=False)
    assert found.start_s == 0.0 if settled else 10.0 <= found.start_s <= 20.0
    assert ("left out" in found.note) != settled


def test_the_relaxation_time_is_that_of_the_queue():
    """A utilization of rho = 0.8 and a service time of S = 50 ms give N = rho / (1 - rho) = 4 requests in the system,
    and a response time of R = S / (1 - rho) = 0.25 s.

    The relaxation time is S / (1 - sqrt(rho))^2 = 4.486 s. A series is long from eight relaxation times on: 35.9 s.
    """
    assert relaxation_s(4.0, 0.25) == pytest.approx(0.05 / (1 - 0.8**0.5) ** 2)
    rate = 16.0
    assert memory_of(np.full(35, 4.0), np.full(35, rate), np.ones(35)).is_short
    assert not memory_of(np.full(36, 4.0), np.full(36, rate), np.ones(36)).is_short
    assert not memory_of(np.full(35, 4.0), np.full(35, rate), np.ones(35)).is_long
    assert memory_of(np.full(36, 4.0), np.full(36, rate), np.ones(36)).is_long
    assert memory_of(np.zeros(60), np.zeros(60), np.ones(60)) == Memory()


def test_a_queue_that_grows_does_not_make_its_window_short():
    """The number in the system grows from 4 to 50 in a window of 90 s.

    The length that the window needs must follow from the smallest third of the values: 71 s. From the mean of all
    values, it would be 26 minutes, so the window would count as short and its growth would be excused.
    """
    rate, grown = np.full(90, 16.0), np.repeat([4.0, 20.0, 50.0], 30)
    assert not memory_of(grown, rate, np.ones(90)).is_short
    assert not memory_of(grown[::-1], rate, np.ones(90)).is_short
    assert memory_of(np.full(90, grown.mean()), rate, np.ones(90)).is_short
    assert not memory_of(grown, rate, np.ones(90)).is_long


@pytest.mark.parametrize(
    ("memory", "change", "p_value", "is_chosen", "expected"),
    [
        # Queueing does not explain a change if the window lasts at least 8 relaxation times of the whole window, or 24
        # relaxation times of each third.
        (Memory(8.0, 8.0, 0.0), -0.5, 0.9, False, False),
        (Memory(7.0, 24.0, 0.0), -0.5, 0.9, False, False),
        (Memory(7.0, 23.0, 0.0), -0.5, 0.9, False, True),
        # For a closed load, 8 relaxation times of each third are enough.
        (Memory(7.0, 8.0, None), -0.5, 0.9, False, False),
        (Memory(7.0, 7.0, None), 0.5, 0.9, False, True),
        # The significance level is 1 % for a trend, and smaller for a step whose position is chosen.
        (Memory(2.0, 4.0, 0.0), -0.5, 0.011, False, True),
        (Memory(2.0, 4.0, 0.0), -0.5, 0.009, False, False),
        (Memory(2.0, 4.0, 0.0), -0.5, 0.003, True, True),
        (Memory(2.0, 4.0, 0.0), -0.5, 0.001, True, False),
        # At rest, the growth has a standard deviation of sqrt(1 / 16) = 1/4 of that of a random walk. Two standard
        # deviations are allowed.
        (Memory(2.0, 4.0, 0.49), 0.5, 0.9, False, True),
        (Memory(2.0, 4.0, 0.51), 0.5, 0.9, False, False),
        (Memory(2.0, 4.0, 0.51), -0.5, 0.9, False, True),
        (Memory(2.0, 4.0, 0.51), 0.5, 0.9, True, True),
    ],
)
def test_a_queue_at_rest_explains_a_change_in_a_short_window(memory, change, p_value, is_chosen, expected):
    assert memory.explains(change, p_value, is_chosen=is_chosen) is expected


def test_a_queue_at_rest_grows_less_than_a_random_walk():
    """The variance, relative to a random walk, is (1 - exp(-4 T)) / (4 T). It is 1 at T = 0."""
    assert _growth_at_rest(0.0) == 1.0
    assert _growth_at_rest(0.25) == pytest.approx((1 - np.exp(-1)) ** 0.5)
    assert _growth_at_rest(100.0) == pytest.approx(0.05)


def noisy(stream, level, seconds, *, correlation=0.6, noise=0.1):
    """Return a window whose response time in each second is 0.1 s times exp(`level`), with correlated noise."""
    series = np.zeros(seconds + 10)
    for second in range(1, seconds + 10):
        series[second] = correlation * series[second - 1] + noise * (1 - correlation**2) ** 0.5 * stream.normal()
    ends = np.arange(0.025, seconds, 0.05)
    responses = 0.1 * np.exp(level + series[10:])[ends.astype(int)]
    return window_of(ends - responses, ends, 0, seconds, is_open=True)


def test_a_start_that_relaxes_within_seconds_is_left_out_of_correlated_noise():
    """The response time starts at three times its final value and decays with a time constant of 4 s.

    Correlated noise of 10 % must not hide this transient.
    """
    stream, start = np.random.default_rng(1), np.log1p(2 * np.exp(-(np.arange(60) + 0.5) / 4))
    windows_of_starts = [noisy(stream, start, 60) for _ in range(100)]
    found = [window.start_s for window in windows_of_starts if verdict_on(window) == "valid"]
    assert len(found) >= 90
    assert np.mean(np.array(found) == 0) <= 0.25


def test_correlated_noise_without_a_start_is_hardly_ever_cut():
    stream = np.random.default_rng(2)
    assert sum(noisy(stream, np.zeros(60), 60).start_s > 0 for _ in range(100)) <= 6


def test_slow_swings_of_a_system_at_rest_are_no_start():
    """Throughput varies at random by 10 %, with a correlation time of 30 s, in windows of 90 s. No window has a
    transient at its start.

    The plain test takes its error from the rest of the window, and finds a transient in about 4 % of such windows. The
    cautious test has a significance level of 2 %, so that at most 2 % of the windows lose their first part.
    """
    stream, correlation, cut = np.random.default_rng(8), np.exp(-1 / 30), 0
    for _ in range(1000):
        swing = [stream.normal()]
        for noise in (1 - correlation**2) ** 0.5 * stream.normal(size=89):
            swing.append(correlation * swing[-1] + noise)
        found = transient_of({"throughput": 100 * (1 + 0.1 * np.array(swing))})
        # If the cut is at its limit, half of the window, it is made without the cautious test. So it does not count
        # here.
        cut += bool(found.observations) and not found.cuts["throughput"].at_limit
    assert cut <= 0.02 * 1000


def test_a_slow_fall_is_not_cut_off_as_a_start():
    """The response time halves over the window. Without the beginning, the decrease would be too small for a doubt."""
    stream, fall = np.random.default_rng(3), np.linspace(0, np.log(0.5), 60)
    assert sum(verdict_on(noisy(stream, fall, 60)) != "valid" for _ in range(100)) >= 90


def test_an_overload_within_a_window_is_doubted():
    """The utilization of an M/M/1 queue with a service time of 20 ms rises from 0.8 to 1.2 within the window."""
    service = lambda at: 0.02 * (1 + 0.5 * max(0.0, (at - 60) / 60))  # noqa: E731
    stream, free, ends = np.random.default_rng(11), 0.0, []
    arrivals = np.cumsum(stream.exponential(0.02 / 0.8, 6440))
    arrivals = arrivals[arrivals < 120]
    for arrival in arrivals:
        free = max(free, arrival) + stream.exponential(service(arrival))
        ends.append(free)
    assert verdict_on(window_of(arrivals, np.array(ends), 60, 60, is_open=True)) != "valid"


@pytest.mark.parametrize("seed", [7, 12, 19])
def test_a_start_of_five_times_the_response_time_is_left_out_of_correlated_noise(seed):
    """The response time is five times as long in the first 8 of 60 s; noise of 8 % has a lag-1 correlation of 0.6."""
    stream, series = np.random.default_rng(seed), np.zeros(60)
    for second in range(1, 60):
        series[second] = 0.6 * series[second - 1] + 0.08 * stream.normal()
    series[:8] += np.log(5)
    assert transient_of({"response_time": series}).observations >= 8


def test_correlation_beneath_noise_counts_in_the_cautious_test():
    """A slow variation over 30 s is hidden beneath independent noise of the same size.

    A test that uses only the lag-1 correlation would assume six times as many independent values as there are.
    """
    stream, swing = np.random.default_rng(2), np.zeros(240)
    for second in range(1, 240):
        swing[second] = 0.967 * swing[second - 1] + 0.255 * stream.normal()
    values = swing + stream.normal(size=240)
    assert steady._stretch(values, 1) > 2 * steady._stretch(values)
