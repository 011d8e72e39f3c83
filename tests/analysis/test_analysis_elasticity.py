"""Elasticities of metrics with respect to the speed of the tested system, from summaries of runs.

An elasticity is the change of a metric [%] if the speed changes by 1 %.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from towtank.analysis.elasticity import LARGEST, PROPORTIONAL, Elasticity, busiest, elasticity_of, elasticity_of_groups
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.user_groups import UserGroup, user_groups
from towtank.results.stream_forms import SegmentHeader


def run(x_per_s: float | None, r_s: float, users: float | None, **more: Any) -> RunSummary:
    return RunSummary.read(
        {
            "throughput_per_s": {"value": x_per_s},
            "response_time_s": {"mean": {"value": r_s}},
            "users": {"mean": users},
            "rate": None,
            **more,
        }
    )


def tier(utilization: float | None, group: str | None = None, cpus_used: float | None = None) -> dict[str, Any]:
    return {"utilization": utilization, "cpu_control_group": group, "cpus_used": {"value": cpus_used}}


def test_the_busiest_tier_says_how_much_the_response_time_follows() -> None:
    """Of 100 users, 80 /s x 0.125 s = 10 are in the system, a fraction w = 0.1. The busiest tier is used to U = 90 %.

    So the elasticity of the response time is 1 / (1 - U + U w) = 1 / (0.1 + 0.09) = 5.26. That of throughput is w times
    this.
    """
    tiers = {"web": tier(0.2, "/web", 1.8), "database": tier(0.9, "/database", 7.2)}
    found = elasticity_of(run(80, 0.125, 100, tiers=tiers))
    assert found.response_time == pytest.approx(1 / 0.19)
    assert found.throughput == pytest.approx(0.1 / 0.19)
    assert found.utilization == 0.9


def of_busiest(summary: dict[str, Any]) -> float | None:
    return busiest(RunSummary.read(summary))


def test_tiers_of_one_control_group_are_busy_together_and_disks_count() -> None:
    shared = {"web": tier(0.4, "/site"), "database": tier(0.5, "/site"), "cache": tier(0.7)}
    assert of_busiest({"tiers": shared}) == pytest.approx(0.9)
    disks = {"server": {"disks": {"data": {"utilization": 0.95}, "log": {}}}}
    assert of_busiest({"tiers": shared, "hosts": disks}) == 0.95
    assert of_busiest({"tiers": shared, "host": disks["server"]}) == 0.95
    assert of_busiest({"tiers": {"web": tier(0.5), "database": tier(0.45)}}) == pytest.approx(0.95)
    assert of_busiest({"hosts": {"server": {"utilization": 0.8}}}) == 0.8
    assert of_busiest({"tiers": {}, "host": disks["server"]}) is None, "disks of the load generator do not count"
    assert of_busiest({"tiers": {"web": tier(1.02)}}) == 1.0
    assert of_busiest({"tiers": {"web": tier(None)}, "hosts": {"server": {"disks": {}}}}) is None


def test_without_an_observed_tier_one_station_makes_all_of_the_response_time() -> None:
    """Of 100 users, 80 /s x 0.05 s = 4 are in the system, a fraction w = 0.04. A single station with 4 users has the
    utilization U = 4 / (1 + 4) = 0.8.

    So the elasticity of the response time is 1 / (1 - U + U w) = 1 / (0.2 + 0.8 x 0.04).
    """
    found = elasticity_of(run(80, 0.05, 100))
    assert found.utilization == pytest.approx(0.8)
    assert found.response_time == pytest.approx(1 / 0.232)


def test_users_in_the_system_who_use_no_cpu_are_in_one_station() -> None:
    """The utilization must be derived from the users in the system if the CPUs are less busy.

    A single thread with the utilization U = 0.9 uses only 0.45 of the two CPUs of its tier. U^2 / (1 - U) = 0.81 / 0.1
    = 8.1 users wait and 0.9 are in service, which makes 9 of 99 users in the system.
    """
    found = elasticity_of(run(90, 9 / 90, 99, tiers={"web": tier(0.45, None, 0.9)}))
    assert found.utilization == pytest.approx(0.9)
    assert found.response_time == pytest.approx(1 / (1 - 0.9 * (1 - 9 / 99)))


def test_failed_transactions_are_in_the_system_too() -> None:
    """40 transactions/s succeed and 40 fail. All 80 take 0.05 s, so 80 x 0.05 = 4 users are in the system."""
    assert elasticity_of(run(40, 0.05, 100, errors={"share": 0.5})).utilization == pytest.approx(0.8)


def test_an_open_load_keeps_its_throughput_until_a_tier_is_saturated() -> None:
    carried = elasticity_of(run(80, 0.05, None, rate=80, tiers={"web": tier(0.75, None, 3.0)}))
    assert (carried.response_time, carried.throughput) == (4.0, 0.0)
    saturated = elasticity_of(run(80, 0.05, None, rate=90, tiers={"web": tier(1.0)}))
    assert (saturated.response_time, saturated.throughput) == (LARGEST, 1.0)


@pytest.mark.parametrize(
    "without", [run(None, 0.1, 10), run(0.0, 0.1, 10), run(10, 0.0, 10), run(10, 0.1, None), RunSummary()]
)
def test_a_run_that_shows_too_little_follows_in_proportion(without: RunSummary) -> None:
    assert elasticity_of(without) == PROPORTIONAL
    assert Elasticity.read(None) == PROPORTIONAL


@pytest.mark.parametrize(
    ("path", "per", "expected"),
    [
        ("response_time_s.p95", None, 5.0),
        ("transactions.search.phases.ramp_up.mean_s", None, 5.0),
        ("transactions.search.response_time_s.mean", "load", 5.0),
        ("throughput_per_s", None, 0.5),
        ("transactions.search.throughput_per_s", "load", 0.5),
        ("tiers.web.cpu_demand_s", None, 1.0),
        ("machine.cpus_used", "throughput_per_s", 1.0),
        ("response_time_s.mean", "tiers.web.cpu_demand_s", 6.0),
        ("response_time_s.mean", "throughput_per_s", 5.5),
        ("response_time_s.p95", "response_time_s.mean", 5.0),
        ("connections.wait_time_s.mean", None, 5.0),
    ],
)
def test_each_quantity_has_its_own(path: str, per: str | None, expected: float) -> None:
    found = Elasticity(5.0, 0.5, 0.9).of(path.split("."), per.split(".") if per else None)
    assert found == expected


def measured(**kinds: tuple[float, float]) -> Any:
    """Return a measurement of ten seconds with 60 users. `kinds` gives, for each transaction, the count and the sum of
    the response times. [s]
    """
    chosen = np.ones(10, dtype=bool)
    columns = {
        name: SimpleNamespace(
            ended=np.full(10, count / 10),
            response=SimpleNamespace(counts=np.full(10, count / 10)),
            response_sum_s=np.full(10, sum_s / 10),
        )
        for name, (count, sum_s) in kinds.items()
    }
    return SimpleNamespace(
        length_of=lambda some: float(some.sum()), arrivals=np.zeros(10), stage=np.zeros(10, dtype=int),
        user_s=np.full(10, 60.0), recording=SimpleNamespace(header=SegmentHeader(transactions=list(kinds))),
        columns=lambda _: columns, chosen=chosen,
    )  # fmt: skip


def group(name: str, share: float, *kinds: int, **pause: Any) -> dict[str, Any]:
    mix = [{"transaction": kind, "weight": 1.0} for kind in kinds]
    return {"name": name, "share": share, "mix": mix, "think": None, "pacing": None, **pause}


SECOND, PACE = {"dist": "exponential", "mean_s": 1.0}, {"dist": "uniform", "min_s": 1.0, "max_s": 3.0}


def test_groups_of_users_with_transactions_of_their_own_are_counted_apart() -> None:
    """In 10 s, 20 users with a think time make 200 transactions of 0.1 s: 20 /s, with a mean of 0.1 s.

    40 users with a pace of 2 s make 100 transactions of 0.5 s and 50 of 2 s: 15 /s, with a mean of (50 s + 100 s) / 150
    = 1 s.
    """
    recorded = measured(read=(200, 20.0), write=(100, 50.0), report=(50, 100.0))
    groups = [group("readers", 1.0, 0, think=SECOND), group("writers", 2.0, 1, 2, pacing=PACE)]
    readers, writers = user_groups({"groups": groups}, recorded, recorded.chosen) or []
    assert (readers.names, readers.users, readers.throughput_per_s) == (("readers",), 20.0, 20.0)
    assert (readers.response_time_s, readers.pace_s) == (pytest.approx(0.1), None)
    assert (writers.users, writers.throughput_per_s, writers.pace_s) == (40.0, 15.0, 2.0)
    assert not readers.pace_is_fixed
    assert not writers.pace_is_fixed
    assert writers.response_time_s == pytest.approx(1.0)
    by_stage = {"groups": groups, "load": {"stages": [{"users_by_group": [45, 15]}]}}
    assert [each.users for each in user_groups(by_stage, recorded, recorded.chosen) or []] == [45.0, 15.0]


def test_transactions_without_a_response_time_leave_the_mean_of_the_others() -> None:
    """200 transactions take 20 s, so the mean response time is 0.1 s. Another 50 get no connection and have no response
    time. All 250 transactions in 10 s make 25 /s.
    """
    recorded = measured(read=(200, 20.0))
    recorded.columns("transaction")["read"].ended += 5.0
    (readers,) = user_groups({"groups": [group("readers", 1.0, 0, think=SECOND)]}, recorded, recorded.chosen) or []
    assert (readers.throughput_per_s, readers.response_time_s) == (25.0, pytest.approx(0.1))


def test_groups_with_a_transaction_in_common_are_one_or_unknown() -> None:
    recorded = measured(read=(200, 20.0), write=(100, 50.0), report=(50, 100.0))
    alike = [group(name, 1.0, *kinds, think=SECOND) for name, kinds in (("a", (0, 1)), ("b", (1, 2)), ("c", (2,)))]
    (all_three,) = user_groups({"groups": alike}, recorded, recorded.chosen) or []
    assert (all_three.names, all_three.users) == (("a", "b", "c"), 60.0)
    unlike = [group("a", 1.0, 0, 1, think=SECOND), group("b", 1.0, 1, 2, pacing=PACE)]
    assert user_groups({"groups": unlike}, recorded, recorded.chosen) is None
    recorded.arrivals[3] = 1
    assert user_groups({"groups": unlike}, recorded, recorded.chosen) == ()
    assert user_groups(None, recorded, recorded.chosen) == ()


@pytest.mark.parametrize("groups", [3, [3], [{"mix": 3}], [{"mix": [{}]}], [{"mix": [], "share": "many"}]])
def test_groups_of_a_plan_that_cannot_be_read_are_unknown(groups: Any) -> None:
    recorded = measured(read=(200, 20.0))
    assert user_groups({"groups": groups}, recorded, recorded.chosen) is None


def test_groups_whose_responses_took_no_time_have_elasticities() -> None:
    """If the clock does not advance, response times are zero. The groups must still have elasticities."""
    group = UserGroup(("a",), 10.0, 5.0, 0.0, None, pace_is_fixed=False)
    found = elasticity_of_groups(0.5, [group, group])
    assert (found.response_time, found.throughput) == (pytest.approx(1 / (0.5 + 0.5 * 0.02)), 0.0)
