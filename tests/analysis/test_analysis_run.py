from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from changed_recordings import on_samples, rewrite
from results_1 import copy_of_results_1
from synthetic_runs import Script, Stage, even_schedule, write_run

from towtank.analysis import summarize_run
from towtank.analysis.comparing.sides import side_of
from towtank.results.folder import RunFolder

USERS, RESPONSE_S, THINK_S, SERVICE_S = 8, 0.25, 0.75, 0.05
STAGES = [
    Stage("ramp_up", "ramp_up", 2.0, USERS),
    Stage("steady", "steady", 40.0, USERS),
    Stage("ramp_down", "ramp_down", 2.0, 0),
]


def even_script(**changes):
    """Return the script of eight users with one cycle per second each.

    Throughput is 8 /s, utilization 8 x 0.05 = 0.4, and X (R + Z) = 8 x 1 users.
    """
    exchanges, starts, ends = even_schedule(
        users=USERS,
        response_s=RESPONSE_S,
        think_s=THINK_S,
        seconds=44.0,
        service_s=SERVICE_S,
        transactions=2,
    )
    script = Script(
        name="r001",
        transactions=["read", "write"],
        stages=STAGES,
        exchanges=exchanges,
        factors={"users": "8"},
        users=USERS,
        user_starts=starts,
        user_ends=ends,
        database_share=[0.5, 0.25],
    )
    return replace(script, **changes)


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "r001", even_script())


def kinds(summary, level=None):
    reasons = summary["verdict"]["reasons"]
    return {reason["kind"] for reason in reasons if level in (None, reason["level"])}


def test_the_truth_of_an_even_schedule(run):
    summary = summarize_run(run)
    assert summary["throughput_per_s"]["value"] == pytest.approx(8.0, rel=1e-9)
    mean = summary["response_time_s"]["mean"]
    assert mean["value"] == pytest.approx(RESPONSE_S, rel=1e-9)
    assert (mean["low"], mean["high"]) == pytest.approx((RESPONSE_S, RESPONSE_S), rel=1e-9)
    # The recorded quantiles have the precision of the histogram buckets, 0.1 %.
    for name in ("p50", "p90", "p95", "p99", "p99.9"):
        assert summary["response_time_s"][name]["value"] == pytest.approx(RESPONSE_S, rel=0.001)
    assert summary["users"] == {"asked": USERS, "mean": pytest.approx(USERS), "groups": []}
    assert summary["errors"] == {"count": 0, "share": 0.0, "by_kind": {}}
    assert summary["window"]["steady"]
    assert (summary["window"]["start_s"], summary["window"]["end_s"]) == (2.0, 42.0)
    assert summary["verdict"]["level"] == "valid"


def test_littles_law_is_exact_on_whole_cycles(run):
    little = summarize_run(run)["laws"]["little"]
    assert little["n"] == pytest.approx(USERS, rel=1e-9)
    assert little["x_per_s"] * (little["r_s"] + little["z_s"]) == pytest.approx(USERS, rel=1e-9)
    assert little["residual"] == pytest.approx(0.0, abs=1e-9)
    assert little["holds"]


def test_cpu_demand_and_its_part_are_those_of_the_schedule(run):
    tier = summarize_run(run)["tiers"]["content"]
    assert tier["cpus_used"]["value"] == pytest.approx(8 * SERVICE_S, rel=0.01)
    assert tier["cpu_demand_s"]["value"] == pytest.approx(SERVICE_S, rel=0.01)
    assert tier["utilization"] == pytest.approx(0.4, rel=0.01)
    assert tier["cpu_user"] == pytest.approx(0.8 * 0.4, rel=0.01)
    assert tier["cpu_system"] == pytest.approx(0.2 * 0.4, rel=0.01)
    # The database takes half of the CPU time of reads and a quarter of the CPU time of writes: (0.5 + 0.25) / 2 =
    # 0.375.
    assert tier["parts"]["database"]["cpus_used"]["value"] == pytest.approx(0.375 * 0.4, rel=0.02)
    law = summarize_run(run)["laws"]["utilization"][0]
    assert law["residual"] < 0.01
    assert law["holds"]


