"""Compares a fitted network with the measurements, at fitted and at held-out load levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from towtank.estimates import few_digits, number_estimate, relative_error
from towtank.model.capacity_file import HeldOutLevel, HeldOutTransaction, HeldOutUse
from towtank.model.fitting.goodness import FIT_DOUBTFUL, FIT_REJECTED, FIT_SUPPORTED, HELD_OUT_LIMIT, MISS_LIMIT
from towtank.model.fitting.held_out import error_of_band
from towtank.model.fitting.intervals import percentiles
from towtank.model.fitting.networks.closed import Solved, conditions, solve
from towtank.model.fitting.networks.drifting import drifted, utilization
from towtank.model.fitting.networks.replicates import LEAST_LEVELS, Network, fit_network
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.fitting.networks.spread import Spread, spread
from towtank.model.fitting.observations import LEAST_RELATIVE_ERROR, Floats
from towtank.model.fitting.replicates import SEED

Interval = Sequence[float | None]
RESPONSE_OFF, UTILIZATION_OFF = 0.25, 0.10
"""Largest relative error of a mean response time [ratio], and largest absolute error of a utilization [1], at a
held-out load level. With larger errors, a network is doubtful.
"""
FITTED_RESPONSE_OFF = 0.50
"""Relative error of the mean response time at a fitted load level above which a network is doubtful. [ratio]"""
TEST_DRAWS = 100
"""Number of bootstrap replicates for the test on held-out load levels. [1]

