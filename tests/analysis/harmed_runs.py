"""Functions that damage the recordings of an undisturbed run, and the kind of doubt that each damage must raise."""

from __future__ import annotations

import json

from changed_recordings import SECOND, change_engine, on_samples, rewrite
from harmed_loads import (
    answered_before_the_exchange,
    arrivals_off,
    carried_over,
    connected_each_time,
    fewer_users_than_asked,
    interval_missing,
    mix_off,
    more_ended_than_started,
    more_than_all_of_a_cpu,
    more_users_than_asked,
    never_answered,
    no_probe_stream,
    not_settled,
    overloaded,
    paused,
    rare_failure,
    rare_failure_of_a_request,
    redirected,
    stood_still,
    stood_still_long,
    stood_still_shortly,
    surplus_bytes,
    think_time_off,
    unasked_bytes,
    waiting_from_before,
    without_content,
    worker_twice,
)
from synthetic_runs import MONOTONIC_NS, encode_histogram

from towtank.analysis.doubts import DoubtKind
from towtank.results import lines, read_object


def generator_saturated(run):
    def busy(document):
        if document["k"] == "interval":
            document["cpu_ns"] = round(0.93 * (document["t1_ns"] - document["t0_ns"]))
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", busy)


def turned_away(run):
    totals = read_object(run.engine / "engine.json")["totals"]
    totals = {**totals, "offered": totals["offered"] + 100, "not_started": {"overflow": 100}}
    change_engine(run, totals=totals)


def a_single_one_turned_away(run):
    totals = read_object(run.engine / "engine.json")["totals"]
    more = {"offered": 10_001, "started": 10_000, "ok": 10_000 - totals["in_flight"], "not_started": {"overflow": 1}}
    change_engine(run, totals={**totals, **more, "failed": {}})


def accounting(run):
    totals = read_object(run.engine / "engine.json")["totals"]
    change_engine(run, totals={**totals, "started": totals["started"] + 1})


def identity_told_broken(run):
    change_engine(run, identity={"offered_holds": True, "started_holds": False})


def restarted(run):
    def change(document, at):
        group = document["groups"]["content"]
        if at > 20:
            group["root_start_ticks"] += 777
            group["cpu_user_s_total"] = max(0.0, group["cpu_user_s_total"] - 5.0)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def event_failed(run):
    run.event("event_failed", event="lost", do="kill", on="content", reason="no process content was started")


def died(run):
    def change(document, at):
        document["groups"]["content"]["alive"] = at < 20

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def held(run):
    events = [
        {"k": kind, "t_ns": MONOTONIC_NS + at * SECOND, "wall_ns": 1, "service": "content"}
        for kind, at in (("service_held", 9), ("service_goes_on", 13), ("service_held", 20), ("engine_ended", 22))
    ]
    (run.path / "events.ndjson").write_bytes(b"".join(map(lines.encode, events)))


def died_by_event(run):
    document = {"k": "service_died", "t_ns": MONOTONIC_NS + 9 * SECOND, "wall_ns": 1, "service": "content"}
    (run.path / "events.ndjson").write_bytes(lines.encode(document))


def died_and_stopped(run):
    """Record that a service ended, that the conductor (the process that controls the run) then stopped the engine, and
    that the run failed.
    """
    died_by_event(run)
    change_engine(run, reason="stopped")
    run.update(status="failed", reason="service content ended with status 1 in stage steady")


def never_came_up(run):
    (run.path / "events.ndjson").write_bytes(lines.encode({"k": "system_failed", "t_ns": 1, "reason": "port taken"}))
    for path in [*run.engine.iterdir(), *run.observe.iterdir()]:
        path.unlink()
    run.update(status="failed", reason="port 8080 is taken", tiers={})


def engine_failed(run):
    change_engine(run, reason="failed", message="cannot allocate memory")


def disk_full(run):
    run.update(status="failed", reason="the results folder's disk is full")


def stopped(run):
    run.update(status="stopped")


def cut_off(run):
    run.update(status="running")


def little(run):
    def change(document):
        if document["k"] == "interval":
            document["user_ns"] = round(1.3 * document["user_ns"])
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", change)


