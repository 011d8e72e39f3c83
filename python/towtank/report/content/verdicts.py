"""Builds the section on the verdicts of all planned runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from towtank.analysis import Accounting, Little, UtilizationLaw
from towtank.digging import dig
from towtank.report import format as people
from towtank.report import runs_over_time
from towtank.report.content import failed_exchanges, service_logs
from towtank.report.document import Block, Column, Figure, Section, Table, headings
from towtank.report.figures import timeline
from towtank.report.source import Results, RunResult

_CONSEQUENCES = {
    "valid": "counts",
    "suspect": "counts, marked",
    "invalid": "left out",
    "none": "left out",
}


def build(results: Results) -> Section:
    """Build the section: verdict on each run, log lines and timelines of runs with doubts, and operational laws."""
    blocks: list[Block] = [_verdicts(results)]
    if results.measured:
        blocks += [
            *failed_exchanges.blocks(results),
            *service_logs.blocks(results),
            *_timelines(results),
            _laws(results),
            _accounting(results),
        ]
    return Section("verdicts", "Verdict of every run", tuple(blocks))


def _timelines(results: Results) -> list[Figure]:
    """Return the timelines of the runs that `runs_over_time.doubted` selects."""
    numbers = [timeline.of_run(results, run) for run in runs_over_time.doubted(results)]
    drawn = [timeline.make(results, each, f"timeline-{each.run.run_id}") for each in numbers if each.tracks]
    return [replace(figure, is_detail=True) for figure in drawn]


def _verdicts(results: Results) -> Table:
    names = list(dict.fromkeys(name for run in results.runs for name in run.factors))
    columns = headings(
        "Run", *(Column(name) for name in names), "Ended", "Verdict", "In the results", "#Steady window | s", "Reasons"
    )
    rows = tuple(
        (
            run.run_id,
            *(run.factors.get(name, people.ABSENT) for name in names),
            status(run),
            "not judged" if run.verdict == "none" else run.verdict,
            _CONSEQUENCES[run.verdict],
            _window(run),
            reasons(run),
        )
        for run in results.runs
    )
    return Table("Runs in their planned order", columns, rows)


def status(run: RunResult) -> str:
    """Render how a run ended; for a failed or stopped run, with the reason."""
    words = {"running": "cut off", "missing": "not run", "planned": "not run"}.get(run.status, run.status)
    reason = run.manifest.get("reason")
    return f"{words}: {reason}" if reason and run.status in ("failed", "stopped") else words


def reasons(run: RunResult) -> str:
    """Render the doubts that led to the verdict on a run; notes are omitted."""
    said = [(doubt.message or doubt.kind).rstrip(".") for doubt in run.doubts if doubt.level != "note"]
    return "; ".join(said) or people.ABSENT


def _window(run: RunResult) -> str:
    start, end = dig(run.summary, "window", "start_s"), dig(run.summary, "window", "end_s")
    if not isinstance(start, (int, float)) or not isinstance(end, (int, float)):
        return people.ABSENT
    return f"{people.plain(round(start, 3))} to {people.plain(round(end, 3))}"


def _laws(results: Results) -> Table:
    """Build the table of deviations from Little's law, and from the utilization law at the worst tier, in each run."""
    rows = []
    for run in results.measured:
        laws = run.record.laws
        worst = max(laws.utilization, key=lambda law: abs(law.residual), default=None)
        tier = people.ABSENT if worst is None else worst.tier
        rows.append((run.run_id, *_law(laws.little), tier, *_law(worst)))
    columns = headings(
        "Run",
        "#Little's law: residual",
        "#Limit",
        "Holds",
        "Utilization law: worst tier",
        "#Residual",
        "#Limit",
        "Holds",
    )
    notes = (
        "Little's law: users = throughput × (response time + think time). Utilization law: CPUs used = "
        "throughput × CPU demand.",
    )
    return Table("Operational laws, checked on every run", columns, tuple(rows), notes, is_detail=True)


def _law(law: Little | UtilizationLaw | None) -> tuple[str, str, str]:
    if law is None:
        return people.ABSENT, people.ABSENT, people.ABSENT
    unknown = "not checked" if law.residual is None else "undecided"
    return people.share(law.residual), people.share(law.limit), unknown if law.holds is None else _yes(law.holds)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _accounting(results: Results) -> Table:
    rows = tuple((run.run_id, *_counts(run.record.accounting)) for run in results.measured)
    columns = headings(
        "Run", "#Offered", "#Started", "#Ok", "Failed", "Not started", "#In flight at the end", "Adds up"
    )
    notes = ("Offered = started + not started; started = ok + failed + in flight.",)
    return Table("Accounting of requests over whole runs", columns, rows, notes, is_detail=True)


def _counts(found: Accounting | None) -> tuple[str, ...]:
    if found is None:
        return (people.ABSENT,) * 7
    return (
        *map(people.count, (found.offered, found.started, found.ok)),
        *map(_kinds, (found.failed, found.not_started)),
        people.count(found.in_flight),
        _yes(found.holds),
    )


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{people.count(number)} {kind}" for kind, number in counts.items() if number) or "0"
