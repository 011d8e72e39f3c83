"""A stored run summary with entries that are malformed, missing or unknown counts as no better than before."""

from __future__ import annotations

import json
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from changed_recordings import script
from synthetic_runs import write_run

from towtank.analysis import describe_study, readable_summary, study_verdict
from towtank.analysis.run import summary as run_summaries
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.stored_summary import is_whole
from towtank.analysis.study import known_summary
from towtank.analysis.study_summary import StudySummary
from towtank.documents import record_of
from towtank.report.source import PlannedFactor, measured_results
from towtank.results import ITEM_FATES, ResultsFolder, kept

FILE = "runs/r001/summary.json"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    """Results folder of a study with one undisturbed run, with its summaries."""
    path = tmp_path_factory.mktemp("stored") / "results"
    found = ResultsFolder.create(path, {"study": "stored", "design": [{"run": "r001"}]})
    write_run(path / "runs" / "r001", script())
    measured_results(path)
    return found


@pytest.fixture
def summary(results: ResultsFolder) -> dict[str, Any]:
    return kept.read_finite(results.path / FILE)


def with_level(summary: dict[str, Any], level: object) -> dict[str, Any]:
    return {**summary, "verdict": {**summary["verdict"], "level": level}}


def test_a_summary_that_was_read_is_unchanged(summary: dict[str, Any]) -> None:
    assert summary["verdict"]["level"] == "valid"
    assert is_whole(summary)
    assert readable_summary(summary, FILE) is summary
    assert readable_summary({}, FILE) == {}


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("damage", "none", "damage must be a mapping of keys to values, got 'none' instead"),
        ("damage", {"bad_lines": "few"}, "damage.bad_lines must be a whole number, got 'few' instead"),
        ("backlog", 3, "backlog must be a mapping of keys to values, got 3 instead"),
        ("tiers", {"web": {"cpus_used": 5}}, "tiers.web.cpus_used must be"),
    ],
)
def test_a_malformed_entry_is_named_and_makes_the_run_suspect(
    summary: dict[str, Any], key: str, value: object, fault: str
) -> None:
    found = readable_summary({**summary, key: value}, FILE)
    assert key not in found
    doubt, *others = found["verdict"]["reasons"]
    assert doubt["message"].startswith(f"{FILE}: {fault}")
    assert doubt["message"].endswith("; this entry is left out")
    assert (doubt["kind"], doubt["level"], found["verdict"]["level"]) == ("data_damaged", "suspect", "suspect")
    assert others == summary["verdict"]["reasons"]


def test_all_malformed_entries_are_named(summary: dict[str, Any]) -> None:
    found = readable_summary({**summary, "damage": 1, "index": "first"}, FILE)
    assert found["verdict"]["reasons"][0]["message"] == (
        f"{FILE}: index must be a whole number, got 'first' instead; damage must be a mapping of keys to values, got 1 "
        "instead; these 2 entries are left out"
    )


DOUBT = {"kind": "start_lag", "level": "note", "message": "late", "seen": 1.0, "limit": None}
STATEMENT = {"queryid": "7", "query": "SELECT 1", "calls": 2, "seconds": 0.5, "rows": 3}
COUNTS = dict.fromkeys(("acknowledged", "removed", "uncertain", "read"), 1) | dict.fromkeys(ITEM_FATES, 1)
STORED = {**COUNTS, "kinds": {"documents": COUNTS}, "named": [{"key": "d7", "acknowledged_s": 1.0}]}


