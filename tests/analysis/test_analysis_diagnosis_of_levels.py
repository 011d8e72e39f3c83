"""Diagnosis over load levels: the load at which throughput stops growing, and the resource that is saturated there."""

from __future__ import annotations

import copy

import pytest
from changed_recordings import script
from synthetic_runs import write_run

from towtank.analysis import summarize_run
from towtank.analysis.aggregation import aggregate
from towtank.analysis.diagnosis import Cause, diagnose_levels
from towtank.analysis.ideal import ideal_line
from towtank.analysis.limits.of_levels import limit
from towtank.analysis.load_point import LimitKind, LimitOfLevels
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics.estimates import Estimate

CPUS = 2


def point_of(kind, load, runs):
    return aggregate(kind, load, list(map(RunSummary.read, runs)))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The summary of a valid run, as `run.json` contains it."""
    return summarize_run(write_run(tmp_path_factory.mktemp("runs") / "r001", script()), tables=False)


def run_at(recorded, users, throughput, cpus_used, *, process=None):
    """Return the summary of a run with a given load, throughput, and CPU use of the only tier."""
    run = copy.deepcopy(recorded)
    near = Estimate(throughput, 0.99 * throughput, 1.01 * throughput, "batches", 20).document()
    run |= {"throughput_per_s": near, "run": f"r{users:03d}", "rate": None}
    run["users"] |= {"asked": users, "mean": float(users)}
    content = run["tiers"]["content"]
    content |= {"cpus_allotted": CPUS, "utilization": cpus_used / CPUS}
    content["cpus_used"] = Estimate(cpus_used, 0.98 * cpus_used, 1.02 * cpus_used, "batches", 20).document()
    if process is not None:
        content["busiest"] = {
            "process": {"name": "content", "pid": 7, "cpus": process, "most": process, "share_of_time_full": 1.0}
        }
    law = {"n": float(users), "x_per_s": throughput, "r_s": users / throughput, "z_s": 0.0}
    run["laws"]["little"] |= law
    run["response_time_s"]["mean"] = Estimate(users / throughput).document()
    return run


def diagnosed(runs):
    points = [point_of("users", run["users"]["asked"], [run]) for run in runs]
    return diagnose_levels(points, limit(points, ideal_line(points)))


def test_a_cpu_at_its_limit_over_levels(recorded):
    runs = [run_at(recorded, n, x, x * 0.02) for n, x in ((1, 10.0), (4, 40.0), (16, 97.0), (32, 98.0))]
    found = diagnosed(runs)
    assert (found.cause, found.place.tier, found.sure) == (Cause.CPU, "content", 0.95)
    assert any("throughput stays at about 98 /s from 16 to 32 users" in text for text in found.evidence)


def test_one_process_at_its_limit_while_the_machine_is_idle(recorded):
    loads = ((1, 10.0), (4, 40.0), (16, 97.0), (32, 98.0))
    runs = [run_at(recorded, n, x, x * 0.0101, process=x * 0.0101) for n, x in loads]
    found = diagnosed(runs)
    assert (found.cause, found.place.part) == (Cause.CPU, "process content (7)")


def test_a_spinning_process_is_no_limit_of_the_load(recorded):
    loads = ((1, 10.0), (4, 40.0), (16, 97.0), (32, 98.0))
    found = diagnosed([run_at(recorded, n, x, 1.0, process=1.0) for n, x in loads])
    assert (found.cause, found.is_likely) == (Cause.CPU, False)
    assert found.against[0].startswith("the same limit appears at the lowest load, 1")


def test_one_process_for_each_user_is_no_limit_of_the_lowest_load(recorded):
    """Each user without think time keeps a process of its own busy.

    One user uses one of the two CPUs; two or more users use both.
    """
    loads = ((1, 10.0, 0.98), (2, 19.5, 1.95), (8, 19.8, 1.98))
    runs = [run_at(recorded, n, x, cpus, process=0.98 if n < 8 else 0.25) for n, x, cpus in loads]
    found = diagnosed(runs)
    assert (found.cause, found.place.tier, found.sure, found.against) == (Cause.CPU, "content", 0.95, ())


def test_a_disk_at_its_limit_at_each_load_limits_each_load(recorded):
    # A database that joins the commits of several users into one write uses the whole disk even with a single user.
    disk = {"utilization": 0.995, "utilization_of": "write_operations", "utilization_limit": 100.0}
    runs = [run_at(recorded, n, x, 0.2) for n, x in ((1, 24.0), (4, 44.0))]
    with_disk = [run | {"hosts": {"server": {"disks": {"data": disk}}}} for run in runs]
    found = diagnosed(with_disk)
    assert (found.cause, found.sure, found.is_likely) == (Cause.DISK, 0.7, True)
    assert found.against[0].startswith("the same limit appears at the lowest load, 1")
    assert "disk data of host server uses 100 % of its limit of 100 writes/s" in found.evidence


def test_a_resource_at_its_limit_at_the_last_load_on_the_line_is_said(recorded):
    loads = ((1, 10.0), (4, 40.0), (8, 78.0), (10, 98.0))
    found = diagnosed([run_at(recorded, n, x, x * 0.0101, process=x * 0.0101) for n, x in loads])
    assert (found.cause, found.sure) == (Cause.NONE, 0.6)
    assert "the CPU of content" in found.against[0]


def test_a_collapse_is_no_plateau(recorded):
    runs = [run_at(recorded, n, x, x * 0.001) for n, x in ((4, 40.0), (16, 97.0), (32, 38.0))]
    found = diagnosed(runs)
    assert "throughput falls from 97 /s at 16 to 38 /s at 32 users" in found.evidence[0]
    assert not any("a limit of about" in text for text in found.evidence)


def test_a_last_load_that_a_failure_spoilt_is_left_out(recorded):
    loads = ((1, 10.0), (4, 40.0), (16, 97.0))
    runs = [run_at(recorded, n, x, x * 0.0101, process=x * 0.0101) for n, x in loads]
    dead = run_at(recorded, 32, 5.0, 0.05)
    doubt = {"kind": "service_died", "level": "invalid", "message": "content ended", "seen": 0, "limit": 0}
    dead["verdict"] = {**dead["verdict"], "level": "invalid", "reasons": [doubt]}
    assert diagnosed([*runs, dead]).cause is Cause.CPU


def test_a_limit_that_no_resource_explains_is_not_known(recorded):
    runs = [run_at(recorded, n, x, x * 0.001) for n, x in ((1, 10.0), (4, 39.0), (16, 40.0), (32, 40.2))]
    found = diagnosed(runs)
    assert (found.cause, found.sure) == (Cause.UNKNOWN, 0.0)
    assert found.evidence[0] == "throughput stays at about 40.2 /s from 4 to 32 users"
    limit_text = "a limit of about 40.2 (39.8 to 40.6) /s that no observed resource explains"
    assert found.evidence[1] == f"{limit_text}: a lock, a pool or a service behind the target"
    assert "metrics" in found.settle


@pytest.mark.parametrize(
    ("cpus", "waits", "last", "cause"),
    [
        # Two interpreters that pass a lock to one another leave a tenth of two CPUs idle at any load.
        (1.77, 1.2, 40.2, Cause.CPU),
        (1.66, 1.2, 40.2, Cause.UNKNOWN),
        (1.77, 0.3, 40.2, Cause.UNKNOWN),
        (1.77, 1.2, 30.0, Cause.UNKNOWN),
    ],
)
def test_nearly_full_cpus_are_the_cause_if_throughput_is_flat_over_levels(recorded, cpus, waits, last, cause):
    loads = ((2, 39.0, 1.7), (8, 40.0, cpus), (32, last, cpus))
    runs = [run_at(recorded, n, x, used) for n, x, used in loads]
    for run in runs:
        run["tiers"]["content"]["run_queue_wait_s_per_s"] = waits
        run["phases"] = {}
    found = diagnosed(runs)
    assert (found.cause, found.place.tier) == (cause, "content" if cause is Cause.CPU else None)
    if cause is Cause.CPU:
        assert found.sure == 0.6
        assert found.evidence[1] == "throughput stays at about 40.2 /s from 2 to 32 users"


def test_a_limit_that_no_resource_explains_names_the_transaction_that_waits(recorded):
    runs = [run_at(recorded, n, x, x * 0.001) for n, x in ((1, 10.0), (4, 39.0), (16, 40.0), (32, 40.2))]
    for run in runs:
        users = run["users"]["asked"]
        of = next(iter(run["transactions"].values()))
        of |= {"throughput_per_s": Estimate(8.0, 7.9, 8.1, "batches", 20).document(), "count": 80}
        means = {"front": 0.01, "report": users / 32}
        run["transactions"] = {
            name: of | {"response_time_s": of["response_time_s"] | {"mean": Estimate(mean).document()}}
            for name, mean in means.items()
        }
    found = diagnosed(runs)
    assert (found.cause, found.place.transaction) == (Cause.UNKNOWN, "report")
    assert "a limit of about 8.00 (7.90 to 8.10) /s on `report` that no observed" in found.evidence[1]


def test_a_load_below_every_limit(recorded):
    runs = [run_at(recorded, n, 10.0 * n, 0.01 * n) for n in (1, 4, 16, 32)]
    found = diagnosed(runs)
    assert (found.cause, found.sure) == (Cause.NONE, 0.9)


def test_runs_that_disagree_leave_the_cause_unknown(recorded):
    full, idle = run_at(recorded, 32, 98.0, 1.96), run_at(recorded, 32, 98.0, 0.3)
    low = run_at(recorded, 1, 10.0, 0.2)
    points = [point_of("users", 1, [low]), point_of("users", 32, [full, idle])]
    found = diagnose_levels(points, limit(points, ideal_line(points)))
    assert found.cause is Cause.UNKNOWN


def full_disk(host, disk="data"):
    """Return the hosts of a summary with one disk at its limit."""
    used = {"utilization": 0.99, "utilization_of": "write_operations", "utilization_limit": 100.0}
    return {"hosts": {host: {"disks": {disk: used}}}}


def full_link(host, _=None):
    """Return the hosts of a summary with one network link at its limit."""
    return {"hosts": {host: {"receive_bytes_per_s": 12.4e6, "transmit_bytes_per_s": 0.0, "link_bytes_per_s": 12.5e6}}}


@pytest.mark.parametrize(
    ("resource", "first", "second", "names"),
    [
        (full_disk, ("a", "data"), ("b", "data"), ["disk data, host a", "disk data, host b"]),
        (full_disk, ("a", "data"), ("a", "log"), ["disk data, host a", "disk log, host a"]),
        (full_link, ("a",), ("b",), ["network link, host a", "network link, host b"]),
    ],
)
def test_runs_with_limits_at_different_places_leave_the_cause_unknown(recorded, resource, first, second, names):
    runs = [run_at(recorded, 32, 98.0, 0.3) | resource(*place) for place in (first, second)]
    points = [point_of("users", 1, [run_at(recorded, 1, 10.0, 0.2)]), point_of("users", 32, runs)]
    found = diagnose_levels(points, limit(points, ideal_line(points)))
    assert found.cause is Cause.UNKNOWN
    same = [point_of("users", 32, [run_at(recorded, 32, 98.0, 0.3) | resource(*first) for _ in range(2)])]
    assert diagnose_levels(same, limit(same, ideal_line(same))).place.host == "a"
    assert all(name in " ".join(found.evidence) for name in names)


def test_a_disk_of_another_host_at_the_lowest_load_takes_no_belief_away(recorded):
    loads = ((1, 24.0, "other"), (4, 44.0, "server"))
    found = diagnosed([run_at(recorded, n, x, 0.2) | full_disk(host) for n, x, host in loads])
    assert (found.cause, found.place.host, found.against) == (Cause.DISK, "server", ())


@pytest.mark.parametrize(("cpus", "cause"), [(0.97, Cause.CPU), (0.5, Cause.NONE)])
def test_the_only_user_without_think_time_is_limited_by_its_largest_demand(recorded, cpus, cause):
    """Of the response time R = 100 ms, the CPU demand D is 97 ms or 50 ms.

    A single user has the throughput X = 1 / R = 10 /s. [Lazowska 1984, chapter 5]
    """
    for process in (cpus, None):
        found = diagnosed([run_at(recorded, 1, 10.0, cpus, process=process)])
        assert (found.cause, found.is_likely) == (cause, cause is Cause.CPU)
        assert found.place.tier == ("content" if cause is Cause.CPU else None)


def test_no_run_at_all():
    found = diagnose_levels([], limit([], None))
    assert found.cause is Cause.UNKNOWN
    assert found.unknown


def with_connections(run, busy, most=4.0):
    """Return a run with 4 connections to a database, of which the given number was busy on average."""
    values = {"server_connections": {"mean": 4.0, "max": most}, "server_connections_busy": {"mean": busy, "max": 4.0}}
    series = {f'{name}{{to="database"}}': found for name, found in values.items()}
    return run | {"services": run["services"] | {"connections.here": series}}


def test_a_pool_without_metrics_over_levels(recorded):
    loads = ((1, 10.0, 0.4), (4, 39.0, 1.6), (16, 97.0, 3.9), (32, 98.0, 4.0))
    found = diagnosed([with_connections(run_at(recorded, n, x, x * 0.001), busy) for n, x, busy in loads])
    assert (found.cause, found.place.part, found.sure) == (Cause.POOL, "connections to database", 0.7)
    assert "throughput stays at about 98 /s from 16 to 32 users" in found.evidence


def test_a_server_behind_a_pool_that_takes_longer_under_load_may_be_the_limit(recorded):
    loads = ((1, 10.0, 0.1), (4, 39.0, 1.6), (16, 97.0, 3.9), (32, 98.0, 4.0))
    found = diagnosed([with_connections(run_at(recorded, n, x, x * 0.001), busy) for n, x, busy in loads])
    assert (found.cause, found.is_likely) == (Cause.POOL, False)
    slower = "a request occupies a connection to database for 40.8 ms, at the lowest load for 10 ms"
    assert found.against == (f"{slower}: database may be the limit",)


def test_connections_that_requests_share_may_be_no_limit(recorded):
    """A request takes 40 ms in the server at each load.

    At the limit of 200 /s, 8 requests are in the server. They share 4 connections, which are always busy: for 4 / (200
    /s) = 20 ms per request.
    """
    loads = ((1, 25.0, 1.0), (16, 200.0, 4.0), (32, 200.0, 4.0))
    found = diagnosed([with_connections(run_at(recorded, n, x, x * 0.0001), busy) for n, x, busy in loads])
    assert (found.cause, found.is_likely) == (Cause.POOL, False)
    shared = "a request occupies a connection to database for 20 ms, at the lowest load for 40 ms"
    assert found.against[0].startswith(f"{shared}: several requests share a connection")


def held_lock(run, held):
    """Return a run whose server has a counter of the time for which a lock was held. [s/s]"""
    return run | {"services": {"content": {"leader_lock_held_seconds_total": {"kind": "counter", "per_s": held}}}}


def test_a_lock_that_is_held_at_every_load_needs_a_load_far_below_the_limit(recorded):
    def of(*loads):
        runs = [held_lock(run_at(recorded, users, rate, 0.01), held) for users, rate, held in loads]
        points = [point_of("users", run["users"]["asked"], [run]) for run in runs]
        return diagnose_levels(points, LimitOfLevels(kind=LimitKind.UNKNOWN, evidence="throughput stays"))

    flat = ((16, 40.0, 1.0), (32, 40.2, 1.0))
    assert (of(*flat).cause, of(*flat).is_likely) == (Cause.LOCK, False)
    assert of((1, 10.0, 0.25), *flat).sure == 0.7
    always = of((1, 10.0, 1.0), *flat)
    assert not always.is_likely
    assert always.against[0].startswith("the same limit appears at the lowest load")