def utilization(run):
    def change(document, at):
        group = document["groups"]["content"]
        group["cpu_user_s_total"] += 0.08 * max(0.0, at - 22)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def clock_jump(run):
    def change(document, at):
        document["wall_ns"] += 3 * SECOND * (at > 15)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def suspended(run):
    """Record that the machine was suspended for a minute: the wall clock advances by a minute, the monotonic clock does
    not.
    """
    events = [
        {"k": kind, "t_ns": MONOTONIC_NS + at * SECOND, "wall_ns": 1, "boot_ns": MONOTONIC_NS + (at + slept) * SECOND}
        for kind, at, slept in (("engine_started", 0, 5), ("stage", 15, 65))
    ]
    (run.path / "events.ndjson").write_bytes(b"".join(map(lines.encode, events)))

    def change(document, at):
        document["wall_ns"] += 60 * SECOND * (at > 15)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def steal(run):
    def change(document, at):
        document["host"]["cpu_steal_s_total"] = 0.06 * (at + 10)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def heavy_steal(run):
    def change(document, at):
        document["host"]["cpu_steal_s_total"] = 0.5 * (at + 10)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def neighbour(run):
    def change(document, at):
        document["cpus"][0]["busy_s_total"] += 0.2 * (at + 10)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def interrupts(run):
    """Add network interrupts that take a fifth of the CPU time of the tested system."""

    def change(document, at):
        of_host, of_cpu = document["host"], document["cpus"][0]
        of_host["cpu_irq_s_total"] = of_host.get("cpu_irq_s_total", 0.0) + 0.2 * (at + 10)
        of_cpu["busy_s_total"] += 0.2 * (at + 10)
        of_cpu["irq_s_total"] = 0.2 * (at + 10)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def heavy_neighbour(run):
    def change(document, at):
        document["cpus"][0]["busy_s_total"] += 0.35 * (at + 10)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def unattributed(run):
    """Add CPU time that belongs to no process group: 0.2 of the two CPUs of the host."""

    def change(document, at):
        document["host"]["cpu_user_s_total"] += 0.2 * (at + 1)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def launched_and_left(run):
    """End the first process of a tier at 20 s; three processes that it started keep running."""

    def change(document, at):
        document["groups"]["content"] |= {"alive": at < 20, "processes": 4, "processes_alive": 4 if at < 20 else 3}

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def above_envelope(run):
    """Set the maximum rate measured for the load generator (its envelope) to 9 requests/s; the run makes 8
    requests/s.
    """
    run.update(envelope={"rate_per_core_per_s": 9.0})


def out_of_files(run):
    """Limit the open files to the eight connections that are in use, so that further requests cannot connect."""
    run.update(generator_limits={"open_files": 8, "connections_by_ports": 28_000})

    def change(document):
        for series in document.get("series", []):
            if series["of"] == "step":
                series["failed"] = {"connect": 1}
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", change)


def waiting_for_the_pool(run):
    """Let two of the eight requests in each second wait 100 ms for a connection of the pool.

    The response time of each request is 250 ms.
    """

    def change(document):
        wait = {"connection_wait": encode_histogram([0] * 6 + [1e8] * 2)} if document["k"] == "interval" else {}
        return {**document, **wait}

    rewrite(run.engine / "worker-00.0000.ndjson", change)


def overflowing(run):
    def change(document, at):
        document["host"]["tcp_listen_overflows_total"] = 5 + 3 * (at > 20)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def limited(run, limits, **gauges):
    """Add resource limits to a tier, and values to each sample of the tier; return the name of the tier."""
    tiers = run.manifest["tiers"]
    name = next(iter(tiers))
    run.update(tiers={name: {**tiers[name], "limits": limits}})

    def change(document, at):
        seen = {"pids": {"levels": 0}, "ports": {"network": 1, "sockets": 20}}
        document["groups"][name].update({"processes": 2, "open_files": 100, "threads": 10, **seen, **gauges})

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    return name


def out_of_descriptors(run):
    limited(run, {"open_files": 1024}, open_files=1029)


def probing_for_a_lost_tail(run):
    def change(document, at):
        document["host"]["tcp_retransmits_total"] = int(at > 20)
        document["host"]["tcp_needless_retransmits_total"] = int(at > 20)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def retransmitting(run):
    def change(document, at):
        document["host"]["tcp_retransmits_total"] = 70 + round(at + 10)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def throttled(run, group="content", share=0.2):
    def change(document, at):
        found = document["groups"].setdefault(group, {"alive": True})
        found["cgroup"] = {"version": 2, "path": "/box", "throttled_s_total": share * (at + 10)}

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def slowed(run, share=0.3):
    """Slow down CPU 0, which the tested system uses, in every fourth second. CPU 1 is always slow."""

    def change(document, at):
        slower = share if round(at) % 4 == 0 else 0.0
        document["probe"]["work_s"] = {"0": 4e-5 * (1 + slower), "1": 9e-5}

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def slow_memory(run, page_s=3e-5):
    """Let each access to rested memory take `page_s`, as in a virtual machine whose host takes memory away. [s]"""

    def change(document, at):
        document["probe"]["rested_page_s"] = page_s

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def storage_filled(run, used_per_s=2.0):
    """Add a disk with 100 inodes; `used_per_s` of them are used up in each second until the run ends."""
    run.update(hosts={"web": {"provider": "namespaces", "cpus_virtual": None}})
    head = {"k": "header", "schema": "towtank/service-metrics/1", "service": "host-web", "kind": "host"}
    documents = [{**head, "source": "host"}]
    for second in range(44):
        left = max(0.0, 100.0 - used_per_s * second)
        values = {"host_disk_size_bytes": 1e9, "host_disk_free_bytes": 9e8, "host_disk_inodes": 100.0}
        values = {f'{key}{{disk="data"}}': value for key, value in (values | {"host_disk_free_inodes": left}).items()}
        at = {"t_ns": MONOTONIC_NS + second * SECOND, "wall_ns": second * SECOND}
        took = {"took_s": 0.001, "cpu_s_total": 0.0}
        documents.append({"k": "metrics", **at, **took, "values": {**values, "host_cpu_seconds_total": 0.1 * second}})
    (run.observe / "host-web.ndjson").write_bytes(b"".join(lines.encode(document) for document in documents))


