"""End of settle stages (stages that last until the load is stable), for series with a known settling time."""

import numpy as np
import pytest

from towtank.analysis.windows.settling import LOOKS, Settling, SteadySeconds, least_window_s, look, without_transient

SECONDS = 400
RATE, RESPONSE_S = 200.0, 0.1


def series(stream, tau_s, seconds=SECONDS, backlog_per_s=0.0, noise=(0.05, 0.10)):
    """Return random throughput that starts 40 % too low, and response times that start twice as long.

    The deviations decay with the time constant `tau_s`. The noise is first-order autoregressive with coefficient 0.5.
    """
    times = np.arange(1.0, seconds + 1)
    transient = np.exp(-times / tau_s) if tau_s else np.zeros(seconds)
    rate = RATE * (1 - 0.4 * transient) * (1 + wander(stream, seconds, noise[0]))
    response = RESPONSE_S * (1 + transient) * np.exp(wander(stream, seconds, noise[1]))
    return SteadySeconds(
        times, np.ones(seconds), rate, rate * response, rate * response, backlog_per_s * times
    ), transient


def wander(stream, count, deviation, correlation=0.5):
    steps = stream.normal(size=count) * deviation * np.sqrt(1 - correlation**2)
    values = np.empty(count)
    values[0] = stream.normal() * deviation
    for number in range(1, count):
        values[number] = correlation * values[number - 1] + steps[number]
    return values


def first(seconds, count):
    return SteadySeconds(
        *(getattr(seconds, name)[:count] for name in ("ends_s", "lengths_s", "ended", "response_sum_s")),
        seconds.in_flight[:count],
        seconds.waiting[:count],
        seconds.users,
    )


def end_of(seconds, at_least_s=0.0):
    settling = Settling(at_least_s)
    return next((n for n in range(8, len(seconds.ends_s) + 1) if settling.take(first(seconds, n))), None)


@pytest.mark.parametrize(("tau_s", "early_at_most"), [(0.0, 0.0), (5.0, 0.02), (15.0, 0.08), (40.0, 0.32)])
def test_ends_after_the_transient_and_not_long_after(tau_s, early_at_most):
    """A stage ends too early if the throughput is still more than 10 % too low, and too late if it ends after 4 tau +
    90 s.

    The allowed fractions of early and late stages are documented at `look`.
    """
    stream = np.random.default_rng(1)
    early = late = 0
    runs = 25
    for _ in range(runs):
        seconds, transient = series(stream, tau_s)
        end = end_of(seconds)
        early += end is not None and 0.4 * transient[end - 1] > 0.10
        late += end is None or end > 4 * tau_s + 90
    assert early <= early_at_most * runs
    assert late <= 0.10 * runs


def test_a_growing_backlog_never_settles():
    """The number of waiting arrivals grows in each second by a tenth of the arrival rate."""
    seconds, _ = series(np.random.default_rng(2), 0.0, seconds=300, backlog_per_s=0.1 * RATE)
    assert end_of(seconds) is None
    assert "the backlog grows" in look(seconds).why


def test_quiet_system_ends_after_the_shortest_window_and_the_looks():
    seconds, _ = series(np.random.default_rng(3), 0.0, seconds=60, noise=(0.0, 0.0))
    assert end_of(seconds) == 10 + LOOKS - 1


def test_not_before_the_shortest_time_asked_for():
    seconds, _ = series(np.random.default_rng(3), 0.0, seconds=60, noise=(0.0, 0.0))
    assert end_of(seconds, at_least_s=30.0) == 30


def test_shortest_window_holds_three_cycles_of_a_user():
    """The cycle of a user takes N / X = 2,000 / 200 s = 10 s, so three cycles take 30 s."""
    count = 20
    flat = [np.arange(1.0, count + 1), np.ones(count), np.full(count, 200.0), np.full(count, 20.0)]
    seconds = SteadySeconds(*flat, np.full(count, 20.0), np.zeros(count), users=2000.0)
    assert least_window_s(seconds) == pytest.approx(30.0)
    assert not look(seconds).steady


def test_observations_hold_five_transactions_each():
    """With 2 transactions/s, an observation lasts 3 s, so that it contains five transactions. The 44 s contain 14
    observations; the remaining two seconds are at the start.

    Response times in the first four observations are ten times as long, so only the last ten observations (30 s) are
    used.
    """
    count = 44
    rate = np.full(count, 2.0)
    sums = rate * np.where(np.arange(count) < 14, 1.0, 0.1)
    seconds = SteadySeconds(np.arange(1.0, count + 1), np.ones(count), rate, sums, np.zeros(count), np.zeros(count))
    kept = without_transient(seconds)
    assert len(kept.ends_s) == 30
    assert kept.ends_s[0] == 15


def test_nothing_that_ends_is_not_rest():
    count = 30
    none = np.zeros(count)
    seconds = SteadySeconds(np.arange(1.0, count + 1), np.ones(count), none, none, none, none, users=5.0)
    assert look(seconds).why == "no transaction has ended yet"
