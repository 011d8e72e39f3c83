"""A network held against what was measured: at the levels it was fitted to, and at the one it never saw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.model.fitting.goodness import DOUBTFUL, HELD_OUT_LIMIT, MISS_LIMIT, REJECTED, SUPPORTED
from towtank.model.fitting.intervals import percentiles
from towtank.model.fitting.networks.closed import Solved, conditions, solve
from towtank.model.fitting.networks.drifting import drifted, utilization
from towtank.model.fitting.networks.replicates import LEAST_LEVELS, Network, fit_network
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.fitting.observations import LEAST_RELATIVE_ERROR, Floats
from towtank.model.fitting.prediction import BANDS
from towtank.model.fitting.replicates import SEED

Json = dict[str, Any]
RESPONSE_OFF, UTILIZATION_OFF = 0.25, 0.10
"""Errors from which the network is doubted, of a mean response time [ratio] and of a utilization [1]."""
FITTED_RESPONSE_OFF = 0.50
"""The same of the mean response time at a level that the network was fitted to. [ratio]"""
TEST_DRAWS = 100
"""Replicates of the network that is held against a level it did not see: their bands are shown, and sized by nobody."""
OVER_OFF = 0.20
"""Resources that explain more than the response time at low load, by so much of it, are doubted. [ratio]"""


@dataclass(frozen=True)
class Tested:
    """A network that did not see the highest levels.

    Attributes
    ----------
    network : Network
    whole : Measured
        With the highest levels.
    places : range
        The levels held out.
    solved : Solved
        At all levels, one row each.
    drawn : list of Solved
        At each level held out, one row for each replicate.
    """

    network: Network
    whole: Measured
    places: range
    solved: Solved
    drawn: list[Solved]


def hold_out(of: Measured, highest: int) -> Tested | None:
    """Fit a network without the highest levels; None where too few are left."""
    kept = len(of.loads) - highest
    if kept < LEAST_LEVELS:
        return None
    network = fit_network(of.below(highest), TEST_DRAWS)
    at = conditions(of)
    solved = solve(of, [(network.parameters, one) for one in at])
    drawn = []
    for place in range(kept, len(of.loads)):
        busy = utilization(network, solved.utilization[place], at[place].others)
        drawn.append(solve(of, [(each, at[place]) for each in drifted(network, busy)]))
    return Tested(network, of, range(kept, len(of.loads)), solved, drawn)


def held_out_document(one: Tested) -> Json:
    """Predicted against measured at every level held out, with the bands of one more measurement."""
    levels, solved, of = one.whole.levels(), one.solved, one.whole
    fitted = slice(0, one.places.start)
    scatter = _scatter(solved.throughput[fitted] / levels.throughput[fitted] - 1)
    rows: list[Json] = []
    for place, drawn in zip(one.places, one.drawn, strict=True):
        rates = _again(drawn.throughput, scatter)
        times = np.maximum(of.loads[place] / rates - of.think[place], 0.0)
        low, high = percentiles(rates, 0.95)
        measured = float(levels.throughput[place])
        rows.append(
            {
                "load": float(of.loads[place]),
                "measured_throughput": measured,
                "predicted_throughput": float(solved.throughput[place]),
                "error": float(solved.throughput[place] / measured - 1),
                **{f"throughput_{name}": list(percentiles(rates, share)) for name, share in BANDS.items()},
                "within_95": (low or 0.0) <= measured <= (math.inf if high is None else high),
                "measured_response_s": float(levels.response[place]),
                "predicted_response_s": float(solved.response[place]),
                "response_error": float(solved.response[place] / levels.response[place] - 1),
                **{f"response_{name}": list(percentiles(times, share)) for name, share in BANDS.items()},
                "classes": _by_class(one, place, drawn),
                "utilization": _by_station(one, place, drawn),
            }
        )
    worst = max((float(row["error"]) for row in rows), key=abs)
    return {"levels": len(rows), "worst_error": worst, "points": rows}


def _scatter(errors: Floats) -> float:
    """Standard deviation of one measurement about the network, from the levels it was fitted to. [ratio]"""
    return max(float(np.sqrt(np.mean(errors**2))), LEAST_RELATIVE_ERROR)


def _again(curves: Floats, scatter: float) -> Floats:
    """Throughputs that one more measurement would give."""
    stream = np.random.default_rng(SEED + 1)
    return np.asarray(curves * np.exp(scatter * stream.standard_normal(len(curves))), dtype=float)


def _by_class(one: Tested, place: int, drawn: Solved) -> Json:
    levels = one.whole.levels()
    found = {}
    for number, name in enumerate(one.whole.classes):
        measured, predicted = float(levels.responses[place, number]), float(one.solved.responses[place, number])
        seen = math.isfinite(measured)
        found[name] = {
            "count": float(levels.counts[place, number]),
            "measured_response_s": measured if seen else None,
            "predicted_response_s": predicted,
            "band_95": list(percentiles(drawn.responses[:, number])),
            "error": predicted / measured - 1 if seen and measured > 0 else None,
        }
    return found


def _by_station(one: Tested, place: int, drawn: Solved) -> Json:
    levels = one.whole.levels()
    return {
        station.name: {
            "measured": float(levels.busy[place, number] / station.capacity),
            "predicted": float(one.solved.utilization[place, number]),
            "band_95": list(percentiles(drawn.utilization[:, number])),
        }
        for number, station in enumerate(one.whole.stations)
    }


def judged(network: Network, solved: Solved, held_out: Json | None, percentile_doubts: list[str]) -> Json:
    """How well the measurements support a network: `level` and `reasons`."""
    reasons = _fitted_reasons(network, solved) + _held_out_reasons(held_out)
    reasons += [(DOUBTFUL, text) for text in [*_own_doubts(network), *percentile_doubts]]
    levels = [level for level, _ in reasons]
    level = REJECTED if REJECTED in levels else DOUBTFUL if DOUBTFUL in levels else SUPPORTED
    return {"level": level, "reasons": [{"level": each, "text": text} for each, text in reasons]}


def _fitted_reasons(network: Network, solved: Solved) -> list[tuple[str, str]]:
    levels = network.measured.levels()
    errors = solved.throughput / levels.throughput - 1
    place = int(np.abs(errors).argmax())
    worst, load = float(errors[place]), network.measured.loads[place]
    found = []
    if abs(worst) > HELD_OUT_LIMIT:
        text = f"at {load:g} users, where it was fitted, its throughput is {100 * worst:+.2g} % off"
        found.append((REJECTED if abs(worst) > MISS_LIMIT else DOUBTFUL, text))
    times = solved.response / levels.response - 1
    place = int(np.abs(times).argmax())
    if abs(times[place]) > FITTED_RESPONSE_OFF:
        load, off = network.measured.loads[place], 100 * float(times[place])
        found.append((DOUBTFUL, f"at {load:g} users, where it was fitted, its response time is {off:+.2g} % off"))
    return found


def _held_out_reasons(told: Json | None) -> list[tuple[str, str]]:
    if told is None:
        return [(DOUBTFUL, "no level could be held out: a network needs two levels, and its test a third")]
    found = []
    for row in told["points"]:
        without = f"made without {row['load']:g} users, it"
        if abs(row["error"]) > HELD_OUT_LIMIT:
            level = REJECTED if abs(row["error"]) > MISS_LIMIT else DOUBTFUL
            limit = f"limit {100 * HELD_OUT_LIMIT:.0f} %"
            found.append((level, f"{without} predicts the throughput there {100 * row['error']:+.2g} % off, {limit}"))
        if abs(row["response_error"]) > RESPONSE_OFF:
            told_off = f"{100 * row['response_error']:+.2g} % off, limit {100 * RESPONSE_OFF:.0f} %"
            found.append((DOUBTFUL, f"{without} predicts the response time there {told_off}"))
        for name, one in row["utilization"].items():
            off = one["predicted"] - one["measured"]
            if abs(off) > UTILIZATION_OFF:
                text = f"{without} predicts {name} used {100 * one['predicted']:.0f} % there, measured were "
                found.append((DOUBTFUL, f"{text}{100 * one['measured']:.0f} %"))
    return found


def _own_doubts(network: Network) -> list[str]:
    of, found = network.measured, []
    for station, grouping in zip(of.stations, network.groupings, strict=True):
        for place in grouping.unsure:
            names = " and ".join(of.classes[each] for each in grouping.groups[place])
            found.append(
                f"{station.name}: the demand of {names} differs from that of all others, and is not known well"
            )
    levels = of.levels()
    over = float(network.over @ levels.shares[0])
    if over > OVER_OFF * float(levels.response[0]):
        found.append(
            f"at low load the resources explain {1e3 * over:.3g} ms more than the response time of "
            f"{1e3 * levels.response[0]:.3g} ms: work goes on after the answer, or demands are put down to the wrong "
            f"transactions"
        )
    return found + list(of.left_out)
