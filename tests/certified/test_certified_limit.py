"""Coverage of the interval of the load limit that a search finds, for M/M/m queues.

The mean response time is exact: R = 1/mu + C(m, a) / (m mu - lambda), where C is Erlang's C formula (L. Kleinrock,
Queueing Systems I, Wiley, 1975, section 3.5).
"""

import math

import numpy as np
import pytest
from certification import Section, percent

from towtank.analysis.limits.estimate import BRACKET, TESTED, estimate_limit
from towtank.analysis.limits.search import PlateauFailure, PlateauOutcome, SearchPlan, Step, decide_search

# Largest utilization. A plateau beyond the capacity ends while its queue still grows, so its response time is finite.
_OVERLOAD = 1 - 1 / 2000


def erlang_c(servers, offered):
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))


def response(servers, rate):
    """Return the mean response time of the M/M/m queue as a multiple of the service time."""
    return 1 + erlang_c(servers, rate) / (servers - rate)


def exact_limit(servers, objective):
    low, high = 0.0, float(servers)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if response(servers, middle) < objective else (low, middle)
    return low


def search(servers, objective, noise, stream):
    plan = SearchPlan(0.3 * servers, 3.0 * servers, (Step(by=0.12 * servers),), whole=False, refine_to=0.05, repeats=3)
    outcomes = []
    while (decision := decide_search(plan, outcomes)).ended is None:
        seen = response(servers, min(decision.level, servers * _OVERLOAD)) * math.exp(stream.normal() * noise)
        margin = math.log(seen / objective)
        outcomes.append(PlateauOutcome(decision.level, PlateauFailure.OBJECTIVE_MISSED if margin > 0 else None, margin))
    levels, margins = [outcome.level for outcome in outcomes], [outcome.margin for outcome in outcomes]
    return estimate_limit(levels, margins, decision.low, decision.high), len(outcomes)


def test_erlang_c_of_two_servers():
    """For two servers C(2, a) = a^2 / (2 + a), so it is 1/3 for an offered load of a = 1."""
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)


SECTION = Section(
    "The limit that a search finds",
    "servers | objective, as a multiple of the service time | noise of a plateau | searches | with an interval | "
    "coverage of these intervals",
    "Searches for the load at which the mean response time of M/M/m reaches an objective. At least 90 % of the "
    "searches must have a 95 % interval, and at least 93 % of the intervals must contain the true load.",
)
SEARCHES = 500


@pytest.mark.certify
@pytest.mark.parametrize(
    ("servers", "objective", "noise"),
    [(1, 3, 0.03), (1, 5, 0.1), (1, 10, 0.1), (4, 3, 0.1), (4, 3, 0.2), (4, 5, 0.1), (16, 3, 0.1), (16, 10, 0.03)],
)
def test_interval_holds_the_limit(servers, objective, noise, tabled):
    stream = np.random.default_rng(5)
    truth = exact_limit(servers, objective)
    held = given = 0
    for _ in range(SEARCHES):
        found, _ = search(servers, objective, noise, stream)
        if found.method == TESTED:
            given += 1
            held += found.low <= truth <= found.high
            assert found.low <= found.value <= found.high
    counts = (str(SEARCHES), percent(given / SEARCHES), percent(held / given))
    allowed = given >= 0.9 * SEARCHES and held / given >= 0.93
    tabled(SECTION, str(servers), str(objective), percent(noise), *counts, holds=allowed)


def test_interval_by_hand():
    """The margins (logarithms of response time over limit) are -0.2, -0.4, -0.3 at level 90 and 0.3, 0.5, 0.4 at level
    100.

    The pooled standard deviation is 0.1 with 4 degrees of freedom, for which t = 2.776. The means of three margins are
    -0.3 and 0.4, with a standard error of 0.1 / sqrt(3) = 0.0577, so both differ significantly from 0. The line between
    them crosses zero at 90 + 10 x 0.3 / 0.7.
    """
    levels, margins = [90, 100, 90, 100, 90, 100], [-0.2, 0.3, -0.4, 0.5, -0.3, 0.4]
    found = estimate_limit(levels, margins, 90, 100)
    assert (found.low, found.high, found.method, found.confidence, found.n) == (90, 100, TESTED, 0.95, 6)
    assert found.value == pytest.approx(90 + 10 * 0.3 / 0.7)


def test_an_end_within_chance_moves_out_to_the_next_level():
    """The mean margin at level 100 is 0.05. It does not differ significantly from 0, because this requires 2.776 x 0.1
    / sqrt(3) = 0.16. Therefore the interval ends at 110, where the single margin of 0.5 exceeds 2.776 x 0.1.
    """
    levels = [90, 100, 90, 100, 90, 100, 110]
    margins = [-0.2, -0.05, -0.4, 0.15, -0.3, 0.05, 0.5]
    found = estimate_limit(levels, margins, 90, 100)
    assert (found.low, found.high) == (90, 110)


def test_without_repeats_the_bracket_has_no_confidence():
    found = estimate_limit([80, 90, 100], [-0.5, -0.3, 0.4], 90, 100)
    assert (found.value, found.low, found.high, found.method, found.confidence) == (90, 90, 100, BRACKET, None)


def test_failures_that_are_no_objective_leave_the_bracket():
    found = estimate_limit([80, 90, 100, 90, 100], [None] * 5, 90, 100)
    assert (found.low, found.high, found.method) == (90, 100, BRACKET)
