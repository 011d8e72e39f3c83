"""What became of what users were told is stored: counts, samples with their interval, doubts, objectives, claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towtank.analysis import objectives
from towtank.analysis.checks.storage import lost_or_unknown as doubts
from towtank.analysis.claims.places import in_run
from towtank.analysis.doubts import Kind
from towtank.analysis.narrative import _seen
from towtank.analysis.stored import read_stored, scaled, stored
from towtank.results import lines
from towtank.results.folder import RunFolder
from towtank.study.objectives import read_objective

COUNTS = {"told": 100, "removed": 3, "uncertain": 1, "read": 100}
FATES = {"found": 97, "lost": 2, "different": 1, "unreadable": 0, "unread": 0}
NAMED = {"key": "d7", "fate": "lost", "told_s": 31.5, "contents": [], "read": {"status": 404}}


def document(**more: Any) -> dict[str, Any]:
    one = {**COUNTS, **FATES, "sample": False, "named": [NAMED], **more}
    return {"reason": None, **{key: one[key] for key in (*COUNTS, *FATES)}, "kinds": {"documents": one}}


def test_a_complete_check_gives_plain_counts_and_names_what_is_lost() -> None:
    found = stored(document())
    assert found is not None
    assert {key: found[key] for key in FATES} == FATES
    assert found["kinds"]["documents"]["lost"] == 2
    assert found["named"] == [
        {"kind": "documents", "key": "d7", "fate": "lost", "told_s": 31.5, "read": {"status": 404}}
    ]


def test_nobody_was_told_anything() -> None:
    assert stored(None) is None
    assert list(doubts(None)) == []


def test_of_a_sample_without_losses_the_bound_is_that_of_clopper_and_pearson() -> None:
    # No failure in n: the upper bound of the two-sided exact interval is 1 - (0.05 / 2) ** (1 / n).
    found = scaled(0, 300, 10_000)
    assert found.value == 0
    assert found.low == 0
    assert found.high == pytest.approx(10_000 * (1 - 0.025 ** (1 / 300)))
    assert scaled(0, 0, 10_000).value is None


def test_of_a_sample_what_follows_for_all_is_told_with_its_interval() -> None:
    found = stored(document(told=1000, sample=True))
    assert found is not None
    assert found["lost"]["value"] == pytest.approx(20)
    assert found["lost"]["low"] < 20 < found["lost"]["high"]
    assert found["told"] == 1000


def test_losses_and_ignorance_are_doubts_of_their_own() -> None:
    (lost,) = doubts(stored(document()))
    assert (lost.kind, lost.seen) == (Kind.STORED_LOST, 3)
    assert lost.message == "of 100 that users were told are stored, 2 are lost and 1 different"
    unread = {**document(lost=0, different=0, found=90, unreadable=4, unread=6), "reason": "content ended"}
    (unknown,) = doubts(stored(unread))
    assert (unknown.kind, unknown.seen) == (Kind.STORED_UNKNOWN, 10)
    assert unknown.message.endswith("10 could not be read back: content ended")


def test_a_run_that_was_cut_off_says_what_was_not_read_back(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "r001", {})
    assert read_stored(run) is None
    note = {"k": "stored", "t_ns": 5, "begun_ns": 1, "of": "documents", "key": "d1", "bytes": 1, "sha256": "aa"}
    (run.engine / "stored-00.ndjson").write_bytes(lines.encode(note))
    (doubt,) = doubts(stored(read_stored(run)))
    assert doubt.kind is Kind.STORED_UNKNOWN
    assert "the run was cut off before it could be read back" in doubt.message
    run.stored.write_text(json.dumps(document()))
    assert read_stored(run) == document()


def test_an_objective_is_met_where_the_worst_run_meets_it() -> None:
    objective = read_objective("stored.lost <= 1").document()
    point = {"load": 4, "users": 4, "runs": ["r001", "r002"], "verdicts": ["valid", "suspect"]}
    configuration = {"key": {}, "label": "all", "points": [point]}
    runs = [{"run": name, "stored": {"lost": lost}} for name, lost in (("r001", 0), ("r002", 2))]
    (judged,) = objectives.check([objective], [configuration], runs)
    assert (judged["met"], judged["seen"]) == (False, 2.0)
    (judged,) = objectives.check([objective], [configuration], runs[:1])
    assert (judged["met"], judged["seen"]) == (True, 0.0)
    (judged,) = objectives.check([objective], [configuration], [{"run": "r001", "stored": None}])
    assert judged["met"] is None


@pytest.mark.parametrize("text", ["stored.lost of add <= 0", "stored.lost <= 0 in steady", "stored.lost <= 1.5"])
def test_an_objective_about_what_is_stored_is_about_a_whole_run(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        read_objective(text)


def test_a_claim_takes_a_count_as_exact() -> None:
    found = in_run({"stored": stored(document())}, "stored.lost", None)
    assert (found.value, found.low, found.high) == (2, 2, 2)
    found = in_run({"stored": stored(document())}, "stored.kinds.documents.different", None)
    assert found.low == found.high == 1


def test_what_was_lost_is_a_count_in_words() -> None:
    assert _seen({"metric": "stored.lost", "seen": 1200.0}) == "1,200"
    assert _seen({"metric": "p95", "seen": 0.25}) == "250 ms"
