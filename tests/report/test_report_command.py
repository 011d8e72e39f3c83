"""`towtank report` writes a file, whatever the results folder contains."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import report_synthetic as synthetic
from results_1 import copy_with_model

from towtank.cli import app
from towtank.report import write_loaded_report, write_report
from towtank.report.source import load_results
from towtank.results.kept import finite

RUNS = 8


@pytest.fixture
def results(tmp_path: Path, kept_model: Path) -> Path:
    """A copy of the results folder in the repository, because the analysis writes into the folder that it reads."""
    return copy_with_model(tmp_path / "results-1", kept_model)


@pytest.fixture
def towtank(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command line with `report` as its only command."""
    monkeypatch.setattr(app, "COMMANDS", ("report", "report"))
    monkeypatch.setattr(app, "GROUPS", ())
    return app.run


def plain(path: Path) -> str:
    """Return the text of an HTML page without scripts and tags. Code and bold words are parts of a sentence."""
    page = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", path.read_text("utf-8"), flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", re.sub(r"</?(code|strong)\b[^>]*>", "", page))


@pytest.mark.waits
def test_writes_the_report_into_the_results_folder(
    towtank: Any, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = towtank(["report", str(results), "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert status == 0
    assert printed["schema"] == "towtank/report/1"
    assert printed["report"] == str(results / "report.html")
    assert printed["verdict"] in ("valid", "suspect")
    page = " ".join(plain(results / "report.html").replace("&#39;", "'").replace("&lt;", "<").split())
    pieces = [piece for sentence in printed["headline"].split(". ") for piece in sentence.rstrip(".").split("; ")]
    assert [piece for piece in pieces if piece not in page] == []


def test_limits_that_the_study_relaxed_are_named(
    towtank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = synthetic.results()
    relaxed = [{"limit": "interference", "value": 1.0, "default": 0.1}]
    verdict = {**found.summary["verdict"], "relaxed_limits": relaxed}
    changed = dataclasses.replace(found, summary={**found.summary, "verdict": verdict})
    monkeypatch.setattr("towtank.report.load_results", lambda _: changed)
    monkeypatch.setattr("towtank.report.write_loaded_report", lambda *_: tmp_path / "report.html")
    assert towtank(["report", str(tmp_path)]) == 0
    said = "verdict: valid; relaxed limits: interference up to 100 % allowed (default 10 %)"
    assert said in capsys.readouterr().out
    assert towtank(["report", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["relaxed_limits"] == relaxed


@pytest.mark.waits
def test_people_get_headline_verdict_and_path(
    towtank: Any, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert towtank(["report", str(results), "--out", str(tmp_path / "deep" / "out.html")]) == 0
    out = capsys.readouterr().out
    assert "verdict: " in out
    assert f"report: {tmp_path / 'deep' / 'out.html'}" in out
    assert (tmp_path / "deep" / "out.html").is_file()


def test_folder_without_results_is_refused(towtank: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert towtank(["report", str(tmp_path)]) == 2
    assert "must be a results folder" in capsys.readouterr().err


def test_folder_of_a_run_is_refused_with_the_way_out(
    towtank: Any, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert towtank(["report", str(results / "runs" / "r001")]) == 2
    assert "hint: name the results folder, two levels up" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00"])
def test_broken_manifest_is_an_input_fault(
    towtank: Any, results: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (results / "study.json").write_text(content)
    assert towtank(["report", str(results)]) == 2
    assert "must be a JSON object" in capsys.readouterr().err


def test_place_that_cannot_be_written_is_said(towtank: Any, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (results / "blocked").write_text("a file, not a folder")
    assert towtank(["report", str(results), "--out", str(results / "blocked" / "x.html")]) == 2
    assert "must be a file that can be written" in capsys.readouterr().err


def test_no_valid_run_still_gives_a_report(towtank: Any, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run in (results / "runs").iterdir():
        shutil.rmtree(run)
    assert towtank(["report", str(results), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["verdict"] == "invalid"
    assert "8 runs of 8 could not be judged" in " ".join(plain(results / "report.html").split())


@pytest.mark.waits
def test_same_folder_gives_the_same_bytes(results: Path) -> None:
    first = write_report(results).read_bytes()
    assert write_report(results).read_bytes() == first


@pytest.mark.waits
def test_missing_and_cut_off_runs_are_named(results: Path) -> None:
    shutil.rmtree(results / "runs" / "r003")
    segment = results / "runs" / "r004" / "engine" / "worker-00.0000.ndjson"
    segment.write_bytes(segment.read_bytes()[: segment.stat().st_size // 2])
    (results / "runs" / "r004" / "engine" / "engine.json").unlink()
    (results / "runs" / "r004" / "summary.json").unlink()
    manifest = json.loads((results / "runs" / "r004" / "run.json").read_text())
    (results / "runs" / "r004" / "run.json").write_text(json.dumps({**manifest, "status": "running"}))
    text = " ".join(plain(write_report(results)).split())
    assert "r003 (not run)" in text
    assert "cut off" in text


def test_results_of_a_single_run(results: Path) -> None:
    for run in (results / "runs").iterdir():
        if run.name != "r004":
            shutil.rmtree(run)
    manifest = json.loads((results / "study.json").read_text())
    manifest["design"] = [planned for planned in manifest["design"] if planned["run"] == "r004"]
    (results / "study.json").write_text(json.dumps(manifest))
    text = " ".join(plain(write_report(results)).split())
    assert "1 of 1 run valid" in text
    assert "No figure of throughput relative to the lowest level" in text


def test_runs_set_aside_are_not_shown(results: Path) -> None:
    shutil.copytree(results / "runs" / "r001", results / "runs" / "r001.interrupted-1")
    assert [run.run_id for run in load_results(results).runs] == [f"r{number:03d}" for number in range(1, RUNS + 1)]


def test_hashes_can_be_checked_by_hand(results: Path) -> None:
    found = {entry.path: entry for entry in load_results(results).hashes}
    assert found["study.json"].sha256 == hashlib.sha256((results / "study.json").read_bytes()).hexdigest()
    run = results / "runs" / "r001"
    names = [run / "run.json", *sorted((run / "engine").iterdir()), *sorted((run / "observe").iterdir())]
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(results).as_posix()}\n" for p in names]
    assert found["runs/r001"].sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert found["runs/r001"].files == len(names)


DAMAGES = {
    "segment torn": ("runs/r001/engine/worker-00.0000.ndjson", 0.5),
    "segment empty": ("runs/r001/engine/worker-00.0000.ndjson", 0.0),
    "engine.json torn": ("runs/r001/engine/engine.json", 0.5),
    "run.json torn": ("runs/r001/run.json", 0.5),
    "probe torn": ("runs/r001/observe/probe.ndjson", 0.3),
    "probe empty": ("runs/r001/observe/probe.ndjson", 0.0),
    "summary torn": ("runs/r001/summary.json", 0.5),
}


@pytest.mark.waits
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_one_run_spares_the_others(results: Path, damage: str) -> None:
    name, kept = DAMAGES[damage]
    path = results / name
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    found = load_results(results)
    assert write_loaded_report(found, results / "report.html").is_file()
    assert [run.run_id for run in found.runs if run.summary][-7:] == [f"r{number:03d}" for number in range(2, 9)]


def test_numbers_that_are_none_become_absent() -> None:
    assert finite({"a": [1.0, float("nan")], "b": float("inf"), "c": "x"}) == {
        "a": [1.0, None],
        "b": None,
        "c": "x",
    }
