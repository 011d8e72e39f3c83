"""Builds the section on the cost of garbage collection in Java virtual machines, from their logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towtank.analysis import NO_METRIC, Metric
from towtank.report import format as people
from towtank.report.content import heads
from towtank.report.document import Section, Table, headings, paragraph
from towtank.report.source import Results, RunResult

_LIMIT = "jvm_heap_limit_bytes"
_PAUSES = "jvm_gc_pauses_total"
_PAUSE_TIME = "jvm_gc_pause_seconds_total"


def build(results: Results) -> Section | None:
    """Build the section on Java virtual machines; None if no run has one."""
    rows = tuple(row for run in results.measured for row in _rows(run))
    if not rows:
        return None
    columns = headings(
        *heads.columns(results),
        "JVM",
        "#Pauses | /s",
        "#Paused | share of time",
        "#Longest | pause",
        "#Concurrent | share of time",
        "#Waited | for memory, /s",
        "#Allocated",
        "#Heap | after a collection",
        "#Limit",
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
    first = True
    for name, values in sorted(run.record.services.items(), key=lambda each: each[0].removesuffix("-jvm")):
        if _LIMIT not in values:
            continue
        head = heads.cells(run, first=first)
        first = False
        pauses = _sum(values, _PAUSES)
        # Allocations are logged only at garbage collections; without one, they are unknown, not zero.
        allocated = values.get("jvm_allocated_bytes_total", NO_METRIC).per_s if pauses else None
        yield (
            *head,
            name.removesuffix("-jvm"),
            people.number(pauses),
            people.share(_sum(values, _PAUSE_TIME)),
            people.seconds(values.get("jvm_gc_longest_pause_seconds", NO_METRIC).max),
            people.share(values.get("jvm_gc_concurrent_seconds_total", NO_METRIC).per_s),
            people.number(values.get("jvm_gc_stalls_total", NO_METRIC).per_s),
            people.size_rate(allocated),
            people.size(values.get("jvm_heap_after_gc_bytes", NO_METRIC).mean),
            people.size(values[_LIMIT].max),
        )


def _sum(values: Mapping[str, Metric], name: str) -> float | None:
    """Return the sum of the rates of a metric over all kinds of collections; None if no kind was recorded. [1/s]"""
    known = [found.per_s for key, found in values.items() if key.partition("{")[0] == name and found.per_s is not None]
    return sum(known) if known else None
