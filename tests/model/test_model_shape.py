"""Kind of limit of a system. Each kind is recognised by values that only this kind changes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from load_points import changed

from towtank.analysis import LoadPoint, RunSummary
from towtank.model.closed_percentiles import repairman_moments
from towtank.model.fitting.measured import Configuration, Resource
from towtank.model.fitting.shape import classify


def estimate(value: float) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "confidence": 0.95, "method": "none", "n": 1}


def configuration(lowest: dict[str, Any], highest: dict[str, Any]) -> Configuration:
    """Return runs at 10 and 100 users with the given throughput, response time, CPU use and further values."""
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
                "tiers": {
                    "web": {"major_faults_per_s": seen.get("faults", 0.0), "cpu_control_group": seen.get("group")}
                },
                "host": {
                    "disks": {"sda": {"utilization": seen.get("disk", 0.01)}},
                    "pressure": {"memory_some": seen.get("memory", 0.0)},
                    "context_switches_per_s": seen.get("switches", 100.0),
                    "throttled": {"web": seen["held_up"]} if "held_up" in seen else {},
                },
                "hosts": {
                    "node": {"tiers": ["web"], "cpus_virtual": seen.get("virtual")},
                    **({"far": {"tiers": [], "steal": 0.0, **seen["far"]}} if "far" in seen else {}),
                },
                "generator": {"saturated": seen.get("saturated", False), "envelope_share": seen.get("envelope")},
                "services": {"web": {"pool_waiting": {"kind": "gauge", "mean": seen.get("waiting", 0.0)}}},
            }
        )
    read = list(map(LoadPoint.model_validate, points))
    resources, records = [Resource("web", 2, ("web",))], list(map(RunSummary.read, runs))
    return Configuration("all runs", {}, read, resources=resources, runs=records)


def unobserved(levels: Configuration) -> Configuration:
    """Return measurements without the CPU use of any tier."""
    points = [changed(point, tiers={}) for point in levels.points]
    return Configuration("all runs", {}, points, resources=[], runs=levels.runs)


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
        # A quota throttled the tier for 60 % of the time. In the next cases it is hardly throttled, or its CPUs are
        # known.
        ({**LIMITED, "cpu": 0.9, "held_up": 0.6}, "quota", "web"),
        ({**LIMITED, "cpu": 0.9, "held_up": 0.02}, "contention", None),
        ({**LIMITED, "cpu": 0.9, "held_up": 0.6, "virtual": 2.0}, "contention", None),
        ({**LIMITED, "cpu": 0.9, "held_up": 0.6, "group": "/web"}, "contention", None),
        # The same evidence, but from the probe on another machine.
        ({**LIMITED, "cpu": 0.9, "far": {"disks": {"sdb": {"utilization": 0.97}}}}, "disk", "disk sdb on far"),
        ({**LIMITED, "cpu": 0.9, "far": {"pressure": {"memory_some": 0.5}}}, "memory", "the host on far"),
        ({**LIMITED, "cpu": 0.9, "far": {"throttled": {"web": 0.6}}}, "quota", "web"),
        ({"x": 99.0, "r": 0.06, "cpu": 1.2}, "none", None),
    ],
)
def test_each_kind_of_limit(highest: dict[str, Any], kind: str, resource: str | None) -> None:
    found = classify(configuration(LOW, highest))
    assert found.kind == kind
    if resource is not None:
        assert found.resource == resource
    assert found.evidence[0].highest == pytest.approx(highest["r"] / LOW["r"])


def pool_of_ten() -> Configuration:
    """Return measurements of a pool of ten connections. Each is held for 50 ms, so the pool allows 10 / 0.05 = 200 /s.

    10 users do not wait; 18 users without think time wait 40 ms.
    """
    levels = configuration({"x": 200.0, "r": 0.05, "cpu": 0.9}, {"x": 200.0, "r": 0.09, "cpu": 0.9})
    levels.points = [changed(point, load=load) for point, load in zip(levels.points, (10, 18), strict=True)]
    return levels


def test_throughput_that_stays_behind_the_load_is_a_limit_however_little_response_rises() -> None:
    found = classify(pool_of_ten())
    assert found.kind == "contention"
    assert "44 % below the proportional line" in found.sentence
    assert "no limit" not in found.sentence
    # 14 users wait 20 ms each, so the response time is 70 / 50 = 1.4 times that of 10 users. The CPU queue explains
    # only a factor of 1.25.
    levels = pool_of_ten()
    levels.points[1] = changed(levels.points[1], load=14, response_time_s={"mean": estimate(0.07)})
    assert classify(levels).kind == "contention"


def with_think_time(users: int, highest: dict[str, Any]) -> Configuration:
    """Return measurements of 10 users and of `users` users, who think for 10 s before each transaction of 50 ms.

    A transaction uses 2 ms of CPU time; there are two CPUs.
    """
    lowest = {"x": 10 / 10.05, "r": 0.05, "cpu": 0.002 * 10 / 10.05}
    levels = configuration(lowest, {"cpu": 0.002 * highest["x"], **highest})
    levels.points[1] = changed(levels.points[1], load=users)
    return levels


def test_a_response_time_that_no_queue_explains_is_a_limit_though_throughput_hardly_falls_short() -> None:
    """A pool of ten connections, each held for 50 ms, allows 200 /s. Without it, 2,200 users would make 219 /s.

    Each transaction waits 0.95 s for a connection, although throughput is only 8.6 % lower and the CPUs are 80 % idle.
    """
    levels = with_think_time(2200, {"x": 200.0, "r": 2200 / 200 - 10})
    found = classify(levels)
    assert found.kind == "contention"
    assert "response time grew by a factor of 20 and throughput is 9 % below" in found.sentence
    assert classify(unobserved(levels)).kind == "unknown"


def test_changes_have_the_digits_that_their_intervals_support() -> None:
    """The sentence must print each change with its interval, and only with digits that the interval supports.

    The response time grows from 0.05 to 0.9 s, by a factor of 18 (15.6 to 20.7). At 100 users the throughput is 60 /s,
    40 % below the 100 /s of the proportional line through the lowest load.
    """
    levels = configuration(LOW, {**LIMITED, "cpu": 1.95})
    whole = {"confidence": 0.95, "method": "runs", "n": 1000}
    for place, (rate, time) in enumerate(((10.0, 0.05), (60.0, 0.9))):
        throughput = {"value": rate, "low": 0.95 * rate, "high": 1.05 * rate, **whole}
        mean = {"value": time, "low": 0.9 * time, "high": 1.1 * time, **whole}
        levels.points[place] = changed(
            levels.points[place], throughput_per_s=throughput, response_time_s={"mean": mean}
        )
    found = classify(levels)
    assert "response time grew by a factor of 18.0 [15.6, 20.7] and throughput is 40 [36, 44] % below" in (
        found.sentence
    )
    # Both response times have a relative error of 10 %, so the ends of the interval are 18 exp(-+ sqrt(0.1^2 + 0.1^2)).
    ends = [18 * math.exp(sign * math.sqrt(0.02)) for sign in (-1, 1)]
    assert found.evidence[0].interval == pytest.approx(ends, rel=3e-4)
    low, high = found.evidence[1].interval or (None, None)
    assert low is not None and high is not None
    assert low < (found.evidence[1].highest or 0.0) < high
    assert found.evidence[2].interval is None


def test_a_response_time_that_the_queue_of_the_cpus_explains_is_no_limit() -> None:
    """The response time grows by a factor of 6.7, which the queue of the CPUs explains. So no limit is reported.

    Two CPUs at a utilization of 85 % count as a single CPU of twice the speed, at which the response time is 1 / (1 -
    0.85) = 6.7 times the service time.
    """
    rise = 1 / (1 - 0.85)
    found = classify(with_think_time(1000, {"x": 1000 / (10 + 0.05 * rise), "r": 0.05 * rise, "cpu": 1.7}))
    assert found.kind == "none"
    document = {row.what: row.highest for row in found.evidence}
    assert document["largest growth that queues at the observed resources explain"] == pytest.approx(2 * rise)


@pytest.mark.parametrize(("servers", "users", "think"), [(1, 7, 5.0), (1, 16, 17.0), (2, 10, 5.0), (4, 5, 0.5)])
def test_throughput_that_queues_of_the_cpus_keep_low_is_no_contention(servers: int, users: int, think: float) -> None:
    """The measurements are those of a closed M/M/m queue with a service time of 1 s, for one user and at a utilization
    of 60 to 90 %.

    With a think time of 5 s, 7 users at one server have a throughput 25 % below 7 times that of one user. Waiting
    explains this; the CPU is not a limit yet.
    """
    response, _ = repairman_moments(users, 1.0, servers, think)
    rate = users / (think + response)
    assert 0.6 < rate / servers < 0.9
    lowest = {"x": 1 / (think + 1), "r": 1.0, "cpu": 1 / (think + 1)}
    levels = configuration(lowest, {"x": rate, "r": response, "cpu": rate})
    levels.points = [changed(point, load=load) for point, load in zip(levels.points, (1, users), strict=True)]
    levels.resources = [replace(levels.resources[0], servers=servers)]
    found = classify(levels)
    assert found.kind == "none", found.sentence
    # The sentence explains a shortfall of more than 10 % from the proportional line, and states every shortfall.
    below = 1 - rate * (think + 1) / users
    assert f"throughput is {100 * below:.0f} % below" in found.sentence
    assert ("which queues at CPUs of this utilization explain" in found.sentence) == (below > 0.1)
    # The measured throughput is now 20 % lower, at the same response times. So the queue does not explain it: users
    # think longer, or the generator starts their requests late.
    seen = levels.points[1]
    levels.points[1] = changed(seen, throughput_per_s=estimate(0.8 * rate))
    assert classify(levels).kind == "contention"
    # CPUs with the measured utilization queue too little to explain these response times. So users wait for another
    # resource.
    levels.points[1] = changed(seen, tiers={"web": {"cpus_used": estimate(rate / 4)}})
    assert classify(levels).kind == ("contention" if rate * (think + 1) < 0.9 * users else "none")


def test_throughput_that_stays_behind_the_load_of_unobserved_cpus_is_not_known() -> None:
    found = classify(unobserved(pool_of_ten()))
    assert found.kind == "unknown"
    assert "no CPU of the system was observed" in found.sentence


def test_without_an_observed_cpu_nothing_is_said_of_locks() -> None:
    # Towtank did not start this server. So the probe observes the disks of the machine, but not the CPU use of the
    # server.
    found = classify(unobserved(configuration(LOW, {**LIMITED, "cpu": 0.9})))
    assert (found.kind, found.resource) == ("unknown", None)
    assert "no CPU of the system was observed" in found.sentence
    assert "lock" not in found.sentence


def test_cpu_time_that_grows_with_the_load_is_no_plain_saturation() -> None:
    found = classify(configuration(LOW, {"x": 40.0, "r": 2.0, "cpu": 1.99}))
    assert found.kind == "cpu"
    # A transaction uses 20 ms of CPU time at the lowest load and 50 ms at the highest.
    assert "takes 2.5 times as much CPU time" in found.sentence


def test_metrics_of_waiting_in_services_are_listed() -> None:
    found = classify(configuration(LOW, {**LIMITED, "cpu": 0.5, "waiting": 37.0}))
    document = {evidence.what: evidence.highest for evidence in found.evidence}
    assert document["pool_waiting of web"] == 37.0


def test_one_load_shows_no_shape() -> None:
    levels = configuration(LOW, {**LIMITED, "cpu": 1.0})
    levels.points = levels.points[:1]
    assert classify(levels).kind == "unknown"