@pytest.mark.parametrize(
    ("limit_at", "allotted"),
    [
        (lambda at: 0.5, 0.5),
        (lambda at: 0.5 if at < 25 else 0.8, 0.8),  # the limit is raised within the window: the larger limit is used
        (lambda at: 3.0, 1),  # the tier is pinned to one CPU, so a limit of 3 CPUs has no effect
        (lambda at: None, 1),
        (lambda at: 0.2, 1),  # the tier uses 0.4 CPUs, so some of its processes are outside this control group
    ],
)
def test_a_tier_may_use_no_more_than_its_control_group(run, limit_at, allotted):
    def change(document, at):
        box = {"version": 2, "path": "/box"}
        limit = limit_at(at)
        document["groups"]["content"]["cgroup"] = box if limit is None else {**box, "cpu_limit": limit}

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    tier = summarize_run(run)["tiers"]["content"]
    assert tier["cpus_allotted"] == allotted
    assert tier["utilization"] == pytest.approx(0.4 / allotted, rel=0.01)


@pytest.mark.parametrize(
    ("group", "allotted"),
    [
        (lambda at: {"cpu_limit": 0.42, "cpu_s_total": 0.4 * at}, 0.42),
        # The tier uses 95 % of the limit, but half of this CPU time is used outside the control group with the limit.
        (lambda at: {"cpu_limit": 0.42, "cpu_s_total": 0.2 * at}, 1),
        # The tier uses slightly more than the limit, so some of its processes must be outside the control group with
        # the limit.
        (lambda at: {"cpu_limit": 0.387}, 1),
        (lambda at: {"cpu_limit": 0.42} if at < 25 else {}, 1),
    ],
)
def test_the_limit_of_a_control_group_counts_only_for_a_tier_that_is_all_in_it(run, group, allotted):
    def change(document, at):
        document["groups"]["content"]["cgroup"] = {"version": 2, "path": "/box", **group(at)}

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    summary = summarize_run(run)
    tier = summary["tiers"]["content"]
    assert (tier["cpus_allotted"], tier["cpu_control_group"]) == (allotted, "/box" if allotted < 1 else None)
    assert "physical_bound" not in kinds(summary)


def test_host_and_services(run):
    summary = summarize_run(run)
    assert summary["host"]["cpus"] == 2
    assert summary["host"]["cpus_used"]["value"] == pytest.approx(0.4 + 8 * 50e-6, rel=0.01)
    assert summary["host"]["steal"] == 0.0
    assert summary["host"]["networks"]["lo"]["receive_bytes_per_s"] == pytest.approx(8 * 4300, rel=0.02)
    metrics = summary["services"]["content"]
    assert metrics['content_server_cache_hits_total{cache="content"}']["per_s"] == pytest.approx(0.6 * 8, rel=0.05)
    assert metrics["content_server_queue_length"]["kind"] == "gauge"
    assert summary["observation"]["cpus_used"] == pytest.approx(0.0008 + 0.0015, rel=1e-6)


def test_transactions_and_phases(run):
    summary = summarize_run(run)
    assert {name: transaction["count"] for name, transaction in summary["transactions"].items()} == {
        "read": 160,
        "write": 160,
    }
    assert sum(transaction["share"] for transaction in summary["transactions"].values()) == pytest.approx(1.0)
    assert set(summary["phases"]) == {"ramp_up", "steady", "ramp_down"}
    assert summary["phases"]["steady"]["throughput_per_s"] == pytest.approx(8.0)
    assert summary["transactions"]["read"]["phases"]["steady"]["mean_s"] == pytest.approx(RESPONSE_S)
    assert summary["steps"]["read / request"]["count"] == 160


def test_cpu_time_of_a_phase_has_an_interval_of_its_kind(run):
    """In the steady stage, CPU time has an interval from batch means. A ramp of 2 s is too short for an interval."""
    phases = summarize_run(run)["phases"]
    for name, method in (("steady", "batch means"), ("ramp_up", "none")):
        used = phases[name]["tiers"]["content"]
        assert used["estimates"]["parts"]["database"]["method"] == method
        assert used["estimates"]["parts"]["database"]["value"] == used["parts"]["database"]
        assert used["estimates"]["cpus_used"]["value"] == used["cpus_used"]


def test_timeline_covers_the_whole_run(run):
    timeline = summarize_run(run)["timeline"]
    assert timeline["t_s"][:3] == [0.5, 1.5, 2.5]
    by_name = ("stages", "tiers_cpus_used", "parts_cpus_used", "not_attributed_cpus_used")
    lengths = {name: len(timeline[name]) for name in timeline if name not in by_name}
    assert set(lengths.values()) == {44}
    assert len(timeline["tiers_cpus_used"]["content"]) == 44
    assert [stage["name"] for stage in timeline["stages"]] == ["ramp_up", "steady", "ramp_down"]


