"""Elasticities of throughput and response time with respect to the speed of a system, from single runs.

The tests also count how often comparisons of runs whose speed varies randomly report a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from certification import Section, percent
from covering import SERIES

from towtank.analysis import comparison
from towtank.analysis.elasticity import LARGEST, Elasticity, elasticity, elasticity_of, elasticity_of_groups
from towtank.analysis.factors import Factor
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics.estimates import BATCH_MEANS, Estimate
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE
from towtank.analysis.study_summary import Configuration
from towtank.analysis.user_groups import UserGroup
from towtank.documents import document_of

PAIRS = SERIES or 200
SERVICE_S = 0.01
WITHIN = 0.004
LOADS = (0.1, 0.5, 0.7, 0.9, 1.0, 1.1, 1.5, 3.0)
"""Numbers of users relative to the knee, the number of users at which the two asymptotic bounds of the throughput
intersect. [1]
"""


@dataclass(frozen=True)
class At:
    """Operating point of a closed system.

    Attributes
    ----------
    x_per_s, r_s : float
        Throughput [1/s] and response time [s].
    used : tuple of float
        Mean number of busy CPUs in each tier. [1]
    cpus : int
        Number of CPUs of a tier. [1]
    """

    x_per_s: float
    r_s: float
    used: tuple[float, ...]
    cpus: int = 1

    def elasticity(self, users: int) -> Elasticity:
        """Return the elasticities that the summary of a run with this operating point would contain."""
        return elasticity_of(
            RunSummary.read(
                {
                    "throughput_per_s": {"value": self.x_per_s},
                    "response_time_s": {"mean": {"value": self.r_s}},
                    "users": {"mean": float(users)},
                    "tiers": {
                        str(number): {
                            "utilization": used / self.cpus,
                            "cpu_control_group": f"/{number}",
                            "cpus_used": {"value": used},
                        }
                        for number, used in enumerate(self.used)
                    },
                }
            )
        )


def servers(count: int, cpus: int | None = None) -> Callable[[int, float, float], At]:
    """Return a function that computes the operating point of users who think and then queue for several equal servers.

    The function solves the balance equations of the machine repairman model.
    """

    def at(users: int, think_s: float, times: float) -> At:
        service_s = count * SERVICE_S * times
        logs = [0.0]
        for inside in range(1, users + 1):
            rise = (users - inside + 1) / think_s * service_s / min(inside, count)
            logs.append(logs[-1] + math.log(rise))
        shares = np.exp(np.array(logs) - max(logs))
        shares /= shares.sum()
        inside = float(shares @ np.arange(users + 1))
        x_per_s = (users - inside) / think_s
        return At(x_per_s, inside / x_per_s, (x_per_s * service_s,), cpus or count)

    return at


def stations(*relative: float) -> Callable[[int, float, float], At]:
    """Return a function that computes the operating point of users who think and then visit single-server stations.

    The function uses exact mean value analysis.
    """

    def at(users: int, think_s: float, times: float) -> At:
        demands_s = SERVICE_S * times * np.array(relative)
        queues = np.zeros(len(relative))
        x_per_s = r_s = 0.0
        for inside in range(1, users + 1):
            residence_s = demands_s * (1 + queues)
            r_s = float(residence_s.sum())
            x_per_s = inside / (think_s + r_s)
            queues = x_per_s * residence_s
        return At(x_per_s, r_s, tuple(x_per_s * demands_s))

    return at


SYSTEMS = {
    "one server": servers(1),
    "two servers": servers(2),
    "eight servers": servers(8),
    "one thread on two CPUs": servers(1, 2),
    "one thread on four CPUs": servers(1, 4),
    "stations of 10, 7 and 3 ms": stations(1.0, 0.7, 0.3),
    "four equal stations": stations(1.0, 1.0, 1.0, 1.0),
}
HIDDEN = ("one thread on two CPUs", "one thread on four CPUs")
THINK_S = (0.1, 1.0, 5.0)


def users_at(load: float, think_s: float) -> int:
    return max(1, round(load * (think_s + SERVICE_S) / SERVICE_S))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("think_s", THINK_S)
@pytest.mark.parametrize("load", LOADS)
def test_values_follow_the_speed_at_most_as_said_and_at_least_two_fifths_as_much(
    system: str, think_s: float, load: float
) -> None:
    """The reported elasticities are compared with derivatives of the exact solution.

    If a station has no observed tier, the reported elasticities may be up to 10 % too small.
    """
    allowed = 1.10 if system in HIDDEN else 1.005
    users, step = users_at(load, think_s), 1e-4
    here, slower, faster = (SYSTEMS[system](users, think_s, times) for times in (1.0, 1 + step, 1 - step))
    said = here.elasticity(users)
    of_response = math.log(slower.r_s / faster.r_s) / math.log((1 + step) / (1 - step))
    of_throughput = math.log(faster.x_per_s / slower.x_per_s) / math.log((1 + step) / (1 - step))
    assert said.response_time / 2.5 <= of_response <= allowed * said.response_time
    assert said.throughput / 2.5 <= of_throughput <= allowed * said.throughput


def estimate(value: float, random: np.random.Generator) -> dict[str, object]:
    seen = value * (1 + WITHIN * random.standard_normal())
    half = 2.045 * WITHIN * seen
    return Estimate(seen, seen - half, seen + half, BATCH_MEANS, 30).document()


def point_of(here: At, users: int, random: np.random.Generator) -> dict[str, object]:
    """Return a point of a study with one run, whose estimates have an error of 0.4 %."""
    return {
        "users": users, "load": users, "verdicts": ["valid"], "transactions": {}, "tiers": {},
        "throughput_per_s": estimate(here.x_per_s, random),
        "response_time_s": {"mean": estimate(here.r_s, random)},
        "elasticity": document_of(here.elasticity(users)),
    }  # fmt: skip


def claimed(system: str, load: float, effect: float, share: float = ASSUMED_SHARE) -> dict[str, float]:
    """Return the fraction of pairs of single runs that are reported as different, by metric.

    Service times in the second run of each pair are `effect` times as long. In each run, service times vary randomly by
    the fraction `share`.
    """
    random, think_s = np.random.default_rng(round(1000 * load * effect)), 1.0
    users, found = users_at(load, think_s), {"throughput_per_s": 0, "response_time_s.mean": 0}
    for _ in range(PAIRS):
        points = [
            point_of(SYSTEMS[system](users, think_s, times * (1 + share * random.standard_normal())), users, random)
            for times in (1.0, effect)
        ]
        configurations = [
            Configuration.model_validate({"key": {"cache": level}, "points": [point]})
            for level, point in zip(("a", "b"), points, strict=True)
        ]
        for line in comparison.comparisons([Factor("cache", ("a", "b"))], "users", configurations):
            found[line.metric] += line.is_certain
    return {metric: count / PAIRS for metric, count in found.items()}


SECTION = Section(
    "Single runs of a system whose speed differs",
    "system | users, relative to the knee | truth | throughput reported as different | response time reported as "
    "different",
    f"{PAIRS} pairs of single runs of a closed system with a think time of 1 s, computed exactly. The error within a "
    f"run is {100 * WITHIN:g} %. All service times of a run have a common random factor with a standard deviation of "
    f"{100 * ASSUMED_SHARE:g} %. At most 5 % of the pairs of equal systems may be reported as different; the "
    "tolerance is four standard deviations. Below the knee, think times determine the throughput, so a slower system "
    "has the same throughput.",
)


@pytest.mark.certify
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("load", [0.1, 0.5, 0.9, 1.1, 1.5, 3.0])
def test_equal_systems_of_another_speed_are_called_different_in_5_percent_at_most(
    system: str, load: float, tabled
) -> None:
    found = claimed(system, load, 1.0)
    allowed = 0.05 + 4 * (0.05 * 0.95 / PAIRS) ** 0.5
    cells = (system, f"{load:g}", "equal", *(percent(share) for share in found.values()))
    tabled(SECTION, *cells, holds=max(found.values()) <= allowed)


@pytest.mark.certify
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("load", [0.1, 1.5, 3.0])
def test_a_system_of_three_times_the_service_times_is_seen(system: str, load: float, tabled) -> None:
    found = claimed(system, load, 3.0)
    cells = (system, f"{load:g}", "3 times as slow", *(percent(share) for share in found.values()))
    tabled(SECTION, *cells, holds=found["response_time_s.mean" if load < 1 else "throughput_per_s"] >= 0.95)


def test_throughput_and_response_time_of_a_saturated_system_agree() -> None:
    """N = 104 users with a think time of Z = 1 s and a demand of D = 10 ms have the throughput X = 1 / D = 100 /s and
    the response time R = N / X - Z = 40 ms.

    The elasticity of the response time is N / (X R) = 104 / 4 = 26: if X falls by 2 %, R rises by about half.
    """
    said = elasticity(1.0, 100.0 * 0.04, 104.0)
    assert said.response_time == pytest.approx(104 / (100 * 0.04))
    assert said.throughput == 1.0


@pytest.mark.parametrize(
    ("busy", "response_time", "throughput"), [(0.0, 1.0, 0.0), (0.5, 2.0, 0.0), (0.9, 10.0, 0.0), (1.0, LARGEST, 1.0)]
)
def test_arrivals_fix_the_throughput_of_an_open_load(busy: float, response_time: float, throughput: float) -> None:
    """R is the response time, D the demand, X the throughput and U = X D the utilization.

    Arrivals fix X, and R = D / (1 - X D). So the elasticity of R is 1 / (1 - U), and that of X is 0. Only a saturated
    station has X = 1 / D, and so an elasticity of 1.
    """
    said = elasticity(busy, 1.0, None)
    assert (said.response_time, said.throughput) == (pytest.approx(response_time), throughput)


def of_groups(groups: list[tuple[int, float, float]], times: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return throughput and response time of two groups of users at one server, and the server's utilization.

    `groups` contains the number of users, think time [s] and demand [s] of each group. The method is exact mean value
    analysis of a closed network with two classes: M. Reiser and S. S. Lavenberg, "Mean-value analysis of closed
    multichain queuing networks", Journal of the ACM 27(2), 313-322, 1980, doi:10.1145/322186.322195.
    """
    (most, first_s, first_d), (others, second_s, second_d) = groups
    queues = np.zeros((most + 1, others + 1))
    rates, responses = np.zeros(2), np.zeros(2)
    for mine in range(most + 1):
        for other in range(others + 1):
            before = (queues[mine - 1, other] if mine else 0.0, queues[mine, other - 1] if other else 0.0)
            responses = times * np.array([first_d, second_d]) * (1 + np.array(before))
            rates = np.array([mine, other]) / (np.array([first_s, second_s]) + responses)
            queues[mine, other] = float(rates @ responses)
    return rates, responses, float(rates @ np.array([first_d, second_d])) * times


