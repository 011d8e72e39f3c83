"""Builds the section on the capacity model: curve and bottleneck of each configuration, residuals, held-out levels."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.content import held_out as levels
from towtank.report.content import methods, misfits, network_model
from towtank.report.document import Block, Callout, Column, Section, Table, paragraph, strong, text
from towtank.report.figures import capacity_curve, panel, residuals
from towtank.report.source import Json, Results

CURVES = {
    "closed": "users with think times, and one bottleneck with a constant demand",
    "load-dependent": "users with think times, and one bottleneck whose demand depends on its utilization",
    "usl": "the universal scalability law",
    "amdahl": "Amdahl's law",
    "linear": "a straight line through the origin",
}


def build(results: Results) -> Section | None:
    """Build the section on the capacity model; None if no configuration has one."""
    configurations = capacity_curve.modelled(results)
    if not configurations:
        return None
    blocks: list[Block] = []
    for configuration in configurations:
        blocks.append(_sentence(configuration))
    blocks += misfits.callouts(configurations)
    blocks += network_model.callouts(configurations)
    blocks += [
        paragraph(f"{each_configuration['label']}: no model. {people.sentence(str(each_configuration['refused']))}")
        for each_configuration in _refused(results)
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


def _refused(results: Results) -> list[Json]:
    return [
        configuration
        for configuration in results.model.get("configurations") or ()
        if configuration.get("refused") is not None
    ]


def _sentence(configuration: Json) -> Block:
    """Build a callout with the throughput limit of a configuration, its fitted curve, and the quality of the fit."""
    verdict = configuration["verdict"]
    curve = text(
        f"The curve is {configuration['curve']} ({CURVES.get(str(configuration['curve']), '')}), "
        f"and {verdict['level']}."
    )
    said = []
    if configuration.get("bottleneck_sentence"):
        said.append(text(strong(people.sentence(str(configuration["bottleneck_sentence"])))))
    shape = (configuration.get("shape") or {}).get("sentence")
    if shape:
        said.append(text(people.sentence(str(shape))))
    said.append(curve)
    said += [text(people.sentence(str(reason["text"]))) for reason in verdict["reasons"]]
    return Callout("note" if verdict["level"] != "rejected" else "suspect", str(configuration["label"]), tuple(said))


def _held_out(results: Results, configurations: list[Json]) -> Table | None:
    """Build the table of predicted and measured values at load levels that the fit did not use; None without such
    levels.
    """
    rows = [
        (*levels.cells(configuration, row), "yes" if row["within_95"] else "no")
        for configuration in configurations
        for row in (configuration["held_out"] or {}).get("points", ())
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
