"""The sizing answer for a study is stored; it is computed again only if one of its inputs changes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import ModelError
from towtank.report import sizing_source
from towtank.report.sizing_source import sizing_of

TEXT = """
schema: towtank/sizing/1
title: Of the study
objectives: [p95 < 1 s]
machine_files: [machines.yaml]
load:
  users: 60
  history: {csv: days.csv, date: day, load: users}
"""
RECORDED = ["12  study.json\n"]


class Question:
    """Results folder of a study with a sizing question, and the count of computations of its answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.origin = folder / "origin"
        self.made: list[int] = []
        self.error: str | None = None
        (folder / "files").mkdir()
        self.origin.mkdir()
        (self.origin / "days.csv").write_text("day,users\n")

    def write(self, question: str = TEXT) -> None:
        (self.folder / "files" / "sizing.yaml").write_text(question)

    def size(self, *_arguments: Any) -> dict[str, Any]:
        """Count a computation of the sizing answer, and return a fixed answer. Replaces the real computation, which
        takes seconds.
        """
        self.made.append(1)
        if self.error is not None:
            raise ModelError(self.error)
        return {"schema": "towtank/size/1", "answer": {"number": len(self.made), "error": float("nan")}}

    def answer(self, recorded: list[str] | None = None) -> Any:
        entry = {"role": "sizing", "name": "sizing.yaml", "path": str(self.origin / "sizing.yaml")}
        return sizing_of(self.folder, {"files": [entry]}, RECORDED if recorded is None else recorded)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Question:
    found = Question(tmp_path)
    found.write()
    monkeypatch.setattr("towtank.sizing.load_basis", lambda folder: folder)
    monkeypatch.setattr("towtank.sizing.size", found.size)
    return found


def test_a_kept_answer_is_the_answer(asked: Question) -> None:
    first = asked.answer()
    assert first == {"schema": "towtank/size/1", "answer": {"number": 1, "error": None}}
    assert asked.answer() == first
    assert len(asked.made) == 1


@pytest.mark.parametrize("name", ["days.csv", "machines.yaml"])
def test_a_file_that_the_question_names_makes_another_answer(asked: Question, name: str) -> None:
    asked.answer()
    (asked.origin / name).write_text("changed")
    assert asked.answer()["answer"]["number"] == 2
    assert asked.answer()["answer"]["number"] == 2


def test_other_recorded_files_make_another_answer(asked: Question) -> None:
    asked.answer()
    assert asked.answer(["34  study.json\n"])["answer"]["number"] == 2


def test_without_hashes_nothing_kept_is_used(asked: Question) -> None:
    asked.answer()
    assert asked.answer([])["answer"]["number"] == 2


class Tomorrow(datetime):
    """A clock that is set to a later day."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime(2199, 1, 1, tzinfo=tz)


@pytest.mark.parametrize(("start", "answers"), [("", 2), ("\n  start: '2026-01-01'", 1)])
def test_an_answer_that_begins_today_ends_with_the_day(
    asked: Question, monkeypatch: pytest.MonkeyPatch, start: str, answers: int
) -> None:
    asked.write(TEXT.rstrip() + start + "\n")
    asked.answer()
    monkeypatch.setattr(sizing_source, "datetime", Tomorrow)
    asked.answer()
    assert len(asked.made) == answers
    assert datetime.now(UTC).year < 2199


def test_a_refusal_is_kept_too(asked: Question) -> None:
    asked.error = "three levels are needed"
    assert asked.answer() == {"refused": "three levels are needed"}
    assert asked.answer() == {"refused": "three levels are needed"}
    assert len(asked.made) == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"source_files": {"paths": 3}}', '{"source_files": []}'])
def test_a_damaged_answer_is_made_again(asked: Question, text: str) -> None:
    (asked.folder / "study-sizing.json").write_text(text)
    assert asked.answer()["answer"]["number"] == 1
    kept = json.loads((asked.folder / "study-sizing.json").read_text())
    assert kept["source_files"] == {
        "paths": [str(asked.origin / "machines.yaml"), str(asked.origin / "days.csv")],
        "today": True,
    }