@pytest.mark.parametrize(
    ("path", "wrong", "fault"),
    [
        (
            ("verdict", "reasons", 1),
            "late",
            "verdict.reasons[1] must be a mapping of keys to values, got 'late' instead",
        ),
        (("verdict", "reasons", 1, "kind"), None, "verdict.reasons[1].kind must be text, got nothing instead"),
        (
            ("verdict", "reasons", 1, "level"),
            "odd",
            "verdict.reasons[1].level must be note, suspect or invalid, got 'odd' instead",
        ),
        (("verdict", "reasons", 1, "level"), {}, "verdict.reasons[1].level must be note, suspect or invalid"),
        (("verdict", "reasons", 1, "message"), 5, "verdict.reasons[1].message must be text, got 5 instead"),
        (("verdict", "reasons", 1, "seen"), "5", "verdict.reasons[1].seen must be a number, got '5' instead"),
        (("databases", "db", "statements", 1), 5, "databases.db.statements[1] must be a mapping of keys to values"),
        (("databases", "db", "statements", 1, "calls"), "few", "databases.db.statements[1].calls"),
        (("stored", "named", 1), "d7", "stored.named[1] must be a mapping of keys to values, got 'd7' instead"),
        (("stored", "named", 1, "acknowledged_s"), [], "stored.named[1].acknowledged_s"),
        (("limit", "plateaus", 1, "level"), "high", "limit.plateaus[1].level"),
    ],
)
def test_of_a_list_only_the_malformed_entry_is_lost_and_it_is_named(
    summary: dict[str, Any], path: tuple[str | int, ...], wrong: object, fault: str
) -> None:
    entries: dict[str, Any] = {
        "verdict": {**summary["verdict"], "reasons": [DOUBT, DOUBT, {**DOUBT, "message": "later"}]},
        "databases": {"db": {"statements": [STATEMENT, STATEMENT, {**STATEMENT, "queryid": "8"}]}},
        "stored": {**STORED, "named": [{"key": key, "acknowledged_s": 1.0} for key in "abc"]},
        "limit": {"plateaus": [{"level": level, "passed": True} for level in (1, 2, 3)]},
    }
    whole = {**summary, path[0]: entries[str(path[0])]}
    damaged = changed(whole, path, wrong)
    assert is_whole(whole)
    assert not is_whole(damaged)
    found = readable_summary(damaged, FILE)
    doubt, *others = found["verdict"]["reasons"]
    assert (doubt["level"], found["verdict"]["level"]) == ("suspect", "suspect")
    assert doubt["message"].startswith(f"{FILE}: {fault}")
    assert doubt["message"].endswith("; this entry is left out")
    before, after = value_at(whole, path[: path.index(1)]), value_at(found, path[: path.index(1)])
    assert (others if path[0] == "verdict" else after) == [before[0], before[2]]
    assert RunSummary.read(damaged).verdict.level == summary["verdict"]["level"]


def value_at(document: Any, path: tuple[str | int, ...]) -> Any:
    return reduce(getitem, path, document)


def changed(document: dict[str, Any], path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """Return a copy of a document with another value at a path."""
    found: dict[str, Any] = json.loads(json.dumps(document))
    value_at(found, path[:-1])[path[-1]] = value
    return found


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("window", "load"), 1e308),
        (("window", "end_s"), "27"),
        (("stored", "kinds"), []),
        (("stored", "lost"), "many"),
        (("verdict", "reasons"), None),
        (("verdict", "reasons"), {}),
    ],
)
def test_a_summary_with_a_malformed_inner_entry_is_not_whole(
    summary: dict[str, Any], path: tuple[str, ...], wrong: object
) -> None:
    whole = {**summary, "stored": STORED}
    damaged = changed(whole, path, wrong)
    assert is_whole(whole)
    assert not is_whole(damaged)
    describe_study({"study": "stored"}, [readable_summary(damaged, FILE)])


@pytest.mark.parametrize("key", ["count", "errors", "throughput_per_s", "response_time_s"])
def test_a_summary_whose_transaction_lacks_a_number_is_not_whole(summary: dict[str, Any], key: str) -> None:
    name, found = next(iter(summary["transactions"].items()))
    without = {inner: value for inner, value in found.items() if inner != key}
    assert not is_whole({**summary, "transactions": {**summary["transactions"], name: without}})


@pytest.mark.parametrize("key", ["level", "reasons"])
def test_a_summary_whose_verdict_lacks_a_part_is_not_whole(summary: dict[str, Any], key: str) -> None:
    verdict = {inner: value for inner, value in summary["verdict"].items() if inner != key}
    assert not is_whole({**summary, "verdict": verdict})