@pytest.mark.parametrize(
    "groups",
    [
        [(20, 0.1, 0.01), (150, 5.0, 0.01)],
        [(5, 0.1, 0.01), (100, 5.0, 0.05)],
        [(60, 1.0, 0.01), (60, 1.0, 0.01)],
        [(40, 5.0, 0.1), (20, 0.1, 0.01)],
        [(10, 0.1, 0.01), (30, 5.0, 0.01)],
        [(3, 2.0, 0.02), (100, 1.0, 0.005)],
    ],
)
def test_two_groups_follow_the_speed_at_most_as_said(groups: list[tuple[int, float, float]]) -> None:
    """The reported elasticities are compared with derivatives of the exact solution, for the mean response time of all
    users and of each group, and for the total throughput.
    """
    step = 1e-4
    rates, responses, busy = of_groups(groups, 1.0)
    shown = [paced(users, rates[number], responses[number], None) for number, (users, _, _) in enumerate(groups)]
    said = elasticity_of_groups(busy, shown)
    slower, faster = (of_groups(groups, times)[:2] for times in (1 + step, 1 - step))
    by = math.log((1 + step) / (1 - step))
    means = [float(rate @ response / rate.sum()) for rate, response in (slower, faster)]
    of_all = math.log(means[0] / means[1]) / by
    of_each = np.log(slower[1] / faster[1]) / by
    of_throughput = math.log(float(faster[0].sum() / slower[0].sum())) / by
    assert max(of_all, *of_each) <= 1.005 * said.response_time
    assert of_throughput <= 1.005 * said.throughput
    assert said.response_time <= 12 * of_all


