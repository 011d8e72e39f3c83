"""Builds the section on targets that distribute their users over several services."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.analysis import Spread
from towtank.report import format as people
from towtank.report.content import heads
from towtank.report.content.extremes import extremes
from towtank.report.document import Section, Table, headings, paragraph
from towtank.report.source import Results, RunResult


def build(results: Results) -> Section | None:
    """Build the table of transactions by service and run; None if no target has more than one service."""
    runs = [run for run in results.measured if _several(run)]
    if not runs:
        return None
    columns = headings(
        *heads.columns(results), "Target", "#Fairness", "Service", "#Throughput | 1/s", "#Share", "#Failed"
    )
    rows = tuple(row for run in runs for name, counts in _several(run).items() for row in _rows(run, name, counts))
    said = (
        "Each user stays with one service of its target. Throughput is the rate of transactions in the window by the "
        "service of their users. Brackets contain 95 % confidence intervals. Fairness is Jain's index of throughputs, "
        "(Σ x)² / (n Σ x²): 1 if all services have the same throughput, 1/n if one of n services has all of it."
    )
    return Section(
        "spread", "Distribution of users over services", (paragraph(said), Table("By service", columns, rows))
    )


def _several(run: RunResult) -> dict[str, Spread]:
    """Return the targets of a run that have more than one service, by name, with the figures of each service."""
    return {name: service for name, service in run.record.spread.items() if len(service.members) > 1}


def _rows(run: RunResult, target: str, counts: Spread) -> Iterator[tuple[str, ...]]:
    members = list(counts.members.items())
    head = (*heads.cells(run), target, people.plain_estimate(counts.fairness.document()))
    for number, (service, each) in enumerate(extremes(members, lambda member: member[1].share.value)):
        yield (
            *(head if number == 0 else ("",) * len(head)),
            service,
            people.plain_estimate(each.throughput_per_s.document()),
            people.plain_estimate(each.share.document()),
            people.share(each.errors_share) if each.errors_share is not None else "",
        )
