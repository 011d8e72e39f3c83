from __future__ import annotations

from typing import Any

from towtank.report.content import stored
from towtank.report.document import Table
from towtank.report.source import Results, RunResult

COUNTS = {"acknowledged": 100, "uncertain": 1, "found": 98, "lost": 2, "different": 0, "unreadable": 0, "unread": 0}
NAMED = [
    {"kind": "documents", "key": "d7", "fate": "lost", "acknowledged_s": 31.5},
    {"kind": "documents", "key": "d8", "fate": "different", "acknowledged_s": 49.75},
]


def table(counts: dict[str, Any] | None, **summary: Any) -> Table | None:
    whole = {"run": "r001", "factors": {"users": "50", "failure": "node"}, "users": {"asked": 50}, "stored": counts}
    section = stored.build(Results("res", {}, {}, (RunResult("r001", {}, {**whole, **summary}),)))
    return None if section is None else next(block for block in section.blocks if isinstance(block, Table))


def test_each_run_has_a_row_and_losses_are_named_with_what_happened() -> None:
    events = {"node_lost": {"begin_s": 30.0, "until_s": 40.0}, "later": {"begin_s": 50.0, "until_s": 60.0}}
    made = table({**COUNTS, "reason": None, "named": NAMED}, events=events)
    assert made is not None
    assert made.rows == (("r001", "failure node", "50", "100", "1", "98", "2", "0", "0", "0"),)
    assert made.footnotes == (
        "r001: documents d7 is lost; confirmed at 31.5 s, while node_lost.",
        "r001: documents d8 is different; confirmed at 49.8 s, 250 ms before later.",
    )


def test_why_something_was_not_read_is_told() -> None:
    made = table({**COUNTS, "reason": "content ended", "named": []})
    assert made is not None
    assert made.footnotes == ("r001: content ended.",)


def test_without_anything_stored_there_is_no_section() -> None:
    assert table(None) is None
