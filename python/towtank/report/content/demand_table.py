"""Builds the section on service demands at each resource, by load and by transaction class."""

from __future__ import annotations

from towtank.model import FittedConfiguration, FittedDemand, LoadDependence
from towtank.report import format as people
from towtank.report.content import network_model
from towtank.report.document import Block, Section, Table, headings, paragraph
from towtank.report.figures import utilization_by_load
from towtank.report.source import Results


def build(results: Results) -> Section | None:
    """Build the section on service demands; None if no configuration has a model or no resource was observed."""
    configurations = [configuration for configuration in results.capacity.modelled if configuration.demands]
    if not configurations:
        return None
    blocks: list[Block] = [
        paragraph(
            "The demand of a transaction is the busy time of a resource per completed transaction: the slope of "
            "utilization against throughput. The background is the busy time without transactions."
        ),
        _resources(configurations),
    ]
    blocks += [table for configuration in configurations for table in _classes(configuration)]
    blocks += network_model.demands(configurations)
    made = utilization_by_load.figure(results)
    if made is not None:
        blocks.append(made)
    return Section("demands", "Service demands", tuple(blocks))


def _resources(configurations: list[FittedConfiguration]) -> Table:
    columns = headings(
        "Configuration",
        "Resource",
        "#Servers",
        "#Demand, 95 % interval",
        "#Background, 95 % interval | servers",
        "#At lowest load",
        "#At highest load",
        "With the load",
    )
    rows = tuple(
        (
            configuration.label,
            name,
            people.count(resource.servers),
            people.seconds_estimate(resource.demand_s),
            people.plain_estimate(resource.background),
            people.seconds(_ends(resource)[0]),
            people.seconds(_ends(resource)[1]),
            _dependence(resource.load_dependence),
        )
        for configuration in configurations
        for name, resource in configuration.demands.items()
    )
    notes = (
        "The columns of the lowest and the highest load contain the measured busy time per transaction, including the "
        "background. A disk that handles several requests at once is busy for less than the sum of the request "
        "times.",
    )
    return Table("Demands of the mean transaction by resource", columns, rows, notes)


def _ends(resource: FittedDemand) -> tuple[float | None, float | None]:
    rows = resource.by_level
    return (rows[0].demand_s, rows[-1].demand_s) if len(rows) > 1 else (None, None)


def _dependence(bend: LoadDependence | None) -> str:
    if bend is None:
        return "not tested: fewer than four levels"
    if not bend.depends:
        return f"no change seen (p = {bend.p_value:.2g})"
    return f"{bend.direction} (p = {bend.p_value:.2g})"


def _classes(configuration: FittedConfiguration) -> list[Table]:
    """Build the table of service demands at the bottleneck by transaction class; empty for fewer than two classes."""
    found = configuration.classes.get(str(configuration.bottleneck))
    if found is None or len(found.classes) < 2:
        return []
    columns = headings(
        "Transaction", "#Demand, 95 % interval", "#Lowest and highest estimate", "#Variance inflation", "Known"
    )
    rows = tuple(
        (
            name,
            people.seconds_estimate(row),
            people.seconds_like((row.lowest_estimate_s, row.highest_estimate_s), row),
            people.number(found.variance_inflation[name], 2),
            "yes" if row.identified else people.sentence("no: " + "; ".join(row.why_not)).rstrip("."),
        )
        for name, row in found.classes.items()
    )
    estimators = f"{len(found.estimates)} estimators over {people.plural(found.intervals, 'interval')}"
    note = (
        f"{estimators} of all runs; the value is that of non-negative least squares. {people.sentence(found.sentence)}"
    )
    where = f"{configuration.label}, {configuration.bottleneck}"
    return [Table(f"Demands by transaction: {where}", columns, rows, (note,))]