def test_the_remnant_of_a_second_in_the_drain_has_no_rate(tmp_path):
    script = even_script(stages=[*STAGES, Stage("drain", "ramp_down", 0.02, 0)])
    late = replace(script.exchanges[-1], intended=43.9, actual=43.9, end=44.01)
    run = write_run(tmp_path / "drained", replace(script, exchanges=[*script.exchanges, late]))
    timeline = summarize_run(run)["timeline"]
    assert timeline["t_s"][-1] == pytest.approx(44.01)
    # The last recorded interval lasts only 10 ms, so the rate of its single transaction would be misleading.
    assert timeline["throughput_per_s"][-1] is None
    assert timeline["errors_per_s"][-1] is None
    assert max(timeline["throughput_per_s"][:-1]) <= USERS


def test_two_load_threads_give_the_same_numbers_as_one(tmp_path, run):
    single = summarize_run(run)
    two = summarize_run(write_run(tmp_path / "two", even_script(workers=2)))
    for key in ("throughput_per_s", "response_time_s", "transactions", "laws", "accounting", "users"):
        assert two[key] == single[key], key


def test_the_summary_is_written_and_is_plain_json(run):
    summary = summarize_run(run)
    assert json.loads((run.path / "summary.json").read_text("utf-8")) == json.loads(
        json.dumps(summary, allow_nan=False)
    )


def test_failures_are_counted_by_kind_and_share(tmp_path):
    script = even_script()
    exchanges = [
        replace(exchange, failure="status_5xx") if number % 10 == 0 else exchange
        for number, exchange in enumerate(script.exchanges)
    ]
    summary = summarize_run(write_run(tmp_path / "r", replace(script, exchanges=exchanges)))
    assert summary["errors"]["share"] == pytest.approx(0.1, abs=0.01)
    assert set(summary["errors"]["by_kind"]) == {"status_5xx"}
    assert summary["throughput_per_s"]["value"] == pytest.approx(7.2, rel=0.02)
    # Failed transactions are also part of the cycles of their users, so Little's law includes them.
    assert summary["laws"]["little"]["residual"] == pytest.approx(0.0, abs=1e-9)
    assert "errors_above_limit" in kinds(summary, "invalid")


def test_the_limit_on_errors_is_the_studys(tmp_path):
    script = even_script()
    exchanges = [
        replace(exchange, failure="check") if number % 10 == 0 else exchange
        for number, exchange in enumerate(script.exchanges)
    ]
    run = write_run(tmp_path / "r", replace(script, exchanges=exchanges))
    assert "errors_above_limit" not in kinds(summarize_run(run, limits={"errors": 0.2}))


def test_a_transient_at_the_start_is_left_out(tmp_path):
    # In the first eight seconds of the steady stage, responses take twice as long.
    script = even_script()
    exchanges = [
        replace(exchange, end=exchange.end + 0.25, think=exchange.think - 0.25)
        if 2 <= exchange.intended < 10
        else exchange
        for exchange in script.exchanges
    ]
    summary = summarize_run(write_run(tmp_path / "r", replace(script, exchanges=exchanges)))
    assert 9 <= summary["window"]["start_s"] <= 14
    assert summary["window"]["mser"]["response_time"] == pytest.approx(8, abs=4)
    assert summary["response_time_s"]["mean"]["value"] == pytest.approx(0.25, rel=0.01)
    assert "transient" in summary["window"]["note"]


def test_a_drift_over_the_whole_window_is_no_steady_state(tmp_path):
    script = even_script()
    exchanges = [
        replace(
            exchange, end=exchange.end + 0.012 * exchange.intended, think=exchange.think - 0.012 * exchange.intended
        )
        for exchange in script.exchanges
    ]
    summary = summarize_run(write_run(tmp_path / "r", replace(script, exchanges=exchanges)))
    assert not summary["window"]["steady"]
    assert "no_steady_state" in kinds(summary)
    assert summary["verdict"]["level"] == "invalid"


def test_seconds_that_a_stage_edge_cuts_are_no_transient(tmp_path):
    stages = [Stage("ramp_up", "ramp_up", 2.9, USERS), Stage("steady", "steady", 39.15, USERS)]
    summary = summarize_run(write_run(tmp_path / "r", even_script(stages=stages)))
    assert summary["window"]["steady"]
    assert summary["window"]["start_s"] == 2.9
    assert summary["throughput_per_s"]["value"] == pytest.approx(8.0, rel=0.01)


