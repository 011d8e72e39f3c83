"""What the study made happen to the system under load, what was lost to it, and how long it took to be back."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.content import heads
from towtank.report.document import Column, Figure, Section, Table, paragraph
from towtank.report.figures import timeline
from towtank.report.source import Json, Results, RunResult, dig

TIMELINES_AT_MOST = 8
"""Runs with events that are drawn; the table has all of them."""
_SAID = (
    "Events that the study asked for, at the times at which they came. The window of a run with an event ends where "
    "its first event begins, so that the other tables show the system undisturbed. Back means: the first second after "
    "throughput or failures left their band from which on both stay within it for 3 s. The band is that of the steady "
    "seconds before the first event: throughput of at least what one more such second falls short of by chance once "
    "in a thousand, failures of at most the worst of them or the limit of the study. Missed are transactions that the "
    "mean throughput of before would have brought until then."
)


def build(results: Results) -> Section | None:
    """One row for each event of each run; None where nothing was made to happen."""
    runs = [run for run in results.measured if run.summary.get("events")]
    if not runs:
        return None
    columns = (
        *heads.columns(results),
        Column("Event"),
        Column("From", "s", numeric=True),
        Column("Until", "s", numeric=True),
        Column("Throughput", "before → during, 1/s", numeric=True),
        Column("Failed requests"),
        Column("Missed", "transactions", numeric=True),
        Column("Back after", numeric=True),
    )
    told = [
        (run, number, name, one) for run in runs for number, (name, one) in enumerate(run.summary["events"].items())
    ]
    rows = tuple(_row(run, name, one, first=not number) for run, number, name, one in told)
    notes = tuple(note for run, _, name, one in told if (note := _note(run, name, one)))
    table = Table("Events and recovery", columns, rows, notes)
    return Section("events", "Events", (paragraph(_SAID), table, *_timelines(results, runs)))


def _timelines(results: Results, runs: list[RunResult]) -> list[Figure]:
    """One run over time for each set of events: that of the highest load, of these the first."""
    drawn = timeline.choose(results)
    best: dict[tuple[str, ...], RunResult] = {}
    for run in sorted(runs, key=lambda one: (-(one.load or 0.0), one.run_id)):
        best.setdefault(tuple(run.summary["events"]), run)
    shown = [run for run in best.values() if run is not drawn and dig(run.summary, "timeline", "t_s")]
    numbers = [timeline.of_run(results, run) for run in sorted(shown, key=lambda one: one.run_id)[:TIMELINES_AT_MOST]]
    return [timeline.make(results, one, f"timeline-{one.run.run_id}") for one in numbers if one.tracks]


def words(event: Json) -> str:
    """An event for people: `kill content-2`."""
    return f"{event.get('do')} {event.get('on')}"


def _row(run: RunResult, name: str, one: Json, *, first: bool) -> tuple[str, ...]:
    before, during = dig(one, "before", "throughput_per_s"), dig(one, "during", "throughput_per_s")
    missed = dig(one, "during", "missed_transactions")
    return (
        *heads.cells(run, first=first),
        f"{name}: {words(one)}",
        people.number(one.get("begin_s")),
        people.number(one.get("until_s")),
        "" if before is None else f"{people.number(before)} → {people.number(during)}",
        _failures(one),
        "" if missed is None else people.count(round(missed)),
        _back(one),
    )


def _failures(one: Json) -> str:
    """Failed requests by kind, until the system was back."""
    if one.get("during") is None:
        return ""
    kinds = dig(one, "during", "failed_requests") or {}
    return ", ".join(f"{people.count(count)} {kind.replace('_', ' ')}" for kind, count in kinds.items()) or "none"


def _back(one: Json) -> str:
    recovery = one.get("recovery_s")
    if recovery is not None:
        return people.seconds(recovery) if one.get("disturbed") else "undisturbed"
    return "not within the stage" if one.get("disturbed") else "not judged"


def _note(run: RunResult, name: str, one: Json) -> str:
    """What a row cannot hold: why there is no number, and how full a disk was."""
    if one.get("failed"):
        return f"{run.run_id}, {name}: did not happen as asked: {one['failed']}."
    if one.get("disturbed") is None and one.get("why"):
        return f"{run.run_id}, {name}: not judged, because {one['why']}."
    left = one.get("left")
    if left:
        return (
            f"{run.run_id}, {name}: the disk was left with {people.count(left.get('free_files', 0))} files and "
            f"{people.count(left.get('free_bytes', 0))} bytes, what the file system keeps for itself included."
        )
    return ""
