"""Summary of the results in the repository, which were simulated with a known model, and of damaged folders."""

from __future__ import annotations

import json
import shutil

import pytest
from results_1 import COMMITTED, copy_of_results_1
from write_results_1 import DATABASE_SHARE, DEMANDS_S, LEVELS, THINK_S, WEIGHTS

from towtank.analysis import narrative, study_verdict, summarize_study
from towtank.analysis.relaxed_limits import DEFAULTS, relaxed_limits
from towtank.analysis.statistics.estimates import estimate_from_document
from towtank.analysis.study import known_summary, question_of
from towtank.results.folder import ResultsFolder, RunFolder, write_json
from towtank.study.model import Limits


def weighted(values):
    return sum(weight * value for weight, value in zip(WEIGHTS, values, strict=True)) / sum(WEIGHTS)


def exact_mva(users, demand_s, think_s):
    """Return the throughput of one queueing station with think time, by exact mean value analysis."""
    queue = throughput = 0.0
    for number in range(1, users + 1):
        response = demand_s * (1 + queue)
        throughput = number / (response + think_s)
        queue = throughput * response
    return throughput


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    return summarize_study(copy_of_results_1(tmp_path_factory.mktemp("study") / "results"))


def test_a_copied_run_is_no_repetition(tmp_path):
    results = copy_of_results_1(tmp_path / "results")
    before = summarize_study(results)
    original = results.runs()[0]
    shutil.copytree(original.path, original.path.parent / "r900")
    RunFolder(original.path.parent / "r900").update(run="r900")
    after = summarize_study(results)
    copied = next(run for run in after["runs"] if run["run"] == "r900")
    assert copied["verdict"] == "invalid"
    assert copied["reasons"][0] == f"the records of r900 are a copy of those of {original.run_id}"
    assert after["verdict"]["invalid_runs"] == before["verdict"]["invalid_runs"] + 1
    assert after["verdict"]["reasons"][0]["kind"] == "copied_run"
    for first, second in zip(before["configurations"], after["configurations"], strict=True):
        for point, same in zip(first["points"], second["points"], strict=True):
            assert point["throughput_per_s"] == same["throughput_per_s"]


def test_a_summary_is_computed_again_when_its_data_change(tmp_path):
    results = copy_of_results_1(tmp_path / "results")
    run = results.runs()[0]
    summarize_study(results)
    made = known_summary(run)
    assert made is not None
    assert made["verdict"]["level"] != "invalid"
    records = next(run.engine.glob("worker-*.ndjson"))
    whole = records.read_bytes()
    records.write_bytes(b"")
    assert known_summary(run) is None
    damaged = next(entry for entry in summarize_study(results)["runs"] if entry["run"] == run.run_id)
    assert damaged["verdict"] == "invalid"
    records.write_bytes(whole)
    again = next(entry for entry in summarize_study(results)["runs"] if entry["run"] == run.run_id)
    assert again["verdict"] == made["verdict"]["level"]


def configuration(summary, index):
    return next(each for each in summary["configurations"] if each["key"] == {"search_index": index})


def test_configurations_and_points_follow_the_levels(summary):
    assert [each["label"] for each in summary["configurations"]] == [
        "search_index present",
        "search_index absent",
    ]
    for each in summary["configurations"]:
        assert [point["users"] for point in each["points"]] == LEVELS
    assert summary["load_factor"] == "users"
    assert summary["verdict"]["missing_runs"] == 0


@pytest.mark.parametrize("damaged", ["zzz", 5, ["users"], None])
def test_a_load_factor_that_is_no_factor_is_replaced_by_a_factor_that_sets_the_load(damaged):
    factors = [{"name": "search_index", "levels": ["present"]}, {"name": "users", "levels": ["10"], "numeric": [10]}]
    assert question_of({"study": {"factors": factors, "load_factor": damaged}}, []).load_factor == "users"


@pytest.mark.parametrize("index", ["present", "absent"])
def test_throughput_is_that_of_the_model(summary, index):
    # Mean value analysis is approximate here, because the demands of the transactions differ. So 10 % plus the half
    # width of the interval are allowed.
    for point in configuration(summary, index)["points"]:
        found = point["throughput_per_s"]
        expected = exact_mva(point["users"], weighted(DEMANDS_S[index]), THINK_S)
        # At saturation, a window of 20 s may be too short for an interval.
        half = 0.0 if found["low"] is None else (found["high"] - found["low"]) / 2
        assert found["value"] == pytest.approx(expected, abs=0.1 * expected + half)


@pytest.mark.parametrize("index", ["present", "absent"])
def test_demand_and_its_database_part_are_those_of_the_model(summary, index):
    mean = weighted(DEMANDS_S[index])
    part = weighted([d * share for d, share in zip(DEMANDS_S[index], DATABASE_SHARE[index], strict=True)])
    tier = configuration(summary, index)["points"][-1]["tiers"]["content"]
    # At the highest level, the mean of some hundreds of exponential demands has a relative error of about 6 %. Three
    # times this error is allowed.
    assert tier["cpu_demand_s"]["value"] == pytest.approx(mean, rel=0.18)
    assert tier["parts"]["database"]["cpu_demand_s"]["value"] == pytest.approx(part, rel=0.25)


def test_the_limit_is_found_with_its_evidence(summary):
    for index in ("present", "absent"):
        limit = configuration(summary, index)["limit"]
        assert (limit["reached"], limit["resource"]) == (True, "content")
        assert "ideal" in limit["evidence"]
        expected = (weighted(DEMANDS_S[index]) + THINK_S) / weighted(DEMANDS_S[index])
        assert limit["knee_users"]["value"] == pytest.approx(expected, rel=0.3)


