"""The report shows log lines that services wrote during the load, next to the verdicts of runs with failures or
doubts.
"""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from towtank.analysis.run_summary import RunSummary
from towtank.analysis.study_verdict import first_words
from towtank.report.content import service_logs
from towtank.report.document import Table
from towtank.report.source import Results, RunResult
from towtank.report.terminal import verdict_line


def group(text: str, count: int, level: str = "error", first_s: float | None = 31.5) -> dict[str, Any]:
    return {"text": text, "count": count, "level": level, "first_s": first_s}


def log(*groups: dict[str, Any], unread: int = 0) -> dict[str, Any]:
    return {"bytes": 1, "unread_bytes": unread, "lines": 1, "groups": list(groups), "groups_left_out": 0}


def run(name: str, logs: dict[str, Any] | None, level: str = "valid", failed: int = 0) -> dict[str, Any]:
    return {"run": name, "verdict": {"level": level}, "errors": {"count": failed}, "logs": logs}


def table(*runs: dict[str, Any]) -> Table | None:
    results = Results("res", {}, {}, tuple(RunResult(each["run"], {}, each) for each in runs))
    return next((block for block in service_logs.blocks(results) if isinstance(block, Table)), None)


FULL = group("accept 7: Too many open files", 2196)


def test_a_line_has_a_row_over_all_runs_that_have_it() -> None:
    again = group("accept 9: Too many open files", 4, first_s=1.0)
    made = table(run("r1", {"web": log(FULL)}, failed=3), run("r2", {"web": log(again)}, "suspect"))
    assert made is not None
    assert made.rows == (("web", "r1, r2", "2,200", "31.5", "accept 7: Too many open files"),)


def test_a_run_without_failures_and_doubts_is_not_shown() -> None:
    assert table(run("r1", {"web": log(FULL)})) is None
    assert table(run("r1", None, "invalid")) is None


def test_rows_are_bounded_and_errors_come_first() -> None:
    words = [group(f"error {letter}", 2) for letter in "ghijklmnop"]
    made = table(run("r1", {"web": log(group("warning z", 99, "warning"), *words, FULL)}, "invalid"))
    assert made is not None
    assert len(made.rows) == service_logs.ROWS_AT_MOST
    assert made.rows[0][-1] == FULL["text"]
    assert made.footnotes == ("web: 2 further different lines.",)


def test_parts_of_logs_that_were_not_read_are_reported() -> None:
    made = table(run("r1", {"web": log(FULL, unread=2**20), "database": None}, "invalid"))
    assert made is not None
    assert made.footnotes == (
        "r1: 1.00 MiB in the middle of the log of web was not read; the counts cover the rest of the log.",
        "r1: the log of database could not be read.",
    )


def test_the_terminal_names_the_first_line_of_invalid_runs_only() -> None:
    slow = group("warning z", 5000, "warning")
    invalid, valid = run("r2", {"web": log(slow, FULL)}, "invalid"), run("r1", {"web": log(group("error q", 9999))})
    said = verdict_line(
        {"verdict": {"level": "suspect", "log": first_words([RunSummary.read(valid), RunSummary.read(invalid)])}}
    )
    stream = io.StringIO()
    Console(file=stream, width=200).print(said)
    line = "log of web in r2 (2,196 lines, first seen at 31.5 s): accept 7: Too many open files"
    assert stream.getvalue().splitlines()[1].strip() == line
    assert first_words([RunSummary.read(valid)]) is None
