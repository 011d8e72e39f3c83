"""What each of several services got done for the users that stay with it, and how even that is."""

from __future__ import annotations

from collections.abc import Iterator

from towtank.report import format as people
from towtank.report.content import heads
from towtank.report.content.extremes import extremes
from towtank.report.document import Column, Section, Table, paragraph
from towtank.report.source import Json, Results, RunResult


def build(results: Results) -> Section | None:
    """One row for each service in each run; None where users are not spread over services."""
    runs = [run for run in results.measured if _several(run)]
    if not runs:
        return None
    columns = (
        *heads.columns(results),
        Column("Target"),
        Column("Fairness", numeric=True),
        Column("Service"),
        Column("Throughput", "1/s", numeric=True),
        Column("Share", numeric=True),
        Column("Failed", numeric=True),
    )
    rows = tuple(row for run in runs for name, told in _several(run).items() for row in _rows(run, name, told))
    said = (
        "Each user stays with one service of its target. Throughput is that of transactions in the window, by the "
        "service of their users. Brackets hold intervals of 95 % confidence. Fairness is Jain's index of throughputs, "
        "(Σ x)² / (n Σ x²): 1 where all got the same, 1/n where one of n got everything."
    )
    return Section(
        "spread", "Services that users are spread over", (paragraph(said), Table("By service", columns, rows))
    )


def _several(run: RunResult) -> dict[str, Json]:
    """Targets of more than one service."""
    told = run.summary.get("spread") or {}
    return {name: one for name, one in told.items() if len(one["members"]) > 1}


def _rows(run: RunResult, target: str, told: Json) -> Iterator[tuple[str, ...]]:
    members = list(told["members"].items())
    head = (*heads.cells(run), target, people.plain_estimate(told["fairness"]))
    for number, (service, one) in enumerate(extremes(members, lambda member: member[1]["share"]["value"])):
        yield (
            *(head if number == 0 else ("",) * len(head)),
            service,
            people.plain_estimate(one["throughput_per_s"]),
            people.plain_estimate(one["share"]),
            people.share(one["errors_share"]) if one["errors_share"] is not None else "",
        )