def test_the_missing_index_shows_in_the_search_and_in_the_database(summary):
    lines = [line for line in summary["comparisons"] if line["users"] == LEVELS[0]]
    searches = next(line for line in lines if line.get("transaction") == "open_all_searches")
    assert lines[2] is searches, "the transaction with the largest change is the first transaction"
    # A single run per level gives no variation between runs, so `differs` is None.
    assert searches["differs"] is None
    assert searches["ratio"]["low"] > 2
    assert searches["assumed"]["differs"]
    assert searches["assumed"]["low"] < searches["ratio"]["low"]
    database = next(line for line in lines if line.get("part") == "database")
    assert database["ratio"]["low"] > 1


def test_sentences_hold_their_numbers(summary):
    kinds = {observation["kind"] for observation in summary["observations"]}
    assert {"scaling", "limit", "knee", "response_time", "cpu", "comparison", "objective", "quality"} <= kinds
    assert all(observation["text"].endswith(".") and observation["numbers"] for observation in summary["observations"])
    assert "open_all_searches" in summary["headline"]
    peak = configuration(summary, "present")["limit"]["peak_throughput_per_s"]
    assert f"{narrative.interval(estimate_from_document(peak))} transactions/s" in summary["headline"]


def test_the_objective_is_judged_per_configuration(summary):
    met = {objective["configuration"]["search_index"]: objective["met"] for objective in summary["objectives"]}
    assert met == {"present": True, "absent": False}


def test_the_committed_summaries_are_read_and_agree(summary):
    committed = json.loads((COMMITTED / "study-summary.json").read_text("utf-8"))
    assert committed["schema"] == summary["schema"]
    for old, new in zip(committed["configurations"], summary["configurations"], strict=True):
        for first, second in zip(old["points"], new["points"], strict=True):
            assert first["throughput_per_s"]["value"] == pytest.approx(second["throughput_per_s"]["value"])


def test_the_study_summary_is_written_as_plain_json(tmp_path):
    results = copy_of_results_1(tmp_path / "results")
    summary = summarize_study(results)
    written = json.loads((results.path / "study-summary.json").read_text("utf-8"))
    assert set(written.pop("made_from")) == {"files", "code", "content"}
    assert written == json.loads(json.dumps(summary, allow_nan=False))


def test_a_run_that_was_cut_off_and_one_that_is_missing_are_reported(tmp_path):
    results = copy_of_results_1(tmp_path / "results")
    runs = results.runs()
    shutil.rmtree(runs[0].path)
    runs[1].update(status="running")
    (runs[1].engine / "engine.json").unlink()
    summary = summarize_study(results)
    assert summary["verdict"]["missing_runs"] == 1
    assert "1 of the planned runs is missing" in summary["headline"]
    assert summary["verdict"]["invalid_runs"] == 1
    assert summary["verdict"]["level"] == "suspect"
    assert any(
        reason["kind"] == "interrupted" and reason["runs"] == ["r002"] for reason in summary["verdict"]["reasons"]
    )


def test_a_run_that_was_summarized_while_it_ran_is_analysed_again(tmp_path):
    results = copy_of_results_1(tmp_path / "results")
    run = results.runs()[0]
    run.update(status="running")
    summarize_study(results)
    run.update(status="complete")
    assert summarize_study(results)["verdict"]["invalid_runs"] == 0


def test_a_summary_of_another_version_is_made_again(tmp_path):
    results = copy_of_results_1(tmp_path / "results")
    summarize_study(results)
    path = results.run_path("r001") / "summary.json"
    write_json(
        path,
        {**json.loads(path.read_text("utf-8")), "towtank": "0.0.1", "verdict": {"level": "invalid", "reasons": []}},
    )
    assert summarize_study(results)["verdict"]["invalid_runs"] == 0


def test_a_run_that_was_set_aside_counts_no_more(tmp_path):
    results = copy_of_results_1(tmp_path / "results")
    aside = results.path / "runs" / "r003.interrupted-1"
    shutil.copytree(results.run_path("r003"), aside)
    assert len(summarize_study(results)["runs"]) == 8


def test_limits_that_the_study_relaxed_are_in_the_verdict(tmp_path):
    results = copy_of_results_1(tmp_path / "results")
    path = results.path / "study.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["study"]["limits"] = {"errors": 0.001, "interference": 1.0, "start_lag_p99": 0.05, "storage_free": 0.0}
    write_json(path, manifest)
    assert summarize_study(results)["verdict"]["relaxed_limits"] == [
        {"limit": "start_lag_p99", "value": 0.05, "default": 0.01},
        {"limit": "interference", "value": 1.0, "default": 0.1},
        {"limit": "storage_free", "value": 0.0, "default": 0.001},
    ]


def test_a_study_with_the_default_limits_relaxed_none(summary):
    assert summary["verdict"]["relaxed_limits"] == []
    assert Limits().model_dump() == DEFAULTS
    assert relaxed_limits(DEFAULTS) == []


def test_results_without_any_run_have_a_summary(tmp_path):
    results = ResultsFolder.create(tmp_path / "results", {"study": {"name": "empty"}})
    summary = summarize_study(results)
    assert summary["verdict"]["level"] == "invalid"
    assert "No run" in summary["headline"]


def test_a_verdict_that_could_not_be_computed_is_invalid_and_has_the_keys_of_any_other() -> None:
    assert {**study_verdict.verdict_of([], {}, []), "level": "invalid"} == study_verdict.UNDECIDED
