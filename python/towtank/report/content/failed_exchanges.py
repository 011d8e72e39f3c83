"""Table of the first failed requests and calls, with what was expected and what came."""

from __future__ import annotations

from towtank.analysis import FailedExchange, read_exchanges
from towtank.report import format as people
from towtank.report.document import Block, Table, headings
from towtank.report.source import Results

_NOTES = (
    "One row for each step and check: its first failure in the runs. Values and answers are cut, with *** in place of "
    "secrets; answers that are not text are left out.",
)


def blocks(results: Results) -> list[Block]:
    """Build the table of the first failed exchanges; empty if none was recorded."""
    found = read_exchanges(results.summary)
    if not found:
        return []
    columns = headings("Run", "#At | s", "Step", "Check", "Expected", "Got", "#Status", "Start of the answer")
    return [Table("First failures of each step and check", columns, tuple(map(_row, found)), _NOTES)]


def _row(exchange: FailedExchange) -> tuple[str, ...]:
    return (
        exchange.run or people.ABSENT,
        people.ABSENT if exchange.at_s is None else people.plain(round(exchange.at_s, 1)),
        exchange.place,
        exchange.check or exchange.failure,
        exchange.expected or people.ABSENT,
        exchange.got or people.ABSENT,
        people.ABSENT if exchange.status is None else str(exchange.status),
        exchange.answer or people.ABSENT,
    )
