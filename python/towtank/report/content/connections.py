"""Builds sentences and a table on the connections of the load generator."""

from __future__ import annotations

from towtank.digging import dig
from towtank.report import format as people
from towtank.report.document import Block, Column, Table, paragraph
from towtank.report.source import Json, Results, RunResult


def blocks(results: Results) -> list[Block]:
    """Build sentences and a table with a row for each run; empty if no run recorded connections."""
    runs = [run for run in results.measured if run.summary.get("connections")]
    if not runs:
        return []
    columns = (
        Column("Run"),
        Column(results.load_factor.capitalize(), numeric=True),
        Column("Open", "mean", numeric=True),
        Column("Opened", "in the window", numeric=True),
        Column("Connect", "mean, p99", numeric=True),
        Column("TLS handshake", "mean, p99", numeric=True),
        Column("Handshakes", "full, resumed", numeric=True),
        Column("Waited for a connection", "of the requests", numeric=True),
        Column("Wait", "of waiting requests: mean, p99", numeric=True),
        Column("Wait", "of response time", numeric=True),
    )
    sentences = (paragraph(words) for words in (waiting(runs), failures(runs), broken_answers(runs)) if words)
    rows = [_row(run) for run in runs]
    # Columns without data are omitted, for example if no run used TLS or a connection pool.
    kept = [
        number for number, _ in enumerate(columns) if number < 2 or any(row[number] != people.ABSENT for row in rows)
    ]
    table = tuple(tuple(row[number] for number in kept) for row in rows)
    return [*sentences, Table("Connections of the load generator", tuple(columns[number] for number in kept), table)]


def _row(run: RunResult) -> tuple[str, ...]:
    connections = run.summary["connections"]
    waits, handshakes = connections.get("wait_time_s") or {}, connections.get("handshakes")
    both = f"{people.count(handshakes['full'])}, {people.count(handshakes['resumed'])}" if handshakes else people.ABSENT
    return (
        run.run_id,
        people.plain(run.load),
        people.number(connections.get("open_mean")),
        people.count(connections.get("opened")),
        _mean_and_p99(connections.get("connect_time_s")),
        _mean_and_p99(connections.get("tls_time_s")),
        both,
        people.share(waits.get("share_waited")),
        _mean_and_p99(waits),
        people.share(waits.get("share_of_response_time")),
    )


def _mean_and_p99(times: Json | None) -> str:
    if not times or times.get("mean") is None:
        return people.ABSENT
    mean, p99 = (people.seconds(times.get(name)).replace(" ", "\N{NO-BREAK SPACE}") for name in ("mean", "p99"))
    return f"{mean}, {p99}"


def waiting(runs: list[RunResult]) -> str:
    """Return a sentence about the run with the longest wait for a pooled connection; empty if no run used a pool."""
    pooled = [run for run in runs if dig(run.summary, "connections", "wait_time_s")]
    if not pooled:
        return ""
    worst = max(pooled, key=_share)
    waits = worst.summary["connections"]["wait_time_s"]
    if not waits["waited"]:
        return "Users share a pool of connections; no request waited for a connection in any run."
    return (
        f"Waits for a connection of the pool were longest in {worst.run_id}: {people.share(waits['share_waited'])} of "
        f"the requests waited, {people.seconds(waits['mean'])} on average and {people.seconds(waits['p99'])} at the "
        f"99th percentile. This is {people.share(waits.get('share_of_response_time'))} of the response time."
    )


def _share(run: RunResult) -> float:
    return float(dig(run.summary, "connections", "wait_time_s", "share_of_response_time") or 0.0)


def failures(runs: list[RunResult]) -> str:
    """Count the failed connections of all runs by reason, in a sentence; empty if no connection failed."""
    return _counted(runs, "connect_failures", "Connections that failed")


def broken_answers(runs: list[RunResult]) -> str:
    """Count the incomplete responses of all runs by reason, in a sentence; empty if all responses were complete."""
    return _counted(runs, "broken_answers", "Incomplete responses")


def _counted(runs: list[RunResult], key: str, title: str) -> str:
    counts: dict[str, int] = {}
    for run in runs:
        for reason, count in (run.summary["connections"].get(key) or {}).items():
            counts[str(reason)] = counts.get(str(reason), 0) + int(count)
    sentences = [
        f"{people.count(count)} times {reason}"
        for reason, count in sorted(counts.items(), key=lambda failure: -failure[1])
    ]
    return f"{title}: {people.listing(sentences)}." if sentences else ""
