"""Benchmark kernels of `towtank rate`: deletion of their temporary files, and failures of the engine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from rating_lines import lines

from towtank.conduct.rating import QUICK_RATING, file_system, huge_pages, measure
from towtank.errors import EngineError, StudyError


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Shell script that replaces the engine. It leaves a file in its working folder and prints prepared lines."""
    program = tmp_path / "engine"
    program.write_text('#!/bin/sh\necho "$@" > "$0.seen"\ntouch "$3/left"\ncat "$0.lines"\nexit $(cat "$0.status")\n')
    program.chmod(0o755)
    (tmp_path / "engine.status").write_text("0")
    (tmp_path / "engine.lines").write_text("".join(json.dumps(line) + "\n" for line in lines()))
    monkeypatch.setenv("TOWTANK_ENGINE", str(program))
    return program


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


def test_turns_are_reported_and_nothing_is_left(engine: Path, folder: Path) -> None:
    found: list[tuple[str, int]] = []
    measurement = measure(folder, QUICK_RATING, lambda turn, total: found.append((turn.kernel, total)))
    assert len(measurement.turns) == len(found) == 120
    assert {total for _, total in found} == {120}
    seen = os.fsdecode(engine.with_suffix(".seen").read_bytes())
    command, _, options = seen.partition(" --rounds ")
    assert options.split()[:3] == ["3", "--turn", "0.12"]
    assert command.split(" ")[0] == "rate"
    assert Path(command.split(" ", 2)[2]).parent == folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("not JSON\n", 0, "must write JSON"),
        ("[]\n", 0, "must write JSON objects"),
        ("", 0, "ended before the last kernel"),
        ('{"event": "begin", "kernels": []}\n', 0, "ended before the last kernel"),
        ("", 3, "ended with status 3"),
    ],
)
def test_an_engine_that_fails_is_reported(engine: Path, folder: Path, text: str, status: int, reason: str) -> None:
    engine.with_suffix(".lines").write_text(text)
    engine.with_suffix(".status").write_text(str(status))
    with pytest.raises(EngineError, match=reason):
        measure(folder, QUICK_RATING)
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_not_there_is_reported(engine: Path, folder: Path) -> None:
    with pytest.raises(StudyError, match="--folder: must be a folder that exists"):
        measure(folder / "nowhere", QUICK_RATING)


def test_the_file_system_is_that_of_the_last_of_the_longest_mounts(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    table = tmp_path / "mounts"
    place = str(tmp_path / "a b").replace(" ", "\\040")
    text = (
        "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
        f"2 1 0:2 / {place} rw shared:1 - xfs /dev/sdb rw\n"
        f"3 1 0:3 / {place} rw - tmpfs tmpfs rw\n"
        "broken line\n"
    )
    table.write_bytes(os.fsencode(text))
    assert file_system(tmp_path / "a b", table) == "tmpfs"
    assert file_system(tmp_path, table) == "ext4"
    assert file_system(tmp_path, tmp_path / "missing") is None


def test_huge_pages_are_as_the_system_says(tmp_path: Path) -> None:
    setting = tmp_path / "enabled"
    setting.write_text("always [madvise] never\n")
    assert huge_pages(setting) == "madvise"
    assert huge_pages(tmp_path / "missing") is None
