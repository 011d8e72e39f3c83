"""Counts the requests of a result file in observations, which are time intervals of equal length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.analysis.measurement import Counts, Floats, Mask
from towtank.analysis.statistics.nominal import BATCHES
from towtank.foreign import Requests

# Smallest mean number of requests per observation. With this number, the tests for a steady state compare means instead
# of single response times. [1]
_REQUESTS_AT_LEAST = 20
_AT_MOST = 8 * BATCHES  # Largest number of observations in a window. [1]
# Requests count as a single wave if all of them start before this share of the time until the last response, in (0, 1).
# The window then ends with the last response.
_SHARE_OF_STARTS = 0.5
_DECIMALS = 6  # Times in seconds are rounded to this number of decimals.
# If the resolution of the clock is at least this, the window begins and ends with a tick of the clock, because the
# first and the last tick are incomplete. k6 writes whole seconds into its CSV files. [s]
_COARSE_S = 0.1
_STEPS_AT_LEAST = 4


@dataclass(frozen=True)
class Observations:
    """Numbers of requests and sums of response times in each observation (time interval of equal length).

    Attributes
    ----------
    edges_s : ndarray of shape (n_observations + 1,)
        Edges of the observations, as time since the first start of a request. [s]
    completed : ndarray of shape (n_observations,)
        Number of requests that ended successfully. [1]
    started : ndarray of shape (n_observations,)
        Number of requests that started. [1]
    response_sum_s : ndarray of shape (n_observations,)
        Sum of the response times of the requests that started. [s]
    places : ndarray of int of shape (n_requests,)
        Number of the observation in which each request started.
    """

    edges_s: Floats
    completed: Floats
    started: Floats
    response_sum_s: Floats
    places: Counts

    @property
    def empty(self) -> Mask:
        """Mask of the observations in which no request started; observations after the last start are not included."""
        until = int(np.flatnonzero(self.started)[-1]) + 1 if self.started.any() else 0
        return np.asarray(self.started[:until] == 0)

    @property
    def lengths_s(self) -> Floats:
        return np.diff(self.edges_s)


def whole_window(requests: Requests) -> tuple[float, float]:
    """Return the start and the end of the window: the first and the last start of a request. If all requests came in
    one wave, the window ends with the last response. [s]

    After the last start, only slow requests are in progress, so throughput is lower than under load. If the clock is
    coarse, the window consists of complete ticks of the clock.
    """
    last_start, last_end = float(requests.start_s[-1]), float(requests.end_s.max())
    ends = np.round(requests.end_s, _DECIMALS)
    if resolution_of(ends) >= _COARSE_S:
        steps = np.unique(ends)
        if len(steps) >= _STEPS_AT_LEAST:
            return float(steps[1]), float(steps[-1])
    return 0.0, (last_start if last_start >= _SHARE_OF_STARTS * last_end else last_end)


def resolution_of(values: Floats) -> float:
    """Return the resolution of values: the smallest difference between two different values. Return 0 if each value
    occurs less than twice on average, because the values then show no coarse resolution.
    """
    different = np.unique(values)
    if len(different) < 2 or len(different) > len(values) / 2:
        return 0.0
    return float(np.min(np.diff(different)))


def clock_step(requests: Requests) -> float:
    """Return the resolution of the clock that recorded the starts and ends of requests; 0 if the resolution is fine.
    [s]
    """
    # The end is computed as start plus response time, with a rounding error of less than a microsecond. Without
    # rounding, this error would hide the resolution.
    return max(resolution_of(requests.start_s), resolution_of(np.round(requests.end_s, _DECIMALS)))


def spread(times_s: Floats) -> Floats:
    """Spread equal times of a coarse clock evenly over one tick of the clock, in their order. Other times are returned
    unchanged. [s]

    Otherwise, some observations would contain one tick of the clock and others two.

    Examples
    --------
    >>> spread(np.array([0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 3.0, 3.0]))
    array([0.125, 0.375, 0.625, 0.875, 2.25 , 2.75 , 3.25 , 3.75 ])
    """
    step = resolution_of(times_s)
    if step <= 0:
        return times_s
    order = np.argsort(times_s, kind="stable")
    _, first, counts = np.unique(times_s[order], return_index=True, return_counts=True)
    ranks = np.arange(len(order)) - np.repeat(first, counts)
    found = np.empty(len(order))
    found[order] = times_s[order] + step * (ranks + 0.5) / np.repeat(counts, counts)
    return found


def ends_of(requests: Requests) -> Floats:
    """Return the end times of requests. Equal times of a coarse clock are spread evenly over one tick of the clock.
    [s]
    """
    return spread(np.round(requests.end_s, _DECIMALS))


def observations_of(requests: Requests, start_s: float, end_s: float, every: Requests | None = None) -> Observations:
    """Return the observations of a window.

    Parameters
    ----------
    requests : Requests
        Requests that start within the window.
    start_s, end_s : float
        Start and end of the window. [s]
    every : Requests, optional
        Requests whose ends are counted in the window, usually all requests of the file; `requests` by default.
    """
    count = _number(requests, end_s - start_s)
    edges = np.linspace(start_s, end_s, count + 1)
    length = (end_s - start_s) / count
    counted = requests if every is None else every
    ends = ends_of(counted)
    ends = ends[counted.ok & (ends >= start_s) & (ends <= end_s)]
    completed = np.bincount(_places(ends, start_s, length, count), minlength=count)
    places = _places(spread(requests.start_s), start_s, length, count)
    started = np.bincount(places, minlength=count)
    sums = np.bincount(places, weights=requests.elapsed_s, minlength=count).astype(float)
    return Observations(edges, completed.astype(float), started.astype(float), sums, places)


def _places(times_s: Floats, start_s: float, length_s: float, count: int) -> Counts:
    return (
        np.clip(((times_s - start_s) / length_s).astype(np.int64), 0, count - 1)
        if length_s > 0
        else np.zeros(len(times_s), dtype=np.int64)
    )


def _number(requests: Requests, length_s: float) -> int:
    """Return the number of observations into which a window is divided. A number above `BATCHES` is rounded down to a
    multiple of `BATCHES`. No observation is shorter than the resolution of the times. [1]
    """
    count = max(1, min(_AT_MOST, len(requests) // _REQUESTS_AT_LEAST))
    resolution = clock_step(requests)
    if resolution > 0 and length_s / resolution < count:
        count = max(1, int(length_s / resolution))
    return count // BATCHES * BATCHES if count > BATCHES else count
