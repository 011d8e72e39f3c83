"""Every doubt is raised by the evidence it is made for, and by nothing in a sound run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic_runs import MONOTONIC_NS, Script, Stage, encode_histogram, even_schedule, write_run

from towtank.analysis import summarize_run
from towtank.analysis.doubts import EXPLANATIONS, Kind
from towtank.results import lines
from towtank.results.folder import write_json
from towtank.results.segments import read_engine_document

SECOND = 1_000_000_000
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "summary.md"


def script(**changes):
    """Forty users, forty transactions a second: enough for p99 in 300 s, too few in 40 s."""
    exchanges, starts, ends = even_schedule(users=8, response_s=0.25, think_s=0.75, seconds=42.0, service_s=0.05)
    one = Script(
        name="r001",
        transactions=["read"],
        stages=[Stage("ramp_up", "ramp_up", 2.0, 8), Stage("steady", "steady", 40.0, 8)],
        exchanges=exchanges,
        factors={},
        users=8,
        user_starts=starts,
        user_ends=ends,
    )
    return replace(one, **changes)


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", script())


def rewrite(path, change):
    """Change every document of a stream; `change` returns the new document, or None to leave it out."""
    documents = [change(one) for one in list(lines.read(path))]
    path.write_bytes(b"".join(lines.encode(one) for one in documents if one is not None))


def change_engine(run, **fields):
    write_json(run.engine / "engine.json", {**read_engine_document(run.engine), **fields})


def on_samples(change):
    def wrapped(document):
        if document["k"] == "sample":
            change(document, (document["t_ns"] - MONOTONIC_NS) / SECOND)
        return document

    return wrapped


def reasons(run):
    return {one["kind"]: one for one in reversed(summarize_run(run, tables=False)["verdict"]["reasons"])}


def test_a_sound_run_has_no_doubt_but_its_length(run):
    summary = summarize_run(run, tables=False)
    assert summary["verdict"]["level"] == "valid"
    assert [(one["kind"], one["level"]) for one in summary["verdict"]["reasons"]] == [("too_few_samples", "note")]


def generator_saturated(run):
    def busy(document):
        if document["k"] == "interval":
            document["cpu_ns"] = round(0.93 * (document["t1_ns"] - document["t0_ns"]))
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", busy)


def turned_away(run):
    totals = read_engine_document(run.engine)["totals"]
    totals = {**totals, "offered": totals["offered"] + 100, "not_started": {"overflow": 100}}
    change_engine(run, totals=totals)


def a_single_one_turned_away(run):
    totals = read_engine_document(run.engine)["totals"]
    # One of ten thousand.
    more = {"offered": 10_001, "started": 10_000, "ok": 10_000 - totals["in_flight"], "not_started": {"overflow": 1}}
    change_engine(run, totals={**totals, **more, "failed": {}})


def accounting(run):
    totals = read_engine_document(run.engine)["totals"]
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


def died_by_event(run):
    document = {"k": "service_died", "t_ns": MONOTONIC_NS + 9 * SECOND, "wall_ns": 1, "service": "content"}
    (run.path / "events.ndjson").write_bytes(lines.encode(document))


def died_and_stopped(run):
    """As the conductor leaves it: the service gone, the engine asked to stop, the run failed."""
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


def heavy_neighbour(run):
    def change(document, at):
        document["cpus"][0]["busy_s_total"] += 0.35 * (at + 10)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def above_envelope(run):
    """Eight requests a second of nine that the machine can do."""
    run.update(envelope={"rate_per_core_per_s": 9.0})


def out_of_files(run):
    """Eight connections of eight open files, and requests that got none."""
    run.update(generator_limits={"open_files": 8, "connections_by_ports": 28_000})

    def change(document):
        for one in document.get("series", []):
            if one["of"] == "step":
                one["failed"] = {"connect": 1}
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", change)


def waiting_for_the_pool(run):
    """Two of eight requests in each second wait 100 ms of the 8 × 250 ms that all take."""

    def change(document):
        wait = {"connection_wait": encode_histogram([0] * 6 + [1e8] * 2)} if document["k"] == "interval" else {}
        return {**document, **wait}

    rewrite(run.engine / "worker-00.0000.ndjson", change)


def overflowing(run):
    def change(document, at):
        document["host"]["tcp_listen_overflows_total"] = 5 + 3 * (at > 20)

    rewrite(run.observe / "probe.ndjson", on_samples(change))


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


def storage_filled(run, used_per_s=2.0):
    """A disk of 100 inodes that are used up, or nearly, before the run ends."""
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
    (run.observe / "host-web.ndjson").write_bytes(b"".join(lines.encode(one) for one in documents))


def storage_full(run):
    storage_filled(run, used_per_s=4.0)


def read_back(run, fate):
    """Two documents that users were told are stored, one of them with this fate."""
    counts = {"told": 2, "removed": 0, "uncertain": 0, "read": 2, "found": 1, "lost": 0, "different": 0}
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
        for one in document.get("series", []):
            one["response"] = one["response"][:-12] if one.get("response") else None
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
    path.write_bytes(b"".join(lines.encode(one) for one in [*documents[:24], documents[-1]]))


def plan_of(run, *, think=None, weights=(1.0,), load=None):
    """A plan that asks for something else than the run did: one transaction, pauses of 0.75 s, no arrivals."""
    mix = [{"transaction": number, "weight": weight} for number, weight in enumerate(weights)]
    write_json(
        run.plan,
        {
            "transactions": [{"name": f"transaction {number}"} for number in range(len(weights))],
            "groups": [{"name": "everybody", "share": 1.0, "think": think, "pacing": None, "mix": mix}],
            "load": load or {"kind": "closed", "stages": [{"phase": "ramp_up"}, {"phase": "steady"}]},
        },
    )


def mix_off(run):
    plan_of(run, weights=(1.0, 1.0))


def think_time_off(run):
    plan_of(run, think={"dist": "exponential", "mean_s": 0.75})


def arrivals_off(run):
    # Eight arrivals a second, all at once.
    def arrive(document):
        if document["k"] == "interval":
            document |= {"arrivals": [8], "gaps": encode_histogram([1e6] * 8), "gaps_sum_ns": 8_000_000}
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", arrive)
    stages = [{"name": "ramp_up", "rate": 8.0}, {"name": "steady", "rate": 8.0}]
    plan_of(run, load={"kind": "open", "arrivals": "poisson", "stages": stages})


def not_settled(run):
    run.event("not_settled", stage="ramp_up", stage_index=0, t_s=2.0, evidence={"why": "throughput changes by +12 %"})


def carried_over(run, seconds=15):
    """Forty in flight at the start of the window, for so long."""

    def pile_up(document):
        if document["k"] == "interval" and SECOND < document["t1_ns"] <= (2 + seconds) * SECOND:
            document["in_flight"] = 40
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", pile_up)


def carried_over_shortly(run):
    carried_over(run, seconds=2)


def waiting_from_before(run):
    """A hundred arrivals wait at the start, twenty in the second half."""

    def wait(document):
        if document["k"] == "interval" and document["t1_ns"] >= 2 * SECOND:
            document["waiting"] = 100 if document["t1_ns"] < 20 * SECOND else 20
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", wait)


CASES = [
    (not_settled, Kind.NOT_SETTLED, "suspect"),
    (carried_over, Kind.BACKLOG, "suspect"),
    (carried_over_shortly, Kind.BACKLOG, "note"),
    (waiting_from_before, Kind.BACKLOG, "suspect"),
    (generator_saturated, Kind.GENERATOR_SATURATED, "invalid"),
    (turned_away, Kind.OVERFLOW, "suspect"),
    (a_single_one_turned_away, Kind.OVERFLOW, "note"),
    (accounting, Kind.ACCOUNTING, "invalid"),
    (identity_told_broken, Kind.ACCOUNTING, "invalid"),
    (restarted, Kind.SERVICE_RESTARTED, "invalid"),
    (died, Kind.SERVICE_DIED, "invalid"),
    (died_by_event, Kind.SERVICE_DIED, "invalid"),
    (died_and_stopped, Kind.SERVICE_DIED, "invalid"),
    (never_came_up, Kind.SERVICE_DIED, "invalid"),
    (event_failed, Kind.EVENT_FAILED, "invalid"),
    (engine_failed, Kind.ENGINE_FAILED, "invalid"),
    (disk_full, Kind.DISK_FULL, "invalid"),
    (stopped, Kind.INTERRUPTED, "invalid"),
    (cut_off, Kind.INTERRUPTED, "invalid"),
    (little, Kind.LITTLE_LAW, "suspect"),
    (utilization, Kind.UTILIZATION_LAW, "suspect"),
    (clock_jump, Kind.CLOCK_JUMP, "note"),
    (steal, Kind.STEAL_TIME, "suspect"),
    (heavy_steal, Kind.STEAL_TIME, "invalid"),
    (neighbour, Kind.INTERFERENCE, "suspect"),
    (heavy_neighbour, Kind.INTERFERENCE, "invalid"),
    (above_envelope, Kind.GENERATOR_SATURATED, "suspect"),
    (out_of_files, Kind.GENERATOR_SATURATED, "invalid"),
    (waiting_for_the_pool, Kind.CONNECTION_WAIT, "note"),
    (overflowing, Kind.LISTEN_OVERFLOW, "suspect"),
    (retransmitting, Kind.RETRANSMITS, "suspect"),
    (probing_for_a_lost_tail, Kind.RETRANSMITS, "note"),
    (throttled, Kind.THROTTLED, "note"),
    (generator_throttled, Kind.THROTTLED, "suspect"),
    (generator_throttled_much, Kind.THROTTLED, "invalid"),
    (storage_full, Kind.STORAGE_FULL, "suspect"),
    (storage_filled, Kind.STORAGE_FULL, "note"),
    (document_lost, Kind.STORED_LOST, "suspect"),
    (document_changed, Kind.STORED_LOST, "suspect"),
    (document_unreadable, Kind.STORED_UNKNOWN, "suspect"),
    (damaged, Kind.DATA_DAMAGED, "suspect"),
    (thread_missing, Kind.DATA_DAMAGED, "invalid"),
    (bad_histogram, Kind.DATA_DAMAGED, "suspect"),
    (not_pinned, Kind.NOT_PINNED, "note"),
    (gap, Kind.OBSERVATION_GAP, "suspect"),
    (costly, Kind.OBSERVATION_COST, "note"),
    (mix_off, Kind.MIX_OFF, "suspect"),
    (think_time_off, Kind.THINK_TIME_OFF, "suspect"),
    (arrivals_off, Kind.ARRIVALS_OFF, "suspect"),
    (half_recorded, Kind.TOO_FEW_SAMPLES, "suspect"),
]


@pytest.mark.parametrize(("harm", "kind", "level"), CASES, ids=[one[0].__name__ for one in CASES])
def test_a_doubt_is_raised_with_number_reason_and_hint(run, harm, kind, level):
    harm(run)
    found = reasons(run)
    assert kind in found
    one = found[kind]
    assert one["level"] == level
    assert one["message"]
    assert (one["why"], one["hint"]) == EXPLANATIONS[kind]


def test_the_share_of_the_envelope_is_told_and_below_the_limit_no_doubt(run):
    run.update(envelope={"rate_per_core_per_s": 16.0})
    summary = summarize_run(run, tables=False)
    # Eight users, one request each second, one load thread; cycles that would not end in time are not begun.
    rate = sum(2.0 <= one.actual < 42.0 for one in script().exchanges) / 40
    assert summary["generator"]["requests_started_per_s"] == pytest.approx(rate)
    assert summary["generator"]["envelope_per_s"] == 16.0
    assert summary["generator"]["envelope_share"] == pytest.approx(rate / 16)
    assert "generator_saturated" not in reasons(run)
    above_envelope(run)
    assert "started 8 requests/s, 86.9 % of the 9 /s" in reasons(run)["generator_saturated"]["message"]


def test_without_a_calibration_there_is_no_share(run):
    told = summarize_run(run, tables=False)["generator"]
    assert (told["envelope_per_s"], told["envelope_share"]) == (None, None)
    assert told["limits"] == {"open_files": None, "connections_by_ports": None}


def test_failures_to_connect_far_from_any_limit_are_not_the_generators(run):
    out_of_files(run)
    run.update(generator_limits={"open_files": 20_000, "connections_by_ports": 28_000})
    assert "generator_saturated" not in reasons(run)


def test_open_files_of_all_tables_count(run):
    out_of_files(run)
    assert reasons(run)["generator_saturated"]["seen"] == 1.0
    change_engine(run, open_files={"limit": 8, "tables": 2, "connections_at_most": 14})
    assert summarize_run(run, tables=False)["generator"]["limits"]["open_files"] == 16.0
    assert "generator_saturated" not in reasons(run)


def test_threads_that_only_hold_connections_are_no_cores(run):
    run.update(envelope={"rate_per_core_per_s": 16.0})
    change_engine(run, threads=51, cores=2)
    assert summarize_run(run, tables=False)["generator"]["envelope_per_s"] == 32.0


def test_all_connections_in_use_without_a_failure_is_no_doubt(run):
    run.update(generator_limits={"open_files": 8})
    assert "generator_saturated" not in reasons(run)


@pytest.mark.parametrize("at_s", [1.0, 41.9])
def test_what_overflowed_outside_the_window_is_not_counted(run, at_s):
    def change(document, at):
        document["host"]["tcp_listen_overflows_total"] = 9 if at > at_s + 1 or (at_s < 2 and at > -0.5) else 0

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    assert "listen_overflow" not in reasons(run)


def test_retransmits_below_the_limit_are_no_doubt(run):
    def change(document, at):
        document["host"]["tcp_retransmits_total"] = 1

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    assert "retransmits" not in reasons(run)


def test_a_death_is_told_once_and_is_no_interruption(run):
    died(run)
    died_and_stopped(run)
    told = [one["kind"] for one in summarize_run(run, tables=False)["verdict"]["reasons"]]
    assert told.count("service_died") == 1
    assert "interrupted" not in told


@pytest.mark.parametrize(("lag_s", "level"), [(0.03, "suspect"), (0.2, "invalid")])
def test_start_lag(tmp_path, lag_s, level):
    base = script()
    late = [replace(one, actual=one.intended + lag_s) for one in base.exchanges]
    one = reasons(write_run(tmp_path / "r", replace(base, exchanges=late)))["start_lag"]
    assert one["level"] == level
    assert one["seen"] == pytest.approx(lag_s, rel=0.001)
    assert (one["limit"], one["unit"]) == (0.010, "s")


def test_the_limit_of_an_open_load_is_a_millisecond(tmp_path):
    base = script()
    late = [replace(one, actual=one.intended + 0.003) for one in base.exchanges]
    run = write_run(tmp_path / "r", replace(base, exchanges=late))
    assert "start_lag" not in reasons(run)
    run.update(users=None, rate=8.0)
    found = reasons(run)
    assert found["start_lag"]["limit"] == 0.001
    assert "little_law" not in found


def test_errors_above_the_limit(tmp_path):
    base = script()
    failing = [
        replace(one, failure="timeout" if number % 20 == 0 else None) for number, one in enumerate(base.exchanges)
    ]
    one = reasons(write_run(tmp_path / "r", replace(base, exchanges=failing)))["errors_above_limit"]
    assert one["level"] == "invalid"
    assert "timeout" in one["message"]


def test_no_steady_state(tmp_path):
    base = script()
    slower = [
        replace(one, end=one.end + 0.01 * one.intended, think=one.think - 0.01 * one.intended) for one in base.exchanges
    ]
    assert "no_steady_state" in reasons(write_run(tmp_path / "r", replace(base, exchanges=slower)))


def test_what_goes_away_again_in_the_middle_is_no_steady_state(tmp_path):
    base = script()

    def disturbed(one):
        # Twelve seconds of three times the response time, as by a job in the background; think times make up for it.
        late = 0.5 if 16.0 <= one.intended < 28.0 else 0.0
        return replace(one, end=one.end + late, think=one.think - late)

    found = reasons(write_run(tmp_path / "r", replace(base, exchanges=[disturbed(one) for one in base.exchanges])))
    one = found["no_steady_state"]
    # Requests that began at 16 s end within the second after, so that this one is of both levels: 0.75 / 0.25 is +200
    # %, less what the seconds at both edges take from it.
    assert one["message"].startswith("response time steps by +171 % at 17 s")
    assert one["level"] == "invalid"


def test_every_kind_has_a_test_an_explanation_and_a_place_in_the_reference():
    elsewhere = {Kind.START_LAG, Kind.ERRORS_ABOVE_LIMIT, Kind.NO_STEADY_STATE}
    assert {kind for _, kind, _ in CASES} | elsewhere == set(Kind)
    assert set(EXPLANATIONS) == set(Kind)
    listed = re.search(r"Kinds \(closed list\):\s*`([^`]+)`", REFERENCE.read_text("utf-8"))
    assert set(re.split(r",\s*", listed[1])) == {str(kind) for kind in Kind}


def test_the_heaviest_reason_comes_first(run):
    costly(run)
    stopped(run)
    levels = [one["level"] for one in summarize_run(run, tables=False)["verdict"]["reasons"]]
    order = ["invalid", "suspect", "note"]
    assert levels == sorted(levels, key=order.index)


def test_a_death_that_was_asked_for_is_no_doubt_and_ends_the_window(run):
    origin = MONOTONIC_NS

    def told(kind, at_s, **more):
        return lines.encode(
            {"k": kind, "t_ns": origin + round(at_s * SECOND), "event": "lost", "on": "content", **more}
        )

    begins = told("event_begins", 25.5, do="restart", processes=["content"])
    (run.path / "events.ndjson").write_bytes(begins + told("event_ends", 28.0, do="restart"))

    def change(document, at):
        group = document["groups"]["content"]
        group["alive"] = not 25.5 < at < 27.5
        group["root_start_ticks"] += 777 if at > 27.5 else 0

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    summary = summarize_run(run, tables=False)
    kinds = {one["kind"] for one in summary["verdict"]["reasons"]}
    assert not kinds & {"service_died", "service_restarted", "observation_gap"}
    assert (summary["window"]["asked_start_s"], summary["window"]["asked_end_s"]) == (2.0, 25.0)
    assert summary["window"]["note"] == "it ends where event lost begins"
    event = summary["events"]["lost"]
    assert (event["begin_s"], event["end_s"], event["before"]["seconds"]) == (25.5, 28.0, 23)


def test_the_same_death_unasked_is_one(run):
    def change(document, at):
        document["groups"]["content"]["alive"] = not 25.5 < at < 27.5

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    assert "service_died" in reasons(run)
