"""Functions that damage the load generator's recording of an undisturbed run."""

from __future__ import annotations

import json

from changed_recordings import SECOND, on_intervals, on_samples, rewrite
from synthetic_runs import encode_histogram

from towtank.analysis import summarize_run
from towtank.results import lines
from towtank.results.folder import write_json


def plan_of(run, *, think=None, weights=(1.0,), load=None):
    """Write a load plan for the run; by default it has one transaction, a closed load and no think time."""
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
    # All eight arrivals of a second occur at the same time.
    def arrive(document):
        if document["k"] == "interval":
            document |= {"arrivals": [8], "gaps": encode_histogram([1e6] * 8), "gaps_sum_ns": 8_000_000}
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", arrive)
    stages = [{"name": "ramp_up", "rate": 8.0}, {"name": "steady", "rate": 8.0}]
    plan_of(run, load={"kind": "open", "arrivals": "poisson", "stages": stages})


def not_settled(run):
    run.event("not_settled", stage="ramp_up", stage_index=0, t_s=2.0, evidence={"why": "throughput changes by +12 %"})


def carried_over(run, seconds=21):
    """Let 40 requests be in flight from the start of the measurement window until after its middle."""

    def pile_up(document):
        if document["k"] == "interval" and SECOND < document["t1_ns"] <= (2 + seconds) * SECOND:
            document["in_flight"] = 40
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", pile_up)


def waiting_from_before(run):
    """Let 100 arrivals wait in the first half of the measurement window, and 20 in the second half."""

    def wait(document):
        if document["k"] == "interval" and document["t1_ns"] >= 2 * SECOND:
            document["waiting"] = 100 if document["t1_ns"] <= 23 * SECOND else 20
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", wait)


def stood_still(run, seconds=3.0):
    """Stall the event loop of the load thread at 20 s for `seconds`."""

    def stall(document, ends_s):
        document["gap_ns"] = 1_000_000
        if 20.0 < ends_s <= 20.0 + max(1.0, seconds):
            document |= {"gap_ns": round(seconds * SECOND), "stalled_ns": round(min(1.0, seconds) * SECOND)}

    rewrite(run.engine / "worker-00.0000.ndjson", on_intervals(stall))


def stood_still_shortly(run):
    stood_still(run, 0.3)


def stood_still_long(run):
    stood_still(run, 6.0)


def never_answered(run):
    """Keep eight requests in flight until the load ends; then they time out."""

    def silence(document):
        if document["k"] == "header":
            stages = document["stages"]
            end = stages[-1]["end_s"]
            drain = {"name": "drain", "phase": "ramp_down", "level": 0, "start_s": end, "end_s": end + 3, "users": 0}
            document["stages"] = [*stages, drain]
        if document["k"] == "interval":
            document |= {"in_flight": 8, "series": [{**series, **NOTHING} for series in document["series"]]}
        return document

    path = run.engine / "worker-00.0000.ndjson"
    rewrite(path, silence)
    *documents, end = list(lines.read(path))
    late = dict(documents[-1]) | {"stage": 2, "t0_ns": 42 * SECOND, "t1_ns": 43 * SECOND, "in_flight": 0}
    failed = {"id": 0, "group": 0, "ok": 0, "failed": {"timeout": 8}}
    late["series"] = [{"of": of, **failed} for of in ("step", "transaction")]
    path.write_bytes(b"".join(lines.encode(line) for line in [*documents, late, end]))


NOTHING = {"ok": 0, "failed": {}, "response": None, "response_sum_ns": 0, "exchange": None, "exchange_sum_ns": 0}


def rare_failure(run, of="transaction"):
    """Add eight failed transactions of a second kind to 1,280 transactions of the first kind."""

    def fail(document):
        if document["k"] == "header":
            document["transactions"] = ["read", "export"]
            document["steps"] = [*document["steps"], {"name": "request", "transaction": "export"}]
        if document["k"] == "interval" and document["t0_ns"] == 20 * SECOND:
            document["series"].append({"of": of, "id": 1, "group": 0, "ok": 0, "failed": {"timeout": 8}})
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", fail)


