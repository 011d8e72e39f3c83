"""What limits a system, told from numbers that only one kind of limit moves."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.model.fitting.measured import Configuration, Resource
from towtank.model.fitting.shape import classify


def estimate(value: float) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "confidence": 0.95, "method": "none", "n": 1}


def configuration(lowest: dict[str, Any], highest: dict[str, Any]) -> Configuration:
    """Two loads, 10 and 100 users; each told by throughput, response, cpus and what else the run saw."""
    points, runs = [], []
    for name, users, seen in (("r001", 10, lowest), ("r002", 100, highest)):
        rate = estimate(seen["x"])
        points.append(
            {
                "load": users,
                "runs": [name],
                "throughput_per_s": rate,
                "response_time_s": {"mean": estimate(seen["r"])},
                "tiers": {"web": {"cpus_used": estimate(seen["cpu"])}},
            }
        )
        runs.append(
            {
                "run": name,
                "throughput_per_s": rate,
                "tiers": {"web": {"major_faults_per_s": seen.get("faults", 0.0)}},
                "host": {
                    "disks": {"sda": {"utilization": seen.get("disk", 0.01)}},
                    "pressure": {"memory_some": seen.get("memory", 0.0)},
                    "context_switches_per_s": seen.get("switches", 100.0),
                },
                "generator": {"saturated": seen.get("saturated", False), "envelope_share": seen.get("envelope")},
                "services": {"web": {"pool_waiting": {"kind": "gauge", "mean": seen.get("waiting", 0.0)}}},
            }
        )
    return Configuration("all runs", {}, points, resources=[Resource("web", 2, ("web",))], runs=runs)


LOW = {"x": 10.0, "r": 0.05, "cpu": 0.2}
LIMITED = {"x": 60.0, "r": 0.9}


@pytest.mark.parametrize(
    ("highest", "kind", "resource"),
    [
        ({**LIMITED, "cpu": 1.95}, "cpu", "web"),
        ({**LIMITED, "cpu": 0.9}, "contention", None),
        ({**LIMITED, "cpu": 0.9, "disk": 0.97}, "disk", "disk sda"),
        ({**LIMITED, "cpu": 0.9, "faults": 400.0}, "memory", "web"),
        ({**LIMITED, "cpu": 1.95, "saturated": True}, "generator", None),
        ({**LIMITED, "cpu": 0.9, "envelope": 0.95}, "generator", None),
        ({"x": 99.0, "r": 0.06, "cpu": 1.2}, "none", None),
    ],
)
def test_each_kind_of_limit(highest: dict[str, Any], kind: str, resource: str | None) -> None:
    found = classify(configuration(LOW, highest))
    assert found["kind"] == kind
    if resource is not None:
        assert found["resource"] == resource
    assert found["evidence"][0]["at_highest"] == pytest.approx(highest["r"] / LOW["r"])


def pool_of_ten() -> Configuration:
    """Ten connections held for 50 ms carry 200 /s: 10 users wait for none, 18 users without think time wait 40 ms."""
    one = configuration({"x": 200.0, "r": 0.05, "cpu": 0.9}, {"x": 200.0, "r": 0.09, "cpu": 0.9})
    one.points[0]["load"], one.points[1]["load"] = 10, 18
    return one


def test_throughput_that_stays_behind_the_load_is_a_limit_however_little_response_rises() -> None:
    found = classify(pool_of_ten())
    assert found["kind"] == "contention"
    assert "44 % below the line" in found["sentence"]
    assert "no limit" not in found["sentence"]


def test_throughput_that_stays_behind_the_load_of_unobserved_cpus_is_not_known() -> None:
    one = pool_of_ten()
    for point in one.points:
        point["tiers"] = {}
    found = classify(Configuration("all runs", {}, one.points, resources=[], runs=one.runs))
    assert found["kind"] == "unknown"
    assert "no CPU of the system was observed" in found["sentence"]


def test_without_an_observed_cpu_nothing_is_said_of_locks() -> None:
    # An existing server: the disk of the machine is observed, the CPUs of the server are not.
    one = configuration(LOW, {**LIMITED, "cpu": 0.9})
    for point in one.points:
        point["tiers"] = {}
    found = classify(Configuration("all runs", {}, one.points, resources=[], runs=one.runs))
    assert (found["kind"], found["resource"]) == ("unknown", None)
    assert "no CPU of the system was observed" in found["sentence"]
    assert "lock" not in found["sentence"]


def test_cpu_time_that_grows_with_the_load_is_no_plain_saturation() -> None:
    found = classify(configuration(LOW, {"x": 40.0, "r": 2.0, "cpu": 1.99}))
    assert found["kind"] == "cpu"
    # 20 ms at the lowest load, 50 ms at the highest.
    assert "takes 2.5 times the CPU time" in found["sentence"]


def test_what_services_tell_of_waiting_is_listed() -> None:
    found = classify(configuration(LOW, {**LIMITED, "cpu": 0.5, "waiting": 37.0}))
    told = {one["what"]: one["at_highest"] for one in found["evidence"]}
    assert told["pool_waiting of web"] == 37.0


def test_one_load_shows_no_shape() -> None:
    one = configuration(LOW, {**LIMITED, "cpu": 1.0})
    one.points = one.points[:1]
    assert classify(one)["kind"] == "unknown"
