"""State of stored data, derived from the engine's records of changes, in whatever order these are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from towtank.results import lines, stored
from towtank.results.stored import StoredItem, fate, read_ledger
from towtank.results.stream_forms import StoredNote

OLD, NEW = (10, "aa"), (12, "bb")


def note(k: str, t: int, key: str = "d1", content: tuple[int, str] | None = None, **more: Any) -> dict[str, Any]:
    result = {} if content is None else {"bytes": content[0], "sha256": content[1]}
    return {"k": k, "t_ns": t, "of": "documents", "key": key, **result, **more}


def ledger(folder: Path, *workers: list[dict[str, Any]]) -> stored.StoredLedger:
    for number, notes in enumerate(workers):
        header = {"k": "header", "schema": "towtank/stored-notes/1", "worker": number}
        (folder / f"stored-{number:02}.ndjson").write_bytes(b"".join(map(lines.encode, [header, *notes])))
    return read_ledger(folder)


def confirmed(t: int = 5, begun: int = 1, content: tuple[int, str] = OLD) -> dict[str, Any]:
    return note("stored", t, content=content, begun_ns=begun)


def fate_of(thing: StoredItem, read: dict[str, Any] | None, *absent: tuple[int, ...]) -> str:
    found = None if read is None else StoredNote.model_validate(note("read", 0) | read)
    return fate(thing, found, *absent)


def only(found: stored.StoredLedger) -> StoredItem:
    (thing,) = found.of("documents").values()
    return thing


def test_the_last_confirmed_content_is_the_right_one(tmp_path: Path) -> None:
    thing = only(ledger(tmp_path, [confirmed(), note("begun", 6, does="replaces"), confirmed(9, 6, NEW)]))
    assert (thing.contents, thing.acknowledged_ns, thing.is_uncertain) == ({NEW}, 9, False)


def test_what_was_removed_is_expected_no_more(tmp_path: Path) -> None:
    found = ledger(tmp_path, [confirmed(), note("begun", 6, does="removes"), note("removed", 7, begun_ns=6)])
    assert found.of("documents") == {}
    assert found.removed == {"documents": 1}


def test_notes_of_several_threads_count_in_the_order_of_time(tmp_path: Path) -> None:
    removed = [note("begun", 6, does="removes"), note("removed", 7, begun_ns=6)]
    assert ledger(tmp_path, removed, [confirmed()]).of("documents") == {}


def test_changes_under_way_together_are_both_right(tmp_path: Path) -> None:
    other = [note("begun", 7, does="replaces"), confirmed(8, 7, NEW)]
    thing = only(
        ledger(tmp_path, [confirmed(5), note("begun", 6, does="replaces"), confirmed(9, 6, (20, "cc"))], other)
    )
    assert (thing.contents, thing.acknowledged_ns, thing.is_uncertain) == ({NEW, (20, "cc")}, 9, True)
    # A later change was sent after the confirmations of both concurrent changes, so the final state is certain again.
    (tmp_path / "later").mkdir()
    thing = only(
        ledger(tmp_path / "later", [confirmed(9, 6, OLD), confirmed(12, 10, (30, "dd"))], [confirmed(8, 7, NEW)])
    )
    assert (thing.contents, thing.is_uncertain) == ({(30, "dd")}, False)


@pytest.mark.parametrize(("removed_at", "stored_at"), [((6, 9), (7, 8)), ((7, 8), (6, 9))])
def test_removed_while_it_was_replaced_it_may_be_there_or_not(
    tmp_path: Path, removed_at: tuple[int, int], stored_at: tuple[int, int]
) -> None:
    removed = note("removed", removed_at[1], begun_ns=removed_at[0])
    found = ledger(tmp_path, [confirmed(), removed], [confirmed(stored_at[1], stored_at[0], NEW)])
    thing = only(found)
    assert fate_of(thing, note("read", 0, content=NEW, status=200)) == "found"
    assert fate_of(thing, note("read", 0, content=OLD, status=200)) == "different"
    assert fate_of(thing, note("read", 0, status=404, failure="status_4xx")) == "gone"
    assert found.removed == {"documents": 1}


@pytest.mark.parametrize("failure", ["timeout", "closed", "status_5xx"])
def test_without_an_answer_the_state_before_and_after_are_right(tmp_path: Path, failure: str) -> None:
    replaced = [note("begun", 6, does="replaces"), note("failed", 8, content=NEW, begun_ns=6, failure=failure)]
    thing = only(ledger(tmp_path, [confirmed(), *replaced]))
    assert thing.contents == {OLD, NEW}
    assert thing.is_uncertain


def test_a_call_that_was_given_up_may_have_put_any_content(tmp_path: Path) -> None:
    failed = note("failed", 8, begun_ns=6, failure="timeout", unknown=True)
    thing = only(ledger(tmp_path, [confirmed(), note("begun", 6, does="replaces"), failed]))
    assert fate_of(thing, note("read", 9, content=NEW)) == "found"
    assert fate_of(thing, note("read", 9, failure="refused", absent=True)) == "lost"
    assert fate_of(thing, note("read", 9, failure="refused")) == "unreadable"


@pytest.mark.parametrize("failure", ["connect", "status_4xx", "refused"])
def test_what_was_refused_changed_nothing(tmp_path: Path, failure: str) -> None:
    removed = [note("begun", 6, does="removes"), note("failed", 8, begun_ns=6, failure=failure)]
    thing = only(ledger(tmp_path, [confirmed(), *removed]))
    assert not thing.is_uncertain
    assert fate_of(thing, note("read", 0, status=404, failure="status_4xx")) == "lost"


def test_what_was_under_way_at_the_end_may_have_been_done(tmp_path: Path) -> None:
    thing = only(ledger(tmp_path, [confirmed(), note("begun", 6, does="removes")]))
    assert fate_of(thing, note("read", 0, status=404, failure="status_4xx")) == "gone"
    assert fate_of(thing, note("read", 0, content=OLD, status=200)) == "found"
    thing = only(ledger(tmp_path, [confirmed(), note("begun", 6, does="replaces")]))
    assert fate_of(thing, note("read", 0, content=(99, "zz"), status=200)) == "found"
    assert fate_of(thing, note("read", 0, status=404, failure="status_4xx")) == "lost"


def test_content_that_was_never_sent_whole_is_not_right(tmp_path: Path) -> None:
    replaced = [note("begun", 6, does="replaces"), note("failed", 8, begun_ns=6, failure="closed")]
    assert only(ledger(tmp_path, [confirmed(), *replaced])).contents == {OLD}


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (None, "unread"),
        ({"status": 200, "bytes": 10, "sha256": "aa"}, "found"),
        ({"status": 200, "bytes": 10, "sha256": "ab"}, "different"),
        ({"status": 200, "bytes": 9, "sha256": "aa"}, "different"),
        ({"status": 404, "failure": "status_4xx"}, "lost"),
        ({"status": 410, "failure": "status_4xx"}, "lost"),
        ({"status": 401, "failure": "status_4xx"}, "unreadable"),
        ({"status": 503, "failure": "status_5xx"}, "unreadable"),
        ({"status": 0, "failure": "timeout"}, "unreadable"),
        ({"status": 200, "failure": "closed", "bytes": 10, "sha256": "aa"}, "unreadable"),
    ],
)
def test_every_answer_has_one_fate(read: dict[str, Any] | None, expected: str) -> None:
    assert fate_of(StoredItem(5, {OLD}), read) == expected


def test_statuses_that_mean_absent_are_those_of_the_workload() -> None:
    assert fate_of(StoredItem(5, {OLD}), {"status": 400, "failure": "status_4xx"}, (400,)) == "lost"


def test_torn_and_broken_notes_are_counted_and_the_rest_counts(tmp_path: Path) -> None:
    whole = b"".join(map(lines.encode, [confirmed(), {"k": "stored", "t_ns": 9}]))
    (tmp_path / "stored-00.ndjson").write_bytes(whole + lines.encode(confirmed(9))[:-20])
    found = read_ledger(tmp_path)
    assert set(found.of("documents")) == {"d1"}
    assert (found.damage.bad_lines, found.damage.torn_tail) == (1, True)
