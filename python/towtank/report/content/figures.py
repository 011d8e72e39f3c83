"""Builds the section with the figures of a report."""

from __future__ import annotations

from dataclasses import replace

from towtank.containment import Failed, attempt
from towtank.report.content.not_made import not_made
from towtank.report.document import Block, Section, paragraph
from towtank.report.figures import FIGURES, every_run, panel
from towtank.report.source import Results

_LACKS = {
    "throughput relative to the lowest level": "it needs a configuration with valid or suspect runs at two load levels",
    "percentiles of the response time": "it needs two points with a valid or suspect run",
    "response times of one run over time": "no run has readable recordings",
    "timeline of one run": "no run has a timeline",
}
# Figures that repeat data of other figures, and are therefore collapsed.
_DETAILS = ("throughput relative to the lowest level", "disk reads and writes", "timeline of one run")
_NOT_OF_MANY = ("throughput relative to the lowest level", "percentiles of the response time")
_MANY = f"more than {panel.CROWDED} configurations are compared in tables"


def build(results: Results) -> Section:
    """Build the section on figures; a sentence replaces a figure for which data are missing."""
    blocks: list[Block] = []
    loads = {point.level for configuration in results.configurations for point in configuration.points}
    # If there are several loads, other figures already show the response times.
    is_repeated = len(loads) > 1 and len(results.configurations) <= panel.CROWDED
    details = (*_DETAILS, "response time") if is_repeated else _DETAILS
    for what, make in FIGURES:
        made = attempt(f"figure {what}", make, results)
        if isinstance(made, Failed):
            blocks.append(not_made(made))
            continue
        is_crowded = len(results.configurations) > panel.CROWDED and what in _NOT_OF_MANY
        lack = _MANY if is_crowded else _LACKS.get(what, _nothing(results))
        if made is not None:
            blocks.append(replace(made, is_detail=what in details))
        else:
            blocks.append(paragraph(f"No figure of {what}: {lack}."))
    small = attempt("figures of every run", every_run.figures, results)
    blocks += [not_made(small)] if isinstance(small, Failed) else small
    return Section("figures", "Figures", tuple(blocks))


def _nothing(results: Results) -> str:
    """Return the reason why a figure of load points is missing."""
    if not results.in_state("valid", "suspect"):
        return "no run is valid or suspect"
    points = sum(len(configuration.points) for configuration in results.configurations)
    return "it needs two points, and the only point is in the tables" if points == 1 else "no data were recorded for it"
