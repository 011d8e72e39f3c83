from __future__ import annotations

import json
from pathlib import Path

import pytest

from towtank.results.kept import finite, made_or_kept, read_finite


@pytest.mark.parametrize("text", ['{"x": NaN}', '{"x": -Infinity}', '{"x": [1e999]}', '{"x": -2E+400, "y": "NaN"}'])
def test_numbers_that_are_not_finite_are_read_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "document.json"
    path.write_text(text)
    assert read_finite(path)["x"] in (None, [None])


def test_finite_numbers_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    path.write_text('{"a": [1e300, 1e-400, 2], "b": "1e999"}')
    assert read_finite(path) == {"a": [1e300, 0.0, 2], "b": "1e999"}
    assert finite({"a": (float("nan"), 1)}) == {"a": [None, 1]}


@pytest.mark.parametrize("text", [None, "", "[1]", "{"])
def test_a_file_without_an_object_is_empty(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "document.json"
    if text is not None:
        path.write_text(text)
    assert read_finite(path) == {}


def test_without_known_sources_a_document_is_made_each_time(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> dict[str, int]:
        made.append(1)
        return {"number": len(made)}

    path = tmp_path / "document.json"
    assert made_or_kept(path, make, lambda: None) == {"number": 1}
    assert made_or_kept(path, make, lambda: None) == {"number": 2}
    assert made_or_kept(path, make, lambda: {"files": "x"}) == {"number": 3}
    assert made_or_kept(path, make, lambda: {"files": "x"}) == {"number": 3}
    assert made_or_kept(path, make, lambda: {"files": "y"}) == {"number": 4}


def test_a_changed_or_damaged_document_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    numbers = iter(range(1, 9))

    def made() -> dict[str, object]:
        return made_or_kept(path, lambda: {"number": next(numbers), "share": 0.1}, lambda: {"files": "x"})

    assert made()["number"] == made()["number"] == 1
    path.write_text(path.read_text().replace('"number": 1', '"number": 7'))
    assert made()["number"] == 2
    document = json.loads(path.read_text())
    del document["share"]
    path.write_text(json.dumps(document))
    assert made() == {"number": 3, "share": 0.1}


def test_a_link_in_a_results_folder_is_replaced_and_its_target_kept(tmp_path: Path) -> None:
    outside, path = tmp_path / "outside", tmp_path / "document.json"
    outside.write_text("mine")
    path.symlink_to(outside)
    made_or_kept(path, lambda: {"number": 1}, lambda: {"files": "x"})
    assert outside.read_text() == "mine"
    assert not path.is_symlink()
    assert json.loads(path.read_text())["number"] == 1
