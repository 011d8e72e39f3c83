"""The figures, in order; one that cannot be drawn is named with what it lacks."""

from __future__ import annotations

from towtank.containment import Failed, attempt
from towtank.report.content.not_made import not_made
from towtank.report.document import Block, Section, paragraph
from towtank.report.figures import FIGURES
from towtank.report.source import Results

_LACKS = {
    "throughput relative to the lowest level": "it needs two load levels with a run that counts in one configuration",
    "timeline of one run": "no run left a timeline",
}


def build(results: Results) -> Section:
    """All figures that the data allow."""
    blocks: list[Block] = []
    for what, make in FIGURES:
        made = attempt(f"figure {what}", make, results)
        if isinstance(made, Failed):
            blocks.append(not_made(made))
            continue
        lack = _LACKS.get(what, "nothing was recorded for it")
        blocks.append(made or paragraph(f"No figure of {what}: {lack}."))
    return Section("figures", "Figures", tuple(blocks))
