"""Fits a network to measurements and to bootstrap replicates of the measurements."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from towtank.errors import MeasurementError
from towtank.model.fitting.networks.closed import conditions, low_levels, solve, with_delays
from towtank.model.fitting.networks.estimate import Parameters, estimate, misses, noise_of
from towtank.model.fitting.networks.groups import Grouping, grouped
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.replicates import SEED

DRAWS = 200
"""Number of bootstrap replicates, equal to the number in a model file. Of 200, five lie below the 2.5 %
quantile. [1]
"""
AT_ONCE = (1, 2, 4, 8, 16, 32, 64, None)
"""Numbers of requests that share a server at the same time. The fit tries each number; None means unlimited. [1]"""
HARDLY_WORSE = 1.1
"""Two orders of service count as equally good if the larger squared error is less than this multiple of the smaller
error. [ratio]
"""
LEAST_LEVELS = 2
"""Smallest number of load levels for a network. A single level cannot distinguish background from demand. [1]"""


@dataclass(frozen=True)
class Network:
    """Network fitted to measurements.

    Attributes
    ----------
    groupings : tuple of Grouping
        Grouping of the transactions at each station.
    draws : tuple of Parameters
        Parameters of the replicates.
    misses : ndarray of shape (n_levels, n_stations)
        Measured over computed busy time, minus 1. [ratio]
    over : ndarray of shape (n_classes,)
        Time by which the computed residence time exceeds the measured response time at low load, or zero. [s]
    """

    measured: Measured
    groupings: tuple[Grouping, ...]
    parameters: Parameters
    draws: tuple[Parameters, ...]
    misses: Floats
    over: Floats


def fit_network(of: Measured, count: int = DRAWS, seed: int = SEED) -> Network:
    """Fit a network to measurements, with bootstrap replicates for its confidence intervals.

    Raises
    ------
    MeasurementError
        If there are too few measurements.

    Notes
    -----
    A replicate contains three random choices: of the runs of each load level, of blocks of consecutive intervals in
    each run (Künsch 1989), and of residuals of the line of busy servers over work. All replicates have the same groups
    of transactions as the measurements.
    """
    _refuse_too_little(of)
    groupings = tuple(grouped(of, place) for place in range(len(of.stations)))
    plain = estimate(of, groupings)
    stream = np.random.default_rng(seed)
    samples, found = [of], [plain]
    for _ in range(count):
        sample = of.drawn(stream)
        samples.append(sample)
        found.append(estimate(sample, groupings, noise_of(of, plain, stream)))
    if not all(estimated.demands.any() for estimated in found):
        raise MeasurementError("no network can be fitted:\n  no resource spent time on the transactions")
    in_turn, at_once = _waiting(of, plain)
    found = [replace(parameters, in_turn=in_turn, at_once=at_once) for parameters in found]
    settled, over = with_delays(samples, found)
    return Network(of, groupings, settled[0], tuple(settled[1:]), misses(of, plain), over[0])


def _waiting(of: Measured, plain: Parameters) -> tuple[bool, int | None]:
    """Choose the order of service by the response times at the load levels that are not used to estimate delays.

    The first result is True if requests are served first come, first served. The second is the number of requests that
    share each server at the same time; None if unlimited.

    Notes
    -----
    First come, first served and each number in `AT_ONCE` are tried. The criterion is the sum of squared errors of the
    logarithms of response times, weighted by the number of transactions. Several numbers may have an error close to the
    smallest error, because levels below saturation do not distinguish these numbers; then the lowest of them is chosen.
    First come, first served has no exact solution, so it is chosen only if it is clearly better.
    """
    places = [place for place in range(len(of.loads)) if place not in low_levels(of)]
    if not places or len(of.classes) < 2:
        return False, None
    shared = [_error(of, replace(plain, at_once=number), places) for number in AT_ONCE]
    if HARDLY_WORSE * _error(of, replace(plain, in_turn=True), places) < min(shared):
        return True, None
    pairs = zip(AT_ONCE, shared, strict=True)
    return False, next(number for number, error in pairs if error <= HARDLY_WORSE * min(shared))


def _error(of: Measured, tried: Parameters, places: list[int]) -> float:
    levels, at = of.levels(), conditions(of)
    settled = with_delays([of], [tried])[0][0]
    counts = levels.counts[places]
    made = solve(of, [(settled, at[place]) for place in places]).responses
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(counts > 0, np.log(made / levels.responses[places]) ** 2, 0.0)
    return float((errors * counts).sum() / counts.sum())


def _refuse_too_little(of: Measured) -> None:
    reasons = list(of.left_out)
    if not of.stations:
        reasons.append("no resource was observed in every run")
    if not of.classes:
        reasons.append("no transaction ended twenty times")
    if len(of.loads) < LEAST_LEVELS:
        reasons.append(f"a network needs {LEAST_LEVELS} load levels or more, got {len(of.loads)}")
    if not of.stations or not of.classes or len(of.loads) < LEAST_LEVELS:
        raise MeasurementError(
            "\n".join([f"{of.label}: no network can be fitted:", *(f"  {reason}" for reason in reasons)])
        )
