from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from results_1 import RESULTS_1

from towtank.analysis import NO_ESTIMATE, Estimate
from towtank.errors import MeasurementError, StudyError
from towtank.estimates import number_estimate
from towtank.filecheck import check_file
from towtank.sizing.rules import load_rules
from towtank.sizing.rules.advising import advise
from towtank.sizing.rules.documents import advice_document
from towtank.sizing.rules.facts import COMMON, OF_A_TIER, OF_CONTENT_SERVER, OF_POSTGRESQL, Fact, Situation, measured
from towtank.sizing.rules.measured import (
    _idle,
    _share_of,
    measured_situations,
    memory_of_host,
    planned_in_force,
    postgresql_size,
    study_file_of,
)
from towtank.sizing.rules.sheet import known_names, load_sheet


def verdicts(situation: Situation) -> dict[str, str]:
    """Return the verdicts of the advisor. A key consists of the name of the rule and of the services that the verdict
    is about.
    """
    found = advise(load_rules(), situation)
    return {" ".join((item.rule.name, *item.services)): item.verdict for item in found}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy of the results in the repository. Each run has settings of the content server, in the form in which a run
    records them.
    """
    folder = tmp_path_factory.mktemp("advise") / "results"
    shutil.copytree(RESULTS_1, folder)
    for path in folder.glob("runs/*/run.json"):
        run = json.loads(path.read_text("utf-8"))
        dropped = ["search_type"] if run["factors"]["search_index"] == "absent" else []
        settings = {"threads": 8, "database_pool": 16, "nodes": 1, "content_cache": "64 MiB", "sync": True}
        run["settings"] = {"content": {**settings, "handle_cache": 256, "drop_index": dropped}}
        path.write_text(json.dumps(run), "utf-8")
    return folder


def test_results_give_a_situation_for_each_configuration(results):
    found = measured_situations(results)
    assert [situation.label for situation in found] == ["search_index present", "search_index absent"]
    for situation in found:
        assert situation.common["load.users"].value == "72.0 users"
        assert situation.services["content"][0] == "content_server"
        # The results contain no misses of the cache, so the hit ratio is unknown.
        assert "content_cache_hit_ratio" not in situation.services["content"][1]


def test_facts_are_those_of_the_run(results):
    (situation,) = (found for found in measured_situations(results, users=48) if found.label == "search_index absent")
    summary = json.loads((results / "runs" / "r001" / "summary.json").read_text("utf-8"))
    assert situation.note.startswith("run r001 at 48 users, 7 to 27 s")
    assert situation.common["load.users"].value == "48.0 users"
    assert situation.common["host.memory"].value == f"{float(8 << 30)!r} B"
    used = summary["tiers"]["content"]["utilization"]
    assert situation.services["content"][1]["cpu_utilization"].value == f"{used * 100!r} %"
    assert situation.services["content"][1]["dropped_indexes"].value == "1.0 {indexes}"
    assert situation.services["content"][1]["content_cache"].value == f"{float(64 << 20)!r} B"


@pytest.mark.parametrize(
    ("tier", "value", "how"),
    [
        (
            {"memory_bytes": 4.0, "memory_how": "proportional sets", "resident_sets_bytes": 9.0},
            4.0,
            "proportional sets",
        ),
        ({"resident_bytes": 9.0}, 9.0, "sum of resident sets"),
    ],
)
def test_memory_of_a_tier_says_how_it_was_measured(results, tmp_path, tier, value, how):
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    for path in folder.glob("runs/*/summary.json"):
        summary = json.loads(path.read_text("utf-8"))
        for key in ("resident_bytes", "memory_bytes", "memory_how", "resident_sets_bytes"):
            summary["tiers"]["content"].pop(key, None)
        summary["tiers"]["content"] |= tier
        # A summary without digests of its inputs is not computed again, so the edits above take effect.
        summary.pop("inputs", None)
        path.write_text(json.dumps(summary), "utf-8")
    (situation,) = (found for found in measured_situations(folder, users=48) if found.label == "search_index absent")
    fact = situation.services["content"][1]["memory"]
    assert (fact.value, fact.origin) == (f"{value!r} B", f"{how} in run r001")


def test_the_busiest_disk_may_be_one_with_a_limit_on_a_host(results, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    for path in folder.glob("runs/*/summary.json"):
        summary = json.loads(path.read_text("utf-8"))
        disk = {
            "utilization": 0.8,
            "utilization_of": "read_operations",
            "utilization_limit": 150.0,
            "busy_share": 0.007,
        }
        summary["hosts"] = {"store": {"tiers": [], "disks": {"data": disk, "log": {"utilization": None}}}}
        # A summary without digests of its inputs is not computed again, so the edits above take effect.
        summary.pop("inputs", None)
        path.write_text(json.dumps(summary), "utf-8")
    (situation,) = (found for found in measured_situations(folder, users=48) if found.label == "search_index absent")
    # The disk utilization is 80 %, and the rule allows at most 42 %.
    assert verdicts(situation)["disk_utilization"] == "differs"


def test_verdicts_on_results(results):
    present, absent = (verdicts(situation) for situation in measured_situations(results, users=48))
    assert (present["unindexed_columns content"], absent["unindexed_columns content"]) == ("follows", "differs")
    assert absent["cpu_utilization content"] == "differs"  # The utilization is 96 % of one CPU.
    assert absent["content_server_pool_for_threads content"] == "differs"  # The pool has 16 connections for 8 threads.
    assert absent["content_server_sync content"] == "follows"
    assert absent["disk_utilization"] == "follows"  # The disk utilization is 1.8 %.
    assert absent["interactive_response_time_law"] == "follows"
    assert absent["benchmark_length"] == "differs"  # The steady stage lasts 20 s.
    assert absent["measurement_excludes_ramps"] == "follows"
    assert absent["java_heap"] == "cannot_be_told"
    assert "web_container_threads" in absent
    assert "save_rate" not in absent  # The rule `save_rate` has no verdict, because no value of its input is known.


def test_advice_says_what_is_set_and_seen(results):
    (absent,) = (found for found in measured_situations(results, users=48) if found.label == "search_index absent")
    document = advice_document("results", [(absent, advise(load_rules(), absent))])
    assert document["schema"] == "towtank/advice/1"
    (situation,) = document["situations"]
    by_name = {each["rule"]: each for each in situation["advice"]}
    advice = by_name["unindexed_columns"]
    assert (advice["verdict"], advice["says"], advice["services"]) == ("differs", "0 indexes", ["content"])
    assert advice["set"]["missing"]["value"] == "1 index"
    assert advice["set"]["missing"]["from"].endswith("settings of content in run r001")
    assert advice["arithmetic"][-1]["numbers"].endswith("<= 0 indexes")
    assert by_name["java_heap"]["why"] == "heap is not known, as java.maximum_heap in a sheet"
    assert sum(situation["verdicts"].values()) == len(situation["advice"])
    assert json.loads(json.dumps(document)) == document


def test_measured_facts_have_the_digits_that_their_intervals_support(results):
    (absent,) = (found for found in measured_situations(results, users=48) if found.label == "search_index absent")
    document = advice_document("results", [(absent, advise(load_rules(), absent))])
    seen = {each["rule"]: each["seen"] | each["given"] for each in document["situations"][0]["advice"]}
    summary = json.loads((results / "runs" / "r001" / "summary.json").read_text("utf-8"))
    mean, rate = summary["response_time_s"]["mean"], summary["throughput_per_s"]
    law = {name: fact["value"] for name, fact in seen["interactive_response_time_law"].items()}
    assert law["response"] == number_estimate(mean["value"], mean["low"], mean["high"], "s")
    assert law["throughput"] == number_estimate(rate["value"], rate["low"], rate["high"], "1/s")
    assert "[" in law["response"]
    # The tier has one CPU, so the interval of its CPU use must end at one CPU at the latest.
    used = summary["tiers"]["content"]["cpus_used"]
    ends = (100 * used["low"], min(100 * used["high"], 100.0))
    assert seen["cpu_utilization"]["utilization"]["value"] == number_estimate(100 * used["value"], *ends, "%")
    # The think time has no interval, so it is printed with three digits. The load was set, not measured, so it has no
    # interval either.
    assert (law["think"], law["users"]) == ("1.02 s", "48 users")


def test_an_interval_that_is_only_rounding_gives_no_digits(results):
    """The CPU of this run was busy in every second, so its utilization is printed as 100 % without an interval.

    The computed interval is only a rounding error, in the 15th digit.
    """
    (absent,) = (found for found in measured_situations(results, users=72) if found.label == "search_index absent")
    document = advice_document("results", [(absent, advise(load_rules(), absent))])
    found = next(each for each in document["situations"][0]["advice"] if each["rule"] == "cpu_utilization")
    assert found["seen"]["utilization"]["value"] == "100 %"


def test_idle_cpus_are_those_that_are_not_used():
    used = Estimate(1.5, 1.2, 2.3)
    found = measured(COMMON, {"host.idle_cpus": _idle(used, 2), "host.cpu_utilization": _share_of(used, 2)}, "test")
    assert found["host.idle_cpus"].value == "0.5 CPUs"
    assert [float(end.removesuffix(" CPUs")) for end in found["host.idle_cpus"].ends] == pytest.approx([0.0, 0.8])
    assert found["host.cpu_utilization"].ends == ("60.0 %", "100.0 %")
    bare = measured(COMMON, {"host.idle_cpus": _idle(Estimate(1.5), 2)}, "test")
    assert (bare["host.idle_cpus"].value, bare["host.idle_cpus"].ends) == ("0.5 CPUs", None)
    assert _idle(NO_ESTIMATE, 2).value is None


def test_a_level_that_nobody_ran(results):
    with pytest.raises(MeasurementError, match="no run at 13 users can be used"):
        measured_situations(results, users=13)


def test_the_response_time_law_is_not_judged_where_times_are_missing(results, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    law = "interactive_response_time_law"
    assert law in verdicts(measured_situations(folder, users=48)[0])
    for path in folder.glob("runs/*/summary.json"):
        summary = json.loads(path.read_text("utf-8"))
        summary["laws"]["little"] |= {"r_s": 0.001, "untimed_share": 0.3, "residual": None, "holds": None}
        # A summary without digests of its inputs is not computed again, so the edits above take effect.
        summary.pop("inputs", None)
        path.write_text(json.dumps(summary), "utf-8")
    for situation in measured_situations(folder, users=48):
        assert verdicts(situation).get(law) in (None, "cannot_be_told")
        assert "laws.response_time" not in situation.common


def test_a_run_whose_manifest_was_torn_gives_no_facts(results, tmp_path):
    torn = tmp_path / "results"
    shutil.copytree(results, torn)
    names = {situation.note.split()[1] for situation in measured_situations(torn, users=48)}
    for name in names:
        (torn / "runs" / name / "run.json").write_text('{"run": "r0', "utf-8")
    left = measured_situations(torn)
    assert left
    assert not names & {situation.note.split()[1] for situation in left}


def test_the_study_of_results_that_is_gone(results):
    assert study_file_of(results) is None


def system(**database: object) -> Situation:
    """Return the facts about a content server that uses PostgreSQL on a host with 64 GiB of memory."""
    content = measured(OF_CONTENT_SERVER, {"threads": 32, "database_pool": 20, "nodes": 4}, "test")
    own = measured(OF_POSTGRESQL, {"shared_buffers": 128 * 2**20, "max_connections": 100, **database}, "test")
    tier = measured(OF_A_TIER, {"cpus": 4, "cpu_utilization": 0.5}, "test")
    memory = {"host.memory": Fact("host.memory", "64 GiB", "test")}
    services = {"content": ("content_server", {**content, **tier}), "db": ("postgresql", {**own, **tier})}
    return Situation("", "", memory, services)


def test_postgresql_of_defaults_under_a_large_server():
    found = verdicts(system())
    # The shared buffers have 128 MiB, on a host with 64 GiB of memory.
    assert found["postgresql_shared_buffers db"] == "differs"
    # The pools use 84 of the 100 connections that the database allows.
    assert found["postgresql_connections_for_pools content db"] == "follows"
    assert found["database_connections_of_pools content db"] == "follows"
    # The pool has 80 connections, although 9 are sufficient.
    assert found["postgresql_pool_size db content"] == "differs"
    assert found["cpu_utilization content"] == "follows"
    assert found["postgresql_hit_ratio db"] == "cannot_be_told"


@pytest.mark.parametrize(
    ("setting", "rule", "verdict"),
    [
        ({"shared_buffers": 16 * 2**30}, "postgresql_shared_buffers db", "follows"),
        ({"shared_buffers": 30 * 2**30}, "postgresql_shared_buffers db", "differs"),
        ({"max_connections": 83}, "postgresql_connections_for_pools content db", "differs"),
        ({"max_connections": 84}, "postgresql_connections_for_pools content db", "follows"),
        ({"hit_ratio": 0.999}, "postgresql_hit_ratio db", "follows"),
        ({"hit_ratio": 0.90}, "postgresql_hit_ratio db", "differs"),
        ({"deadlocks": 0.0}, "postgresql_deadlocks db", "follows"),
        ({"deadlocks": 0.1}, "postgresql_deadlocks db", "differs"),
        ({"temporary_files": 2.0}, "postgresql_temporary_files db", "differs"),
        ({"checkpoints_requested": 0.0, "checkpoints_timed": 0.0}, "postgresql_checkpoints db", "does_not_apply"),
        ({"checkpoints_requested": 0.1, "checkpoints_timed": 0.0}, "postgresql_checkpoints db", "differs"),
        ({"checkpoints_requested": 0.0, "checkpoints_timed": 0.1}, "postgresql_checkpoints db", "follows"),
        ({"synchronous_commit": False}, "postgresql_synchronous_commit db", "differs"),
        ({"work_mem": 4 * 2**20}, "postgresql_work_memory db", "follows"),
        ({"work_mem": 2 * 2**30}, "postgresql_work_memory db", "differs"),
    ],
)
def test_postgresql_rules(setting, rule, verdict):
    assert verdicts(system(**setting))[rule] == verdict


@pytest.mark.parametrize(
    ("text", "unit", "size"),
    [
        ("128MB", 8192, 128 * 2**20),
        (16384, 8192, 128 * 2**20),
        ("4 GB", 8192, 4 * 2**30),
        (64, 1024, 65536),
        ("lots", 8192, None),
        (None, 8192, None),
    ],
)
def test_sizes_as_postgresql_reads_them(text, unit, size):
    assert postgresql_size(text, unit) == size


def sheet(folder: Path, text: str) -> Path:
    path = folder / "sheet.yaml"
    path.write_text(f"schema: towtank/sheet/1\n{text}", "utf-8")
    return path


def test_a_sheet(tmp_path):
    text = "load.users: 400\nhost: {memory: 64 GB}\njava: {maximum_heap: 24 GB, nursery: 2 GB}\n"
    text += "web_container.threads: 50\n"
    facts = load_sheet(sheet(tmp_path, text), load_rules())
    assert facts["java.nursery"].origin == f"{tmp_path / 'sheet.yaml'}:4"
    found = {item.rule.name: item for item in advise(load_rules(), Situation("sheet", "", facts))}
    assert {name: found[name].verdict for name in ("java_heap", "nursery", "web_container_threads")} == {
        "java_heap": "follows",
        "nursery": "differs",
        "web_container_threads": "differs",
    }
    assert found["web_container_threads"].answer.text == "300 threads"
    assert check_file(tmp_path / "sheet.yaml").faults == []


def test_a_sheet_over_results(results, tmp_path):
    facts = load_sheet(sheet(tmp_path, "content_server.sync: off\njava.maximum_heap: 4 GiB\n"), load_rules())
    (situation,) = (found for found in measured_situations(results, users=48) if found.label == "search_index absent")
    found = verdicts(situation.with_sheet(facts))
    assert found["content_server_sync content"] == "differs"
    assert found["java_heap"] == "follows"  # The heap of 4 GiB is half of the memory of 8 GiB.


def test_faults_of_a_sheet(tmp_path):
    text = "load.usres: 400\nhost.memory: 64 s\njava.nursery: [1, 2]\nload.is_secure: perhaps\n"
    path = sheet(tmp_path, text)
    with pytest.raises(StudyError) as caught:
        load_sheet(path, load_rules())
    assert [(fault.line, fault.column, fault.where) for fault in caught.value.faults] == [
        (2, 13, "load.usres"),
        (3, 14, "host.memory"),
        (4, 15, "java.nursery"),
        (5, 17, "load.is_secure"),
    ]
    assert "did you mean 'load.users'?" in str(caught.value)
    assert check_file(path).faults == caught.value.faults


def test_out_of_range_is_reported_not_hidden(tmp_path):
    facts = load_sheet(sheet(tmp_path, "load.users: 0\nweb_container.threads: 50\n"), load_rules())
    found = {item.rule.name: item for item in advise(load_rules(), Situation("sheet", "", facts))}
    advice = found["web_container_threads"]
    assert (advice.verdict, advice.why) == ("cannot_be_told", "users must be at least 1 user, got 0 instead")


def test_every_rule_with_a_verdict_is_bound_to_names_that_a_sheet_may_give():
    rules = load_rules()
    known = known_names(rules)
    for rule in rules.values():
        for name, quantity in rule.entry.inputs.items():
            assert set(quantity.binds) <= set(known)
            if rule.follows_when is not None and quantity.role != "given":
                assert quantity.binds, f"{rule.name}.{name} is compared with a quantity that has no source"


def test_facts_are_measured_numbers_of_any_kind_and_nothing_else() -> None:
    table = {"a": ("users", ""), "b": ("users", ""), "c": ("users", "")}
    found = measured(table, {"a": np.int64(5), "b": [1], "c": None}, "r001")
    assert list(found) == ["a"]
    assert found["a"] == measured(table, {"a": 5}, "r001")["a"]


def test_the_memory_of_a_host_is_its_limit_or_that_of_its_own_machine():
    """The host has 8 GiB, and the machine that runs it has 64 GiB.

    The buffers of a database on the host are compared with the 8 GiB of the host.
    """
    sizes = {"cpus": 2.0, "memory": 8 * 2**30, "in_force": True}
    assert memory_of_host({"provider": "virtual", "sizes": sizes}) == 8 * 2**30
    assert memory_of_host({"provider": "virtual", "sizes": {**sizes, "in_force": False}}) is None
    assert memory_of_host({"provider": "remote", "cpus": 8, "memory_bytes": 2**35}) == 2**35
    assert memory_of_host({"provider": "local"}) is None
    assert memory_of_host(None) is None


def test_a_planned_limit_is_in_force_only_if_that_was_read_back(results, tmp_path):
    """A planned limit of a host counts as in force only if the run states, with `in_force`, that it was read back.

    The recorded settings of a service are those at its start, so they do not show whether the limit is in force.
    """
    assert planned_in_force(None) is None
    assert planned_in_force({"data": {"provider": "local"}}) is None
    one, other = {"sizes": {"cpus": 1.0, "in_force": True}}, {"sizes": {"cpus": 1.0, "in_force": False}}
    assert planned_in_force({"a": one}) is True
    assert planned_in_force({"a": one, "b": other}) is False
    for host, verdict in ((None, None), (one, "follows"), (other, "differs")):
        folder = tmp_path / str(verdict)
        shutil.copytree(results, folder)
        for path in folder.glob("runs/*/run.json"):
            run = json.loads(path.read_text("utf-8"))
            path.write_text(json.dumps(run | ({} if host is None else {"hosts": {"a": host}})), "utf-8")
        for situation in measured_situations(folder):
            assert verdicts(situation).get("planned_is_in_force") == verdict


def test_buffers_are_judged_by_the_host_of_the_database(results, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    for path in folder.glob("runs/*/run.json"):
        run = json.loads(path.read_text("utf-8"))
        run["hosts"] = {"data": {"sizes": {"memory": 4 * 2**30, "in_force": True}}}
        path.write_text(json.dumps(run), "utf-8")
    for path in folder.glob("runs/*/summary.json"):
        summary = json.loads(path.read_text("utf-8"))
        summary["tiers"]["content"] |= {"kind": "postgresql", "host": "data"}
        path.write_text(json.dumps(summary), "utf-8")
    for situation in measured_situations(folder):
        kind, facts = situation.services["content"]
        assert kind == "postgresql"
        assert facts["host_memory"].value == f"{float(4 * 2**30)!r} B"
