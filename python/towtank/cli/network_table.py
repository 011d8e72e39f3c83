"""Renders the output of `towtank model fit network` as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table

from towtank.cli.fit_table import estimated_times, refused_predictions
from towtank.estimates import duration_estimate, error_estimate, few_digits, number_estimate
from towtank.model import FittedNetwork, FittedValue, HeldOutLevel, HeldOutResult, HeldOutUse, NetworkUse
from towtank.sizing import Interval, duration_text, share_text


def network_lines(network: FittedNetwork) -> list[RenderableType]:
    """Render a fitted network: verdict, excluded runs, stations, transactions, load levels, predictions and
    bottleneck.
    """
    left_out = [f"  left out, {run.run}: {run.why}" for run in network.excluded]
    if network.refused is not None:
        return [f"{network.label}: no network", *left_out, f"  {network.refused}"]
    verdict = network.verdict
    lines: list[RenderableType] = [f"{network.label}: network of {_count(network)} - {verdict.level}", *left_out]
    lines += [f"  {reason.text}" for reason in verdict.reasons]
    lines.append(_stations(network))
    lines += _groups(network)
    lines += [_transactions(network), _levels(network)]
    if network.held_out is not None:
        lines += [_held_out(network.held_out), _held_out_classes(network.held_out.points[-1])]
    lines += [_predictions(network), *refused_predictions(network.predictions), network.sentence]
    if network.model is not None:
        lines.append(f"model written to {network.model.file}")
    return lines


def _count(network: FittedNetwork) -> str:
    stations, ones = len(network.stations), len(network.transactions)
    return f"{stations} resource{'s' if stations > 1 else ''} and {ones} transaction{'s' if ones > 1 else ''}"


def _stations(network: FittedNetwork) -> Table:
    table = Table("resource", "servers", "demand of the mix", "95 % interval", "background", "other programs")
    for name, station in network.stations.items():
        others = station.other_programs
        table.add_row(
            name,
            str(station.servers),
            *estimated_times(station.demand_s),
            _background(station.background),
            f"{min(others):.2g} - {max(others):.2g}",
        )
    return table


def _background(estimate: FittedValue) -> str:
    # The interval has width zero if no replicate of the fit has background work; such an interval is not shown.
    low, high = (None, None) if estimate.low == estimate.high else (estimate.low, estimate.high)
    return _rate(estimate.value, low, high)


def _groups(network: FittedNetwork) -> list[str]:
    """Render the groups of transactions whose service demands the measurements cannot separate."""
    lines = []
    for name, station in network.stations.items():
        if merged := [" + ".join(group) for group in station.merged]:
            lines.append(
                f"{name}: not distinguishable, so with a common demand {station.within_groups}: {'; '.join(merged)}"
            )
    return lines


def _transactions(network: FittedNetwork) -> Table:
    columns = [f"at {name}" for name in network.stations]
    table = Table("transaction", "share", "requests", *columns, "elsewhere", "p95 measured / computed")
    for name, transaction in network.transactions.items():
        tail = network.percentiles.get(name)
        times = [*(station.demands_s[name] for station in network.stations.values()), transaction.elsewhere_s]
        table.add_row(
            name,
            share_text(transaction.share),
            f"{transaction.requests:.3g}",
            *(duration(each.value, each.low, each.high) for each in times),
            "-" if tail is None else _rate(tail.ratio, tail.low, tail.high),
        )
    return table


def _levels(network: FittedNetwork) -> Table:
    names = list(network.stations)
    heads = [f"{name} used, fitted" for name in names]
    table = Table("users", "throughput, 1/s", "fitted", "response time", "fitted ", *heads)
    for row in network.levels:
        used = [row.utilization[name] for name in names]
        table.add_row(
            f"{row.load:g}",
            _rate(row.throughput, *row.throughput_interval),
            _rate(row.fitted_throughput, *row.fitted_throughput_band_95),
            duration(row.response_s, *row.response_interval),
            duration(row.fitted_response_s, *row.fitted_response_band_95),
            *(f"{_measured(use)}, {_share(use.fitted, use.fitted_band_95)}" for use in used),
        )
    return table


def _held_out(held: HeldOutResult) -> Table:
    names = list(held.points[0].utilization)
    heads = [f"{name} used, predicted" for name in names]
    table = Table(
        "held out, users", "measured, 1/s", "predicted, 1/s", "error", "R measured", "R predicted", "error ", *heads
    )
    for row in held.points:
        used = [row.utilization[name] for name in names]
        table.add_row(
            f"{row.load:g}",
            _rate(row.measured_throughput, *row.measured_throughput_interval),
            _rate(row.predicted_throughput, *row.throughput_band_95),
            error_estimate(row.predicted_throughput, row.throughput_band_95, row.measured_throughput),
            duration(row.measured_response_s, *row.measured_response_interval),
            duration(row.predicted_response_s, *row.response_band_95),
            _error(row.predicted_response_s, row.response_band_95, row.measured_response_s),
            *(f"{_measured(use)}, {_share(use.predicted, use.band_95)}" for use in used),
        )
    return table


def _held_out_classes(row: HeldOutLevel) -> Table:
    """Render measured and predicted response times of each transaction at the highest load that the fit left out."""
    table = Table(f"at {row.load:g} users", "ended", "R measured", "R predicted", "error")
    for name, found in row.classes.items():
        table.add_row(
            name,
            f"{found.count:.0f}",
            duration(found.measured_response_s, *(found.measured_response_interval or (None, None))),
            duration(found.predicted_response_s, *found.band_95),
            "-"
            if found.error is None
            else _error(found.predicted_response_s, found.band_95, found.measured_response_s),
        )
    return table


def _error(predicted: float | None, band: Sequence[float | None], measured: float | None) -> str:
    return "-" if predicted is None or measured is None else error_estimate(predicted, band, measured)


def _predictions(network: FittedNetwork) -> Table:
    names = list(network.stations)
    table = Table("users", "", "throughput, 1/s", "response time", *(f"{name} used" for name in names))
    for row in network.predictions:
        rate, time = row.throughput, row.response_s
        if rate is None or time is None:
            continue
        table.add_row(
            f"{row.load:g}",
            row.range,
            _rate(rate.median, *rate.band_95),
            duration(time.median, *time.band_95),
            *(_share(row.utilization[name].median, row.utilization[name].band_95) for name in names),
        )
    return table


def _measured(use: NetworkUse | HeldOutUse) -> str:
    return _share(use.measured, use.measured_interval)


def duration(value: float | None, low: float | None, high: float | None) -> str:
    """Render a time, with its confidence interval if known; `-` for an unknown time."""
    if value is None:
        return "-"
    return duration_text(value) if low is None or high is None else duration_estimate(value, low, high)


def _rate(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "-"
    return few_digits(value) if low is None or high is None else number_estimate(value, low, high)


def _share(ratio: float, band: Sequence[float | None]) -> str:
    """Render a ratio in per cent, with its confidence band if known."""
    low, high = band
    return share_text(ratio) if low is None or high is None else share_text(ratio, Interval(low, high))
