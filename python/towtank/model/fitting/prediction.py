"""Predicts throughput and response time at other loads with a fitted curve. Each prediction has bands and a list of
assumptions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from towtank.documents import Sparse, document_of
from towtank.model.capacity_file import FitAssumption, FittedBands
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curves import FARTHEST, LINEAR
from towtank.model.fitting.dependent_curve import DependentCurve
from towtank.model.fitting.drift import drifted
from towtank.model.fitting.fit import Fit
from towtank.model.fitting.goodness import FIT_REJECTED
from towtank.model.fitting.intervals import Interval, percentiles
from towtank.model.fitting.observations import Floats, Observations
from towtank.model.fitting.replicates import further_measurement
from towtank.model.fitting.selection import CurveCandidate

BANDS = {"band_80": 0.80, "band_95": 0.95}
FARTHEST_SATURATED = 4.0
"""Largest ratio of a predicted load to the highest measured load, if saturation was measured. [ratio]

If saturation was measured, predictions may reach farther, because beyond saturation the asymptote m/S (servers over
service demand) determines the throughput.
"""
SATURATED = 0.9
"""Share of the curve's throughput limit from which the highest measured throughput counts as saturated. [ratio]"""


class Bands(FittedBands):
    """Value of a fitted model with the bands of the true system."""

    @classmethod
    def of(cls, best: float, curves: Floats) -> Bands:
        """Return the bands of the values of the replicates."""
        return cls(float(best), float(np.median(curves)), *(percentiles(curves, share) for share in BANDS.values()))


@dataclass(frozen=True)
class PredictedValue(Bands):
    """Predicted throughput [1/s] or response time [s]; `measurement_95` is the band of a repeated measurement."""

    measurement_95: Interval


@dataclass(frozen=True)
class Prediction(Sparse):
    """Prediction of a fitted curve at one load [1] or [1/s], which is `measured`, `between` or `beyond` the measured
    loads. The throughput [1/s] is None if the prediction is refused, for the reason `refused`; the response time [s] is
    None if N / X - Z is too imprecise. `bound` is `upper` if the true system may serve less than the curve.
    """

    load: float
    range: str
    throughput: PredictedValue | None = None
    response_s: PredictedValue | None = None
    bound: str | None = None
    refused: str | None = None


def farthest(candidate: CurveCandidate) -> tuple[float, str]:
    """Return the highest load for which predictions of the curve are allowed, and the reason for this load."""
    points, fit = candidate.fit.points, candidate.fit
    top = float(points.load.max())
    if isinstance(fit.curve, ClosedCurve):
        limit = float(fit.curve.derived(fit.parameters[None, :])["limit_throughput"][0])
        reached = float(points.throughput.max()) / limit
        reason = f"the highest throughput measured is {100 * reached:.0f} % of the limit of the curve"
        return (FARTHEST_SATURATED if reached >= SATURATED else FARTHEST) * top, reason
    return FARTHEST * top, "it is unknown if a law of scalability holds beyond this load"


def default_loads(candidate: CurveCandidate) -> list[float]:
    """Return the loads of the default predictions: the measured load levels and some loads beyond them."""
    levels = [float(level) for level in candidate.fit.points.levels]
    levels = levels if len(levels) <= 20 else list(np.quantile(levels, np.linspace(0, 1, 11)))
    beyond = [float(np.rint(share * max(levels))) for share in (1.25, 1.5, 2.0)]
    return sorted({*levels, *(load for load in beyond if load > max(levels))})


def predict_curve(candidate: CurveCandidate, loads: list[float], think_s: float) -> list[Prediction]:
    """Predict throughput and response time at loads, or state the reason why no prediction is made.

    Notes
    -----
    `band_80` and `band_95` are bands of the true curve: percentiles over the bootstrap replicates. The demand of a
    replicate drifts beyond the measured utilizations (module `drift`). `measurement_95` also includes the error of a
    repeated measurement.

    A straight line has no limit, but the true system may reach a limit anywhere beyond the highest measured load.
    Beyond that load, the bands therefore begin at the throughput of the highest measured load, and `bound` is `upper`.
    """
    limit, why = farthest(candidate)
    allowed = [load for load in loads if load <= limit * (1 + 1e-9) and not _refusal(candidate, load)]
    found = _bands(candidate, np.array(allowed), think_s) if allowed else {}
    beyond = f"beyond {limit:g}, {limit / candidate.fit.points.load.max():g} times the highest load measured: {why}"
    return [
        found.get(load) or Prediction(load, _range(candidate, load), refused=_refusal(candidate, load) or beyond)
        for load in loads
    ]


