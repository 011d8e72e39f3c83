from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towtank.analysis import objectives
from towtank.analysis.checks.storage import lost_or_unknown as doubts
from towtank.analysis.claims.places import in_run
from towtank.analysis.combining import combined
from towtank.analysis.doubts import DoubtKind
from towtank.analysis.narrative import _seen
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics import difference_interval
from towtank.analysis.stored import read_stored, scaled, stored
from towtank.analysis.study_summary import ObjectiveAnswer
from towtank.results import lines
from towtank.results.folder import RunFolder
from towtank.study.objectives import read_objective

COUNTS = {"acknowledged": 100, "removed": 3, "uncertain": 1, "read": 100}
FATES = {"found": 97, "lost": 2, "different": 1, "unreadable": 0, "unread": 0}
NAMED = {"key": "d7", "fate": "lost", "acknowledged_s": 31.5, "contents": [], "read": {"status": 404}}


def document(**more: Any) -> dict[str, Any]:
    counts = {**COUNTS, **FATES, "sample": False, "named": [NAMED], **more}
    return {"reason": None, **{key: counts[key] for key in (*COUNTS, *FATES)}, "kinds": {"documents": counts}}


def test_a_complete_check_gives_plain_counts_and_names_what_is_lost() -> None:
    found = stored(document())
    assert found is not None
    assert {key: found[key] for key in FATES} == FATES
    assert found["kinds"]["documents"]["lost"] == 2
    assert found["named"] == [
        {"kind": "documents", "key": "d7", "fate": "lost", "acknowledged_s": 31.5, "read": {"status": 404}}
    ]


def test_nothing_was_confirmed() -> None:
    assert stored(None) is None
    assert list(doubts(None)) == []


def test_of_a_sample_without_losses_the_bound_is_that_of_clopper_and_pearson() -> None:
    # If none of n samples failed, the exact upper bound is 1 - (0.05 / 2) ** (1 / n).
    found = scaled(0, 300, 10_000)
    assert found.value == 0
    assert found.low == 0
    assert found.high == pytest.approx(10_000 * (1 - 0.025 ** (1 / 300)))
    assert scaled(0, 0, 10_000).value is None


def test_a_sample_is_scaled_to_all_with_an_interval() -> None:
    found = stored(document(acknowledged=1000, sample=True))
    assert found is not None
    assert found["lost"]["value"] == pytest.approx(20)
    assert found["lost"]["low"] < 20 < found["lost"]["high"]
    assert found["acknowledged"] == 1000


def test_losses_and_ignorance_are_doubts_of_their_own() -> None:
    (lost,) = doubts(stored(document()))
    assert (lost.kind, lost.seen) == (DoubtKind.STORED_LOST, 3)
    assert lost.message == "of 100 documents confirmed as stored, 2 are lost and 1 changed"
    unread = {**document(lost=0, different=0, found=90, unreadable=4, unread=6), "reason": "content ended"}
    (unknown,) = doubts(stored(unread))
    assert (unknown.kind, unknown.seen) == (DoubtKind.STORED_UNKNOWN, 10)
    assert unknown.message.endswith("10 could not be read back: content ended")


def test_a_loss_in_a_run_whose_study_makes_something_fail_is_its_result_and_no_doubt_about_it() -> None:
    lost = stored(document(found=91, different=0, unread=7))
    assert {doubt.kind: doubt.level for doubt in doubts(lost, had_events=True)} == {
        DoubtKind.STORED_LOST: "note",
        DoubtKind.STORED_UNKNOWN: "suspect",
    }
    (doubt,) = doubts(stored(document()), had_events=True)
    assert (doubt.kind, doubt.level) == (DoubtKind.STORED_LOST, "suspect"), (
        "changed content is not a loss, so the doubt is more than a note"
    )


