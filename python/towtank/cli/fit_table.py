"""Renders the output of `towtank model fit` and `towtank model demands` as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from towtank.estimates import (
    FEW_DIGITS,
    NOT_KNOWN,
    column_texts,
    duration_estimate,
    duration_unit,
    durations_like,
    error_estimate,
    few_digits,
    number_estimate,
    places_of,
    relative_error,
    rounded_text,
    significant,
)
from towtank.model import worst_held_out_row
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
    "idle_ratio": "demand at the idle bottleneck, relative to full use",
    "idle_demand_s": "demand at the idle bottleneck, s",
    "background": "background at the bottleneck, servers",
    "demand_s": "total demand, s",
    "largest_demand_s": "demand per server, s",
    "knee_load": "knee (D + Z) / D_max",
}


def fit_lines(document: Json) -> list[RenderableType]:
    """Render the result of a fit: verdict, excluded runs, parameters, knees and predictions."""
    name = document.get("label") or document.get("source")
    lines: list[RenderableType] = [f"{name}: {document['curve'] or 'no curve'} - {document['verdict']['level']}"]
    lines += [f"  {reason['text']}" for reason in document["verdict"]["reasons"]]
    lines += [f"  left out, {run['run']}: {run['why']}" for run in document["excluded"]]
    if "choice" in document and document["curve"]:
        lines += [f"  chosen, {document['choice']['why']}", _candidates(document["choice"])]
    if document["curve"]:
        lines += [_parameters(document), *_held_out(document), _predictions(document), *refused_predictions(document)]
    if document["knees"]:
        lines.append(_knees(document["knees"]))
    if "shape" in document:
        lines.append(f"limit: {document['shape']['sentence']}")
    if document["curve"]:
        lines.append(_trust(document["trust"], document["held_out"]))
    if "model" in document:
        worst = worst_held_out_row(document["model"]["check"])
        off = relative_error(worst["error"], worst.get("error_interval"))
        lines.append(
            f"model written to {document['model']['file']}; the largest error of its throughput at a measured load is "
            f"{off}, at {worst['load']}"
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
            title, _value(document[name], places), _pair(pair, places), *(_pair(other, places) for other in others)
        )
    return table


def _candidates(choice: Json) -> Table:
    table = Table("curve", "AICc", "difference", "error at the highest load, left out of the fit", "verdict")
    for candidate in choice["candidates"]:
        held = candidate["held_out_error"]
        table.add_row(
            candidate["curve"],
            _short(candidate["aicc"]),
            _short(candidate["delta_aicc"]),
            "-" if held is None else relative_error(held, candidate.get("held_out_interval")),
            candidate["verdict"],
        )
    return table


def _held_out(document: Json) -> list[RenderableType]:
    held = document["held_out"]
    if not held:
        return []
    table = Table(
        "held out, load", "measured, 1/s", "measurement predicted, 1/s", "error", "R measured", "R predicted", "error "
    )
    for row in held["points"]:
        timed = "response_error" in row
        table.add_row(
            f"{row['load']:g}",
            few_digits(row["measured_throughput"]),
            _estimate(row["predicted_throughput"], row.get("throughput_band_95")),
            error_estimate(row["predicted_throughput"], row.get("throughput_band_95"), row["measured_throughput"]),
            _time(row["measured_response_s"]) if timed else "-",
            _estimated_time(row["predicted_response_s"], row.get("response_band_95")) if timed else "-",
            error_estimate(row["predicted_response_s"], row.get("response_band_95"), row["measured_response_s"])
            if timed
            else "-",
        )
    return [table]


def _predictions(document: Json) -> Table:
    table = Table(
        "load", "", "throughput, 1/s", "80 % of the curve", "95 % of the curve", "response time", "95 % of the curve "
    )
    for row in document["predictions"]:
        if "refused" in row:
            continue
        rate, time = row["throughput"], row.get("response_s")
        places = _places(rate["median"], rate["band_95"])
        table.add_row(
            f"{row['load']:g}",
            row["range"],
            _value(rate["median"], places),
            _pair(rate["band_80"], places),
            _pair(rate["band_95"], places),
            *(times(time["median"], *time["band_95"]) if time else ("-", "-")),
        )
    return table


def refused_predictions(document: Json) -> list[str]:
    """Render the loads for which the fit gives no prediction, grouped by reason."""
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
        load = "-" if row["load"] is None else _value(row["load"], places)
        table.add_row(row["kind"], load, _pair(pair, places), row["how"])
    return table


def _trust(trust: Json, held_out: Json | None) -> str:
    error = "not known"
    if held_out:
        worst = worst_held_out_row(held_out["points"])
        error = error_estimate(
            worst["predicted_throughput"], worst.get("throughput_band_95"), worst["measured_throughput"]
        )
    return (
        f"fitted to {trust['points']} points at {trust['levels']} loads from {trust['measured_from']:g} to "
        f"{trust['measured_to']:g}; predicts up to {trust['predicts_to']:g} ({trust['because']}); held-out error "
        f"{error}"
    )


def demand_lines(document: Json) -> list[RenderableType]:
    """Render the service demands of each configuration, by resource and by class."""
    lines: list[RenderableType] = []
    for configuration in document["configurations"]:
        lines.append(f"{configuration['label']}:")
        lines += [f"  left out, {run['run']}: {run['why']}" for run in configuration["excluded"]]
        if configuration["why_none"]:
            lines.append(f"  no service demand: {configuration['why_none']}")
            continue
        lines.append(_resources(configuration["resources"]))
        for resource, found in configuration["classes"].items():
            lines += [f"by class, {resource}: {found['sentence']}", _classes(found)]
    return lines


def _resources(resources: Json) -> Table:
    table = Table(
        "resource", "servers", "demand of a transaction", "95 % interval", "background, servers", "with the load"
    )
    for name, demands in resources.items():
        demand, background = demands["demand_s"], demands["background"]
        bend = demands["load_dependence"]
        if bend is None:
            trend = "not tested"
        elif bend["depends"]:
            low, high = (
                _estimated_time(bend[f"demand_at_{end}_s"], bend.get(f"demand_at_{end}_interval"))
                for end in ("lowest", "highest")
            )
            trend = f"{bend['direction']} from {low} to {high} (p = {bend['p_value']:.2g})"
        else:
            trend = f"no change seen (p = {bend['p_value']:.2g})"
        table.add_row(
            name, str(demands["servers"]), *estimated_times(demand), _background(background), trend
        )  # fmt: skip
    return table


def _classes(found: Json) -> Table:
    table = Table("class", "demand", "95 % interval", "lowest - highest of all estimators", "VIF", "known")
    for name, job_class in found["classes"].items():
        table.add_row(
            name,
            *estimated_times(job_class),
            _spread(job_class),
            _short(found["variance_inflation"][name]),
            "yes" if job_class["identified"] else "; ".join(job_class["why_not"]),
        )
    return table


def _spread(job_class: Json) -> str:
    """Render the lowest and the highest estimate of a service demand, rounded according to its confidence interval."""
    ends = (job_class["lowest_estimate_s"], job_class["highest_estimate_s"])
    value, low, high = (job_class[key] for key in ("value", "low", "high"))
    if value is None or low is None or high is None or None in ends:
        return " - ".join(_time(end) for end in ends)
    texts, unit = durations_like(ends, value, low, high)
    return f"{' - '.join(texts)} {unit}"


def _background(estimate: Json) -> str:
    value = estimate["value"]
    return "-" if value is None else _estimate(value, (estimate["low"], estimate["high"]))


def _short(value: float | None) -> str:
    """Render a number without its confidence interval, with three digits; `-` for None."""
    return "-" if value is None else few_digits(value)


def _estimate(value: float, pair: Sequence[float | None] | None) -> str:
    """Render a value with its confidence interval; with three digits if the interval is unknown."""
    low, high = pair or (None, None)
    return few_digits(value) if low is None or high is None else number_estimate(value, low, high)


def _estimated_time(value: float, pair: Sequence[float | None] | None) -> str:
    low, high = pair or (None, None)
    return _time(value) if low is None or high is None else duration_estimate(value, low, high)


def _places(value: float | None, pair: Sequence[float | None] | None) -> int | None:
    """Return the number of decimal places for a value, from its confidence interval; None if the interval is unknown.
    An interval may be unbounded on one side.
    """
    low, high = pair or (None, None)
    if value is None or (low is None and high is None):
        return None
    return places_of(value, -math.inf if low is None else low, math.inf if high is None else high)


def _value(value: float, places: int | None) -> str:
    """Render a value with `places` decimal places; with three digits if `places` is None."""
    return few_digits(value) if places is None else rounded_text(value, places)


def _pair(pair: Sequence[float | None] | None, places: int | None) -> str:
    """Render the ends of a confidence interval with `places` decimal places; `-` if the interval is unknown."""
    if pair is None or all(end is None for end in pair):
        return "-"
    low, high = ("-" if end is None else rounded_text(end, places) for end in pair)
    return f"{low} - {high}"


def _time(value: float | None) -> str:
    """Render a time without its confidence interval, with three digits; `-` for None."""
    if value is None:
        return "-"
    few = significant(abs(value), FEW_DIGITS)
    return format_duration(few) if value >= 0 else f"-{format_duration(few)}"


def estimated_times(estimate: Json) -> tuple[str, str]:
    """Render an estimated time, and its confidence interval, as two texts in the same unit."""
    return times(estimate["value"], estimate["low"], estimate["high"])


def times(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """Render a time, rounded according to its confidence interval, and the interval in the same unit."""
    if value is None or low is None or high is None:
        return _time(value), "-"
    length, unit = duration_unit(value or max(abs(low), abs(high)))
    shown, *ends = column_texts(value / length, low / length, high / length, unit)
    return f"{shown} {unit}", NOT_KNOWN if NOT_KNOWN in ends else f"{' - '.join(ends)} {unit}"
