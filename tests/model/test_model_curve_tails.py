"""Order of service (processor sharing or order of arrival), inferred from measured percentiles.

The cases are exact solutions of the machine repairman model.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import gammainc

from towtank.analysis import LoadPoint
from towtank.model.fitting.curve_tails import IN_TURN, SHARING, curve_tails, tails_lines

SERVICE_S, THINK_S = 0.01014, 1.0
LOADS = (20, 50, 80, 110, 150)


def text(order: str) -> str:
    return f"""schema: towtank/model/1
classes: {{transactions: {{users: 1, think: {THINK_S} s}}}}
stations: {{bottleneck: {{servers: 1, discipline: {order}, demand: {{transactions: {SERVICE_S} s}}}}}}
"""


def in_turn_p95(users: int) -> float:
    """Return the exact 95th percentile of the machine repairman with service in the order of arrival. [s]

    The number of jobs that an arriving job finds has the distribution of a system with one user less (S. S. Lavenberg
    and M. Reiser, "Stationary state probabilities at arrival instants for closed queueing networks", Journal of
    Applied Probability 17(4), 1980). The response time is the sum of the service times of these jobs and of the
    arriving job. So its distribution is a mixture of Erlang distributions.
    """
    others = users - 1
    logs = [
        math.lgamma(others + 1) - math.lgamma(others - k + 1) + k * math.log(SERVICE_S / THINK_S) for k in range(users)
    ]
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    jobs = np.arange(1, users + 1)

    def beyond(time: float) -> float:
        return float(weights @ gammainc(jobs, time / SERVICE_S)) - 0.95

    return float(brentq(beyond, 1e-9, 10 * users * SERVICE_S))


def point(users: int, **times: dict[str, float]) -> LoadPoint:
    return LoadPoint.model_validate({"load": users, "response_time_s": times})


def points(p95: Callable[[int], float]) -> list[LoadPoint]:
    return [point(users, p95={"value": p95(users)}) for users in LOADS]


def test_jobs_that_are_served_in_turn_are_known_by_their_percentiles() -> None:
    # An independent simulation of 150 users gives a p95 of 0.727 s; in this simulation, 1 % of the service time is
    # constant.
    assert in_turn_p95(150) == pytest.approx(0.727, rel=0.01)
    found = curve_tails(points(in_turn_p95), text, "transactions")
    assert found is not None
    assert found.discipline == IN_TURN
    # The exact distribution is a mixture of Erlang distributions. It is approximated by a gamma distribution; the error
    # is less than a sixth at every level.
    assert all(abs(math.log(ratio)) < 1 / 6 for _, ratio in found.by_level), found.by_level
    assert found.low <= found.ratio <= found.high


def test_jobs_that_share_the_servers_are_known_by_theirs() -> None:
    measured = curve_tails(points(in_turn_p95), lambda _: text(SHARING), "transactions")
    assert measured is not None
    worked_out = {load: in_turn_p95(round(load)) / ratio for load, ratio in measured.by_level}
    # 150 users are beyond the knee, so the response time under processor sharing is exponential. Its mean is 150 S - Z
    # (service time S, think time Z).
    assert worked_out[150.0] == pytest.approx(math.log(20) * (150 * SERVICE_S - THINK_S), rel=0.05)
    assert worked_out[150.0] > 2 * in_turn_p95(150)
    found = curve_tails(points(lambda users: worked_out[float(users)]), text, "transactions")
    assert found is not None
    assert (found.discipline, found.ratio) == (SHARING, pytest.approx(1.0, rel=1e-6))


def test_each_percentile_has_a_ratio_of_its_own() -> None:
    """2 % of the jobs stop for 0.5 s, which hardly changes p95 but determines p99.

    So the measured p95 is 70 ms, and p99 is 513 ms. A model without these stops computes a p99 of at most 2.2 times its
    p95, so the ratio of measured to computed p99 is more than three times that of p95.
    """
    p99 = {"value": 0.513, "low": 0.4, "high": 0.6}
    measured = [point(users, p95={"value": 0.070}, p99=p99) for users in LOADS]
    found = curve_tails(measured, text, "transactions")
    assert found is not None
    ratio, low, high = found.others["p99"]
    assert set(found.others) == {"p99"}
    assert low < ratio < high
    # For the gamma distribution of computed times, p99 / p95 is at most 2.2. The measured p99 / p95 is 513 / 70 = 7.3.
    assert ratio / found.ratio > 513 / 70 / 2.2
    assert found.document()["others"] == {"p99": [ratio, low, high]}


def test_a_model_file_has_the_ratios_of_all_percentiles() -> None:
    lines = tails_lines({"users": {"p99": (2.0, 1.5, 3.0), "p50": (1.0, 0.9, 1.1)}, "other": {}})
    assert lines[1:] == ["    users: {p99: [2, 1.5, 3], p50: [1, 0.9, 1.1]}"]
    assert tails_lines({"users": {}}) == []


def test_without_a_percentile_nothing_is_said() -> None:
    assert curve_tails([point(20, mean={"value": 0.1})], text, "transactions") is None
    assert curve_tails([], text, "transactions") is None