def test_a_run_that_was_cut_off_says_what_was_not_read_back(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "r001", {})
    assert read_stored(run) is None
    note = {"k": "stored", "t_ns": 5, "begun_ns": 1, "of": "documents", "key": "d1", "bytes": 1, "sha256": "aa"}
    (run.engine / "stored-00.ndjson").write_bytes(lines.encode(note))
    (doubt,) = doubts(stored(read_stored(run)))
    assert doubt.kind is DoubtKind.STORED_UNKNOWN
    assert "the run was cut off before the read-back" in doubt.message
    run.stored.write_text(json.dumps(document()))
    assert read_stored(run) == document()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it cannot be read"),
        ('{"reason": null, "kin', "it cannot be read"),
        ("[]", "it cannot be read"),
        ('{"kinds": 5}', "kinds must be a mapping of keys to values"),
        (json.dumps({**document(), "lost": "few"}), "lost must be"),
        (json.dumps({**document(), "kinds": ["documents"]}), "kinds must be a mapping of keys to values"),
        (json.dumps({**document(), "kinds": {"documents": []}}), "kinds.documents must be a mapping of keys to values"),
    ],
)
@pytest.mark.parametrize("has_notes", [True, False])
def test_a_damaged_file_is_a_doubt_and_never_the_end_of_a_summary(
    text: str, fault: str, has_notes: bool, tmp_path: Path
) -> None:
    run = RunFolder.create(tmp_path / "r001", {})
    if has_notes:
        note = {"k": "stored", "t_ns": 5, "begun_ns": 1, "of": "documents", "key": "d1", "bytes": 1, "sha256": "aa"}
        (run.engine / "stored-00.ndjson").write_bytes(lines.encode(note))
    run.stored.write_text(text)
    (doubt,) = doubts(stored(read_stored(run)))
    assert (doubt.kind, doubt.level) == (
        DoubtKind.STORED_UNKNOWN if has_notes else DoubtKind.DATA_DAMAGED,
        "suspect",
    )
    assert f"stored.json is damaged: {fault}" in doubt.message


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        ({}, "it must have the key 'kinds', got none"),
        ({**document(), "lost": None}, "it must have the key 'lost', got none"),
        ({**document(), "kinds": {"documents": {}}}, "kinds.documents must have the key 'acknowledged', got none"),
    ],
)
def test_a_missing_count_is_a_doubt_and_not_zero(found: dict[str, Any], fault: str, tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "r001", {})
    run.stored.write_text(json.dumps(found))
    (doubt,) = doubts(stored(read_stored(run)))
    assert (doubt.kind, doubt.level) == (DoubtKind.DATA_DAMAGED, "suspect")
    assert doubt.message == f"stored.json is damaged: {fault}"


def test_of_the_named_documents_only_the_malformed_one_is_lost(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "r001", {})
    run.stored.write_text(json.dumps(document(lost=0, different=0, named=[NAMED, {**NAMED, "acknowledged_s": "late"}])))
    found = stored(read_stored(run))
    assert found is not None
    assert [entry["key"] for entry in found["named"]] == ["d7"]
    assert found["acknowledged"] == 100
    (doubt,) = doubts(found)
    assert (doubt.kind, doubt.level) == (DoubtKind.DATA_DAMAGED, "suspect")
    assert "kinds.documents.named[1].acknowledged_s must be a number" in doubt.message


def judged(*runs: dict, text: str = "stored.lost <= 1") -> dict:
    point = {
        "load": 4,
        "users": 4,
        "runs": [run["run"] for run in runs],
        "verdicts": [run["verdict"]["level"] for run in runs],
    }
    configuration = {"key": {}, "label": "all", "points": [point]}
    (found,) = objectives.check([read_objective(text).document()], [configuration], runs)
    return found


def stored_run(
    name: str,
    lost: int = 0,
    unread: int = 0,
    level: str = "valid",
    kind: DoubtKind = DoubtKind.INTERFERENCE,
    **others: int,
) -> dict:
    reasons = [{"kind": kind, "level": "note" if level == "valid" else level, "message": f"it was {kind}"}]
    counts = {
        "acknowledged": 9,
        "lost": lost,
        "unread": unread,
        "reason": "the user stopped the run" if unread else None,
    }
    return {"run": name, "stored": {**counts, **others}, "verdict": {"level": level, "reasons": reasons}}


def test_an_objective_is_met_where_the_worst_run_meets_it() -> None:
    found = judged(stored_run("r001"), stored_run("r002", lost=2, level="suspect"))
    assert (found["met"], found["seen"], found["certain"]) == (False, 2.0, True)
    found = judged(stored_run("r001"))
    assert (found["met"], found["seen"], found["certain"]) == (True, 0.0, True)
    assert judged({**stored_run("r001"), "stored": None})["met"] is None
    found = judged(stored_run("r001"), stored_run("r002", lost=5), text="stored.lost >= 1")
    assert (found["met"], found["seen"]) == (False, 0.0)