def paced(users: float, x_per_s: float, r_s: float, pace_s: float | None) -> UserGroup:
    return UserGroup(("a",), users, x_per_s, r_s, pace_s, pace_is_fixed=False)


def test_a_pace_fixes_the_throughput_until_no_pause_is_left() -> None:
    """90 users with a pace (time between starts) of 1 s send 90 /s for any demand D, as long as they still pause. So
    the elasticity of throughput is 0.

    150 users with 100 /s have no time to pause: R = N / X = 1.5 s, which is proportional to D. So both elasticities are
    1. With 105 users, the cycle of 1.05 s exceeds the pace by only 0.05 s, so the elasticity of R is 1.05 / 0.05 = 21.
    """
    kept = elasticity_of_groups(0.9, [paced(90, 90.0, 0.07, 1.0)])
    assert (kept.response_time, kept.throughput) == (pytest.approx(1 / (0.1 + 0.9 / 50)), 0.0)
    gone = elasticity_of_groups(1.0, [paced(150, 100.0, 1.5, 1.0)])
    assert (gone.response_time, gone.throughput) == (pytest.approx(1.0), pytest.approx(1.0))
    between = elasticity_of_groups(1.0, [paced(105, 100.0, 1.0, 1.0)])
    assert (between.response_time, between.throughput) == (pytest.approx(21.0), 1.0)


def test_groups_that_were_not_counted_apart_give_times_no_interval() -> None:
    run = {"throughput_per_s": {"value": 50.0}, "response_time_s": {"mean": {"value": 0.1}}, "rate": None}
    unknown, none, without = (
        elasticity_of(RunSummary.read({**run, "users": {"mean": 60.0, **groups}}))
        for groups in ({"groups": None}, {"groups": []}, {})
    )
    assert unknown.response_time == LARGEST
    assert none == without
