"""Builds tables and callouts on the queueing network of all resources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from towtank.model import FittedConfiguration, FittedNetwork, HeldOutLevel, NetworkStation, NetworkTail
from towtank.report import format as people
from towtank.report.content import held_out as levels
from towtank.report.document import Block, Callout, Column, Table, headings, paragraph, strong, text
from towtank.report.figures import panel
from towtank.report.format import Ends
from towtank.report.source import Results


def networks(configurations: Iterable[FittedConfiguration]) -> list[tuple[str, FittedNetwork]]:
    """Return the fitted networks of all configurations, each with the label of its configuration."""
    found = [(configuration.label, configuration.fitted_network) for configuration in configurations]
    return [(label, network) for label, network in found if network is not None]


def callouts(configurations: list[FittedConfiguration]) -> list[Block]:
    """Return a callout on the network of each configuration, or a paragraph with the reason why it has none."""
    blocks: list[Block] = [
        paragraph(f"{configuration.label}: no network of resources. {people.sentence(configuration.network.refused)}")
        for configuration in configurations
        if configuration.network is not None and configuration.network.refused is not None
    ]
    for label, network in networks(configurations):
        level = network.verdict.level
        resources = people.plural(len(network.stations), "resource")
        transactions = people.plural(len(network.transactions), "transaction")
        said = [text(strong(people.sentence(network.sentence)))]
        said.append(text(f"The network of {resources} and {transactions} is {level}."))
        said += [text(people.sentence(reason.text)) for reason in network.verdict.reasons]
        blocks.append(Callout("note" if level != "rejected" else "suspect", f"{label}, network", tuple(said)))
    return blocks


def held_out(results: Results, configurations: list[FittedConfiguration]) -> list[Table]:
    """Build tables of predicted and measured values at held-out levels: of all transactions together, and of each."""
    rows = [
        (label, row)
        for label, network in networks(configurations)
        if network.held_out is not None
        for row in network.held_out.points
    ]
    if not rows:
        return []
    load = panel.load_title(results.load_factor).capitalize()
    columns = (*levels.columns(results), Column("Utilization measured, predicted"))
    notes = (
        "The predictions use a network fitted without these levels, with the users, think times, mixes and other "
        "programs of these levels. Bands are prediction bands for one further measurement.",
        "Intervals of measured values are computed here from blocks of seconds, as the replicates of the network are; "
        "in the tables of results they are computed from batch means of the steady window.",
    )
    whole = tuple(_whole(label, row) for label, row in rows)
    return [
        Table("Held-out levels: prediction of the network and measurement", columns, whole, notes, is_detail=True),
        _by_transaction(load, rows),
    ]


def _whole(label: str, row: HeldOutLevel) -> tuple[str, ...]:
    used = [
        f"{name} {_used(each.measured, each.measured_interval)}, {_used(each.predicted, each.band_95)}"
        for name, each in row.utilization.items()
    ]
    return (*levels.cells(label, row), "; ".join(used))


def _used(ratio: float, interval: Sequence[float | None]) -> str:
    return people.plain_estimate(Ends(100 * ratio, *(None if end is None else 100 * end for end in interval)), "%")


def _by_transaction(load: str, rows: list[tuple[str, HeldOutLevel]]) -> Table:
    columns = headings(
        "Configuration",
        f"#{load}",
        "Transaction",
        "#Ended",
        "#Response time measured",
        "#Predicted, 95 % band",
        "#Error",
    )
    found = tuple(
        (
            label,
            people.plain(row.load),
            name,
            people.count(each.count),
            people.seconds_estimate(Ends(each.measured_response_s, *(each.measured_response_interval or ()))),
            people.seconds_estimate(Ends(each.predicted_response_s, *each.band_95)),
            people.ABSENT
            if each.error is None or each.measured_response_s is None
            else people.error_of(each.predicted_response_s, each.band_95, each.measured_response_s),
        )
        for label, row in rows
        for name, each in row.classes.items()
    )
    return Table(
        "Held-out levels by transaction: prediction of the network and measurement", columns, found, is_detail=True
    )


def demands(configurations: list[FittedConfiguration]) -> list[Block]:
    """Build a table of demands by transaction and resource for each network."""
    return [_demands(label, network) for label, network in networks(configurations)]


def _demands(label: str, network: FittedNetwork) -> Table:
    stations = network.stations
    columns = headings(
        "Transaction",
        "#Share",
        *(Column(f"Demand at {name}, 95 % interval", numeric=True) for name in stations),
        "#Elsewhere, 95 % interval",
        "#95th percentile, measured divided by computed",
    )
    rows = tuple(
        (
            name,
            people.share(row.share),
            *(people.seconds_estimate(station.demands_s[name]) for station in stations.values()),
            people.seconds_estimate(row.elsewhere_s),
            _tail(network.percentiles.get(name)),
        )
        for name, row in network.transactions.items()
    )
    notes = [
        "Elsewhere is the part of the response time at low load that no resource explains: networks, pauses, resources "
        "that were not observed.",
        "These demands are fitted to busy times and response times together. The demands by transaction in the table "
        "above use only busy times; demands that busy times cannot separate have wide intervals.",
    ]
    notes += [f"{name}: {_merged(station)}" for name, station in stations.items() if _merged(station)]
    return Table(f"Demands of the network: {label}", columns, rows, tuple(notes))


def _tail(found: NetworkTail | None) -> str:
    return people.ABSENT if found is None else people.plain_estimate(Ends(found.ratio, found.low, found.high))


def _merged(station: NetworkStation) -> str:
    """Render the transactions whose demands at a resource could not be separated; empty if all could."""
    groups = [people.listing(list(group)) for group in station.merged]
    if not groups:
        return ""
    return f"demands that cannot be separated, with one common value ({station.within_groups}): {'; '.join(groups)}."
