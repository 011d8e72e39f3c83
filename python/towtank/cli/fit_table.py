"""Renders the output of `towtank model fit` and `towtank model demands` as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

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
from towtank.model import (
    ConfigurationDemands,
    CurveChoice,
    FittedConfiguration,
    FittedDemand,
    FittedKnee,
    FittedValue,
    FitTrust,
    HeldOutResult,
    PredictedPoint,
    TransactionDemand,
    TransactionDemands,
)
from towtank.units import format_duration

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


def fit_lines(fit: FittedConfiguration) -> list[RenderableType]:
    """Render the result of a fit: verdict, excluded runs, parameters, knees and predictions."""
    lines: list[RenderableType] = [f"{fit.label or fit.source}: {fit.curve or 'no curve'} - {fit.verdict.level}"]
    lines += [f"  {reason.text}" for reason in fit.verdict.reasons]
    lines += [f"  left out, {run.run}: {run.why}" for run in fit.excluded]
    if fit.choice is not None and fit.curve:
        lines += [f"  chosen, {fit.choice.why}", _candidates(fit.choice)]
    if fit.curve:
        held_out = () if fit.held_out is None else (_held_out(fit.held_out),)
        lines += [_parameters(fit), *held_out, _predictions(fit.predictions), *refused_predictions(fit.predictions)]
    if fit.knees:
        lines.append(_knees(fit.knees))
    if fit.shape is not None:
        lines.append(f"limit: {fit.shape.sentence}")
    if fit.trust is not None:
        lines.append(_trust(fit.trust, fit.held_out))
    if fit.model is not None:
        worst = max(fit.model.check, key=lambda row: abs(row.error))
        lines.append(
            f"model written to {fit.model.file}; the largest error of its throughput at a measured load is "
            f"{relative_error(worst.error, worst.error_interval)}, at {worst.load}"
        )
    return lines


def _parameters(fit: FittedConfiguration) -> Table:
    table = Table("", "value", "95 % interval", "by profile", "by bootstrap")
    for name, title in _TITLES.items():
        if (value := fit.parameter(name)) is None:
            continue
        pair = fit.confidence_interval.get(name)
        places = _places(value, pair)
        others = (fit.intervals.profile.get(name), fit.intervals.bootstrap.get(name))
        table.add_row(title, _value(value, places), _pair(pair, places), *(_pair(other, places) for other in others))
    return table


def _candidates(choice: CurveChoice) -> Table:
    table = Table("curve", "AICc", "difference", "error at the highest load, left out of the fit", "verdict")
    for candidate in choice.candidates:
        held = candidate.held_out_error
        table.add_row(
            candidate.curve,
            _short(candidate.aicc),
            _short(candidate.delta_aicc),
            "-" if held is None else relative_error(held, candidate.held_out_interval),
            candidate.verdict,
        )
    return table


def _held_out(held: HeldOutResult) -> Table:
    table = Table(
        "held out, load", "measured, 1/s", "measurement predicted, 1/s", "error", "R measured", "R predicted", "error "
    )
    for row in held.points:
        times = ("-", "-", "-")
        if row.times is not None:
            measured, predicted = row.times
            error = error_estimate(predicted, row.response_band_95, measured)
            times = (_time(measured), _estimated_time(predicted, row.response_band_95), error)
        table.add_row(
            f"{row.load:g}",
            few_digits(row.measured_throughput),
            _estimate(row.predicted_throughput, row.throughput_band_95),
            error_estimate(row.predicted_throughput, row.throughput_band_95, row.measured_throughput),
            *times,
        )
    return table


def _predictions(predictions: Sequence[PredictedPoint]) -> Table:
    table = Table(
        "load", "", "throughput, 1/s", "80 % of the curve", "95 % of the curve", "response time", "95 % of the curve "
    )
    for row in predictions:
        rate, time = row.throughput, row.response_s
        if rate is None:
            continue
        places = _places(rate.median, rate.band_95)
        table.add_row(
            f"{row.load:g}",
            row.range,
            _value(rate.median, places),
            _pair(rate.band_80, places),
            _pair(rate.band_95, places),
            *(("-", "-") if time is None else times(time.median, *time.band_95)),
        )
    return table


def refused_predictions(predictions: Sequence[PredictedPoint]) -> list[str]:
    """Render the loads for which the fit gives no prediction, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for row in predictions:
        if row.refused is not None:
            reasons.setdefault(row.refused, []).append(f"{row.load:g}")
    return [f"no prediction at {', '.join(loads)}: {reason}" for reason, loads in reasons.items()]


