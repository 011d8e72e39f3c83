"""Builds the section on the cost of garbage collection in Java virtual machines, from their logs."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.report import format as people
from towtank.report.content import heads
from towtank.report.document import Column, Section, Table, paragraph
from towtank.report.source import Json, Results, RunResult

_LIMIT = "jvm_heap_limit_bytes"
_PAUSES = "jvm_gc_pauses_total"
_PAUSE_TIME = "jvm_gc_pause_seconds_total"


def build(results: Results) -> Section | None:
    """Build the section on Java virtual machines; None if no run has one."""
    rows = tuple(row for run in results.measured for row in _rows(run))
    if not rows:
        return None
    columns = (
        *heads.columns(results),
        Column("JVM"),
        Column("Pauses", "/s", numeric=True),
        Column("Paused", "share of time", numeric=True),
        Column("Longest", "pause", numeric=True),
        Column("Concurrent", "share of time", numeric=True),
        Column("Waited", "for memory, /s", numeric=True),
        Column("Allocated", numeric=True),
        Column("Heap", "after a collection", numeric=True),
        Column("Limit", numeric=True),
    )
    said = (
        "Log entries of the collector of each virtual machine in the steady window. During a pause all other threads "
        "stop. Concurrent work takes CPU time from the load, on the concurrent threads of the collector. If a thread "
        "waits for memory (collector Z), only this thread stops. The heap after a collection contains the memory in "
        "use and the garbage that the collection left. Allocations are logged only at collections, so with few "
        "collections in the window they are inaccurate."
    )
    return Section("java", "Java virtual machines", (paragraph(said), Table("Collectors", columns, rows)))


def _rows(run: RunResult) -> Iterator[tuple[str, ...]]:
    services: Json = run.summary.get("services") or {}
    first = True
    for name in sorted(services, key=lambda each: each.removesuffix("-jvm")):
        values: Json = services[name]
        if _LIMIT not in values:
            continue
        head = heads.cells(run, first=first)
        first = False
        pauses = _sum(values, _PAUSES)
        # Allocations are logged only at garbage collections; without one, they are unknown, not zero.
        allocated = _value(values, "jvm_allocated_bytes_total", "per_s") if pauses else None
        yield (
            *head,
            name.removesuffix("-jvm"),
            people.number(pauses),
            people.share(_sum(values, _PAUSE_TIME)),
            people.seconds(_value(values, "jvm_gc_longest_pause_seconds", "max")),
            people.share(_value(values, "jvm_gc_concurrent_seconds_total", "per_s")),
            people.number(_value(values, "jvm_gc_stalls_total", "per_s")),
            people.size_rate(allocated),
            people.size(_value(values, "jvm_heap_after_gc_bytes", "mean")),
            people.size(_value(values, _LIMIT, "max")),
        )


def _value(values: Json, name: str, what: str) -> float | None:
    value = values.get(name, {}).get(what)
    return float(value) if isinstance(value, int | float) else None


def _sum(values: Json, name: str) -> float | None:
    """Return the sum of the rates of a metric over all kinds of collections; None if no kind was recorded. [1/s]"""
    found = [_value(values, key, "per_s") for key in values if key.partition("{")[0] == name]
    known = [value for value in found if value is not None]
    return sum(known) if known else None