Fewer than `DRAWS` suffice: the bands from these replicates are only reported, not used for sizing.
"""
OVER_OFF = 0.20
"""Largest excess of the computed over the measured response time at low load, relative to the measured response time.
If the excess is larger, the network is doubtful. [ratio]
"""


@dataclass(frozen=True)
class Tested:
    """Network fitted without the highest load levels, with its predictions for these levels. `whole` includes the
    held-out levels, whose indices are `places`. `solved` has one row for each level, and `drawn`, for each held-out
    level, one row for each replicate.
    """

    network: Network
    whole: Measured
    places: range
    solved: Solved
    drawn: list[Solved]


def hold_out(of: Measured, highest: int) -> Tested | None:
    """Fit a network without the highest load levels and predict these levels; None if too few levels remain."""
    kept = len(of.loads) - highest
    if kept < LEAST_LEVELS:
        return None
    network = fit_network(of.below(highest), TEST_DRAWS)
    at = conditions(of)
    solved = solve(of, [(network.parameters, condition) for condition in at])
    drawn = []
    for place in range(kept, len(of.loads)):
        busy = utilization(network, solved.utilization[place], at[place].others)
        drawn.append(solve(of, [(each, at[place]) for each in drifted(network, busy)]))
    return Tested(network, of, range(kept, len(of.loads)), solved, drawn)


@dataclass(frozen=True)
class HeldOutLevels:
    """All held-out levels, with the largest relative error of throughput. [ratio]"""

    levels: int
    worst_error: float
    points: tuple[HeldOutLevel, ...]

    @property
    def error_interval(self) -> tuple[float | None, float | None]:
        """Interval of the largest relative error of throughput. [ratio]"""
        worst = max(self.points, key=lambda point: abs(point.error))
        return error_of_band(worst.throughput_band_95, worst.measured_throughput)


@dataclass(frozen=True)
class NetworkVerdict:
    """Verdict on a network: reasons, each with its level and text."""

    reasons: tuple[tuple[str, str], ...] = ()

    @property
    def level(self) -> str:
        """Worst level among the reasons."""
        levels = {level for level, _ in self.reasons}
        return FIT_REJECTED if FIT_REJECTED in levels else FIT_DOUBTFUL if FIT_DOUBTFUL in levels else FIT_SUPPORTED

    def document(self) -> dict[str, object]:
        """Return the verdict as a JSON object."""
        return {"level": self.level, "reasons": [{"level": level, "text": text} for level, text in self.reasons]}


def held_out_levels(tested: Tested) -> HeldOutLevels:
    """Compare predictions with measurements at every load level that was left out of the fit.

    The bands of total throughput and mean response time include the error that a repeated measurement would have.
    """
    levels, solved, of = tested.whole.levels(), tested.solved, tested.whole
    seen = spread(of)
    fitted = slice(0, tested.places.start)
    scatter = _scatter(solved.throughput[fitted] / levels.throughput[fitted] - 1)
    rows = []
    for place, drawn in zip(tested.places, tested.drawn, strict=True):
        rates = _again(drawn.throughput, scatter)
        times = np.maximum(of.loads[place] / rates - of.think[place], 0.0)
        low, high = percentiles(rates, 0.95)
        measured, response = float(levels.throughput[place]), float(levels.response[place])
        rows.append(
            HeldOutLevel(
                load=float(of.loads[place]),
                measured_throughput=measured,
                measured_throughput_interval=seen.throughput(place),
                predicted_throughput=float(solved.throughput[place]),
                error=float(solved.throughput[place] / measured - 1),
                throughput_band_80=percentiles(rates, 0.80),
                throughput_band_95=(low, high),
                within_95=(low or 0.0) <= measured <= (math.inf if high is None else high),
                measured_response_s=response,
                measured_response_interval=seen.response(place),
                predicted_response_s=float(solved.response[place]),
                response_error=float(solved.response[place] / levels.response[place] - 1),
                response_band_80=percentiles(times, 0.80),
                response_band_95=percentiles(times, 0.95),
                classes=_by_class(tested, place, drawn, seen),
                utilization=_by_station(tested, place, drawn, seen),
            )
        )
    return HeldOutLevels(len(rows), max((row.error for row in rows), key=abs), tuple(rows))


def _scatter(errors: Floats) -> float:
    """Return the standard deviation of the relative errors of throughput at the fitted load levels. [ratio]"""
    return max(float(np.sqrt(np.mean(errors**2))), LEAST_RELATIVE_ERROR)


def _again(curves: Floats, scatter: float) -> Floats:
    """Simulate a repeated measurement of the throughput, once for each replicate. [1/s]"""
    stream = np.random.default_rng(SEED + 1)
    return np.asarray(curves * np.exp(scatter * stream.standard_normal(len(curves))), dtype=float)


def _by_class(tested: Tested, place: int, drawn: Solved, known: Spread) -> dict[str, HeldOutTransaction]:
    levels = tested.whole.levels()
    found = {}
    for number, name in enumerate(tested.whole.classes):
        measured, predicted = float(levels.responses[place, number]), float(tested.solved.responses[place, number])
        seen = math.isfinite(measured)
        found[name] = HeldOutTransaction(
            float(levels.counts[place, number]),
            measured if seen else None,
            known.response_of(place, number) if seen else None,
            predicted,
            percentiles(drawn.responses[:, number]),
            predicted / measured - 1 if seen and measured > 0 else None,
        )
    return found


def _by_station(tested: Tested, place: int, drawn: Solved, seen: Spread) -> dict[str, HeldOutUse]:
    levels = tested.whole.levels()
    return {
        station.name: HeldOutUse(
            float(levels.busy[place, number] / station.capacity),
            seen.utilization(place, number),
            float(tested.solved.utilization[place, number]),
            percentiles(drawn.utilization[:, number]),
        )
        for number, station in enumerate(tested.whole.stations)
    }


def judged(
    network: Network, solved: Solved, held_out: HeldOutLevels | None, percentile_doubts: list[str]
) -> NetworkVerdict:
    """Return the verdict on a network."""
    doubts = [(FIT_DOUBTFUL, text) for text in [*_own_doubts(network), *percentile_doubts]]
    return NetworkVerdict((*_fitted_reasons(network, solved), *_held_out_reasons(held_out), *doubts))


def _fitted_reasons(network: Network, solved: Solved) -> list[tuple[str, str]]:
    levels, seen, found = network.measured.levels(), spread(network.measured), []
    errors = solved.throughput / levels.throughput - 1
    place = int(np.abs(errors).argmax())
    worst, load = float(errors[place]), network.measured.loads[place]
    if abs(worst) > HELD_OUT_LIMIT:
        off = relative_error(worst, _error_against(seen.throughput(place), float(solved.throughput[place])))
        text = f"at {load:g} users, a fitted level, the throughput of the network is {off} off"
        found.append((FIT_REJECTED if abs(worst) > MISS_LIMIT else FIT_DOUBTFUL, text))
    times = solved.response / levels.response - 1
    place = int(np.abs(times).argmax())
    if abs(times[place]) > FITTED_RESPONSE_OFF:
        load = network.measured.loads[place]
        off = relative_error(float(times[place]), _error_against(seen.response(place), float(solved.response[place])))
        found.append(
            (FIT_DOUBTFUL, f"at {load:g} users, a fitted level, the response time of the network is {off} off")
        )
    return found


def _error_against(measured: Interval, fitted: float) -> Interval:
    """Return the interval of the relative error fitted / measured - 1, computed from the interval of the measured
    value. An end without a bound is None. [ratio]
    """
    low, high = measured
    return None if not high else fitted / high - 1, None if not low else fitted / low - 1


def _held_out_reasons(held_out: HeldOutLevels | None) -> list[tuple[str, str]]:
    if held_out is None:
        return [
            (FIT_DOUBTFUL, "no level could be held out: a network needs two levels, and its test needs a third level")
        ]
    found = []
    for row in held_out.points:
        without = f"fitted without the level of {row.load:g} users, the network"
        if abs(row.error) > HELD_OUT_LIMIT:
            level = FIT_REJECTED if abs(row.error) > MISS_LIMIT else FIT_DOUBTFUL
            off = relative_error(row.error, error_of_band(row.throughput_band_95, row.measured_throughput))
            limit = f"limit {100 * HELD_OUT_LIMIT:.0f} %"
            found.append((level, f"{without} predicts the throughput there {off} off, {limit}"))
        error, measured_s = row.response_error, row.measured_response_s
        if error is not None and measured_s is not None and abs(error) > RESPONSE_OFF:
            off = relative_error(error, error_of_band(row.response_band_95, measured_s))
            limit = f"limit {100 * RESPONSE_OFF:.0f} %"
            found.append((FIT_DOUBTFUL, f"{without} predicts the response time there {off} off, {limit}"))
        for name, use in row.utilization.items():
            if abs(use.predicted - use.measured) > UTILIZATION_OFF:
                predicted, measured = _share(use.predicted, use.band_95), _share(use.measured, use.measured_interval)
                text = f"{without} predicts a utilization of {name} of {predicted} there, measured: {measured}"
                found.append((FIT_DOUBTFUL, text))
    return found


def _share(value: float, interval: Interval) -> str:
    low, high = interval
    if low is None or high is None:
        return f"{few_digits(100 * value, 2)} %"
    return number_estimate(100 * value, 100 * low, 100 * high, "%")


def _own_doubts(network: Network) -> list[str]:
    of, found = network.measured, []
    for station, grouping in zip(of.stations, network.groupings, strict=True):
        for place in grouping.unsure:
            names = " and ".join(of.classes[each] for each in grouping.groups[place])
            found.append(f"{station.name}: the demand of {names} differs from all other demands, and is imprecise")
    levels = of.levels()
    over = float(network.over @ levels.shares[0])
    if over > OVER_OFF * float(levels.response[0]):
        found.append(
            f"at low load the resources explain {few_digits(1e3 * over)} ms more than the response time of "
            f"{few_digits(1e3 * levels.response[0])} ms: work continues after the response, or demands are attributed "
            "to the wrong transactions"
        )
    return found + list(of.left_out)