def storage_full(run):
    storage_filled(run, used_per_s=4.0)


def disk_limited(run):
    disk = {"size": "1 GB", "read_operations": "200 /s", "write_rate": "8 MiB/s"}
    run.update(hosts={"web": {"provider": "namespaces", "cpus_virtual": None, "disks": {"data": disk}}})


def read_back(run, fate):
    """Record two documents that the server had confirmed as stored.

    One of them was read back; `fate` is the result for the other.
    """
    counts = {"acknowledged": 2, "removed": 0, "uncertain": 0, "read": 2, "found": 1, "lost": 0, "different": 0}
    counts |= {"unreadable": 0, "unread": 0, fate: 1}
    kinds = {"documents": {**counts, "sample": False, "named": []}}
    run.stored.write_text(json.dumps({"reason": None, **counts, "kinds": kinds}))


def document_lost(run):
    read_back(run, "lost")


def document_changed(run):
    read_back(run, "different")


def document_unreadable(run):
    read_back(run, "unreadable")


def generator_throttled(run):
    throttled(run, "generator", 0.05)


def generator_throttled_much(run):
    throttled(run, "generator", 0.2)


def damaged(run):
    path = run.observe / "probe.ndjson"
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(bytes(whole))


def thread_missing(run):
    def change(document):
        return {**document, "workers": 2} if document["k"] == "header" else document

    rewrite(run.engine / "worker-00.0000.ndjson", change)


def bad_histogram(run):
    def change(document):
        for series in document.get("series", []):
            series["response"] = series["response"][:-12] if series.get("response") else None
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", change)


def not_pinned(run):
    run.update(pinning={"system": [0, 1], "generator": [1]})


def gap(run):
    def change(document):
        if document["k"] == "sample" and 10 < (document["t_ns"] - MONOTONIC_NS) / SECOND < 16:
            return None
        return document

    rewrite(run.observe / "probe.ndjson", change)


def costly(run):
    def change(document, at):
        document["probe"]["cpu_s_total"] = 0.03 * (at + 10)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def half_recorded(run):
    path = run.engine / "worker-00.0000.ndjson"
    documents = list(lines.read(path))
    path.write_bytes(b"".join(lines.encode(document) for document in [*documents[:24], documents[-1]]))