def _knees(knees: Sequence[FittedKnee]) -> Table:
    table = Table("knee", "load", "95 % interval", "how")
    for knee in knees:
        pair = (knee.low, knee.high)
        places = _places(knee.load, pair)
        load = "-" if knee.load is None else _value(knee.load, places)
        table.add_row(knee.kind, load, _pair(pair, places), knee.how)
    return table


def _trust(trust: FitTrust, held_out: HeldOutResult | None) -> str:
    error = "not known"
    if held_out is not None:
        worst = held_out.worst
        error = error_estimate(worst.predicted_throughput, worst.throughput_band_95, worst.measured_throughput)
    return (
        f"fitted to {trust.points} points at {trust.levels} loads from {trust.measured_from:g} to "
        f"{trust.measured_to:g}; predicts up to {trust.predicts_to:g} ({trust.because}); held-out error "
        f"{error}"
    )


def demand_lines(configurations: Sequence[ConfigurationDemands]) -> list[RenderableType]:
    """Render the service demands of each configuration, by resource and by class."""
    lines: list[RenderableType] = []
    for configuration in configurations:
        lines.append(f"{configuration.label}:")
        lines += [f"  left out, {run.run}: {run.why}" for run in configuration.excluded]
        if configuration.why_none:
            lines.append(f"  no service demand: {configuration.why_none}")
            continue
        lines.append(_resources(configuration.resources))
        for resource, found in configuration.classes.items():
            lines += [f"by class, {resource}: {found.sentence}", _classes(found)]
    return lines


def _resources(resources: Mapping[str, FittedDemand]) -> Table:
    table = Table(
        "resource", "servers", "demand of a transaction", "95 % interval", "background, servers", "with the load"
    )
    for name, demand in resources.items():
        bend = demand.load_dependence
        if bend is None:
            trend = "not tested"
        elif bend.depends:
            low = _estimated_time(bend.demand_at_lowest_s, bend.demand_at_lowest_interval)
            high = _estimated_time(bend.demand_at_highest_s, bend.demand_at_highest_interval)
            trend = f"{bend.direction} from {low} to {high} (p = {bend.p_value:.2g})"
        else:
            trend = f"no change seen (p = {bend.p_value:.2g})"
        table.add_row(
            name, str(demand.servers), *estimated_times(demand.demand_s), _background(demand.background), trend
        )
    return table


def _classes(found: TransactionDemands) -> Table:
    table = Table("class", "demand", "95 % interval", "lowest - highest of all estimators", "VIF", "known")
    for name, demand in found.classes.items():
        table.add_row(
            name,
            *estimated_times(demand),
            _spread(demand),
            _short(found.variance_inflation[name]),
            "yes" if demand.identified else "; ".join(demand.why_not),
        )
    return table


def _spread(demand: TransactionDemand) -> str:
    """Render the lowest and the highest estimate of a service demand, rounded according to its confidence interval."""
    ends = (demand.lowest_estimate_s, demand.highest_estimate_s)
    known = [end for end in ends if end is not None]
    if demand.value is None or demand.low is None or demand.high is None or len(known) < len(ends):
        return " - ".join(_time(end) for end in ends)
    texts, unit = durations_like(known, demand.value, demand.low, demand.high)
    return f"{' - '.join(texts)} {unit}"


def _background(estimate: FittedValue) -> str:
    return "-" if estimate.value is None else _estimate(estimate.value, (estimate.low, estimate.high))


def _short(value: float | None) -> str:
    """Render a number without its confidence interval, with three digits; `-` for None."""
    return "-" if value is None else few_digits(value)


def _estimate(value: float, pair: Sequence[float | None]) -> str:
    """Render a value with its confidence interval; with three digits if the interval is unknown."""
    low, high = pair
    return few_digits(value) if low is None or high is None else number_estimate(value, low, high)


def _estimated_time(value: float | None, pair: Sequence[float | None]) -> str:
    low, high = pair
    return _time(value) if value is None or low is None or high is None else duration_estimate(value, low, high)


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


def estimated_times(estimate: FittedValue) -> tuple[str, str]:
    """Render an estimated time, and its confidence interval, as two texts in the same unit."""
    return times(estimate.value, estimate.low, estimate.high)


def times(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """Render a time, rounded according to its confidence interval, and the interval in the same unit."""
    if value is None or low is None or high is None:
        return _time(value), "-"
    length, unit = duration_unit(value or max(abs(low), abs(high)))
    shown, *ends = column_texts(value / length, low / length, high / length, unit)
    return f"{shown} {unit}", NOT_KNOWN if NOT_KNOWN in ends else f"{' - '.join(ends)} {unit}"
