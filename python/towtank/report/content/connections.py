"""Builds sentences and a table on the connections of the load generator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from towtank.analysis import ConnectionTimes, Waits
from towtank.report import format as people
from towtank.report.document import Block, Table, headings, paragraph
from towtank.report.source import Results, RunResult


def blocks(results: Results) -> list[Block]:
    """Build sentences and a table with a row for each run; empty if no run recorded connections."""
    runs = [run for run in results.measured if run.summary.get("connections")]
    if not runs:
        return []
    columns = headings(
        "Run",
        f"#{results.load_factor.capitalize()}",
        "#Open | mean",
        "#Opened | in the window",
        "#Connect | mean, p99",
        "#TLS handshake | mean, p99",
        "#Handshakes | full, resumed",
        "#Waited for a connection | of the requests",
        "#Wait | of waiting requests: mean, p99",
        "#Wait | of response time",
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
    connections = run.record.connections
    waits, handshakes = connections.wait_time_s or Waits(), connections.handshakes
    both = f"{people.count(handshakes['full'])}, {people.count(handshakes['resumed'])}" if handshakes else people.ABSENT
    return (
        run.run_id,
        people.plain(run.load),
        people.number(connections.open_mean),
        people.count(connections.opened),
        _mean_and_p99(connections.connect_time_s),
        _mean_and_p99(connections.tls_time_s),
        both,
        people.share(waits.share_waited if connections.wait_time_s else None),
        _mean_and_p99(waits),
        people.share(waits.share_of_response_time),
    )


def _mean_and_p99(times: ConnectionTimes | Waits | None) -> str:
    if times is None or times.mean is None:
        return people.ABSENT
    mean, p99 = (people.seconds(time).replace(" ", "\N{NO-BREAK SPACE}") for time in (times.mean, times.p99))
    return f"{mean}, {p99}"


def waiting(runs: list[RunResult]) -> str:
    """Return a sentence about the run with the longest wait for a pooled connection; empty if no run used a pool."""
    pooled = [(waits, run) for run in runs if (waits := run.record.connections.wait_time_s) is not None]
    if not pooled:
        return ""
    waits, worst = max(pooled, key=lambda row: row[0].share_of_response_time or 0.0)
    if not waits.waited:
        return "Users share a pool of connections; no request waited for a connection in any run."
    return (
        f"Waits for a connection of the pool were longest in {worst.run_id}: {people.share(waits.share_waited)} of "
        f"the requests waited, {people.seconds(waits.mean)} on average and {people.seconds(waits.p99)} at the "
        f"99th percentile. This is {people.share(waits.share_of_response_time)} of the response time."
    )


def failures(runs: list[RunResult]) -> str:
    """Count the failed connections of all runs by reason, in a sentence; empty if no connection failed."""
    return _counted((run.record.connections.connect_failures for run in runs), "Connections that failed")


def broken_answers(runs: list[RunResult]) -> str:
    """Count the incomplete responses of all runs by reason, in a sentence; empty if all responses were complete."""
    return _counted((run.record.connections.broken_answers for run in runs), "Incomplete responses")


def _counted(failures: Iterable[Mapping[str, int]], title: str) -> str:
    counts: Counter[str] = Counter()
    for each in failures:
        counts.update(each)
    sentences = [
        f"{people.count(count)} times {reason}"
        for reason, count in sorted(counts.items(), key=lambda failure: -failure[1])
    ]
    return f"{title}: {people.listing(sentences)}." if sentences else ""
