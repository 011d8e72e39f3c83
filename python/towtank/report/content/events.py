"""Builds the section on events that the study caused, such as a killed service, with losses and recovery times."""

from __future__ import annotations

from towtank.analysis import EventResult, Losses
from towtank.report import format as people
from towtank.report import runs_over_time
from towtank.report.content import heads
from towtank.report.document import Figure, Section, Table, headings, paragraph
from towtank.report.figures import timeline
from towtank.report.source import Results, RunResult

_SAID = (
    "Events of the study, with the times at which they occurred. The window of a run ends when its first event begins, "
    "so the other tables show the undisturbed system. A system has recovered when throughput and failures are within "
    "their bands again for 3 s. The bands are computed from the steady seconds before the first event. By "
    "chance, 0.1 % of undisturbed seconds fall below the throughput band. The failure band ends at the share "
    "of failures in the worst of these seconds, or at the limit of the study. Missed transactions are the "
    "transactions that would also have been completed until the recovery at the mean throughput before the event."
)


def build(results: Results) -> Section | None:
    """Build the section on events; None if the study caused none."""
    runs = [run for run in results.measured if run.record.events]
    if not runs:
        return None
    columns = headings(
        *heads.columns(results),
        "Event",
        "#From | s",
        "#Until | s",
        "#Throughput | before → during, 1/s",
        "Failed requests",
        "#Missed | transactions",
        "#Back after",
    )
    happened = [
        (run, number, name, event) for run in runs for number, (name, event) in enumerate(run.record.events.items())
    ]
    rows = tuple(_row(run, name, event, first=not number) for run, number, name, event in happened)
    notes = tuple(note for run, _, name, event in happened if (note := _note(run, name, event)))
    table = Table("Events and recovery", columns, rows, notes)
    return Section("events", "Events", (paragraph(_SAID), table, *_timelines(results)))


def _timelines(results: Results) -> list[Figure]:
    """Return the timelines of the runs that `runs_over_time.with_events` selects."""
    numbers = [timeline.of_run(results, run) for run in runs_over_time.with_events(results)]
    return [timeline.make(results, each, f"timeline-{each.run.run_id}") for each in numbers if each.tracks]


def words(event: EventResult) -> str:
    return f"{event.do} {event.on}"


def _row(run: RunResult, name: str, event: EventResult, *, first: bool) -> tuple[str, ...]:
    before, during = event.before, event.during or Losses()
    return (
        *heads.cells(run, first=first),
        f"{name}: {words(event)}",
        people.number(event.begin_s),
        people.number(event.until_s),
        ""
        if before is None
        else f"{people.number(before.throughput_per_s)} → {people.number(during.throughput_per_s)}",
        _failures(event),
        "" if during.missed_transactions is None else people.count(round(during.missed_transactions)),
        _back(event),
    )


def _failures(event: EventResult) -> str:
    """Render the number of requests that failed between an event and the recovery, by kind of failure."""
    if event.during is None:
        return ""
    kinds = event.during.failed_requests
    return ", ".join(f"{people.count(count)} {kind.replace('_', ' ')}" for kind, count in kinds.items()) or "none"


def _back(event: EventResult) -> str:
    if event.recovery_s is not None:
        return people.seconds(event.recovery_s) if event.disturbed else "undisturbed"
    return "not before the end of the stage" if event.disturbed else "not judged"


def _note(run: RunResult, name: str, event: EventResult) -> str:
    """Return a note on an event that failed or was not judged, with the reason, or on the free space of a filled
    disk.
    """
    if event.failed:
        return f"{run.run_id}, {name}: the event did not occur as requested: {event.failed}."
    if event.disturbed is None and event.why:
        return f"{run.run_id}, {name}: not judged, because {event.why}."
    left = event.left
    if left:
        return (
            f"{run.run_id}, {name}: the disk was left with {people.count(left.get('free_files', 0))} files and "
            f"{people.count(left.get('free_bytes', 0))} bytes free, including the reserve of the file system."
        )
    return ""
