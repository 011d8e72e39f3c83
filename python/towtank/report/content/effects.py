"""Builds the section on effects of factors with two levels, and their interactions."""

from __future__ import annotations

from towtank.analysis import EffectsOnMetric
from towtank.report import format as people
from towtank.report.content.observations import quantity_name
from towtank.report.document import Block, Section, Table, headings, paragraph
from towtank.report.source import Results

# Ratio of the largest to the smallest value from which a note states that effects probably multiply. [ratio]
_SPANS = 10.0


def build(results: Results) -> Section | None:
    """Build the section on effects of factors; None if fewer than two factors have two levels."""
    found = results.study_summary.effects
    if not found:
        return None
    blocks: list[Block] = [
        paragraph(
            "The change of a factor is the difference between the means over all configurations at its second and at "
            "its first level. An interaction of two factors is half the difference between the changes of one factor "
            "at the second and at the first level of the other factor. Shares are parts of the whole variation between "
            "the runs and add up to 100 % for each quantity."
        )
    ]
    blocks += [_table(effect) for effect in found]
    return Section("effects", "Effects of the factors", tuple(blocks))


def _table(analysis: EffectsOnMetric) -> Table:
    show = people.rate_estimate if analysis.metric.endswith("_per_s") else people.seconds_estimate
    names = {factor.name: " → ".join(factor.levels) for factor in analysis.factors}
    rows = [
        (
            _name(effect.factors, names),
            show(effect.change),
            people.share(effect.share),
            {True: "yes", False: "no", None: people.ABSENT}[effect.differs],
        )
        for effect in analysis.effects
    ]
    rows.append(
        ("repetitions of the same configuration", people.ABSENT, people.share(analysis.error_share), people.ABSENT)
    )
    at = ", ".join(f"{name} {level}" for name, level in analysis.at.items())
    metric = quantity_name(analysis.metric)
    caption = f"Effects on the {metric}{f' at {at}' if at else ''}, mean {show(analysis.mean)}"
    columns = headings("Factors", "#Change", "#Share", "Beyond chance")
    return Table(caption, columns, tuple(rows), tuple(_notes(analysis)))


def _name(factors: tuple[str, ...], levels: dict[str, str]) -> str:
    if len(factors) == 1:
        return f"{factors[0]} {levels[factors[0]]}"
    return " × ".join(factors)


def _notes(analysis: EffectsOnMetric) -> list[str]:
    notes = []
    if analysis.error_share is None:
        notes.append("No configuration was repeated, so the effects have no intervals and may be due to chance.")
    if analysis.spans is not None and analysis.spans >= _SPANS:
        notes.append(
            f"The largest value is {people.number(analysis.spans)} times the smallest. Effects of this size usually "
            "multiply instead of adding up, which may explain a part of the interactions."
        )
    return notes
