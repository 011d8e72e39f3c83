"""Renders the output of `towtank model fit network` as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.fit_table import estimated_times, refused_predictions
from towtank.estimates import duration_estimate, error_estimate, few_digits, number_estimate
from towtank.sizing import Interval, duration_text, share_text

Json = dict[str, Any]


def network_lines(document: Json) -> list[RenderableType]:
    """Render a fitted network: verdict, excluded runs, stations, transactions, load levels, predictions and
    bottleneck.
    """
    label = document["label"]
    left_out = [f"  left out, {run['run']}: {run['why']}" for run in document["excluded"]]
    if document["refused"] is not None:
        return [f"{label}: no network", *left_out, f"  {document['refused']}"]
    verdict = document["verdict"]
    lines: list[RenderableType] = [f"{label}: network of {_count(document)} - {verdict['level']}", *left_out]
    lines += [f"  {reason['text']}" for reason in verdict["reasons"]]
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
    for name, station in document["stations"].items():
        others = station["other_programs"]
        table.add_row(
            name,
            str(station["servers"]),
            *estimated_times(station["demand_s"]),
            _background(station["background"]),
            f"{min(others):.2g} - {max(others):.2g}",
        )
    return table


def _background(estimate: Json) -> str:
    value, low, high = (estimate[key] for key in ("value", "low", "high"))
    # The interval has width zero if no replicate of the fit has background work; such an interval is not shown.
    return few_digits(value) if low is None or high is None or low == high else number_estimate(value, low, high)


def _groups(document: Json) -> list[str]:
    """Render the groups of transactions whose service demands the measurements cannot separate."""
    lines = []
    for name, station in document["stations"].items():
        merged = [" + ".join(group) for group in station["told_apart"] if len(group) > 1]
        if merged:
            lines.append(
                f"{name}: not distinguishable, so with a common demand {station['within_groups']}: {'; '.join(merged)}"
            )
    return lines


def _transactions(document: Json) -> Table:
    stations = document["stations"]
    columns = [f"at {name}" for name in stations]
    table = Table("transaction", "share", "requests", *columns, "elsewhere", "p95 measured / computed")
    for name, transaction in document["transactions"].items():
        tail = document["percentiles"].get(name)
        demands = [each["demands_s"][name] for each in stations.values()]
        table.add_row(
            name,
            share_text(transaction["share"]),
            f"{transaction['requests']:.3g}",
            *(duration(each["value"], each["low"], each["high"]) for each in demands),
            duration(*(transaction["elsewhere_s"][key] for key in ("value", "low", "high"))),
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
            _rate(row["throughput"], *_ends(row, "throughput_interval")),
            _rate(row["fitted_throughput"], *row["fitted_throughput_band_95"]),
            duration(row["response_s"], *_ends(row, "response_interval")),
            duration(row["fitted_response_s"], *row["fitted_response_band_95"]),
            *(f"{_measured(use)}, {_share(use['fitted'], use['fitted_band_95'])}" for use in used),
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
            _rate(row["measured_throughput"], *_ends(row, "measured_throughput_interval")),
            _rate(row["predicted_throughput"], *row["throughput_band_95"]),
            error_estimate(row["predicted_throughput"], row["throughput_band_95"], row["measured_throughput"]),
            duration(row["measured_response_s"], *_ends(row, "measured_response_interval")),
            duration(row["predicted_response_s"], *row["response_band_95"]),
            error_estimate(row["predicted_response_s"], row["response_band_95"], row["measured_response_s"]),
            *(f"{_measured(use)}, {_share(use['predicted'], use['band_95'])}" for use in used),
        )
    return table


def _held_out_classes(held: Json) -> Table:
    """Render measured and predicted response times of each transaction at the highest load that the fit left out."""
    row = held["points"][-1]
    table = Table(f"at {row['load']:g} users", "ended", "R measured", "R predicted", "error")
    for name, job_class in row["classes"].items():
        measured = job_class["measured_response_s"]
        table.add_row(
            name,
            f"{job_class['count']:.0f}",
            "-" if measured is None else duration(measured, *_ends(job_class, "measured_response_interval")),
            duration(job_class["predicted_response_s"], *job_class["band_95"]),
            "-"
            if job_class["error"] is None
            else error_estimate(job_class["predicted_response_s"], job_class["band_95"], measured),
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


def _ends(row: Json, key: str) -> Sequence[float | None]:
    return row.get(key) or (None, None)


def _measured(use: Json) -> str:
    return _share(use["measured"], _ends(use, "measured_interval"))


def duration(value: float, low: float | None, high: float | None) -> str:
    """Render a time, with its confidence interval if known."""
    return duration_text(value) if low is None or high is None else duration_estimate(value, low, high)


def _rate(value: float, low: float | None, high: float | None) -> str:
    return few_digits(value) if low is None or high is None else number_estimate(value, low, high)


def _share(ratio: float, band: Sequence[float | None]) -> str:
    """Render a ratio in per cent, with its confidence band if known."""
    low, high = band
    return share_text(ratio) if low is None or high is None else share_text(ratio, Interval(low, high))