CASES = [
    (stood_still, DoubtKind.GENERATOR_STALLED, "suspect"),
    (stood_still_shortly, DoubtKind.GENERATOR_STALLED, "note"),
    (stood_still_long, DoubtKind.GENERATOR_STALLED, "invalid"),
    (never_answered, DoubtKind.NOTHING_COMPLETED, "invalid"),
    (rare_failure, DoubtKind.ERRORS_ABOVE_LIMIT, "invalid"),
    (rare_failure_of_a_request, DoubtKind.ERRORS_ABOVE_LIMIT, "suspect"),
    (interval_missing, DoubtKind.ACCOUNTING, "invalid"),
    (worker_twice, DoubtKind.PHYSICAL_BOUND, "invalid"),
    (more_than_all_of_a_cpu, DoubtKind.PHYSICAL_BOUND, "invalid"),
    (more_users_than_asked, DoubtKind.PHYSICAL_BOUND, "invalid"),
    (fewer_users_than_asked, DoubtKind.PHYSICAL_BOUND, "suspect"),
    (more_ended_than_started, DoubtKind.PHYSICAL_BOUND, "invalid"),
    (answered_before_the_exchange, DoubtKind.PHYSICAL_BOUND, "invalid"),
    (surplus_bytes, DoubtKind.FRAMING, "suspect"),
    (unasked_bytes, DoubtKind.FRAMING, "invalid"),
    (redirected, DoubtKind.REDIRECTS, "suspect"),
    (without_content, DoubtKind.NOT_MODIFIED, "suspect"),
    (connected_each_time, DoubtKind.RECONNECTS, "note"),
    (paused, DoubtKind.PAUSES, "note"),
    (overloaded, DoubtKind.NO_STEADY_STATE, "invalid"),
    (no_probe_stream, DoubtKind.OBSERVATION_GAP, "suspect"),
    (not_settled, DoubtKind.NOT_SETTLED, "suspect"),
    (carried_over, DoubtKind.BACKLOG, "suspect"),
    (waiting_from_before, DoubtKind.BACKLOG, "suspect"),
    (generator_saturated, DoubtKind.GENERATOR_SATURATED, "invalid"),
    (turned_away, DoubtKind.OVERFLOW, "suspect"),
    (a_single_one_turned_away, DoubtKind.OVERFLOW, "note"),
    (accounting, DoubtKind.ACCOUNTING, "invalid"),
    (identity_told_broken, DoubtKind.ACCOUNTING, "invalid"),
    (restarted, DoubtKind.SERVICE_RESTARTED, "invalid"),
    (died, DoubtKind.SERVICE_DIED, "invalid"),
    (died_by_event, DoubtKind.SERVICE_DIED, "invalid"),
    (held, DoubtKind.SERVICE_HELD, "invalid"),
    (died_and_stopped, DoubtKind.SERVICE_DIED, "invalid"),
    (never_came_up, DoubtKind.SERVICE_DIED, "invalid"),
    (event_failed, DoubtKind.EVENT_FAILED, "invalid"),
    (engine_failed, DoubtKind.ENGINE_FAILED, "invalid"),
    (disk_full, DoubtKind.DISK_FULL, "invalid"),
    (stopped, DoubtKind.INTERRUPTED, "invalid"),
    (cut_off, DoubtKind.INTERRUPTED, "invalid"),
    (little, DoubtKind.LITTLE_LAW, "suspect"),
    (utilization, DoubtKind.UTILIZATION_LAW, "suspect"),
    (clock_jump, DoubtKind.CLOCK_JUMP, "note"),
    (suspended, DoubtKind.MACHINE_SUSPENDED, "suspect"),
    (steal, DoubtKind.STEAL_TIME, "suspect"),
    (heavy_steal, DoubtKind.STEAL_TIME, "invalid"),
    (slowed, DoubtKind.MACHINE_SPEED, "note"),
    (slow_memory, DoubtKind.SLOW_MEMORY, "note"),
    (neighbour, DoubtKind.INTERFERENCE, "suspect"),
    (heavy_neighbour, DoubtKind.INTERFERENCE, "invalid"),
    (unattributed, DoubtKind.NOT_ATTRIBUTED, "suspect"),
    (launched_and_left, DoubtKind.ROOT_LEFT, "suspect"),
    (above_envelope, DoubtKind.GENERATOR_SATURATED, "suspect"),
    (out_of_files, DoubtKind.GENERATOR_SATURATED, "invalid"),
    (waiting_for_the_pool, DoubtKind.CONNECTION_WAIT, "note"),
    (overflowing, DoubtKind.LISTEN_OVERFLOW, "suspect"),
    (out_of_descriptors, DoubtKind.TIER_LIMIT, "suspect"),
    (retransmitting, DoubtKind.RETRANSMITS, "suspect"),
    (probing_for_a_lost_tail, DoubtKind.RETRANSMITS, "note"),
    (throttled, DoubtKind.THROTTLED, "note"),
    (generator_throttled, DoubtKind.THROTTLED, "suspect"),
    (generator_throttled_much, DoubtKind.THROTTLED, "invalid"),
    (storage_full, DoubtKind.STORAGE_FULL, "suspect"),
    (storage_filled, DoubtKind.STORAGE_FULL, "note"),
    (disk_limited, DoubtKind.DISK_THROTTLED, "note"),
    (document_lost, DoubtKind.STORED_LOST, "suspect"),
    (document_changed, DoubtKind.STORED_LOST, "suspect"),
    (document_unreadable, DoubtKind.STORED_UNKNOWN, "suspect"),
    (damaged, DoubtKind.DATA_DAMAGED, "suspect"),
    (thread_missing, DoubtKind.DATA_DAMAGED, "invalid"),
    (bad_histogram, DoubtKind.DATA_DAMAGED, "suspect"),
    (not_pinned, DoubtKind.NOT_PINNED, "note"),
    (gap, DoubtKind.OBSERVATION_GAP, "suspect"),
    (costly, DoubtKind.OBSERVATION_COST, "note"),
    (mix_off, DoubtKind.MIX_OFF, "suspect"),
    (think_time_off, DoubtKind.THINK_TIME_OFF, "suspect"),
    (arrivals_off, DoubtKind.ARRIVALS_OFF, "suspect"),
    (half_recorded, DoubtKind.TOO_FEW_SAMPLES, "suspect"),
]
