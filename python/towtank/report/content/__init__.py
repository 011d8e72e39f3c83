"""What a report says: one file for each section, in the order of `SECTIONS`.

To add a section: a file with `build(results) -> Section`, a line in `SECTIONS`, a test. One that has nothing to say of
these results gives None and is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from towtank import __version__
from towtank.containment import Failed, attempt, attempt_or, contained
from towtank.report.content import (
    appendix,
    audit,
    backlog,
    balance,
    capacity_model,
    claims,
    configuration,
    databases,
    demand_table,
    effects,
    events,
    figures,
    found_limit,
    generator,
    headline,
    hosts,
    java,
    limits,
    model_trust,
    observation_cost,
    observations,
    prediction,
    question,
    sizing,
    spread,
    storage,
    stored,
    tables,
    verdicts,
    workload,
)
from towtank.report.content.not_made import overview, section_not_made
from towtank.report.document import Document, Section
from towtank.report.source import Results

SECTIONS: tuple[Callable[[Results], Section | None], ...] = (
    headline.build,
    question.build,
    configuration.build,
    workload.build,
    found_limit.build,
    tables.build,
    figures.build,
    events.build,
    stored.build,
    hosts.build,
    storage.build,
    java.build,
    observations.build,
    balance.build,
    spread.build,
    databases.build,
    effects.build,
    capacity_model.build,
    demand_table.build,
    model_trust.build,
    prediction.build,
    sizing.build,
    limits.build,
    verdicts.build,
    audit.build,
    backlog.build,
    generator.build,
    observation_cost.build,
    claims.build,
    appendix.build,
)


def build_document(results: Results) -> Document:
    """Build the whole report from what was measured."""
    name = results.study.get("name") or results.summary.get("study") or results.name
    with contained() as parts:
        started = attempt_or("start time", "at an unknown time", appendix.started, results)
        sections = tuple(section for build in SECTIONS if (section := _section(build, results)) is not None)
        failed = parts.faults
    return Document(
        title=results.title,
        subtitle=f"Study {name}, started {started}",
        sections=(overview(failed), *sections) if failed else sections,
        made_with=f"Written by Towtank {__version__} from the results folder {results.name}.",
    )


def part_of(build: Callable[[Results], Section | None]) -> str:
    """Name the part that a builder makes, as `section capacity model`."""
    return f"section {build.__module__.rpartition('.')[2].replace('_', ' ')}"


def _section(build: Callable[[Results], Section | None], results: Results) -> Section | None:
    """Build a section; if it fails, return a statement in its place."""
    part = part_of(build)
    made = attempt(part, build, results)
    if isinstance(made, Failed):
        title = part.removeprefix("section ").capitalize()
        return section_not_made(made, title, appendix=build is appendix.build)
    return made
