"""Doubts about the steady state, for stationary queues at several utilizations and for queues whose load changes."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from certification import Section, percent
from covering import SERIES
from simulated_windows import closed_queue, open_queue, verdict_on, window_of

from towtank.analysis.windows.relaxation import _growth_at_rest, relaxation_s

pytestmark = pytest.mark.waits
RUNS = min(SERIES, 200) or 100
THINK_S = 5.0
SECTION = Section(
    "The steady state near saturation",
    "system | utilization | service time | window | change | invalid | with a doubt",
    f"{RUNS} windows each of an M/M/1 queue, of a lock (a closed load at one server), and of an open pool of four "
    "servers. At most 5 % of the stationary windows may have a doubt, and at most 1 % may be invalid. At least 60 % "
    "of the windows in which service times double, and 90 % of the overloaded windows, must have a doubt. The "
    "tolerance is four standard deviations.",
)


def pool(stream, rate, service_s, servers, seconds):
    """Simulate an open queue with several exponential servers; return arrival and end times. [s]

    `service_s` maps the current time to the mean service time. [s]
    """
    arrivals = np.cumsum(stream.exponential(1 / rate, int(rate * seconds * 1.3) + 200))
    arrivals = arrivals[arrivals < seconds]
    free, ends = [0.0] * servers, np.empty(len(arrivals))
    for number, at in enumerate(arrivals.tolist()):
        ends[number] = max(at, free[0]) + stream.exponential(service_s(at))
        heapq.heapreplace(free, ends[number])
    return arrivals, ends


def users_for(utilization, service_s):
    """Return the smallest number of users at which a lock has the given utilization, by exact mean value analysis."""
    users, queue = 0, 0.0
    while True:
        users += 1
        response = service_s * (1 + queue)
        queue = users * response / (response + THINK_S)
        if users * service_s / (response + THINK_S) >= utilization:
            return users


def window(stream, system, load, seconds, growth):
    """Return a window that begins after five relaxation times. During the window, service times grow by the fraction
    `growth`.
    """
    utilization, service_s = load
    in_system = utilization / (1 - utilization)
    before = max(20.0, 5 * relaxation_s(in_system, service_s * (1 + in_system)))
    service = lambda at: service_s * (1 + growth * max(0.0, at - before) / seconds)  # noqa: E731
    if system == "lock":
        users = users_for(utilization, service_s)
        arrivals, ends = closed_queue(stream, users, THINK_S, service, before + seconds)
    else:
        servers = 4 if system == "pool" else 1
        rate = servers * utilization / service_s
        arrivals, ends = pool(stream, rate, service, servers, before + seconds)
    return window_of(arrivals, ends, before, seconds, is_open=system != "lock")


def shares(system, load, seconds, growth=0.0):
    """Return the fraction of invalid windows, and the fraction of windows with any doubt."""
    stream = np.random.default_rng(7)
    made = (window(stream, system, load, seconds, growth) for _ in range(RUNS))
    found = [verdict_on(each) for each in made]
    return found.count("invalid") / RUNS, 1 - found.count("valid") / RUNS


@pytest.mark.certify
@pytest.mark.parametrize("seconds", [30, 60])
@pytest.mark.parametrize("utilization", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("system", ["M/M/1", "lock", "pool"])
def test_a_queue_at_rest_is_hardly_ever_doubted(system, utilization, seconds, tabled):
    """With a service time of 50 ms, the relaxation times of M/M/1 at the three tested utilizations are 0.6, 4.5 and 78
    s.
    """
    invalid, doubted = shares(system, (utilization, 0.05), seconds)
    holds = all(share <= most + 4 * (most / RUNS) ** 0.5 for share, most in ((invalid, 0.01), (doubted, 0.05)))
    cells = (system, percent(utilization), "50 ms", f"{seconds} s", "none", percent(invalid), percent(doubted))
    tabled(SECTION, *cells, holds=holds)


@pytest.mark.certify
@pytest.mark.parametrize(("system", "utilization"), [("M/M/1", 0.5), ("lock", 0.5), ("lock", 0.8), ("pool", 0.5)])
def test_service_times_that_double_are_doubted(system, utilization, tabled):
    invalid, doubted = shares(system, (utilization, 0.01), 60, growth=1.0)
    cells = (system, percent(utilization), "10 ms", "60 s", "service + 100 %", percent(invalid), percent(doubted))
    tabled(SECTION, *cells, holds=doubted >= 0.6 - 4 * (0.24 / RUNS) ** 0.5)


@pytest.mark.certify
def test_an_overload_within_a_window_is_doubted(tabled):
    """The utilization rises from 0.8 to 1.2 during the window. If the relaxation time were computed from the entire
    window, a quarter of these overloads would not be detected.
    """
    invalid, doubted = shares("M/M/1", (0.8, 0.02), 60, growth=0.5)
    cells = ("M/M/1", percent(0.8), "20 ms", "60 s", "service + 50 %", percent(invalid), percent(doubted))
    tabled(SECTION, *cells, holds=doubted >= 0.9)


def at_rest(stream, service_s, seconds):
    """Return a window of an M/M/1 queue at a utilization of 95 % that begins after five relaxation times."""
    before = 5 * relaxation_s(19.0, 20 * service_s)
    arrivals, ends = open_queue(stream, 0.95 / service_s, service_s, before + seconds)
    kept = ends >= before
    return window_of(arrivals[kept], ends[kept], before, seconds, is_open=True)


@pytest.mark.parametrize("service_s", [0.01, 0.05])
def test_at_most_one_of_twenty_short_windows_near_saturation_is_doubted(service_s):
    """A window of 30 s lasts 1.9 or 0.4 relaxation times."""
    stream = np.random.default_rng(17)
    doubted = sum(verdict_on(at_rest(stream, service_s, 30)) != "valid" for _ in range(1000))
    assert doubted <= 0.05 * 1000


@pytest.mark.parametrize("seconds", [30, 120])
def test_the_growth_of_a_queue_at_rest_is_below_its_bound(seconds):
    """With a service time of 50 ms, the relaxation time is 78 s. The standard deviation of 600 windows has an error of
    3 %.
    """
    stream = np.random.default_rng(3)
    grown = [at_rest(stream, 0.05, seconds).growth.deviations for _ in range(600)]
    assert 0.7 < np.std(grown) / _growth_at_rest(seconds / 78) < 1.05


def test_a_cold_start_over_half_of_a_window_is_no_queue_at_rest():
    """Service times fall to a third during the window; the final utilization of the M/M/1 queue is 50 %.

    The long initial queue must not be classified as normal variation near saturation.
    """
    stream, doubted = np.random.default_rng(5), 0
    service = lambda at: 0.01 * (1 + 2 * np.exp((20 - at) / 15) * (at >= 20))  # noqa: E731
    for _ in range(100):
        arrivals, ends = pool(stream, 50.0, service, 1, 80)
        doubted += verdict_on(window_of(arrivals, ends, 20, 60, is_open=True)) != "valid"
    assert doubted >= 70
