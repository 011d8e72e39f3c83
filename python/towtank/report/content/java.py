"""What the collectors of Java virtual machines cost, as their logs tell."""

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
    """One row for each virtual machine in each run; None where there is none."""
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
        "What each virtual machine wrote of its collector in the steady window. In a pause nothing else runs; "
        "concurrent work takes CPU from the load, on as many threads as the collector has for it. A thread that waits "
        "for memory (Z) stands still like in a pause, alone. The heap after a collection is what is really in use, and "
        "some garbage that this collection left. What was allocated is told at collections: with few of them in the "
        "window it is rough."
    )
    return Section("java", "Java virtual machines", (paragraph(said), Table("Collectors", columns, rows)))


def _rows(run: RunResult) -> Iterator[tuple[str, ...]]:
    services: Json = run.summary.get("services") or {}
    first = True
    for name in sorted(services, key=lambda each: each.removesuffix("-jvm")):
        told: Json = services[name]
        if _LIMIT not in told:
            continue
        head = heads.cells(run, first=first)
        first = False
        pauses = _sum(told, _PAUSES)
        # The log tells what was allocated when it is collected: without a collection that is not nothing, but unknown.
        allocated = _value(told, "jvm_allocated_bytes_total", "per_s") if pauses else None
        yield (
            *head,
            name.removesuffix("-jvm"),
            people.number(pauses),
            people.share(_sum(told, _PAUSE_TIME)),
            people.seconds(_value(told, "jvm_gc_longest_pause_seconds", "max")),
            people.share(_value(told, "jvm_gc_concurrent_seconds_total", "per_s")),
            people.number(_value(told, "jvm_gc_stalls_total", "per_s")),
            people.size_rate(allocated),
            people.size(_value(told, "jvm_heap_after_gc_bytes", "mean")),
            people.size(_value(told, _LIMIT, "max")),
        )


def _value(told: Json, name: str, what: str) -> float | None:
    value = told.get(name, {}).get(what)
    return float(value) if isinstance(value, int | float) else None


def _sum(told: Json, name: str) -> float | None:
    """Rate over all kinds; None where no kind was told of."""
    found = [_value(told, key, "per_s") for key in told if key.partition("{")[0] == name]
    known = [value for value in found if value is not None]
    return sum(known) if known else None
