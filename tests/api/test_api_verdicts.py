"""Verdicts in Python have one type, whose text contains the doubts and the relaxed limits."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest
from results_1 import RESULTS_1

import towtank
from towtank import Verdict


@pytest.fixture
def judged(tmp_path: Path) -> towtank.Judged:
    lines = [f"{number / 100},{10 + number % 7}" for number in range(3000)]
    path = tmp_path / "measured.csv"
    path.write_text("\n".join(["start_s,elapsed_ms", *lines, ""]), "utf-8")
    return towtank.judge(path)


def test_all_measurements_have_the_same_type_of_verdict(judged: towtank.Judged) -> None:
    results = towtank.open(RESULTS_1)
    found = [judged.verdict, results.verdict, results.runs[0].verdict, results.objectives[0].verdict]
    assert {type(verdict) for verdict in found} == {Verdict}
    assert judged.verdict.doubts == judged.doubts
    assert judged.verdict.valid is judged.valid
    assert judged.document["verdict"] == judged.verdict


def test_a_verdict_is_a_text_with_doubts() -> None:
    verdict = Verdict("suspect", (towtank.Doubt("too_few_samples", "suspect", "12 samples"),))
    assert (verdict, hash(verdict), json.dumps(verdict)) == ("suspect", hash("suspect"), '"suspect"')
    assert (type(verdict.level), verdict.level, verdict.valid) == (str, "suspect", True)
    for copied in (copy.deepcopy(verdict), pickle.loads(pickle.dumps(verdict))):
        assert (type(copied), copied, copied.doubts) == (Verdict, verdict, verdict.doubts)
    with pytest.raises(AttributeError, match="cannot be changed"):
        verdict.doubts = ()


def test_relaxed_limits_are_stated_in_texts() -> None:
    verdict = Verdict.of({"level": "valid", "relaxed_limits": [{"limit": "interference"}]})
    assert (verdict == "valid", verdict.level, verdict.relaxed_limits) == (True, "valid", ("interference",))
    assert {str(verdict), repr(verdict), f"{verdict}"} == {"valid with relaxed limits"}
