"""The report section on connections shows the recorded values. If nothing was recorded, the section is left out."""

from __future__ import annotations

from typing import Any

from towtank.report.content import connections
from towtank.report.source import Results, RunResult

TIMES = {"mean": 0.002, "p50": 0.001, "p95": 0.004, "p99": 0.005, "max": 0.006}


def counted(**changes: Any) -> dict[str, Any]:
    plain = {
        "open_mean": 8.0,
        "opened": 3,
        "opened_per_s": {},
        "opened_in_run": 11,
        "connect_time_s": TIMES,
        "tls_time_s": None,
        "handshakes": None,
        "connect_failures": {},
        "wait_time_s": None,
    }
    return {**plain, **changes}


def waits(share: float) -> dict[str, Any]:
    return {"requests": 100, "waited": 12, "share_waited": 0.12, "share_of_response_time": share, **TIMES}


def results(*found: dict[str, Any]) -> Results:
    runs = [
        RunResult(f"r{number:03d}", {"users": 8}, {"connections": failure})
        for number, failure in enumerate(found, start=1)
    ]
    return Results("res", {}, {}, tuple(runs))


def columns(block: Any) -> list[str]:
    return [column.title for column in block.columns]


def test_without_pool_and_tls_there_are_no_columns_for_them() -> None:
    (table,) = connections.blocks(results(counted()))
    assert columns(table) == ["Run", "Users", "Open", "Opened", "Connect"]
    assert [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in table.rows[0]] == [
        "r001", "8", "8.00", "3", "2.00 ms, 5.00 ms",
    ]  # fmt: skip


def test_the_run_that_waited_most_is_told() -> None:
    paragraph, table = connections.blocks(results(counted(wait_time_s=waits(0.1)), counted(wait_time_s=waits(0.3))))
    assert (
        "longest in r002: 12.0 % of the requests waited, 2.00 ms on average and 5.00 ms at the 99th percentile."
        in str(paragraph)
    )
    assert "This is 30.0 % of the response time." in str(paragraph)
    assert columns(table)[-3:] == ["Waited for a connection", "Wait", "Wait"]


def test_tls_and_failures_are_told() -> None:
    recorded = counted(
        tls_time_s=TIMES, handshakes={"full": 1, "resumed": 10}, connect_failures={"Connection refused": 1200}
    )
    paragraph, table = connections.blocks(results(recorded))
    assert "Connections that failed: 1,200 times Connection refused." in str(paragraph)
    assert "1, 10" in table.rows[0]


def test_summaries_without_connections_have_no_part() -> None:
    assert connections.blocks(Results("res", {}, {}, (RunResult("r001", {}, {"run": "r001"}),))) == []
