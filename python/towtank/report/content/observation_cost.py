"""Builds the section on the CPU cost of observing the system."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.content.headline import nothing
from towtank.report.document import Block, Section, Table, headings, paragraph
from towtank.report.source import Results

LIMIT_CPUS = 0.01  # Limit for the CPU use of the observation, which must not disturb the system. [CPUs]


def build(results: Results) -> Section:
    """Build the section on the cost of observation, with a table row for each run."""
    runs = [run for run in results.measured if run.summary.get("observation")]
    if not runs:
        return Section("observation", "Cost of observation", (nothing("The cost of observation"),))
    rows = tuple(
        (
            run.run_id,
            people.share(observation.cpus_used),
            people.count(observation.samples),
            people.seconds(observation.late_max_s),
            people.seconds(observation.scrape_s_mean),
        )
        for run in runs
        for observation in [run.record.observation]
    )
    columns = headings(
        "Run",
        "#CPU | of one core",
        "#Samples | count",
        "#Latest sample | after its time",
        "#Mean scrape | of one service",
    )
    blocks: list[Block] = [paragraph(sentence(results)), Table("Cost of observation by run", columns, rows)]
    return Section("observation", "Cost of observation", tuple(blocks))


def sentence(results: Results) -> str:
    """Return a sentence that compares the highest CPU cost of the observation in any run with its limit."""
    costs = [cost for run in results.measured if (cost := run.record.observation.cpus_used) is not None]
    if not costs:
        return "The CPU use of the observation was not recorded."
    verdict = "below" if max(costs) < LIMIT_CPUS else "above"
    return (
        f"Observation used at most {people.share(max(costs))} of one core in any run, {verdict} the limit of "
        f"{people.plain(LIMIT_CPUS * 100)} %. This is part of the CPU of the host, not of any tier."
    )
