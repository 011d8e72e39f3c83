"""The report section on Java virtual machines: a row for each JVM, with sums over all kinds of pauses. Without a JVM
there is no section.
"""

from __future__ import annotations

from typing import Any

from towtank.report.content import java
from towtank.report.document import Table
from towtank.report.source import Results, RunResult


def counter(per_s: float | None) -> dict[str, Any]:
    return {"kind": "counter", "per_s": per_s}


def gauge(mean: float, most: float) -> dict[str, Any]:
    return {"kind": "gauge", "mean": mean, "max": most}


TOLD = {
    'jvm_gc_pauses_total{kind="young"}': counter(1.5),
    'jvm_gc_pauses_total{kind="full"}': counter(0.25),
    'jvm_gc_pause_seconds_total{kind="young"}': counter(0.02),
    'jvm_gc_pause_seconds_total{kind="full"}': counter(0.03),
    "jvm_gc_longest_pause_seconds": gauge(0.01, 0.125),
    "jvm_gc_concurrent_seconds_total": counter(0.0),
    "jvm_gc_stalls_total": counter(0.0),
    "jvm_allocated_bytes_total": counter(4.0 * 2**20),
    "jvm_heap_after_gc_bytes": gauge(24.0 * 2**20, 30.0 * 2**20),
    "jvm_heap_limit_bytes": gauge(384.0 * 2**20, 384.0 * 2**20),
}


def results(**services: object) -> Results:
    summary = {"run": "r001", "services": services, "factors": {"users": 5, "nursery": "small"}}
    return Results("results", {}, {}, (RunResult("r001", {"status": "complete"}, summary),))


def test_every_jvm_has_a_row_with_all_kinds_of_pauses_added() -> None:
    silent = {"jvm_heap_limit_bytes": gauge(2.0**29, 2.0**29)}
    section = java.build(
        results(**{"content-jvm": TOLD, "content-2-jvm": silent, "content": {"jetty_requests": gauge(1.0, 1.0)}})
    )
    assert section is not None
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    first, second = table.rows
    cells = ("1.75", "5.00 %", "125 ms", "0 %", "0", "4.00 MiB/s", "24.0 MiB", "384 MiB")
    assert first[3:] == ("content", *cells)
    assert second[3:] == ("content-2", "–", "–", "–", "–", "–", "–", "–", "512 MiB"), (
        "a value that was not recorded is shown as a dash, not as zero"
    )
    assert (first[0], second[0]) == ("r001", "")


def test_allocation_is_unknown_where_nothing_was_collected() -> None:
    quiet = {
        **TOLD,
        'jvm_gc_pauses_total{kind="young"}': counter(0.0),
        'jvm_gc_pauses_total{kind="full"}': counter(0.0),
    }
    section = java.build(results(**{"content-jvm": {**quiet, "jvm_allocated_bytes_total": counter(0.0)}}))
    assert section is not None
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    assert (table.rows[0][4], table.rows[0][9]) == ("0", "–")


def test_no_section_where_there_is_no_jvm() -> None:
    assert java.build(results(content={"jetty_requests_total": counter(1.0)})) is None
    assert java.build(results()) is None
