"""The summary of a study is computed once. It is computed again only if its runs or the programs change."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from results_1 import copy_of_results_1

from towtank import containment
from towtank.analysis import study, summarize_study
from towtank.containment import contained
from towtank.results import kept
from towtank.results.folder import ResultsFolder, write_json


@pytest.fixture(scope="module")
def summarized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results folder with two runs and all summaries."""
    results = copy_of_results_1(tmp_path_factory.mktemp("kept") / "results")
    for run in results.runs()[2:]:
        shutil.rmtree(run.path)
    summarize_study(results)
    return results.path


@pytest.fixture
def results(summarized: Path, tmp_path: Path) -> ResultsFolder:
    return ResultsFolder.open(Path(shutil.copytree(summarized, tmp_path / "results")))


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which every computation of a study summary appends the number of runs."""
    made: list[int] = []
    describe = study.describe_study

    def record(manifest: dict[str, Any], runs: list[dict[str, Any]]) -> dict[str, Any]:
        made.append(len(runs))
        return describe(manifest, runs)

    monkeypatch.setattr(study, "describe_study", record)
    return made


def test_a_second_summary_only_reads(results: ResultsFolder, described: list[int], summarized: Path) -> None:
    written = json.loads((summarized / "study-summary.json").read_text())
    assert summarize_study(results) == {key: value for key, value in written.items() if key != "made_from"}
    assert described == []


def test_another_manifest_makes_another_summary(results: ResultsFolder, described: list[int]) -> None:
    write_json(results.path / "study.json", {**results.manifest, "note": "changed"})
    summarize_study(results)
    summarize_study(results)
    assert described == [2]


def test_a_changed_record_makes_another_summary(results: ResultsFolder, described: list[int]) -> None:
    results.runs()[0].update(status="failed")
    summarize_study(results)
    assert described == [2]


def test_a_missing_run_makes_another_summary(results: ResultsFolder, described: list[int]) -> None:
    shutil.rmtree(results.runs()[0].path)
    assert [run["run"] for run in summarize_study(results)["runs"]] == [run.run_id for run in results.runs()]
    assert described == [1]


def test_other_programs_make_another_summary(
    results: ResultsFolder, described: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "code", lambda: "another")
    summarize_study(results)
    assert described == [2]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"made_from": null}'])
def test_a_damaged_summary_is_made_again(results: ResultsFolder, described: list[int], text: str) -> None:
    before = summarize_study(results)
    (results.path / "study-summary.json").write_text(text)
    assert summarize_study(results) == before
    assert described == [2]


def test_a_missing_answer_of_claims_is_made_again(results: ResultsFolder, described: list[int]) -> None:
    (results.path / "claims.json").write_text("{}")
    summarize_study(results)
    assert described == [2]


def test_a_summary_with_a_failed_part_is_made_again(
    results: ResultsFolder, described: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (results.path / "study-summary.json").unlink()
    make = containment._make

    def make_or_fail(part: str, *arguments: Any, **keywords: Any) -> Any:
        if part == "observations":
            raise RuntimeError("on purpose")
        return make(part, *arguments, **keywords)

    with monkeypatch.context() as patch, contained() as parts:
        patch.setattr(containment, "_make", make_or_fail)
        assert summarize_study(results)["observations"] == []
    assert [failed.part for failed in parts.failed] == ["observations"]
    assert summarize_study(results)["observations"] != []
    assert described == [2, 2]