def test_what_was_not_read_back_may_be_lost() -> None:
    found = judged(stored_run("r001", unread=9, level="suspect", kind=DoubtKind.STORED_UNKNOWN))
    assert (found["met"], found["seen"]) == (None, None)
    (gap,) = found["not_judged"]
    assert gap["why"] == "r001 does not decide the objective (9 of 9 could not be read back: the user stopped the run)"
    assert judged(stored_run("r001", unread=1))["met"] is True, "the objective allows one lost document"
    assert judged(stored_run("r001", lost=2, unread=7))["met"] is False
    assert judged(stored_run("r001", unread=9), text="stored.unread <= 1")["met"] is False
    assert judged(stored_run("r001", unreadable=9))["met"] is None
    assert judged(stored_run("r001", unreadable=9), text="stored.unreadable <= 1")["met"] is False


def test_notes_that_cannot_be_read_may_be_of_things_that_were_lost() -> None:
    (gap,) = judged(stored_run("r001", bad_lines=2))["not_judged"]
    assert gap["why"] == "r001 does not decide the objective (2 records on stored documents cannot be read)"
    assert judged(stored_run("r001", lost=2, bad_lines=2))["met"] is False


def test_a_run_that_was_cut_off_shows_a_loss_and_not_that_there_is_none() -> None:
    def cut_off(lost: int) -> dict:
        return stored_run("r002", lost=lost, level="invalid", kind=DoubtKind.EVENT_FAILED)

    assert judged(cut_off(lost=0))["met"] is None
    assert judged(cut_off(lost=2))["met"] is False
    assert judged(stored_run("r001"), cut_off(lost=2))["met"] is False
    assert judged(stored_run("r001"), cut_off(lost=0))["met"] is True
    # Other programs disturbed the measurement of this run, but the requested documents were stored and read back.
    assert judged(stored_run("r001", level="invalid"))["met"] is True
    # A note, such as that a recording of the probe is truncated, does not concern the stored data.
    assert judged(stored_run("r001", kind=DoubtKind.DATA_DAMAGED))["met"] is True


def test_records_of_another_run_show_neither_a_loss_nor_none() -> None:
    def copied(lost: int) -> dict:
        return stored_run("r002", lost=lost, level="invalid", kind=DoubtKind.COPIED_RUN)

    assert judged(copied(lost=0))["met"] is None
    assert judged(copied(lost=2))["met"] is None
    assert judged(stored_run("r001"), copied(lost=2))["met"] is True


def test_a_sample_without_a_loss_leaves_a_doubt() -> None:
    sample = {name: scaled(0, 10, 1_000_000).document() for name in ("lost", "unread", "unreadable")}
    found = judged({**stored_run("r001"), "stored": {"acknowledged": 1_000_000, "reason": None, **sample}})
    assert (found["met"], found["seen"], found["certain"]) == (True, 0.0, False)


@pytest.mark.parametrize("text", ["stored.lost of add <= 0", "stored.lost <= 0 in steady", "stored.lost <= 1.5"])
def test_an_objective_about_what_is_stored_is_about_a_whole_run(text: str) -> None:
    with pytest.raises(ValueError, match=r"must (apply to whole runs and all transactions|be a whole number of items)"):
        read_objective(text)


def test_a_claim_takes_a_count_as_exact() -> None:
    found = in_run(RunSummary(stored=stored(document())), "stored.lost", None)
    assert (found.value, found.low, found.high) == (2, 2, 2)
    found = in_run(RunSummary(stored=stored(document())), "stored.kinds.documents.different", None)
    assert found.low == found.high == 1


def test_a_claim_allows_for_what_was_not_read_back() -> None:
    unread = RunSummary(stored=stored(document(found=91, different=0, unread=7)))
    found = in_run(unread, "stored.lost", None)
    assert (found.value, found.low, found.high) == (2, 2, 9)
    found = in_run(unread, "stored.unread", None)
    assert found.low == found.high == 7
    both = combined([in_run(unread, "stored.lost", None)] * 2)
    assert (both.value, both.low, both.high) == (2, 2, 9), (
        "the interval is not due to chance, so a second run does not narrow it"
    )
    assert difference_interval(found, in_run(unread, "stored.lost", None)).low is None


def test_a_claim_on_a_sample_allows_for_what_was_not_read_back() -> None:
    sample = {name: scaled(seen, 1000, 100_000).document() for name, seen in (("lost", 0), ("unread", 1000))}
    found = in_run(RunSummary(stored={**sample, "unreadable": 0}), "stored.lost", None)
    assert found.value == 0
    assert found.high is not None and found.high >= 100_000


def test_what_was_lost_is_a_count_in_words() -> None:
    assert _seen(ObjectiveAnswer(metric="stored.lost", seen=1200.0)) == "1,200"
    assert _seen(ObjectiveAnswer(metric="p95", seen=0.25)) == "250 ms"
