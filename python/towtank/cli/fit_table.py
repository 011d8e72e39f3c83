"""What `towtank model fit` and `towtank model demands` print for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.estimates import (
    FEW_DIGITS,
    duration_estimate,
    duration_unit,
    few_digits,
    interval_texts,
    number_estimate,
    places_of,
    rounded_text,
    significant,
)
from towtank.units import format_duration

Json = dict[str, Any]
_TIMES = ("demand_s", "other_s")
_TITLES = {
    "lambda": "λ, throughput at load 1, 1/s",
    "sigma": "σ, contention",
    "kappa": "κ, coherence",
    "peak_load": "load at the peak",
    "peak_throughput": "throughput at the peak, 1/s",
    "limit_throughput": "limit of throughput, 1/s",
    "bottleneck_demand_s": "demand at the bottleneck, s",
    "other_s": "time elsewhere, s",
    "idle_ratio": "demand there at no use over that at full use",
    "idle_demand_s": "demand there at no use, s",
    "background": "background at the bottleneck, servers",
    "demand_s": "demand in all, s",
    "largest_demand_s": "demand per server, s",
    "knee_load": "knee (D + Z) / D_max",
}


def fit_lines(document: Json) -> list[RenderableType]:
    """The curve with its verdict, parameters, knees, predictions, and what was left out."""
    name = document.get("label") or document.get("source")
    lines: list[RenderableType] = [f"{name}: {document['curve'] or 'no curve'} - {document['verdict']['level']}"]
    lines += [f"  {one['text']}" for one in document["verdict"]["reasons"]]
    lines += [f"  left out, {one['run']}: {one['why']}" for one in document["excluded"]]
    if "choice" in document and document["curve"]:
        lines += [f"  chosen, {document['choice']['why']}", _candidates(document["choice"])]
    if document["curve"]:
        lines += [_parameters(document), *_held_out(document), _predictions(document), *refused_predictions(document)]
    if document["knees"]:
        lines.append(_knees(document["knees"]))
    if "shape" in document:
        lines.append(f"limit: {document['shape']['sentence']}")
    if document["curve"]:
        lines.append(_trust(document["trust"]))
    if "model" in document:
        worst = max(document["model"]["check"], key=lambda row: abs(row["error"]))
        lines.append(
            f"model written to {document['model']['file']}; at the loads measured its throughput is at most "
            f"{100 * abs(worst['error']):.2g} % off (at {worst['load']})"
        )
    return lines


def _parameters(document: Json) -> Table:
    table = Table("", "value", "95 % interval", "by profile", "by bootstrap")
    for name, title in _TITLES.items():
        if document.get(name) is None:
            continue
        intervals = document["intervals"]
        pair = document["confidence_interval"].get(name)
        places = _places(document[name], pair)
        others = (intervals[method].get(name) for method in ("profile", "bootstrap"))
        table.add_row(
            title,
            rounded_text(document[name], places),
            _pair(pair, places),
            *(_pair(other, places) for other in others),
        )
    return table


def _candidates(choice: Json) -> Table:
    table = Table("curve", "AICc", "difference", "error at the highest load, held out", "verdict")
    for one in choice["candidates"]:
        held = one["held_out_error"]
        table.add_row(
            one["curve"],
            _short(one["aicc"]),
            _short(one["delta_aicc"]),
            "-" if held is None else f"{100 * held:+.2g} %",
            one["verdict"],
        )
    return table


def _held_out(document: Json) -> list[RenderableType]:
    held = document["held_out"]
    if not held:
        return []
    table = Table("held out, load", "measured, 1/s", "predicted, 1/s", "error", "R measured", "R predicted", "error ")
    for row in held["points"]:
        timed = "response_error" in row
        table.add_row(
            f"{row['load']:g}",
            few_digits(row["measured_throughput"]),
            _estimate(row["predicted_throughput"], row.get("throughput_band_95")),
            f"{100 * row['error']:+.2g} %",
            _time(row["measured_response_s"]) if timed else "-",
            _estimated_time(row["predicted_response_s"], row.get("response_band_95")) if timed else "-",
            f"{100 * row['response_error']:+.2g} %" if timed else "-",
        )
    return [table]


def _predictions(document: Json) -> Table:
    table = Table("load", "", "throughput, 1/s", "80 %", "95 %", "response time", "95 % ")
    for row in document["predictions"]:
        if "refused" in row:
            continue
        rate, time = row["throughput"], row.get("response_s")
        places = _places(rate["median"], rate["band_95"])
        table.add_row(
            f"{row['load']:g}",
            row["range"],
            rounded_text(rate["median"], places),
            _pair(rate["band_80"], places),
            _pair(rate["band_95"], places),
            *(times(time["median"], *time["band_95"]) if time else ("-", "-")),
        )
    return table


def refused_predictions(document: Json) -> list[str]:
    """Loads without a prediction, by reason."""
    reasons: dict[str, list[str]] = {}
    for row in document["predictions"]:
        if "refused" in row:
            reasons.setdefault(row["refused"], []).append(f"{row['load']:g}")
    return [f"no prediction at {', '.join(loads)}: {reason}" for reason, loads in reasons.items()]


def _knees(rows: list[Json]) -> Table:
    table = Table("knee", "load", "95 % interval", "how")
    for row in rows:
        pair = [row["low"], row["high"]]
        places = _places(row["load"], pair)
        load = "-" if row["load"] is None else rounded_text(row["load"], places)
        table.add_row(row["kind"], load, _pair(pair, places), row["how"])
    return table


def _trust(trust: Json) -> str:
    held = trust["held_out_error"]
    return (
        f"rests on {trust['points']} points at {trust['levels']} loads from {trust['measured_from']:g} to "
        f"{trust['measured_to']:g}; predicts up to {trust['predicts_to']:g} ({trust['because']}); held-out error "
        f"{'not known' if held is None else f'{100 * held:+.2g} %'}"
    )


def demand_lines(document: Json) -> list[RenderableType]:
    """Demands by resource and by class, configuration by configuration."""
    lines: list[RenderableType] = []
    for one in document["configurations"]:
        lines.append(f"{one['label']}:")
        lines += [f"  left out, {run['run']}: {run['why']}" for run in one["excluded"]]
        lines.append(_resources(one["resources"]))
        for resource, found in one["classes"].items():
            lines += [f"by class, {resource}: {found['sentence']}", _classes(found)]
    return lines


def _resources(resources: Json) -> Table:
    table = Table(
        "resource", "servers", "demand of a transaction", "95 % interval", "background, servers", "with the load"
    )
    for name, one in resources.items():
        demand, background = one["demand_s"], one["background"]["value"]
        bend = one["load_dependence"]
        if bend is None:
            told = "not tested"
        elif bend["depends"]:
            low, high = _time(bend["demand_at_lowest_s"]), _time(bend["demand_at_highest_s"])
            told = f"{bend['direction']} from {low} to {high} (p = {bend['p_value']:.2g})"
        else:
            told = f"no change seen (p = {bend['p_value']:.2g})"
        table.add_row(
            name, str(one["servers"]), *estimated_times(demand), _short(background), told
        )  # fmt: skip
    return table


def _classes(found: Json) -> Table:
    table = Table("class", "demand", "95 % interval", "lowest - highest of all estimators", "VIF", "known")
    for name, one in found["classes"].items():
        table.add_row(
            name,
            *estimated_times(one),
            f"{_time(one['lowest_estimate_s'])} - {_time(one['highest_estimate_s'])}",
            _short(found["variance_inflation"][name]),
            "yes" if one["identified"] else "; ".join(one["why_not"]),
        )
    return table


def _short(value: float | None) -> str:
    """Render a number without an interval with few digits."""
    return "-" if value is None else few_digits(value)


def _estimate(value: float, pair: Sequence[float | None] | None) -> str:
    """Render a value with its interval; with few digits without one."""
    low, high = pair or (None, None)
    return few_digits(value) if low is None or high is None else number_estimate(value, low, high)


def _estimated_time(value: float, pair: Sequence[float | None] | None) -> str:
    low, high = pair or (None, None)
    return _time(value) if low is None or high is None else duration_estimate(value, low, high)


def _places(value: float | None, pair: Sequence[float | None] | None) -> int | None:
    """Return the decimal places that the interval of a value supports; None without an interval."""
    low, high = pair or (None, None)
    return None if value is None or low is None or high is None else places_of(value, low, high)


def _pair(pair: Sequence[float | None] | None, places: int | None) -> str:
    """Render the ends of an interval with the decimal places of its value."""
    if pair is None or all(end is None for end in pair):
        return "-"
    low, high = ("-" if end is None else rounded_text(end, places) for end in pair)
    return f"{low} - {high}"


def _time(value: float | None) -> str:
    """Render a time without an interval with few digits."""
    if value is None:
        return "-"
    few = significant(abs(value), FEW_DIGITS)
    return format_duration(few) if value >= 0 else f"-{format_duration(few)}"


def estimated_times(estimate: Json) -> tuple[str, str]:
    """Render an estimated time, and its interval in the same unit."""
    return times(estimate["value"], estimate["low"], estimate["high"])


def times(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """Render a time with the digits that its interval supports, and the interval in the same unit."""
    if value is None or low is None or high is None:
        return _time(value), "-"
    length, unit = duration_unit(value or max(abs(low), abs(high)))
    shown, *ends = interval_texts(value / length, low / length, high / length)
    return f"{shown} {unit}", f"{' - '.join(ends)} {unit}"
