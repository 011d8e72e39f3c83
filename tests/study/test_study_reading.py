"""Each file of a study is read only once, even if the study has several presets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tiny_study import write_tiny_study

from towtank import filecheck, yamlfile
from towtank.yamlfile import Document

PRESETS = "presets: {quick: {repetitions: 2}, slow: {repetitions: 3}}\n"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each file is read, and return the counts by file name."""
    counted: Counter[str] = Counter()
    load = yamlfile.load

    def record(path: Path | str) -> Document:
        counted[Path(path).name] += 1
        return load(path)

    monkeypatch.setattr(yamlfile, "load", record)
    return counted


def test_each_file_is_read_once(tmp_path: Path, read: Counter[str]) -> None:
    study = write_tiny_study(tmp_path)
    study.write_text(study.read_text() + PRESETS)
    assert filecheck.check_file(study).faults == []
    assert read == {"study.yaml": 1, "system.yaml": 1, "workload.yaml": 1}


def test_a_preset_that_names_another_file_reads_it(tmp_path: Path, read: Counter[str]) -> None:
    study = write_tiny_study(tmp_path)
    (tmp_path / "other.yaml").write_text((tmp_path / "workload.yaml").read_text().replace("look", "see"))
    study.write_text(study.read_text() + "presets: {other: {workload: other.yaml}}\n")
    assert filecheck.check_file(study).faults == []
    assert read == {"study.yaml": 1, "system.yaml": 1, "workload.yaml": 1, "other.yaml": 1}


def test_an_unreadable_file_is_one_fault_at_its_key(tmp_path: Path) -> None:
    study = write_tiny_study(tmp_path)
    study.write_text(study.read_text() + PRESETS)
    (tmp_path / "workload.yaml").unlink()
    (fault,) = filecheck.check_file(study).faults
    assert fault.where == "workload"
    assert f"({tmp_path / 'workload.yaml'})" in fault.message
