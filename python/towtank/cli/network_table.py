"""What `towtank model fit network` prints for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.fit_table import estimated_times, refused_predictions
from towtank.estimates import duration_estimate, few_digits, number_estimate
from towtank.size.interval import Interval, duration_text, share_text

Json = dict[str, Any]


def network_lines(document: Json) -> list[RenderableType]:
    """Verdict, stations, transactions, levels, held-out level, predictions, what limits."""
    label = document["label"]
    left_out = [f"  left out, {one['run']}: {one['why']}" for one in document["excluded"]]
    if document["refused"] is not None:
        return [f"{label}: no network", *left_out, f"  {document['refused']}"]
    verdict = document["verdict"]
    lines: list[RenderableType] = [f"{label}: network of {_count(document)} - {verdict['level']}", *left_out]
    lines += [f"  {one['text']}" for one in verdict["reasons"]]
    lines.append(_stations(document))
    lines += _groups(document)
    lines += [_transactions(document), _levels(document)]
    if document["held_out"]:
        lines += [_held_out(document["held_out"]), _held_out_classes(document["held_out"])]
    lines += [_predictions(document), *refused_predictions(document), document["sentence"]]
    if "model" in document:
        lines.append(f"model written to {document['model']['file']}")
    return lines


def _count(document: Json) -> str:
    stations, ones = len(document["stations"]), len(document["transactions"])
    return f"{stations} resource{'s' if stations > 1 else ''} and {ones} transaction{'s' if ones > 1 else ''}"


def _stations(document: Json) -> Table:
    table = Table("resource", "servers", "demand of the mix", "95 % interval", "background", "other programs")
    for name, one in document["stations"].items():
        others = one["other_programs"]
        table.add_row(
            name,
            str(one["servers"]),
            *estimated_times(one["demand_s"]),
            f"{one['background']['value']:.3g}",
            f"{min(others):.2g} - {max(others):.2g}",
        )
    return table


def _groups(document: Json) -> list[str]:
    """Which transactions share a demand because they cannot be told apart."""
    lines = []
    for name, one in document["stations"].items():
        merged = [" + ".join(group) for group in one["told_apart"] if len(group) > 1]
        if merged:
            lines.append(f"{name}: not told apart, with one demand {one['within_groups']}: {'; '.join(merged)}")
    return lines


def _transactions(document: Json) -> Table:
    stations = document["stations"]
    columns = [f"at {name}" for name in stations]
    table = Table("transaction", "share", "requests", *columns, "elsewhere", "p95 measured / worked out")
    for name, one in document["transactions"].items():
        tail = document["percentiles"].get(name)
        demands = [each["demands_s"][name] for each in stations.values()]
        table.add_row(
            name,
            share_text(one["share"]),
            f"{one['requests']:.3g}",
            *(duration(each["value"], each["low"], each["high"]) for each in demands),
            duration(*(one["elsewhere_s"][key] for key in ("value", "low", "high"))),
            "-" if tail is None else number_estimate(tail["ratio"], tail["low"], tail["high"]),
        )
    return table


def _levels(document: Json) -> Table:
    names = list(document["stations"])
    heads = [f"{name} used, fitted" for name in names]
    table = Table("users", "throughput, 1/s", "fitted", "response time", "fitted ", *heads)
    for row in document["levels"]:
        used = [row["utilization"][name] for name in names]
        table.add_row(
            f"{row['load']:g}",
            few_digits(row["throughput"]),
            few_digits(row["fitted_throughput"]),
            duration_text(row["response_s"]),
            duration_text(row["fitted_response_s"]),
            *(f"{share_text(one['measured'])}, {share_text(one['fitted'])}" for one in used),
        )
    return table


def _held_out(held: Json) -> Table:
    names = list(held["points"][0]["utilization"])
    heads = [f"{name} used, predicted" for name in names]
    table = Table(
        "held out, users", "measured, 1/s", "predicted, 1/s", "error", "R measured", "R predicted", "error ", *heads
    )
    for row in held["points"]:
        used = [row["utilization"][name] for name in names]
        table.add_row(
            f"{row['load']:g}",
            few_digits(row["measured_throughput"]),
            _rate(row["predicted_throughput"], *row["throughput_band_95"]),
            f"{100 * row['error']:+.2g} %",
            duration_text(row["measured_response_s"]),
            duration(row["predicted_response_s"], *row["response_band_95"]),
            f"{100 * row['response_error']:+.2g} %",
            *(f"{share_text(one['measured'])}, {_share(one['predicted'], one['band_95'])}" for one in used),
        )
    return table


def _held_out_classes(held: Json) -> Table:
    """Response times by transaction at the highest level held out."""
    row = held["points"][-1]
    table = Table(f"at {row['load']:g} users", "ended", "R measured", "R predicted", "error")
    for name, one in row["classes"].items():
        measured = one["measured_response_s"]
        table.add_row(
            name,
            f"{one['count']:.0f}",
            "-" if measured is None else duration_text(measured),
            duration(one["predicted_response_s"], *one["band_95"]),
            "-" if one["error"] is None else f"{100 * one['error']:+.2g} %",
        )
    return table


def _predictions(document: Json) -> Table:
    names = list(document["stations"])
    table = Table("users", "", "throughput, 1/s", "response time", *(f"{name} used" for name in names))
    for row in document["predictions"]:
        if "refused" in row:
            continue
        rate, time = row["throughput"], row["response_s"]
        table.add_row(
            f"{row['load']:g}",
            row["range"],
            _rate(rate["median"], *rate["band_95"]),
            duration(time["median"], *time["band_95"]),
            *(_share(row["utilization"][name]["median"], row["utilization"][name]["band_95"]) for name in names),
        )
    return table


def duration(value: float, low: float | None, high: float | None) -> str:
    """A time with its interval, if it has one."""
    return duration_text(value) if low is None or high is None else duration_estimate(value, low, high)


def _rate(value: float, low: float | None, high: float | None) -> str:
    return few_digits(value) if low is None or high is None else number_estimate(value, low, high)


def _share(ratio: float, band: Sequence[float | None]) -> str:
    """A ratio in per cent with its band, if it has one."""
    low, high = band
    return share_text(ratio) if low is None or high is None else share_text(ratio, Interval(low, high))
