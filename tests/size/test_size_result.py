"""The types of a sizing result read the documents that they write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sizing import CLOSED_TIERS, sized, written

from towtank.sizing import SizingResult

QUESTIONS = {
    "an answer": ("--users", "60", "--objective", "mean < 400 ms", "--cpus", "app=1..4", "--what-if", "cpu x2"),
    "no answer": ("--users", "800", "--objective", "mean < 40 ms", "--cpus", "app=1..4"),
    "nothing to miss": ("--objective", "throughput > 1 /s", "--growth", "20 % / year", "--horizon", "1 year"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_sizing_result_reads_its_own_document(capsys: Any, tmp_path: Path, question: str) -> None:
    model = written(tmp_path, "model.yaml", CLOSED_TIERS)
    document = sized(capsys, model, *QUESTIONS[question], "--no-simulation", status=3 if question == "no answer" else 0)
    assert json.dumps(SizingResult.model_validate(document).document()) == json.dumps(document)


def test_a_sizing_result_reads_intervals_of_earlier_versions(capsys: Any, tmp_path: Path) -> None:
    model = written(tmp_path, "model.yaml", CLOSED_TIERS)
    document = sized(capsys, model, *QUESTIONS["an answer"], "--no-simulation")
    document["answer"]["headroom_interval"] = [0.1, None]
    result = SizingResult.model_validate(json.loads(json.dumps(document)))
    assert result.answer is not None and result.answer.headroom_interval is not None
    assert result.answer.headroom_interval.document() == {"low": 0.1, "high": None}
