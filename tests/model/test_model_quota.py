"""With a CPU quota, work runs at full speed until the quota of a period is used up. For very long and very short
periods the exact solution is known; for periods between these, results are compared with simulations.
"""

import numpy as np
import pytest
from quota_simulation import QuotaServer, closed_stations, open_station

from towtank.errors import ModelError
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.quota_curve import QuotaCurve
from towtank.model.quota import Quota, scaled_residence


@pytest.mark.parametrize("cpus", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("utilization", [0.05, 0.3, 0.6])
def test_in_a_long_period_it_is_a_fast_server(cpus: float, utilization: float) -> None:
    # In a long period, work runs at the full speed of a CPU. So the station is an M/M/1 queue with the demand D and the
    # utilization `utilization * cpus`. Its time D / (1 - utilization * cpus) is stated in units of S = D / cpus.
    assert scaled_residence(utilization, 500.0, cpus) == pytest.approx(cpus / (1 - utilization * cpus), rel=5e-3)


@pytest.mark.parametrize("cpus", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("utilization", [0.05, 0.5, 0.9])
def test_in_a_short_period_it_is_a_slow_server(cpus: float, utilization: float) -> None:
    quota = Quota(cpus, period_s=1e-4)
    assert quota.residence(1.0, utilization) == pytest.approx(1 / (1 - utilization), rel=1e-3)


@pytest.mark.waits
@pytest.mark.parametrize(
    ("cpus", "most"),
    # Each case states the quota [CPUs] and the largest allowed relative error. The approximation ignores that periods
    # are discrete.
    [(0.1, 0.05), (0.25, 0.08), (0.5, 0.14), (0.9, 0.23)],
)
@pytest.mark.parametrize("periods", [0.5, 2.0, 8.0, 20.0])
@pytest.mark.parametrize("utilization", [0.2, 0.5, 0.8])
def test_between_them_it_answers_as_a_simulation_does(
    cpus: float, most: float, periods: float, utilization: float
) -> None:
    found = Quota(cpus, period_s=periods).residence(1.0, utilization)
    seen = open_station(cpus, periods, cpus, rate=utilization, count=150_000, seed=11)
    assert found == pytest.approx(seen, rel=most)


@pytest.mark.waits
def test_it_is_never_slower_than_a_slow_server_nor_faster_than_the_work_takes() -> None:
    for cpus in (0.05, 0.3, 0.95):
        for demand in (1e-4, 0.01, 0.3, 20.0):
            for utilization in (0.0, 0.01, 0.4, 0.93, 0.99):
                found = Quota(cpus).residence(demand, utilization)
                assert found <= demand / (1 - utilization) * (1 + 1e-9)
                assert found >= 0.92 * cpus * demand


def test_many_are_computed_as_one_by_one() -> None:
    quota = Quota(0.2)
    demands, used = np.array([[0.01, 0.03, 0.4]]), np.array([[0.2], [0.7]])
    found = quota.spared(demands, used)
    assert found.shape == (2, 3)
    for (row, column), value in np.ndenumerate(found):
        assert value == pytest.approx(float(quota.spared(demands[0, column], used[row, 0])), rel=1e-12)


def test_what_is_no_part_of_a_cpu_is_refused() -> None:
    with pytest.raises(ModelError, match="below 1 CPU"):
        Quota(1.0)
    with pytest.raises(ModelError, match="period must be above 0 s"):
        Quota(0.5, 0.0)


@pytest.mark.parametrize(
    ("cpus", "demand_s", "most"),
    # Each case states the quota [CPUs], the demand [s] and the largest allowed relative error of the response time. The
    # approximation is worse for demands that are short relative to a period.
    [(0.1, 0.2, 0.05), (0.1, 0.05, 0.12), (0.5, 0.01, 0.25)],
)
@pytest.mark.parametrize("users", [5, 12, 20, 60])
def test_a_closed_system_answers_as_a_simulation_does(cpus: float, demand_s: float, most: float, users: int) -> None:
    think_s = 20 * demand_s  # the knee of this system is at 21 users
    load, demand = np.array([float(users)]), np.array([[demand_s, 0.0]])
    rate = QuotaCurve(1, think_s, quota=Quota(cpus)).throughput(demand, load)[0, 0]
    server, until_s = QuotaServer(cpus, 0.1), 200_000 * demand_s
    seen, response = closed_stations(users, think_s, cpus * demand_s, servers=[server], until_s=until_s, seed=3)
    assert rate == pytest.approx(seen, rel=0.03)
    assert users / rate - think_s == pytest.approx(response, rel=most)
    slow = ClosedCurve(1, think_s).throughput(demand, load)[0, 0]
    assert rate >= slow
    if users == 5 and demand_s <= 0.05:
        assert users / slow - think_s > 2 * response, (
            "a server that is slowed down to the quota would have more than twice the response time"
        )


def test_no_period_is_shorter_than_what_a_tick_takes_of_it() -> None:
    # The kernel counts CPU time in ticks of 4 ms. A quota of 0.1 CPUs in periods of 20 ms would allow half a tick. In
    # effect it allows one tick in 4 ms / 0.1 = 40 ms, so this is the length of a period.
    assert Quota.of_linux(0.1, 0.02) == Quota(0.1, 0.04)
    assert Quota.of_linux(0.1) == Quota(0.1, 0.1)
    assert Quota.of_linux(0.5, 0.005) == Quota(0.5, 0.008)
