"""A report reuses the capacity model that is stored in the results folder, as long as it belongs to these results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from results_1 import copy_of_results_1

from towtank import containment
from towtank.containment import contained
from towtank.model.fitting import capacity
from towtank.report.content import prediction
from towtank.report.document import Callout
from towtank.report.source import _capacity, load_results, measured_results
from towtank.results import kept


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Replace the fit of models by a function that records the folders for which a model is requested. Return this
    record.
    """
    folders: list[Path] = []

    def make(folder: Path) -> dict[str, Any]:
        folders.append(folder)
        return {"schema": capacity.SCHEMA, "refused": None, "configurations": [{"number": float("nan")}]}

    monkeypatch.setattr("towtank.model.capacity_document", make)
    return folders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copy_of_results_1(tmp_path / "results").path


def stored(folder: Path) -> dict[str, Any]:
    """Return the content of the stored model of a results folder."""
    found: dict[str, Any] = json.loads((folder / "model.json").read_text("utf-8"))
    return found


def test_a_kept_model_is_the_model(folder: Path, made: list[Path]) -> None:
    first = load_results(folder).model
    assert stored(folder)["configurations"] == [{"number": None}]
    assert load_results(folder).model == first
    assert made == [folder]


@pytest.mark.parametrize("changed", ["study.json", "runs/r001/run.json", "recorded"])
def test_other_recorded_files_have_another_model(folder: Path, made: list[Path], changed: str) -> None:
    load_results(folder)
    path = next((folder / "runs/r001/engine").iterdir()) if changed == "recorded" else folder / changed
    path.write_bytes(path.read_bytes() + b"\n")
    load_results(folder)
    assert len(made) == 2


def test_a_summary_is_no_recorded_file(folder: Path, made: list[Path]) -> None:
    load_results(folder)
    for path in folder.glob("runs/*/summary.json"):
        path.unlink()
    load_results(folder)
    assert len(made) == 1


def test_another_program_makes_another_model(folder: Path, made: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    load_results(folder)
    monkeypatch.setattr(kept, "code", lambda: "another")
    load_results(folder)
    assert len(made) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"made_from": null}', '{"made_from": {"files": "x"}}'])
def test_a_damaged_model_is_made_again(folder: Path, made: list[Path], text: str) -> None:
    (folder / "model.json").write_text(text)
    load_results(folder)
    assert stored(folder)["configurations"] == [{"number": None}]
    assert len(made) == 1


def test_a_model_without_one_of_its_parts_is_not_used_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    faults = iter([True, False, False])

    def make(_: Path) -> dict[str, Any]:
        def part() -> int:
            if next(faults):
                raise RuntimeError("on purpose")
            return 1

        return {"schema": capacity.SCHEMA, "part": containment.attempt_or("a part", None, part)}

    monkeypatch.setattr("towtank.model.capacity_document", make)
    for expected, is_kept in ((None, False), (1, True), (1, True)):
        with contained():
            load_results(folder)
        assert stored(folder)["part"] == expected
        assert (stored(folder)["made_from"] is not None) == is_kept
    assert next(faults) is False


@pytest.mark.parametrize("damaged", ['{"schema": "towtank/prediction/1", "from": 3}', "[1, 2]"])
def test_a_malformed_model_or_prediction_is_named_in_place_of_its_section(folder: Path, damaged: str) -> None:
    (folder / "prediction.json").write_text(damaged, "utf-8")
    found = measured_results(folder)
    section = prediction.build(found)
    if damaged.startswith("{"):
        assert section is not None
        (callout,) = [block for block in section.blocks if isinstance(block, Callout)]
        assert "prediction.json is not a prediction of a study." in repr(callout.content)
    else:
        assert section is None
    refused = _capacity({"configurations": [{"label": 3}]})
    assert refused.refused == "model.json is not a capacity model"
    assert refused.modelled == []
