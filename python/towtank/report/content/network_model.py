"""The network of all resources beside the curve: what limits next, held-out levels, demands by transaction."""

from __future__ import annotations

from towtank.report import format as people
from towtank.report.content import held_out as levels
from towtank.report.document import Block, Callout, Column, Table, paragraph, strong, text
from towtank.report.figures import panel
from towtank.report.source import Json, Results


def networks(told: list[Json]) -> list[Json]:
    """Networks of the configurations that have one, each with its label."""
    found = [(str(one["label"]), one.get("network")) for one in told]
    return [{**network, "label": label} for label, network in found if network and network["refused"] is None]


def callouts(told: list[Json]) -> list[Block]:
    """What each network says of the bottleneck, and how good it is; why there is none."""
    blocks: list[Block] = [
        paragraph(f"{one['label']}: no network of resources. {people.sentence(str(one['network']['refused']))}")
        for one in told
        if one.get("network") and one["network"]["refused"] is not None
    ]
    for one in networks(told):
        verdict = one["verdict"]
        resources = people.plural(len(one["stations"]), "resource")
        ones = people.plural(len(one["transactions"]), "transaction")
        said = [text(strong(people.sentence(str(one["sentence"]))))]
        said.append(text(f"The network of {resources} and {ones} is {verdict['level']}."))
        said += [text(people.sentence(str(reason["text"]))) for reason in verdict["reasons"]]
        kind = "note" if verdict["level"] != "rejected" else "suspect"
        blocks.append(Callout(kind, f"{one['label']}, network", tuple(said)))
    return blocks


def held_out(results: Results, told: list[Json]) -> list[Table]:
    """Predicted by the network against measured where a level was held out: the whole, then by transaction."""
    rows = [(one, row) for one in networks(told) for row in (one["held_out"] or {}).get("points", ())]
    if not rows:
        return []
    load = panel.load_title(results.load_factor).capitalize()
    columns = (*levels.columns(results), Column("Utilization measured, predicted"))
    notes = (
        "Predicted by a network made without these levels, with their users, think times, mixes and other programs. "
        "Bands are those of one more measurement.",
    )
    whole = tuple(_whole(one, row) for one, row in rows)
    return [
        Table("Held-out levels: predicted by the network against measured", columns, whole, notes),
        _by_transaction(load, rows),
    ]


def _whole(one: Json, row: Json) -> tuple[str, ...]:
    used = [
        f"{name} {people.share(each['measured'])}, {people.share(each['predicted'])}"
        for name, each in row["utilization"].items()
    ]
    return (*levels.cells(one, row), "; ".join(used))


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
            str(one["label"]),
            people.plain(row["load"]),
            name,
            people.count(each["count"]),
            people.seconds(each["measured_response_s"]),
            people.seconds_estimate(levels.band(each["predicted_response_s"], each["band_95"])),
            people.ABSENT if each["error"] is None else people.signed_share(each["error"]),
        )
        for one, row in rows
        for name, each in row["classes"].items()
    )
    return Table("Held-out levels by transaction: predicted by the network against measured", columns, found)


def demands(told: list[Json]) -> list[Block]:
    """Demands of each network by transaction and resource, with what no resource explains."""
    return [_demands(one) for one in networks(told)]


def _demands(one: Json) -> Table:
    stations = one["stations"]
    columns = (
        Column("Transaction"),
        Column("Share", numeric=True),
        *(Column(f"Demand at {name}, 95 % interval", numeric=True) for name in stations),
        Column("Elsewhere, 95 % interval", numeric=True),
        Column("95th percentile measured over worked out", numeric=True),
    )
    rows = tuple(
        (
            name,
            people.share(row["share"]),
            *(people.seconds_estimate(station["demands_s"][name]) for station in stations.values()),
            people.seconds_estimate(row["elsewhere_s"]),
            _tail(one["percentiles"].get(name)),
        )
        for name, row in one["transactions"].items()
    )
    notes = [
        "Elsewhere is what no resource explains of the response time at low load: networks, pauses, what was not "
        "observed.",
    ]
    notes += [f"{name}: {_merged(station)}" for name, station in stations.items() if _merged(station)]
    return Table(f"What the network is made of: {one['label']}", columns, rows, tuple(notes))


def _tail(found: Json | None) -> str:
    if found is None:
        return people.ABSENT
    return people.plain_estimate({"value": found["ratio"], "low": found["low"], "high": found["high"]})


def _merged(station: Json) -> str:
    """Which transactions could not be told apart, in a sentence; empty where all could."""
    groups = [people.listing(group) for group in station["told_apart"] if len(group) > 1]
    if not groups:
        return ""
    return f"not told apart, so that they have one demand ({station['within_groups']}): {'; '.join(groups)}."