def test_a_study_names_a_malformed_reason_and_keeps_the_others() -> None:
    reasons = [DOUBT, "late", {**DOUBT, "message": 5}, {**DOUBT, "message": "later"}]
    found = StudySummary.model_validate({"verdict": {"level": "suspect", "reasons": reasons, "valid_runs": 3}}).verdict
    assert (found.level, found.valid_runs) == ("suspect", 3)
    assert [doubt.message for doubt in found.reasons] == [
        "late",
        "summary of the study: verdict.reasons[1] must be a mapping of keys to values, got 'late' instead; this entry "
        "is left out",
        "summary of the study: verdict.reasons[2].message must be text, got 5 instead; this entry is left out",
        "later",
    ]


def test_lists_of_numbers_are_left_out_as_a_whole_because_other_lists_may_belong_to_their_places() -> None:
    factor = record_of(PlannedFactor, {"name": "users", "levels": ["a", "b", "c"], "numeric": [1, "two", 3]})
    assert (factor.levels, factor.numeric) == (("a", "b", "c"), None)


def test_an_invalid_run_stays_invalid(summary: dict[str, Any]) -> None:
    assert readable_summary({**with_level(summary, "invalid"), "damage": 1}, FILE)["verdict"]["level"] == "invalid"


@pytest.mark.parametrize("level", ["", "doubtful", None, 5, ["valid"]])
def test_a_run_with_an_unknown_verdict_is_invalid(summary: dict[str, Any], level: object) -> None:
    found = readable_summary(with_level(summary, level), FILE)
    assert found["verdict"]["level"] == "invalid"
    assert found["verdict"]["reasons"][0]["message"].startswith(f"{FILE}: verdict.level must be ")
    assert found["verdict"]["reasons"][1:] == summary["verdict"]["reasons"]


@pytest.mark.parametrize("level", ["", "doubtful", None])
def test_a_study_of_runs_with_unknown_verdicts_is_not_valid(summary: dict[str, Any], level: object) -> None:
    runs = [summary, {**with_level(summary, level), "run": "r002", "inputs": None}]
    assert study_verdict.verdict_of([], {}, list(map(RunSummary.read, runs)))["level"] == "suspect"
    verdict = describe_study({"study": "stored"}, runs)["verdict"]
    assert (verdict["level"], verdict["valid_runs"], verdict["invalid_runs"]) == ("suspect", 1, 1)
    assert f"must be valid, suspect or invalid, got {level!r} instead" in verdict["reasons"][0]["message"]
    assert describe_study({"study": "stored"}, runs[1:])["verdict"]["level"] == "invalid"


@pytest.mark.parametrize("key", ["damage", "tiers", "verdict"])
@pytest.mark.parametrize("value", [None, "none"])
def test_a_damaged_summary_is_computed_again(
    results: ResultsFolder, summary: dict[str, Any], key: str, value: str | None
) -> None:
    path = results.path / FILE
    damaged = {name: each for name, each in summary.items() if name != key} | ({} if value is None else {key: value})
    path.write_text(json.dumps(damaged), "utf-8")
    assert known_summary(results.runs()[0]) is None
    measured = measured_results(results.path)
    assert measured.summary["verdict"]["valid_runs"] == 1
    assert kept.read_finite(path) == summary


def test_a_report_of_a_folder_that_cannot_be_written_names_what_was_left_out(
    results: ResultsFolder, summary: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path: Path = results.path / FILE
    monkeypatch.setattr(run_summaries, "offer_json", lambda *_: False)
    path.write_text(json.dumps({**summary, "damage": "none"}), "utf-8")
    run = measured_results(results.path).run("r001")
    path.write_text(json.dumps(summary), "utf-8")
    assert run is not None
    assert run.verdict == "suspect"
    assert run.doubts[0].message == (
        f"{FILE}: damage must be a mapping of keys to values, got 'none' instead; this entry is left out"
    )