def _range(candidate: CurveCandidate, load: float) -> str:
    points = candidate.fit.points
    if load in points.load:
        return "measured"
    return "between" if points.load.min() <= load <= points.load.max() else "beyond"


def _refusal(candidate: CurveCandidate, load: float) -> str | None:
    """Return the reason why the curve makes no prediction at a load; None unless the curve is rejected and the load is
    above the measured loads.
    """
    if candidate.judgement.level == FIT_REJECTED and _range(candidate, load) == "beyond":
        return f"{candidate.name} is rejected, and so are its predictions beyond the measurements"
    return None


def _bands(candidate: CurveCandidate, loads: Floats, think_s: float) -> dict[float, Prediction]:
    fit, parameters = candidate.fit, candidate.replicates
    best = fit.throughput(loads)
    curves = drifted(fit, parameters, loads).rates
    again = further_measurement(fit, loads, curves)
    # With few points the error distribution is so wide that throughputs may become negative. Negative values are set to
    # 0.
    again = np.maximum(again, 0.0)
    found = {}
    for number, each in enumerate(loads):
        load, rates, seen = float(each), curves[:, number], again[:, number]
        with np.errstate(divide="ignore"):
            times = load / rates - think_s
            slow = _value(load / best[number] - think_s, times, load / seen - think_s)
        # Far below the knee, N / X - Z is a small difference of large numbers, so that even its sign is uncertain.
        known = slow.curve > 0 and (slow.band_95[0] or 0.0) >= 0
        rate = _value(best[number], rates, seen)
        row = Prediction(load, _range(candidate, load), rate, slow if known else None)
        if fit.curve is LINEAR and load > fit.points.load.max():
            row = _reach_down(row, fit, parameters, think_s)
        found[load] = row
    return found


def _value(best: float, curves: Floats, again: Floats) -> PredictedValue:
    return PredictedValue(**vars(Bands.of(best, curves)), measurement_95=percentiles(again, 0.95))


def _reach_down(row: Prediction, fit: Fit, parameters: Floats, think_s: float) -> Prediction:
    """Extend the bands of a straight line down to the throughput at the highest measured load, because the true system
    may reach a limit just above that load.
    """
    top = np.array([float(fit.points.load.max())])
    kept = fit.curve.throughput(parameters, top)[:, 0]
    if row.throughput is None:
        return row
    rates, times = _bands_by_share(row.throughput), None if row.response_s is None else _bands_by_share(row.response_s)
    for band, share in enumerate((*BANDS.values(), 0.95)):
        low = percentiles(kept, share)[0]
        if low is None:
            continue
        before, most = rates[band]
        rates[band] = (low if before is None else min(low, before), most)
        if times is not None and (high := times[band][1]) is not None:
            # If the lower end of the throughput band is zero, the band of the response time has no upper end.
            times[band] = (times[band][0], max(row.load / low - think_s, high) if low > 0 else None)
    slow = None if row.response_s is None or times is None else _with_bands(row.response_s, times)
    return replace(row, throughput=_with_bands(row.throughput, rates), response_s=slow, bound="upper")


def _bands_by_share(value: PredictedValue) -> list[Interval]:
    return [value.band_80, value.band_95, value.measurement_95]


def _with_bands(value: PredictedValue, bands: list[Interval]) -> PredictedValue:
    return PredictedValue(value.curve, value.median, *bands)


