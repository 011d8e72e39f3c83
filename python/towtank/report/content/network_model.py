"""Builds tables and callouts on the queueing network of all resources."""

from __future__ import annotations

from collections.abc import Sequence

from towtank.report import format as people
from towtank.report.content import held_out as levels
from towtank.report.document import Block, Callout, Column, Table, paragraph, strong, text
from towtank.report.figures import panel
from towtank.report.source import Json, Results


def networks(configurations: list[Json]) -> list[Json]:
    """Return the fitted networks of all configurations, each with the label of its configuration."""
    found = [(str(configuration["label"]), configuration.get("network")) for configuration in configurations]
    return [{**network, "label": label} for label, network in found if network and network["refused"] is None]


def callouts(configurations: list[Json]) -> list[Block]:
    """Return a callout on the network of each configuration, or a paragraph with the reason why it has none."""
    blocks: list[Block] = [
        paragraph(
            f"{configuration['label']}: no network of resources. "
            f"{people.sentence(str(configuration['network']['refused']))}"
        )
        for configuration in configurations
        if configuration.get("network") and configuration["network"]["refused"] is not None
    ]
    for configuration in networks(configurations):
        verdict = configuration["verdict"]
        resources = people.plural(len(configuration["stations"]), "resource")
        transactions = people.plural(len(configuration["transactions"]), "transaction")
        said = [text(strong(people.sentence(str(configuration["sentence"]))))]
        said.append(text(f"The network of {resources} and {transactions} is {verdict['level']}."))
        said += [text(people.sentence(str(reason["text"]))) for reason in verdict["reasons"]]
        kind = "note" if verdict["level"] != "rejected" else "suspect"
        blocks.append(Callout(kind, f"{configuration['label']}, network", tuple(said)))
    return blocks


def held_out(results: Results, configurations: list[Json]) -> list[Table]:
    """Build tables of predicted and measured values at held-out levels: of all transactions together, and of each."""
    rows = [
        (configuration, row)
        for configuration in networks(configurations)
        for row in (configuration["held_out"] or {}).get("points", ())
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
    whole = tuple(_whole(network, row) for network, row in rows)
    return [
        Table("Held-out levels: prediction of the network and measurement", columns, whole, notes, is_detail=True),
        _by_transaction(load, rows),
    ]


def _whole(network: Json, row: Json) -> tuple[str, ...]:
    used = [
        f"{name} {_used(each['measured'], each.get('measured_interval'))}, {_used(each['predicted'], each['band_95'])}"
        for name, each in row["utilization"].items()
    ]
    return (*levels.cells(network, row), "; ".join(used))


def _used(ratio: float, interval: Sequence[float | None] | None) -> str:
    percent = [None if end is None else 100 * end for end in interval or (None, None)]
    return people.plain_estimate(levels.band(100 * ratio, percent), "%")


def _by_transaction(load: str, rows: list[tuple[Json, Json]]) -> Table:
    columns = (
        Column("Configuration"),
        Column(load, numeric=True),
        Column("Transaction"),
        Column("Ended", numeric=True),
        Column("Response time measured", numeric=True),
        Column("Predicted, 95 % band", numeric=True),
        Column("Error", numeric=True),
    )
    found = tuple(
        (
            str(network["label"]),
            people.plain(row["load"]),
            name,
            people.count(each["count"]),
            people.seconds_estimate(levels.band(each["measured_response_s"], each.get("measured_response_interval"))),
            people.seconds_estimate(levels.band(each["predicted_response_s"], each["band_95"])),
            people.ABSENT
            if each["error"] is None
            else people.error_of(each["predicted_response_s"], each["band_95"], each["measured_response_s"]),
        )
        for network, row in rows
        for name, each in row["classes"].items()
    )
    return Table(
        "Held-out levels by transaction: prediction of the network and measurement", columns, found, is_detail=True
    )


def demands(configurations: list[Json]) -> list[Block]:
    """Build a table of demands by transaction and resource for each network."""
    return [_demands(configuration) for configuration in networks(configurations)]


def _demands(network: Json) -> Table:
    stations = network["stations"]
    columns = (
        Column("Transaction"),
        Column("Share", numeric=True),
        *(Column(f"Demand at {name}, 95 % interval", numeric=True) for name in stations),
        Column("Elsewhere, 95 % interval", numeric=True),
        Column("95th percentile, measured divided by computed", numeric=True),
    )
    rows = tuple(
        (
            name,
            people.share(row["share"]),
            *(people.seconds_estimate(station["demands_s"][name]) for station in stations.values()),
            people.seconds_estimate(row["elsewhere_s"]),
            _tail(network["percentiles"].get(name)),
        )
        for name, row in network["transactions"].items()
    )
    notes = [
        "Elsewhere is the part of the response time at low load that no resource explains: networks, pauses, resources "
        "that were not observed.",
        "These demands are fitted to busy times and response times together. The demands by transaction in the table "
        "above use only busy times; demands that busy times cannot separate have wide intervals.",
    ]
    notes += [f"{name}: {_merged(station)}" for name, station in stations.items() if _merged(station)]
    return Table(f"Demands of the network: {network['label']}", columns, rows, tuple(notes))


def _tail(found: Json | None) -> str:
    if found is None:
        return people.ABSENT
    return people.plain_estimate({"value": found["ratio"], "low": found["low"], "high": found["high"]})


def _merged(station: Json) -> str:
    """Render the transactions whose demands at a resource could not be separated; empty if all could."""
    groups = [people.listing(group) for group in station["told_apart"] if len(group) > 1]
    if not groups:
        return ""
    return f"demands that cannot be separated, with one common value ({station['within_groups']}): {'; '.join(groups)}."
