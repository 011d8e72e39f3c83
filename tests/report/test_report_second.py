"""When the same results are reported a second time, the command only reads files: no analysis, no fit, no drawing, and
no other process.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from results_1 import copy_with_model

from towtank import model, report
from towtank.analysis import study
from towtank.analysis.run import summary
from towtank.cli import app
from towtank.report import pictures, runs_over_time
from towtank.results import segments, write_json


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, kept_model: Path) -> Path:
    """Return a results folder that was already analysed and reported."""
    folder = copy_with_model(tmp_path_factory.mktemp("second") / "results", kept_model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "static_svg", lambda spec: f"<svg><title>{len(spec)}</title></svg>")
        assert app.run(["analyse", str(folder)]) == 0
        assert app.run(["report", str(folder)]) == 0
    return folder


def test_analyse_names_the_documents(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["analyse", str(results), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["schema"] == "towtank/analyse/1"
    assert printed["documents"] == [
        str(results / name) for name in ("study-summary.json", "model.json", "runs-over-time.json")
    ]
    assert app.run(["analyse", str(results)]) == 0
    assert f"document: {results / 'model.json'}" in capsys.readouterr().out


def test_analyse_names_relaxed_limits(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    manifest = json.loads((folder / "study.json").read_text("utf-8"))
    manifest["study"]["limits"] = {"interference": 1.0}
    write_json(folder / "study.json", manifest)
    assert app.run(["analyse", str(folder)]) == 0
    assert "verdict: suspect with relaxed limits" in capsys.readouterr().out.splitlines()


def test_what_is_no_results_folder_is_not_analysed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["analyse", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_a_second_report_only_reads(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = results / "report.html"
    first = page.read_bytes()

    def refuse(*arguments: Any, **_keywords: Any) -> Any:
        raise AssertionError(f"made again from {arguments}")

    for place, name in (
        (summary, "describe"),
        (study, "describe_study"),
        (model, "capacity_document"),
        (pictures, "static_svg"),
        (segments, "read"),
        (subprocess, "Popen"),
    ):
        monkeypatch.setattr(place, name, refuse)
    page.unlink()
    runs_over_time._read.cache_clear()
    assert app.run(["report", str(results)]) == 0
    assert page.read_bytes() == first


@pytest.mark.parametrize("damage", ["recordings", "document"])
def test_heat_maps_are_computed_again_if_their_recordings_or_the_stored_file_changed(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    kept = folder / runs_over_time.OVER_TIME_FILE
    stored = json.loads(kept.read_text("utf-8"))
    run = next(iter(stored["runs"]))
    if damage == "document":
        stored["runs"][run]["cells"]["per_s"][0] += 1.0
        write_json(kept, stored)
    else:
        segment = next((folder / "runs" / run / "engine").glob("worker-*.ndjson"))
        segment.write_bytes(segment.read_bytes() + b"torn")
    read: list[Path] = []
    monkeypatch.setattr(runs_over_time, "_read", lambda path, _: read.append(path) or runs_over_time.Recorded())
    report.load_results(folder)
    assert folder / "runs" / run / "engine" in read


def test_the_stored_heat_map_is_the_computed_one(results: Path) -> None:
    stored = json.loads((results / runs_over_time.OVER_TIME_FILE).read_text("utf-8"))
    assert stored["runs"]
    for run, entry in stored["runs"].items():
        computed = runs_over_time._read(results / "runs" / run / "engine", "")
        assert runs_over_time.StoredRun(**entry).recorded() == computed


def test_a_second_report_imports_no_fitting(results: Path) -> None:
    program = f"from towtank.cli.app import run; run(['report', {str(results)!r}]); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    imported = set(done.stdout.split())
    heavy = {
        "duckdb",
        "scipy.optimize",
        "scipy.stats",
        "scipy.interpolate",
        "towtank.system.model",
        "towtank.sizing.sizing",
        "towtank.sizing.evaluate",
        "towtank.model.fitting.shape",
    }
    assert imported & heavy == set()
    assert "towtank.report.html" in imported