def held_out(candidate: CurveCandidate, points: Observations) -> dict[str, object] | None:
    """Compare measurements at held-out load levels with the predictions of a fit without these levels; return a
    JSON object.

    The bands include the error of a repeated measurement; `within_95` is True if the measurement lies in the 95 % band.
    """
    tested, compared = candidate.tested, candidate.held_out
    if tested is None or compared is None:
        return None
    above, again = points.chosen(points.load > tested.points.load.max()), candidate.measured_again
    assert again is not None
    curve = tested.curve
    think = above.conditions(curve.think_s).think_s if isinstance(curve, ClosedCurve) else above.think
    rows = []
    for number, point in enumerate(compared.points):
        drawn = again[:, number]
        row = {**point.document(), **_bands_of("throughput", drawn)}
        low, high = percentiles(drawn)
        row["within_95"] = (low or 0.0) <= point.measured_throughput <= (np.inf if high is None else high)
        if point.measured_response_s is not None and think is not None:
            with np.errstate(divide="ignore"):
                times = np.maximum(above.load[number] / drawn - think[number], 0.0)
            row |= _bands_of("response", times)
        rows.append(row)
    return {**document_of(compared), "points": rows, "refitted": candidate.refitted}


def _bands_of(name: str, drawn: Floats) -> dict[str, object]:
    return {f"{name}_{band}": list(percentiles(drawn, share)) for band, share in BANDS.items()}


def trust(candidate: CurveCandidate, think_s: float, further: Iterable[FitAssumption] = ()) -> dict[str, object]:
    """Return the basis of the predictions as a JSON object: measured range, assumptions with their tests, and the error
    at held-out load levels. `further` are the assumptions about the resources.
    """
    points = candidate.fit.points
    limit, why = farthest(candidate)
    tested = candidate.held_out
    return {
        "measured_from": float(points.load.min()),
        "measured_to": float(points.load.max()),
        "predicts_to": limit,
        "because": why,
        "levels": len(points.levels),
        "points": points.count,
        "repeated": points.count > len(points.levels),
        "held_out_error": tested.worst_error if tested else None,
        "verdict": candidate.judgement.level,
        "assumptions": [document_of(each) for each in [*_assumptions(candidate, think_s), *further]],
    }


def _assumptions(candidate: CurveCandidate, think_s: float) -> list[FitAssumption]:
    points = candidate.fit.points
    tests = {test.test for test in candidate.judgement.tests}
    spread = "lack-of-fit test" if "lack of fit" in tests else "no: no level was repeated often enough"
    found = [FitAssumption(f"the curve has the shape of {candidate.name}", spread), _assumed_of_demands(candidate)]
    if points.work is not None:
        found.append(
            FitAssumption(
                "predictions are for the mean mix of the measured levels",
                f"the demands of the mixes are {points.work.min():.3f} to {points.work.max():.3f} times "
                "that of the mean mix",
            )
        )
    if points.others is not None and isinstance(candidate.fit.curve, ClosedCurve):
        low, high, mean = (
            100 * share / candidate.fit.curve.servers
            for share in (points.others.min(), points.others.max(), points.others.mean())
        )
        found.append(
            FitAssumption(
                f"other programs use {mean:.2g} % of the bottleneck, also at loads that were not measured",
                f"they used {low:.2g} to {high:.2g} % at the measured levels",
            )
        )
    if isinstance(candidate.fit.curve, ClosedCurve):
        servers = candidate.fit.curve.servers
        tested = "response times were fitted as well" if points.response is not None else "no response times given"
        found += [
            FitAssumption("one bottleneck; requests wait nowhere else", tested),
            FitAssumption(
                f"{'one server' if servers == 1 else f'{servers} equal servers'} at the bottleneck",
                "no: taken as given",
            ),
        ]
    elif think_s > 0:
        found.append(
            FitAssumption(
                f"the load counts users that also think for {think_s:.3g} s; the parameters describe the "
                f"whole cycle and change with the think time",
                "no",
            )
        )
    return found


def _assumed_of_demands(candidate: CurveCandidate) -> FitAssumption:
    """Return the assumption of the curve about the service demand, and how the measurements test this assumption."""
    fit = candidate.fit
    busy = fit.busy_misses
    tested = "only through the shape of the curve"
    if busy is not None:
        tested = f"the CPU time at each level is met within {100 * float(np.max(np.abs(busy))):.2g} %"
    if isinstance(fit.curve, DependentCurve):
        idle, full = (fit.curve.demand_at(fit.parameters[None, :], np.array([share]))[0] for share in (0.0, 1.0))
        assumes = (
            f"the demand at the bottleneck changes linearly with its utilization, from {1e3 * idle:.3g} ms at no "
            f"use to {1e3 * full:.3g} ms at full use"
        )
        return FitAssumption(assumes, tested)
    return FitAssumption("demands do not depend on the load", tested)