def test_the_cost_of_a_probe_that_ends_early_is_reported(run):
    path = run.observe / "probe.ndjson"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-3]))
    assert summarize_run(run)["observation"]["cpus_used"] == pytest.approx(0.0008 + 0.0015, rel=1e-6)


def test_after_a_kill_what_is_there_is_analysed(run):
    (run.engine / "engine.json").unlink()
    path = run.engine / "worker-00.0000.ndjson"
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(rows[:31]) + rows[31][:50])
    run.update(status="running")
    summary = summarize_run(run)
    assert "interrupted" in kinds(summary, "invalid")
    assert summary["throughput_per_s"]["value"] == pytest.approx(8.0, rel=1e-9)
    assert summary["window"]["end_s"] == 30.0
    assert summary["damage"]["torn_tail"]
    assert summary["accounting"]["holds"]


@pytest.mark.parametrize("length", [0, 100, 3_000, 20_000, -1])
def test_any_cut_through_all_files_gives_a_summary(run, length):
    for folder in (run.engine, run.observe):
        for path in folder.iterdir():
            whole = path.read_bytes()
            path.write_bytes(whole[:length])
    summary = summarize_run(run)
    assert summary["verdict"]["level"] == "invalid"
    json.dumps(summary, allow_nan=False)


def test_an_empty_folder_gives_a_summary(tmp_path):
    run = RunFolder.create(tmp_path / "r009", {"run": "r009", "status": "running", "factors": {}, "users": 5})
    summary = summarize_run(run)
    assert summary["throughput_per_s"]["value"] is None
    assert summary["window"] is None
    assert {"interrupted", "no_steady_state"} <= kinds(summary, "invalid")


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"pinning": {"generator": -3}}, "pinning.generator must be a list"),
        ({"index": {}}, "index must be a whole number"),
        ({"tiers": {"content": 5}}, "tiers.content must be a mapping of keys to values"),
        ({"started_wall_ns": 1e308}, "started_wall_ns must be a whole number"),
        ({"users": "many"}, "users must be a number"),
    ],
)
def test_a_malformed_entry_of_the_manifest_costs_only_itself_and_is_named(run, entry, fault):
    before, manifest = summarize_run(run), json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({**manifest, **entry}))
    found = summarize_run(run)
    assert [found[key] for key in ("throughput_per_s", "factors")] == [
        before[key] for key in ("throughput_per_s", "factors")
    ]
    assert found["verdict"]["level"] == "suspect"
    assert any(reason["message"].startswith(f"run.json: {fault}") for reason in found["verdict"]["reasons"])
    assert len(side_of([str(run.path)]).runs) == 1


@pytest.mark.parametrize("text", ["{half", "[" * 100_000, "[]"])
def test_a_run_without_a_readable_manifest_can_be_compared(run, text):
    (run.path / "run.json").write_text(text)
    (compared,) = side_of([str(run.path)]).runs
    assert compared.verdict == "suspect"


def test_without_a_manifest_there_is_a_summary_too(run):
    (run.path / "run.json").write_text("{half")
    summary = summarize_run(run)
    assert summary["run"] == "r001"
    assert summary["throughput_per_s"]["value"] == pytest.approx(8.0, rel=1e-9)
    assert summary["tiers"]["content"]["cpus_used"]["value"] == pytest.approx(0.4, rel=0.01)
    # Without the manifest it is unknown if the run ended as planned, so its verdict is suspect.
    assert "data_damaged" in kinds(summary, "suspect")


def test_without_a_probe_the_load_is_summarized(run):
    (run.observe / "probe.ndjson").unlink()
    (run.observe / "content.ndjson").unlink()
    summary = summarize_run(run)
    assert summary["throughput_per_s"]["value"] == pytest.approx(8.0, rel=1e-9)
    assert summary["tiers"]["content"]["cpus_used"]["value"] is None
    assert "observation_gap" in kinds(summary)


def test_every_run_of_format_version_1_is_read(tmp_path):
    results = copy_of_results_1(tmp_path / "results")
    for run in results.runs():
        summary = summarize_run(run, tables=False)
        assert summary["verdict"]["level"] in ("valid", "suspect")
        assert summary["laws"]["little"]["holds"]
        value = summary["response_time_s"]["mean"]["value"]
        assert 0 < value < math.inf
