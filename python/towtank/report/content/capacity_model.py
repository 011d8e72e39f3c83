"""Builds the section on the capacity model: curve and bottleneck of each configuration, residuals, held-out levels."""

from __future__ import annotations

from towtank.model import FittedConfiguration
from towtank.report import format as people
from towtank.report.content import held_out as levels
from towtank.report.content import methods, misfits, network_model
from towtank.report.document import Block, Callout, Column, Section, Table, paragraph, strong, text
from towtank.report.figures import capacity_curve, panel, residuals
from towtank.report.source import Results

CURVES = {
    "closed": "users with think times, and one bottleneck with a constant demand",
    "load-dependent": "users with think times, and one bottleneck whose demand depends on its utilization",
    "usl": "the universal scalability law",
    "amdahl": "Amdahl's law",
    "linear": "a straight line through the origin",
}


def build(results: Results) -> Section | None:
    """Build the section on the capacity model; None if no configuration has one."""
    configurations = results.capacity.modelled
    if not configurations:
        return None
    blocks: list[Block] = []
    for configuration in configurations:
        blocks.append(_sentence(configuration))
    blocks += misfits.callouts(configurations)
    blocks += network_model.callouts(configurations)
    blocks += [
        paragraph(f"{each.label}: no model. {people.sentence(each.refused)}")
        for each in results.capacity.configurations
        if each.refused is not None
    ]
    blocks += [made for make in (capacity_curve.figure, residuals.figure) if (made := make(results)) is not None]
    if len(configurations) > panel.CROWDED:
        lack = f"more than {panel.CROWDED} configurations are compared in tables"
        blocks.append(paragraph(f"The report has no figures of the curves and their residuals: {lack}."))
    tables = (
        misfits.table(results, configurations),
        _held_out(results, configurations),
        *network_model.held_out(results, configurations),
        *methods.tables(results, configurations),
    )
    blocks += [table for table in tables if table is not None]
    return Section("capacity", "Capacity model", tuple(blocks))


def _sentence(configuration: FittedConfiguration) -> Block:
    """Build a callout with the throughput limit of a configuration, its fitted curve, and the quality of the fit."""
    verdict, curve = configuration.verdict, str(configuration.curve)
    said = []
    if configuration.bottleneck_sentence:
        said.append(text(strong(people.sentence(configuration.bottleneck_sentence))))
    if configuration.shape is not None:
        said.append(text(people.sentence(configuration.shape.sentence)))
    said.append(text(f"The curve is {curve} ({CURVES.get(curve, '')}), and {verdict.level}."))
    said += [text(people.sentence(reason.text)) for reason in verdict.reasons]
    return Callout("note" if verdict.level != "rejected" else "suspect", configuration.label, tuple(said))


def _held_out(results: Results, configurations: list[FittedConfiguration]) -> Table | None:
    """Build the table of predicted and measured values at load levels that the fit did not use; None without such
    levels.
    """
    rows = [
        (*levels.cells(configuration.label, row), "yes" if row.within_95 else "no")
        for configuration in configurations
        if configuration.held_out is not None
        for row in configuration.held_out.points
    ]
    if not rows:
        return None
    columns = (*levels.columns(results), Column("Within"))
    notes = (
        "The predictions use a fit without these levels, with the users, think times and mixes of these levels. Bands "
        "are prediction bands for one further measurement; the last column states if the measured "
        "throughput is within the band.",
        "Near saturation the response time is N / X − Z, a small difference of large numbers. A relative error of the "
        "throughput is therefore N / (X R) times larger in the response time.",
    )
    return Table(
        "Held-out levels: prediction of the curve and measurement", columns, tuple(rows), notes, is_detail=True
    )
