"""Damaged study summaries that are given to a fit. A damaged point costs only itself, and its fault is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from results_1 import RESULTS_1

from towtank.cli import main
from towtank.errors import StudyError
from towtank.model.demand_file import ExcludedRun
from towtank.model.fitting.measured import read_configurations
from towtank.sizing.basis import ModelChoice, load_basis, not_used
from towtank.sizing.trust import _doubts

SUMMARY = json.loads((RESULTS_1 / "study-summary.json").read_text("utf-8"))
HUGE = 10**400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study-summary.json"


def with_point(path: Path, **damage: Any) -> Path:
    """Write the summary with other values in the second point of its first configuration."""
    document = json.loads(json.dumps(SUMMARY))
    document["configurations"][0]["points"][1] |= damage
    path.write_text(json.dumps(document), "utf-8")
    return path


def fitted(capsys: Any, path: Path) -> list[Any]:
    assert main(["model", "fit", "linear", str(path), "--json"]) == 0
    return list(json.loads(capsys.readouterr().out)["configurations"])


def test_a_summary_alone_has_the_points_of_the_study(path: Path) -> None:
    for found, entry in zip(read_configurations(with_point(path)), SUMMARY["configurations"], strict=True):
        assert (found.label, found.key, found.excluded) == (entry["label"], entry["key"], [])
        for point, written in zip(found.points, entry["points"], strict=True):
            assert (point.level, list(point.runs)) == (written["load"], written["runs"])
            assert point.think_time_s == written["think_time_s"]
            assert point.throughput_per_s.document() == written["throughput_per_s"]
            assert point.response_s("p99.9").document() == written["response_time_s"]["p99.9"]
            for name, times in written["transactions"].items():
                for statistic in ("mean", "p50", "p90", "p95", "p99", "p99.9"):
                    assert point.response_s(statistic, name).document() == times[f"{statistic}_s"]


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ({"throughput_per_s": {"value": "many"}}, "throughput_per_s.value must be a number, got 'many' instead"),
        ({"throughput_per_s": 5}, "throughput_per_s must be a mapping of keys to values, got 5 instead"),
        ({"throughput_per_s": None}, "its throughput is 0 or unknown"),
        ({"throughput_per_s": {"value": 0}}, "its throughput is 0 or unknown"),
        ({"throughput_per_s": {"value": -1.0}}, "throughput_per_s.value must be at least 0, got -1.0 instead"),
        (
            {"throughput_per_s": {"value": float("nan")}},
            "throughput_per_s.value must be a finite number, got nan instead",
        ),
        ({"throughput_per_s": {"value": "20"}}, "throughput_per_s.value must be a number, got '20' instead"),
        ({"throughput_per_s": {"value": HUGE}}, "throughput_per_s.value must be "),
        (
            {"throughput_per_s": {"value": 20, "confidence": 0}},
            "throughput_per_s.confidence must be at least 0.01, got 0 instead",
        ),
        (
            {"throughput_per_s": {"value": 20, "confidence": 2}},
            "throughput_per_s.confidence must be below 1, got 2 instead",
        ),
        (
            {"response_time_s": {"mean": {"value": "nan"}}},
            "response_time_s.mean.value must be a number, got 'nan' instead",
        ),
        ({"response_time_s": {"mean": {"low": []}}}, "response_time_s.mean.low must be a number, got a list instead"),
        ({"response_time_s": None}, "response_time_s must be a mapping of keys to values, got nothing instead"),
        (
            {"throughput_per_s": {"value": 20, "low": 21, "high": 19.5}},
            "throughput_per_s must have an interval with low <= high, got 21 and 19.5 instead",
        ),
        ({"users": 21, "load": 20}, "users and load must be equal, got 21 and 20 instead"),
        ({"users": None, "load": None}, "its load is unknown"),
        ({"users": None, "rate": 5.0}, "its load must be a number of users, got 5 arrivals per second"),
        ({"users": 0}, "users must be at least 1, got 0 instead"),
        ({"users": True}, "users must be a number, got true instead"),
        ({"users": {}}, "users must be a number, got a mapping instead"),
        ({"users": HUGE}, "users must be "),
        ({"users": "inf"}, "users must be a number, got 'inf' instead"),
        ({"users": float("inf")}, "users must be a finite number, got inf instead"),
        ({"think_time_s": "long"}, "think_time_s must be a number, got 'long' instead"),
        ({"runs": 1}, "runs must be a list, got 1 instead"),
        ({"verdicts": ["suspect", 3]}, "verdicts[1] must be valid, suspect or invalid, got 3 instead"),
        ({"verdicts": None}, "verdicts must be a list, got nothing instead"),
        ({"verdicts": ["invalid"]}, "invalid"),
        ({"verdicts": []}, "verdicts must have at least 1 entries, got 0 instead"),
        ({"verdicts": ["vaild"]}, "verdicts[0] must be valid, suspect or invalid, got 'vaild' instead"),
        ({"verdicts": [{"level": "invalid"}, "valid"]}, "verdicts[0] must be "),
        ({"runs": [{"run": "r1"}]}, "runs[0] must be text, got a mapping instead"),
        (
            {"tiers": {"content": {"cpus_allotted": -5}}},
            "tiers.content.cpus_allotted must be at least 0, got -5 instead",
        ),
        ({"tiers": {"content": {"cpus_allotted": 1e300}}}, "tiers.content.cpus_allotted must be at most "),
        ({"tiers": {"content": 1}}, "tiers.content must be a mapping of keys to values, got 1 instead"),
        (
            {"tiers": {"content": {"cpus_used": {"n": "x"}}}},
            "tiers.content.cpus_used.n must be a whole number, got 'x' instead",
        ),
    ],
)
def test_a_damaged_point_costs_only_itself(path: Path, damage: dict[str, Any], why: str) -> None:
    whole = read_configurations(with_point(path))
    first, second = read_configurations(with_point(path, **damage))
    assert first.points == [point for place, point in enumerate(whole[0].points) if place != 1]
    assert (first.resources, second) == (whole[0].resources, whole[1])
    (excluded,) = first.excluded
    assert excluded.why.startswith(why)
    assert excluded.run == ("point 2" if "runs" in damage else SUMMARY["configurations"][0]["points"][1]["runs"][0])


def test_a_point_that_is_no_mapping_is_named_by_its_place(path: Path) -> None:
    document = json.loads(json.dumps(SUMMARY))
    document["configurations"][0]["points"][2] = ["30 users"]
    path.write_text(json.dumps(document), "utf-8")
    (excluded,) = read_configurations(path)[0].excluded
    assert (excluded.run, excluded.load) == ("point 3", None)
    assert excluded.why == "must be a mapping of keys to values, got a list instead"


def test_what_a_model_does_not_read_may_be_damaged(path: Path) -> None:
    whole = read_configurations(with_point(path))
    first, second = read_configurations(
        with_point(path, status_codes=3, of_runs=[], elasticity="", connections=None, transactions=4)
    )
    assert ([point.runs for point in first.points], first.excluded) == ([point.runs for point in whole[0].points], [])
    assert second == whole[1]


@pytest.mark.parametrize("curve", ["linear", "network"])
def test_a_configuration_without_a_usable_point_is_refused_with_the_reasons(
    capsys: Any, path: Path, curve: str
) -> None:
    document = json.loads(json.dumps(SUMMARY))
    first, second = document["configurations"]
    for point in first["points"]:
        point["throughput_per_s"] = {"value": "many"}
    path.write_text(json.dumps(document), "utf-8")
    assert main(["model", "fit", curve, str(path), "--configuration", first["label"]]) == 4
    message = capsys.readouterr().err
    assert f"no run of {first['label']} can be modelled:" in message
    for point in first["points"]:
        assert f"  {point['runs'][0]}: throughput_per_s.value must be a number, got 'many' instead" in message
    assert main(["model", "fit", "linear", str(path), "--configuration", second["label"]]) == 0


def test_the_fit_of_the_other_points_is_that_without_the_damaged_point(capsys: Any, path: Path) -> None:
    found = fitted(capsys, with_point(path, throughput_per_s={"value": "many"}))
    document = json.loads(json.dumps(SUMMARY))
    damaged = document["configurations"][0]["points"].pop(1)
    path.write_text(json.dumps(document), "utf-8")
    without = fitted(capsys, path)
    why = "throughput_per_s.value must be a number, got 'many' instead"
    assert found[0].pop("excluded") == [{"run": ", ".join(damaged["runs"]), "load": damaged["load"], "why": why}]
    assert without[0].pop("excluded") == []
    assert found == without


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "must be a study summary, got "),
        (b"{", "must be a study summary, got "),
        (b"\xff", "must be a study summary, got 'utf-8' codec can't decode"),
        (100_000 * b"[", "must be a study summary, got brackets that are nested too deeply"),
        (
            b'{"configurations": ' + 450 * b"[" + b"NaN" + 450 * b"]" + b"}",
            "configurations[0] must be a mapping of keys",
        ),
        (b'{"configurations": ' + 5000 * b"9" + b"}", "must be a study summary, got "),
        (b"[]", "must be a JSON object, got list instead"),
        (
            b'{"schema": "towtank/run-summary/1"}',
            "must be a study summary, got a document with the schema 'towtank/run-summary/1': "
            "must have the key 'configurations', got none",
        ),
        (b'{"configurations": 5}', "no schema: configurations must be a list, got 5 instead"),
        (b'{"configurations": [5]}', "configurations[0] must be a mapping of keys to values, got 5 instead"),
        (b'{"configurations": [{"points": 3}]}', "configurations[0].points must be a list, got 3 instead"),
        (b'{"configurations": [{}]}', "configurations[0] must have the key 'points', got none"),
        (b'{"load_factor": "rate"}', "must be a study with numbers of users, got a study of arrival rates"),
    ],
)
def test_what_is_no_study_summary_is_refused(path: Path, content: bytes, words: str) -> None:
    path.write_bytes(content)
    with pytest.raises(StudyError) as refused:
        read_configurations(path)
    assert words in str(refused.value)


def test_no_usable_point_is_status_4_with_every_reason(capsys: Any, path: Path) -> None:
    path.write_text('{"configurations": [{"points": [5, {"users": 3, "verdicts": ["valid"]}]}]}', "utf-8")
    assert main(["model", "fit", "linear", str(path)]) == 4
    shown = capsys.readouterr().err
    assert "point 1: must be a mapping of keys to values, got 5 instead" in shown
    assert "point 2: its throughput is 0 or unknown" in shown


@pytest.mark.parametrize("verdict", ["supported", "doubtful"])
def test_a_sizing_names_the_points_that_its_model_does_not_use(path: Path, verdict: str) -> None:
    label = SUMMARY["configurations"][0]["label"]
    basis = load_basis(with_point(path, throughput_per_s="many"), ModelChoice(configuration=label))
    run = SUMMARY["configurations"][0]["points"][1]["runs"][0]
    (text,) = basis.not_used
    assert text.startswith(f"not used for the model, {run}: throughput_per_s must be a mapping of keys to values, got")
    assert basis.fitted is not None
    question: Any = SimpleNamespace(
        basis=replace(basis, fitted=basis.fitted.model_copy(update={"verdict": verdict})),
        counted=("demands",),
        draws=100,
        file=SimpleNamespace(data=None),
    )
    found = _doubts(question, None, None)
    assert text in found
    assert any("only with doubts" in doubt for doubt in found) == (verdict == "doubtful" and not basis.doubts)


def test_of_many_points_a_sizing_names_three() -> None:
    runs = [ExcludedRun(f"r{number}", None, "invalid: a; b") for number in range(5)]
    named = [f"not used for the model, r{number}: invalid: a" for number in range(3)]
    assert not_used([]) == ()
    assert not_used(runs[:3]) == tuple(named)
    assert not_used(runs) == (*named, "2 more not used for the model: see `towtank model fit`")


@pytest.mark.parametrize(
    "damage",
    [
        {"throughput_per_s": {"value": 20.0, "n": HUGE}},
        {"throughput_per_s": {"value": 20.0, "confidence": 1e-320}},
        {"throughput_per_s": {"value": 1e308}},
        {"throughput_per_s": {"value": 20.0, "needs_s": "x"}},
        {"throughput_per_s": {"value": 20.0, "resolution": 1e300}},
        {"users": 5e-324},
        {"users": "inf"},
        {"think_time_s": 1e308},
    ],
)
def test_numbers_that_no_system_reaches_cost_only_their_point(capsys: Any, path: Path, damage: dict[str, Any]) -> None:
    def refuse(text: str) -> None:
        raise AssertionError(text)

    assert main(["model", "fit", "linear", str(with_point(path, **damage)), "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out, parse_constant=refuse)["configurations"]
    assert (len(first["excluded"]), second["excluded"]) == (1, [])
