from __future__ import annotations

from typing import Any

import pytest

from towtank.analysis.aggregation import Point
from towtank.analysis.capacity import knee, saturated_tier
from towtank.analysis.run_summary import RunSummary


def estimate(value: float | None, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "method": "batch means", "n": 20}


def tier(cpus: float, utilization: float | None, demand: tuple[float, float, float]) -> dict[str, Any]:
    return {"cpus_allotted": cpus, "utilization": utilization, "cpu_demand_s": estimate(*demand)}


def point(load: float, rate: float | None, tiers: dict[str, Any], verdict: str = "valid", kind: str = "users") -> Point:
    summary: dict[str, Any] = {
        "throughput_per_s": estimate(rate),
        "response_time_s": {"mean": estimate(0.1)},
        "transactions": {},
        "tiers": tiers,
        "host": {"cpus_used": estimate(None), "cpus": None},
        "laws": {"little": None},
        "window": None,
    }
    return Point(kind, load, ["r001"], [verdict], [RunSummary.read(summary)])


CONTENT = tier(2, 0.4, (0.020, 0.016, 0.025))
DATABASE = tier(1, 0.3, (0.008, 0.007, 0.010))
TIERS = {"content": CONTENT, "database": DATABASE}


class LoadOnlyPoint(Point):
    """Point of a study whose result contains only its load."""

    def document(self) -> dict[str, Any]:
        return {"load": self.load}


def measured(load: float, rate: float | None, verdict: str = "valid") -> Point:
    return LoadOnlyPoint(**point(load, rate, TIERS, verdict).__dict__)


def test_a_tier_is_saturated_from_its_limit_on() -> None:
    full = {"content": tier(2, 0.90, (0.02, 0.02, 0.02)), "database": tier(1, 0.5, (0.01, 0.01, 0.01))}
    assert saturated_tier(point(10, 5.0, full)) == "content"
    full["content"] = tier(2, 0.89, (0.02, 0.02, 0.02))
    assert saturated_tier(point(10, 5.0, full)) is None
    assert saturated_tier(point(10, 5.0, {"content": tier(2, None, (0.02, 0.02, 0.02))})) is None


def test_the_knee_is_the_cycle_over_the_largest_demand() -> None:
    """10 users at 5 /s have a cycle time of 2 s. Two CPUs with a demand of 20 ms need 20 ms / 2 = 0.010 s of each CPU.

    So the knee is N* = 2 / 0.010 = 200, with the interval from 2 / 0.0125 = 160 to 2 / 0.008 = 250. Waits at the other
    tier change the lower end by a fraction of 2e-5.
    """
    found = knee([point(10, 5.0, TIERS), point(20, 6.0, TIERS)])
    assert (found.value, found.low, found.high) == (
        pytest.approx(200),
        pytest.approx(160, rel=1e-4),
        pytest.approx(250),
    )


@pytest.mark.parametrize(("rate", "value"), [(124.0, 200), (126.0, None)])
def test_no_knee_is_given_if_a_level_exceeds_what_the_demand_allows(rate: float, value: float | None) -> None:
    """A demand of at least 16 ms on two CPUs allows a throughput of at most 125 /s.

    A higher throughput shows that the demand differs from the demand at the lowest level.
    """
    found = knee([point(10, 5.0, TIERS), point(300, rate, TIERS)])
    assert found.value == (None if value is None else pytest.approx(value))


def test_a_demand_that_may_be_nothing_gives_a_knee_without_an_interval() -> None:
    found = knee([point(10, 5.0, {"content": tier(2, 0.4, (0.020, 0.0, 0.04))})])
    assert (found.value, found.low, found.high) == (pytest.approx(200), None, None)


def test_an_open_load_and_one_without_throughput_have_no_knee() -> None:
    assert knee([point(10, 5.0, TIERS, kind="rate")]).value is None
    assert knee([point(10, None, TIERS)]).value is None
