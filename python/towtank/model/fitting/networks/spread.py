"""Computes confidence intervals of the measured means at each load level, for a network fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.model.fitting.intervals import Interval, percentiles
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.replicates import SEED

DRAWS = 200
"""Number of bootstrap replicates. Five of 200 lie beyond each end of a 95 % interval, which suffices for the printed
digits. [1]
"""


@dataclass(frozen=True)
class Spread:
    """Means of each load level in each bootstrap replicate.

    Attributes
    ----------
    rates : ndarray of shape (n_draws, n_levels)
        Throughput. [1/s]
    times : ndarray of shape (n_draws, n_levels)
        Mean response time. [s]
    by_class : ndarray of shape (n_draws, n_levels, n_classes)
        Mean response time of each class; NaN if no transaction of the class ended. [s]
    used : ndarray of shape (n_draws, n_levels, n_stations)
        Utilization, in [0, 1]. [ratio]
    """

    rates: Floats
    times: Floats
    by_class: Floats
    used: Floats

    def throughput(self, level: int) -> Interval:
        """Return the 95 % confidence interval of the throughput at a load level. [1/s]"""
        return percentiles(self.rates[:, level])

    def response(self, level: int) -> Interval:
        """Return the 95 % confidence interval of the mean response time at a load level. [s]"""
        return percentiles(self.times[:, level])

    def response_of(self, level: int, job_class: int) -> Interval:
        """Return the 95 % confidence interval of the mean response time of a class at a load level. [s]"""
        return percentiles(self.by_class[:, level, job_class])

    def utilization(self, level: int, station: int) -> Interval:
        """Return the 95 % confidence interval of the utilization of a station at a load level. [ratio]"""
        return percentiles(self.used[:, level, station])


def spread(of: Measured, count: int = DRAWS, seed: int = SEED) -> Spread:
    """Draw bootstrap replicates of the runs and of their intervals; return the means of each load level in each
    replicate.

    The bootstrap replicates of the network fit contain the same runs and intervals. If a level has a single run, the
    interval does not include the variation between runs.
    """
    stream = np.random.default_rng(seed)
    levels = [of.drawn(stream).levels() for _ in range(count)]
    capacity = np.array([station.capacity for station in of.stations])
    return Spread(
        np.array([drawn.throughput for drawn in levels]),
        np.array([drawn.response for drawn in levels]),
        np.array([drawn.responses for drawn in levels]),
        np.array([drawn.busy / capacity for drawn in levels]),
    )
