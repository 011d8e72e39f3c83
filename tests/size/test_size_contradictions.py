"""For random questions, the statements of a sizing must not contradict each other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from sizing import CLOSED_TIERS, sized, written
from sizing_pairs import contradictions, drawn_question

from towtank.errors import MeasurementError
from towtank.sizing import basis as size_basis
from towtank.sizing import settle
from towtank.sizing.basis import load_basis
from towtank.sizing.reading import read_sizing
from towtank.sizing.sizing import SizingSettings, size

QUESTIONS = int(os.environ.get("TOWTANK_SIZINGS", "24"))
KINDS = (4, 7, 11, 18)
"""Seeds of questions that are answered quickly. Each property tested below holds for some of these questions, but not
for all.
"""
FEW_DRAWS = 40
"""Number of random samples of the inputs in each sizing. It is small so that hundreds of questions take only minutes;
the rules hold for any number.
"""


def answered(folder: Path, seed: int, *, simulation: bool = False) -> dict[str, Any] | None:
    """Return the result of the sizing for a random question. Return None if the question is refused because its answer
    would need a guess.
    """
    model, sizing, known = drawn_question(seed)
    (folder / "model.yaml").write_text(model, "utf-8")
    (folder / "sizing.yaml").write_text(sizing, "utf-8")
    for name, text in known["_files"].items():
        (folder / name).write_text(text, "utf-8")
    basis = load_basis(folder / "model.yaml")
    try:
        found = size(basis, read_sizing(folder / "sizing.yaml", {}), folder, SizingSettings(simulation=simulation))
    except MeasurementError:
        return None
    return found | known


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_basis, "DRAWS", FEW_DRAWS)
    monkeypatch.setattr(settle, "DRAWS", FEW_DRAWS)


@pytest.mark.waits
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("question", range(QUESTIONS))
def test_no_statement_of_a_sizing_contradicts_another(tmp_path: Path, question: int) -> None:
    found = answered(tmp_path, question)
    if found is not None:
        assert contradictions(found) == []


@pytest.mark.waits
@pytest.mark.usefixtures("few_draws")
def test_the_questions_are_of_many_kinds(tmp_path: Path) -> None:
    """Each property of a question, such as growth, holds for some random questions and not for others.

    So each rule has a question on which it could fail.
    """
    found = [document for seed in KINDS if (document := answered(tmp_path, seed)) is not None]
    kinds = {
        "answered": [document["answer"] is not None for document in found],
        "drawn": [document["trust"]["draws"] > 0 for document in found],
        "grows": [bool(document["dates"]) for document in found],
        "asks": [bool(document["what_if"]) for document in found],
        "loses": [document["nodes_lost"] > 0 for document in found],
        "has a history": [document["_history"] for document in found],
        "has pools": [bool(document["pools"]) for document in found],
        "has memory": [bool(document["_memory"]) for document in found],
        "has a mix": [bool(document["_mix"]) for document in found],
        "counts percentiles": ["percentiles" in document["trust"]["counted"] for document in found],
    }
    for name, held in kinds.items():
        assert 0 < sum(held) < len(held), name


@pytest.mark.usefixtures("few_draws")
def test_rules_about_pools_memory_histories_and_mixes_can_fail(tmp_path: Path) -> None:
    """A single statement of a correct document is changed. Then only the rule about this statement may report a
    violation.
    """
    found = answered(tmp_path, 4)
    assert found is not None
    assert found["answer"] is not None
    assert contradictions(found) == []
    (pool,) = found["pools"].values()
    (tier,) = found["_memory"]
    tiers = found["answer"]["tiers"]
    forgotten = {**found["answer"], "tiers": {**tiers, tier: {**tiers[tier], "memory_bytes": None}}}
    load = found["load"]["users"] or found["load"]["rate_per_s"]
    for change, rule in (
        ({"pools": {"threads": {**pool, "wait_s": 2 * pool["wait_at_most_s"]}}}, "pools_and_waits"),
        ({"pools": {"threads": {**pool, "size": None}}}, "pools_and_waits"),
        ({"pools": {"threads": {**pool, "held": 2 * pool["size"] + 1}}}, "pools_and_waits"),
        ({"pools": {"threads": {**pool, "size_at_best": pool["size"] + 1}}}, "pools_and_waits"),
        ({"pools": {"threads": {**pool, "probability": 2.0}}}, "pools_and_waits"),
        ({"answer": forgotten}, "memory_and_intervals"),
        ({"_history": not found["_history"]}, "history_and_growth"),
        ({"_mix": dict.fromkeys(load, 2.0)}, "mix_and_load"),
    ):
        assert {text.partition(":")[0] for text in contradictions({**found, **change})} == {rule}, change


@pytest.mark.timeout(300)
def test_a_limit_in_the_interval_of_a_simulation_is_a_doubt(tmp_path: Path, capsys: Any) -> None:
    """The simulated p95 is below its limit, but its interval contains the limit. So the sizing states a doubt."""
    model = written(tmp_path, "model.yaml", CLOSED_TIERS)
    options = ("--cpus", "app=2", "--cpus", "db=1", "--what-if", "as it is, cpu x1.0001")
    # A percentile whose computed value is within 25 % of its limit is simulated.
    limit = sized(capsys, model, "--objective", "p95 < 280 ms", *options)["answer"]["objectives"][0]["value"] * 1.002
    near = sized(capsys, model, "--objective", f"p95 < {1000 * limit:.4f} ms", *options)
    met = near["answer"]["objectives"][0]
    assert met["interval"]["low"] < limit < met["interval"]["high"]
    assert near["trust"]["no_interval"].endswith("brackets include only the error of the simulation")
    (doubt,) = [text for text in near["trust"]["doubts"] if "interval of the simulation" in text]
    assert doubt.endswith(f"{met['shown']}, so the objective may be missed")
    assert any("interval of the simulation" in note for note in near["what_if"][0]["notes"])
