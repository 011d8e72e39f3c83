"""The terminal and the report show the first failed exchanges."""

from __future__ import annotations

import io
from typing import Any

import report_synthetic as synthetic
from rich.console import Console

from towtank.report.content import failed_exchanges
from towtank.report.document import Document, Section, Table
from towtank.report.html import render
from towtank.report.source import Results
from towtank.report.terminal import print_outcome


def failure(**changes: Any) -> dict[str, Any]:
    """Return a failed exchange of a study, with the given changes."""
    return {
        "run": "r002",
        "at_s": 3.2,
        "transaction": "view",
        "step": "GET /item",
        "failure": "check",
        "check": "json $.id",
        "expected": "7",
        "got": "8",
        "status": 200,
        "answer": '{"id": 8}',
        **changes,
    }


def printed(*failures: dict[str, Any]) -> list[str]:
    stream = io.StringIO()
    summary = {**synthetic.results().summary, "failed_exchanges": list(failures)}
    print_outcome(Console(file=stream, width=200, highlight=False), summary, None)
    return stream.getvalue().splitlines()


def test_the_terminal_prints_at_most_three_failures() -> None:
    lines = printed(*(failure(step=f"step {number}") for number in range(5)))
    assert lines[-7:] == [
        "first failure of r002, view / step 0 at 3.2 s: json $.id: expected 7, got 8 (status 200)",
        '  answer: {"id": 8}',
        "first failure of r002, view / step 1 at 3.2 s: json $.id: expected 7, got 8 (status 200)",
        '  answer: {"id": 8}',
        "first failure of r002, view / step 2 at 3.2 s: json $.id: expected 7, got 8 (status 200)",
        '  answer: {"id": 8}',
        "further kinds of failures: 2 (in the report)",
    ]


def test_without_failures_nothing_is_printed() -> None:
    assert not [line for line in printed() if "failure" in line]


def test_the_report_has_a_row_for_each_failure() -> None:
    results = Results("res", {}, {"failed_exchanges": [failure(), failure(got="", answer="", at_s=None)]}, ())
    (table,) = failed_exchanges.blocks(results)
    assert isinstance(table, Table)
    assert table.rows[0] == ("r002", "3.2", "view / GET /item", "json $.id", "7", "8", "200", '{"id": 8}')
    assert [len(row) for row in table.rows] == [len(table.columns)] * 2
    assert failed_exchanges.blocks(Results("res", {}, {}, ())) == []


def test_markup_of_a_server_is_text_in_the_report() -> None:
    hostile = failure(answer="<script>alert(1)</script><img src=x onerror=alert(1)>")
    results = Results("res", {}, {"failed_exchanges": [hostile]}, ())
    section = Section("verdicts", "Verdict of every run", tuple(failed_exchanges.blocks(results)))
    page = render(Document("Study", "", (section,), "Towtank"))
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
