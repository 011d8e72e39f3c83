"""Builds the document of a report from its sections, in the order of `PARTS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
from towtank.report.document import Callout, Document, Section
from towtank.report.source import Results
from towtank.version import __version__

Builder = Callable[[Results], Section | None]
ANSWER, APPENDICES = "Answer", "Appendices"
# Parts of the report, each with the functions that build its sections.
PARTS: tuple[tuple[str, tuple[Builder, ...]], ...] = (
    (ANSWER, (headline.build,)),
    ("Results", (found_limit.build, tables.build, figures.build, effects.build, claims.build)),
    (
        "Limits and their causes",
        (
            observations.build,
            capacity_model.build,
            demand_table.build,
            balance.build,
            databases.build,
            java.build,
            storage.build,
            hosts.build,
        ),
    ),
    ("Prediction and sizing", (prediction.build, sizing.build, model_trust.build)),
    (
        "Measurement",
        (limits.build, verdicts.build, question.build, workload.build, events.build, stored.build, spread.build),
    ),
    (
        APPENDICES,
        (
            configuration.build,
            audit.build,
            backlog.build,
            generator.build,
            observation_cost.build,
            appendix.build,
        ),
    ),
)
SECTIONS: tuple[Builder, ...] = tuple(build for _, builders in PARTS for build in builders)
_PART_OF = {build: part for part, builders in PARTS for build in builders}
# Builders of sections with details, which are collapsed until the reader opens them.
_DETAILS: tuple[Builder, ...] = (
    observations.build,
    capacity_model.build,
    demand_table.build,
    balance.build,
    databases.build,
    java.build,
    storage.build,
    hosts.build,
    model_trust.build,
    verdicts.build,
    question.build,
    workload.build,
    stored.build,
    spread.build,
)


def build_document(results: Results) -> Document:
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
        answer=_answer(sections),
        question=headline.question_of(results),
        verdict=_verdict(sections),
        parts=tuple(map(str, results.summary.get("answers") or ())),
        front=ANSWER,
    )


def _answer(sections: tuple[Section, ...]) -> str:
    """Return the headline from the summary section; empty if the section could not be built."""
    headlines = (block for block in _callouts(sections) if block.level == "headline")
    return " ".join("".join(run.text for run in content) for block in headlines for content in block.content)


def _verdict(sections: tuple[Section, ...]) -> str:
    """Return the title of the verdict from the summary section; empty if the section could not be built."""
    return next(
        (block.title for block in _callouts(sections) if block.level in (*headline.LEVELS, headline.UNREPEATED)), ""
    )


def _callouts(sections: tuple[Section, ...]) -> list[Callout]:
    blocks = (block for section in sections if section.name == "summary" for block in section.blocks)
    return [block for block in blocks if isinstance(block, Callout)]


def part_of(build: Builder) -> str:
    """Return the name for messages of the section that `build` makes, such as `section capacity model`."""
    return f"section {build.__module__.rpartition('.')[2].replace('_', ' ')}"


def _section(build: Builder, results: Results) -> Section | None:
    """Build a section; if this fails, return a section that states the failure."""
    part, is_appendix = part_of(build), _PART_OF[build] == APPENDICES
    made = attempt(part, build, results)
    if isinstance(made, Failed):
        made = section_not_made(made, part.removeprefix("section ").capitalize(), appendix=is_appendix)
        return replace(made, part=_PART_OF[build])
    if made is None:
        return None
    is_detail = is_appendix or build in _DETAILS
    return replace(made, appendix=is_appendix, is_detail=is_detail, part=_PART_OF[build])
