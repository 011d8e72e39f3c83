"""Measurements for the fit of a capacity curve: load levels with throughputs, response times and busy servers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEAST_RELATIVE_ERROR = 0.005
"""Smallest relative error that is assumed for a throughput. The interval of a single run ignores the variation between
runs and is too narrow. [ratio]
"""
LEAST_RESPONSE_ERROR = 0.10
"""Smallest relative error that is assumed for response times in a fit. [ratio]

Waiting depends on the variance of service times, but a curve uses only the mean of the service times (the demand). The
curve therefore cannot match response times more precisely. A smaller assumed error would pull the demand away from the
measured CPU time.
"""
FEW_RUNS = 5
"""Load levels with fewer runs than this share one pooled relative error. [1]

An error from two or three runs is very imprecise. Used as a weight, it would favour levels whose runs agree by chance.
"""


@dataclass(frozen=True)
class Conditions:
    """Inputs of the system at each load, such as think time and available servers.

    Attributes
    ----------
    think_s : ndarray of shape (n_loads,)
        Think time Z. [s]
    work : ndarray of shape (n_loads,)
        Demand of the mean transaction at the load, relative to the reference mix. [ratio]
    others : ndarray of shape (n_loads,)
        Servers of the bottleneck that other programs keep busy. [1]
    """

    think_s: Floats
    work: Floats
    others: Floats

    def chosen(self, some: slice) -> Conditions:
        """Return the conditions at the loads that a slice selects."""
        return Conditions(self.think_s[some], self.work[some], self.others[some])


@dataclass(frozen=True)
class Observations:
    """Measured points in ascending order of load, one row for each measurement.

    Attributes
    ----------
    load : ndarray of shape (n_points,)
        Users, processors, or any other load, > 0. [1]
    throughput : ndarray of shape (n_points,)
        Throughput X. [1/s]
    error : ndarray of shape (n_points,) or None
        Standard error of the throughput; None if unknown. [1/s]
    response : ndarray of shape (n_points,) or None
        Mean response time R. [s]
    response_error : ndarray of shape (n_points,) or None
        Standard error of the response time. [s]
    think : ndarray of shape (n_points,) or None
        Mean think time Z, measured or stated by the user. [s]
    busy : ndarray of shape (n_points,) or None
        Servers of the bottleneck that are busy, U. [1]
    busy_error : ndarray of shape (n_points,) or None
        Standard error of the busy servers. [1]
    work : ndarray of shape (n_points,) or None
        Demand of the mean transaction at the bottleneck, relative to its demand in the reference mix. [ratio]
    others : ndarray of shape (n_points,) or None
        Servers of the bottleneck that other programs kept busy. [1]
    names : tuple of str
        Origin of each point: names of runs, or lines of a file.
    place : ndarray of shape (n_points,)
        Order in which the points were measured. It is needed to detect residuals that resemble their neighbours.
    """

    load: Floats
    throughput: Floats
    error: Floats | None = None
    response: Floats | None = None
    response_error: Floats | None = None
    think: Floats | None = None
    busy: Floats | None = None
    busy_error: Floats | None = None
    work: Floats | None = None
    others: Floats | None = None
    names: tuple[str, ...] = ()
    place: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def count(self) -> int:
        """Number of measured points. [1]"""
        return len(self.load)

    @property
    def levels(self) -> Floats:
        """Distinct loads of the measured points, in ascending order."""
        return np.unique(self.load)

    @property
    def deviations(self) -> Floats:
        """Standard deviation of each throughput, by which the fit weights it; a common factor does not matter. [1/s]

        If no error is known, all deviations are equal, which gives ordinary least squares.
        """
        if self.error is None:
            return np.full(self.count, float(np.mean(np.abs(self.throughput))))
        return np.asarray(np.hypot(self.error, LEAST_RELATIVE_ERROR * self.throughput), dtype=float)

    @property
    def response_deviations(self) -> Floats | None:
        """Standard deviation of each response time, on the same scale as `deviations`. [s]"""
        if self.response is None:
            return None
        if self.error is None:
            return np.abs(self.response)
        error = self._common() * self.response if self.response_error is None else self.response_error
        return np.asarray(np.hypot(error, LEAST_RESPONSE_ERROR * self.response), dtype=float)

    @property
    def busy_deviations(self) -> Floats | None:
        """Standard deviation of each number of busy servers, on the same scale as `deviations`. [1]"""
        if self.busy is None:
            return None
        if self.busy_error is None or self.error is None:
            return np.full(self.count, float(np.mean(self.busy))) * self._common()
        return np.asarray(np.hypot(self.busy_error, LEAST_RELATIVE_ERROR * self.busy), dtype=float)

    def _common(self) -> float:
        """Return the relative error to assume for quantities without a known error: the median relative error of the
        throughputs, or 1 if no error is known. [ratio]
        """
        return 1.0 if self.error is None else float(np.median(self.deviations / self.throughput))

    def think_s(self) -> Floats:
        """Return the think time at each measured point; zero if unknown. [s]"""
        return np.zeros(self.count) if self.think is None else self.think

    def conditions(self, think_s: float = 0.0) -> Conditions:
        """Return the conditions at each point; `think_s` is the think time if none was measured."""
        return Conditions(
            np.full(self.count, think_s) if self.think is None else self.think,
            np.ones(self.count) if self.work is None else self.work,
            np.zeros(self.count) if self.others is None else self.others,
        )

    def chosen(self, mask: npt.NDArray[np.bool_]) -> Observations:
        """Return the measured points that a mask selects."""
        return replace(
            self,
            load=self.load[mask],
            throughput=self.throughput[mask],
            error=None if self.error is None else self.error[mask],
            response=None if self.response is None else self.response[mask],
            response_error=None if self.response_error is None else self.response_error[mask],
            think=None if self.think is None else self.think[mask],
            busy=None if self.busy is None else self.busy[mask],
            busy_error=None if self.busy_error is None else self.busy_error[mask],
            work=None if self.work is None else self.work[mask],
            others=None if self.others is None else self.others[mask],
            names=tuple(name for name, kept in zip(self.names, mask, strict=True) if kept),
            place=self.place[mask],
        )

    def split(self, highest: int) -> tuple[Observations, Observations]:
        """Divide the points into the points below the highest load levels, and the points at the highest load levels.
        `highest` is the number of highest load levels.
        """
        limit = self.levels[-highest]
        return self.chosen(self.load < limit), self.chosen(self.load >= limit)


def observations(
    load: Floats,
    throughput: Floats,
    *,
    error: Floats | None = None,
    response: Floats | None = None,
    response_error: Floats | None = None,
    think: Floats | None = None,
    busy: Floats | None = None,
    busy_error: Floats | None = None,
    work: Floats | None = None,
    others: Floats | None = None,
    names: tuple[str, ...] = (),
) -> Observations:
    """Return measured points, sorted by load."""
    order = np.argsort(load, kind="stable")

    def sorted_(values: Floats | None) -> Floats | None:
        return None if values is None else np.asarray(values, dtype=float)[order]

    names = names or tuple(f"point {number}" for number in range(1, len(load) + 1))
    return Observations(
        np.asarray(load, dtype=float)[order],
        np.asarray(throughput, dtype=float)[order],
        sorted_(error),
        sorted_(response),
        sorted_(response_error),
        sorted_(think),
        sorted_(busy),
        sorted_(busy_error),
        sorted_(work),
        sorted_(others),
        tuple(names[place] for place in order),
        order.astype(np.int64),
    )


def pooled_errors(values: Floats, errors: Floats, runs: Floats) -> Floats:
    """Return the standard errors, with a pooled relative error for points with few runs.

    All arrays have the shape (n_points,): means over the runs, their standard errors, and the number of runs from which
    each error was computed, which is 1 for an error estimated within one run.
    """
    few = (runs > 1) & (runs < FEW_RUNS)
    if few.sum() < 2:
        return errors
    freedom = runs[few] - 1
    # Each error gives the relative variance of a single run. The mean of these variances, weighted by degrees of
    # freedom, is converted back to the standard error of each point.
    variances = (errors[few] / values[few]) ** 2 * runs[few]
    spread = float(np.sqrt(np.sum(freedom * variances) / freedom.sum()))
    pooled = errors.copy()
    pooled[few] = spread * values[few] / np.sqrt(runs[few])
    return pooled