def rare_failure_of_a_request(run):
    rare_failure(run, "step")


def interval_missing(run):
    path = run.engine / "worker-00.0000.ndjson"
    documents = list(lines.read(path))
    path.write_bytes(b"".join(lines.encode(line) for line in [*documents[:20], *documents[21:]]))


def worker_twice(run):
    whole = (run.engine / "worker-00.0000.ndjson").read_bytes()
    (run.engine / "worker-00.0001.ndjson").write_bytes(whole)


def more_than_all_of_a_cpu(run):
    def change(document, at):
        for key in ("cpu_user_s_total", "cpu_system_s_total"):
            document["groups"]["content"][key] *= 7.5

    rewrite(run.observe / "probe.ndjson", on_samples(change))


def more_users_than_asked(run):
    ask(run, 4)


def fewer_users_than_asked(run):
    ask(run, 12)


def ask(run, users):
    """Set the number of users in the study to a value that differs from the eight users of the run."""
    run.update(users=users)

    def change(document):
        if document["k"] == "header":
            document["stages"] = [{**stage, "users": users} for stage in document["stages"]]
        return document

    rewrite(run.engine / "worker-00.0000.ndjson", change)


def more_ended_than_started(run):
    def change(document, at):
        for series in document["series"]:
            if series["of"] == "step":
                series |= {"offered": series["offered"] // 2, "started": series["started"] // 2}

    rewrite(run.engine / "worker-00.0000.ndjson", on_intervals(change))


def answered_before_the_exchange(run):
    def change(document, at):
        for series in document["series"]:
            if series["of"] == "step":
                series["response_sum_ns"] //= 2

    rewrite(run.engine / "worker-00.0000.ndjson", on_intervals(change))


def surplus_bytes(run):
    rewrite(
        run.engine / "worker-00.0000.ndjson", on_intervals(lambda document, at: document.update(framing={"surplus": 1}))
    )


def answered(run, codes):
    """Set the numbers of responses by status code, for each request of the script and in each recorded second."""

    def change(document, at):
        for series in document["series"]:
            if series["of"] == "step":
                series["status_codes"] = dict(codes)

    rewrite(run.engine / "worker-00.0000.ndjson", on_intervals(change))


def redirected(run):
    answered(run, {"302": 5})


def plan_of_steps(run, request):
    """Write a plan in which every step of the run sends the same request."""
    steps = range(len(summarize_run(run, tables=False)["steps"]))
    transactions = [{"name": str(step), "ops": [{"op": "request", "step": step, **request}]} for step in steps]
    (run.path / "plan.json").write_text(json.dumps({"transactions": transactions}), encoding="utf-8")


def without_content(run):
    answered(run, {"304": 9})
    plan_of_steps(run, {"headers": [["Accept", ["*/*"]]], "checks": []})


def unasked_bytes(run):
    rewrite(
        run.engine / "worker-00.0000.ndjson", on_intervals(lambda document, at: document.update(framing={"unasked": 1}))
    )


def connected_each_time(run):
    made = {"connect": encode_histogram([1e6] * 8)}
    rewrite(run.engine / "worker-00.0000.ndjson", on_intervals(lambda document, at: document.update(made)))


def paused(run):
    """Let 40 transactions end in each second. They take 20 ms in every fourth second, and 1 ms otherwise."""

    def change(document, ends_s):
        taken = [20e6 if ends_s % 4 == 0 else 1e6] * 40
        for series in document["series"]:
            series |= {"ok": 40, "response": encode_histogram(taken), "response_sum_ns": round(sum(taken))}

    rewrite(run.engine / "worker-00.0000.ndjson", on_intervals(change))


def overloaded(run):
    """Change the load to an open load. The number of transactions in progress grows by four per second from 2 s on."""

    def change(document, ends_s):
        document |= {"user_ns": round(4 * max(0.0, ends_s - 2) * SECOND), "arrivals": [8]}

    run.update(users=None, rate=8.0)
    rewrite(run.engine / "worker-00.0000.ndjson", on_intervals(change))


def no_probe_stream(run):
    (run.observe / "probe.ndjson").unlink()
