from __future__ import annotations

import errno
import stat
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError
from towtank.results import folder as folders
from towtank.results import tables
from towtank.results.folder import ResultsFolder, RunFolder, keep_json, offer_json
from towtank.results.recording import Recording
from towtank.results.stored import read_ledger
from towtank.secrets import HIDDEN


def test_only_the_owner_reads_the_plan(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "r001", {"status": "planned"})
    run.write_plan({"logins": ["x"]})
    assert stat.S_IMODE(run.plan.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("number", "kept", "offered"),
    [
        (errno.EROFS, False, False),
        (errno.EACCES, False, False),
        (errno.EPERM, False, False),
        (errno.ENOSPC, None, False),
    ],
)
def test_a_derived_document_needs_no_writable_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kept: bool | None, offered: bool
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(number, "refused")

    path = tmp_path / "document.json"
    assert keep_json(path, {}) is True
    assert offer_json(path, {}) is True
    monkeypatch.setattr(folders, "write_json", refuse)
    assert offer_json(path, {}) is offered
    if kept is None:
        with pytest.raises(OSError, match="refused"):
            keep_json(path, {})
    else:
        assert keep_json(path, {}) is kept


def test_runs_are_sorted_without_interrupted_attempts(tmp_path: Path) -> None:
    results = ResultsFolder.create(tmp_path / "out", {"study": {"name": "x"}})
    for name in ("r002", "r001", "r003.interrupted-1"):
        RunFolder.create(results.run_path(name), {"status": "complete"})
    (results.path / "runs" / "r004").mkdir()
    assert [run.run_id for run in results.runs()] == ["r001", "r002"]


@pytest.mark.parametrize(("kind", "got"), [("folder", "a folder without it"), ("file", "a file"), ("none", "nothing")])
def test_what_is_no_results_folder_is_named(tmp_path: Path, kind: str, got: str) -> None:
    path = tmp_path / "out"
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("x")
    with pytest.raises(StudyError, match=f"must be a results folder with a study.json, got {got}"):
        ResultsFolder.open(path)


def test_hidden_settings_need_their_file(tmp_path: Path) -> None:
    results = ResultsFolder.create(tmp_path / "out", {"command": {"changes": ["seed=1"]}})
    assert results.changes == ("seed=1",)
    results.update(command={"changes": ["seed=1", f"parameters.pass={HIDDEN}"]})
    with pytest.raises(StudyError, match=r"secrets\.json: .*contains the values of parameters\.pass"):
        _ = results.changes
    (results.path / "secrets.json").write_text('{"changes": ["seed=1", "parameters.pass=x"]}')
    assert results.changes == ("seed=1", "parameters.pass=x")


@pytest.mark.parametrize(("number", "item"), [(-1, "-1"), (0, "read"), (1, "write"), (2, "2")])
def test_an_index_without_a_name_is_shown_as_a_number(number: int, item: str) -> None:
    assert tables._item(["read", "write"], number) == item


def test_metrics_without_a_header_count_from_the_first_sample(tmp_path: Path) -> None:
    samples = [{"t_ns": 5 * 10**9, "host": {"load": 1}}, {"t_ns": 7 * 10**9, "host": {"load": [2, True, "x"]}}]
    written: list[dict[str, Any]] = []
    stream = tables.ProbeStream(samples=samples)
    written.extend(tables._metric_rows(stream, {}, 5 * 10**9))
    assert [(row["t_s"], row["metric"], row["value"]) for row in written] == [
        (0.0, "host.load", 1.0),
        (2.0, "host.load.0", 2.0),
        (2.0, "host.load.1", 1.0),
    ]


def test_clocks_of_a_sample_are_no_metrics_but_may_be_names_below() -> None:
    sample = {"k": "sample", "t_ns": 1, "wall_ns": 2, "host": {"k": 3, "t_ns": 4}}
    assert list(tables._leaves(sample)) == [("host.k", 3.0), ("host.t_ns", 4.0)]


def test_values_that_are_missing_are_not_a_number_in_a_table() -> None:
    assert tables._array([1, None], "BIGINT").tolist()[0] == 1.0
    assert tables._array([1, 2], "BIGINT").dtype == int
    assert tables._array([1.5, 2], "DOUBLE").tolist() == [1.5, 2.0]
    assert tables._array([None, "x"], "VARCHAR").tolist() == [None, "x"]


def test_an_empty_folder_has_an_empty_ledger(tmp_path: Path) -> None:
    found = read_ledger(tmp_path)
    assert (found.things, found.removed, found.of("documents")) == ({}, {}, {})
    assert list(tables._interval_rows(Recording(), lambda _: {})) == []
