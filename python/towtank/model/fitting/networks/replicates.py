"""A network fitted to measurements, and to other draws of them."""

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
"""Percentiles of 2.5 % rest on five of them; a model file carries as many. [1]"""
AT_ONCE = (1, 2, 4, 8, 16, 32, 64, None)
"""Requests that share a server, as tried; None is any number. [1]"""
HARDLY_WORSE = 1.1
"""Squared errors within this factor of the least tell nothing between two ways. [ratio]"""
LEAST_LEVELS = 2
"""One level cannot tell background from demand. [1]"""


@dataclass(frozen=True)
class Network:
    """A network of measurements.

    Attributes
    ----------
    measured : Measured
    groupings : tuple of Grouping
        By station.
    parameters : Parameters
    draws : tuple of Parameters
        Of replicates.
    misses : ndarray of shape (n_levels, n_stations)
        Busy time over what the parameters make of it, less 1.
    over : ndarray of shape (n_classes,)
        What the resources explain more of the response time at low load than was measured. [s]
    """

    measured: Measured
    groupings: tuple[Grouping, ...]
    parameters: Parameters
    draws: tuple[Parameters, ...]
    misses: Floats
    over: Floats


def fit_network(of: Measured, count: int = DRAWS, seed: int = SEED) -> Network:
    """Fit a network.

    Raises
    ------
    MeasurementError
        If there is too little to make one of.

    Notes
    -----
    Replicates are of the runs of each level, of blocks of neighbours within each run (Künsch 1989), and of what the
    line through the levels leaves. Which transactions are told apart stays as the measurements tell it.
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
    at_once = _at_once(of, plain)
    settled, over = with_delays(samples, [replace(one, at_once=at_once) for one in found])
    return Network(of, groupings, settled[0], tuple(settled[1:]), misses(of, plain), over[0])


def _at_once(of: Measured, plain: Parameters) -> int | None:
    """How many requests share each server, as response times by transaction tell at levels that delays are not read at.

    Notes
    -----
    Each of `AT_ONCE` is tried. Of those whose squared errors of the logarithms of responses, weighted by the
    transactions that ended, are hardly larger than the least, the smallest number is taken: servers work on so many
    requests at a time and no more, and levels below saturation do not tell such a number from any larger one.
    """
    levels = of.levels()
    places = [place for place in range(len(of.loads)) if place not in low_levels(of)]
    if not places or len(of.classes) < 2:
        return None
    left: list[float] = []
    for number in AT_ONCE:
        tried = with_delays([of], [replace(plain, at_once=number)])[0][0]
        rows = [(tried, conditions(of)[place]) for place in places]
        counts, seen = levels.counts[places], levels.responses[places]
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.where(counts > 0, np.log(solve(of, rows).responses / seen) ** 2, 0.0)
        left.append(float((errors * counts).sum() / counts.sum()))
    return next(number for number, one in zip(AT_ONCE, left, strict=True) if one <= HARDLY_WORSE * min(left))


def _refuse_too_little(of: Measured) -> None:
    reasons = list(of.left_out)
    if not of.stations:
        reasons.append("no resource was observed in every run")
    if not of.classes:
        reasons.append("no transaction ended twenty times")
    if len(of.loads) < LEAST_LEVELS:
        reasons.append(f"a network needs {LEAST_LEVELS} load levels or more, and there are {len(of.loads)}")
    if not of.stations or not of.classes or len(of.loads) < LEAST_LEVELS:
        raise MeasurementError(
            "\n".join([f"{of.label}: no network can be made of it:", *(f"  {one}" for one in reasons)])
        )
