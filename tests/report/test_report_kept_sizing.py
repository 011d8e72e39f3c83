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
from towtank.sizing import SizingResult, TrustResult
from towtank.sizing.result import LoadResult, SearchCounts

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


def sized(number: int) -> SizingResult:
    """Return a result without an answer, with a number of candidates and a number that JSON cannot represent."""
    return SizingResult(
        schema="towtank/size/1",
        title=None,
        source="model",
        objectives=("p95 < 1 s",),
        utilization_at_most={},
        nodes_lost=0,
        probability_asked=0.9,
        load=LoadResult(users={}, rate_per_s={}, think_s={}),
        start="2026-01-01",
        start_is="given",
        cost_by="CPUs",
        cost_unit="CPUs",
        search=SearchCounts(candidates=number, cut=0, passed_over=0, tried=0, simulated=0),
        answer=None,
        next_cheaper=None,
        strongest=None,
        pareto=(),
        bottlenecks=(),
        connections=float("nan"),
        pools={},
        what_if=(),
        dates=(),
        trust=TrustResult(measured=None, range="", held_out_error=None, assumptions=(), doubts=()),
        steps=(),
    )


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

    def size(self, *_arguments: Any) -> dict[str, object]:
        """Count a computation of the sizing answer, and return a fixed answer. Replaces the real computation, which
        takes seconds.
        """
        self.made.append(1)
        if self.error is not None:
            raise ModelError(self.error)
        return sized(len(self.made)).document()

    def number(self, recorded: list[str] | None = None) -> int:
        """Return the number of the computation that made the answer of the report."""
        found = self.answer(recorded)
        assert isinstance(found, SizingResult)
        return found.search.candidates

    def answer(self, recorded: list[str] | None = None) -> SizingResult | str | None:
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
    assert first == sized(1).model_copy(update={"connections": None})
    assert asked.answer() == first
    assert len(asked.made) == 1


@pytest.mark.parametrize("name", ["days.csv", "machines.yaml"])
def test_a_file_that_the_question_names_makes_another_answer(asked: Question, name: str) -> None:
    asked.answer()
    (asked.origin / name).write_text("changed")
    assert asked.number() == 2
    assert asked.number() == 2


def test_other_recorded_files_make_another_answer(asked: Question) -> None:
    asked.answer()
    assert asked.number(["34  study.json\n"]) == 2


def test_without_hashes_nothing_kept_is_used(asked: Question) -> None:
    asked.answer()
    assert asked.number([]) == 2


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
    assert asked.answer() == "three levels are needed"
    assert asked.answer() == "three levels are needed"
    assert len(asked.made) == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"source_files": {"paths": 3}}', '{"source_files": []}'])
def test_a_damaged_answer_is_made_again(asked: Question, text: str) -> None:
    (asked.folder / "study-sizing.json").write_text(text)
    assert asked.number() == 1
    kept = json.loads((asked.folder / "study-sizing.json").read_text())
    assert kept["source_files"] == {
        "paths": [str(asked.origin / "machines.yaml"), str(asked.origin / "days.csv")],
        "today": True,
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"schema": "towtank/size/1"}', "sizing.json is not a result of `towtank size`"),
        ('{"schema": "towtank/run/1"}', "sizing.json is not a result of `towtank size`"),
        ("[]", "sizing.json is not a result of `towtank size`"),
        ("{", "sizing.json cannot be read: "),
    ],
)
def test_a_damaged_chosen_sizing_has_its_reason(asked: Question, text: str, reason: str) -> None:
    (asked.folder / "sizing.json").write_text(text)
    found = asked.answer()
    assert isinstance(found, str)
    assert found.startswith(reason)


def test_a_chosen_sizing_is_preferred(asked: Question) -> None:
    (asked.folder / "sizing.json").write_text(json.dumps(sized(7).document()))
    assert asked.number() == 7
    assert not asked.made
