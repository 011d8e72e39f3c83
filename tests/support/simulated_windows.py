"""Simulates queues, and returns measurement windows of one-second intervals for tests of steady-state checks."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from towtank.analysis.checks import window as checks
from towtank.analysis.windows.window import Window, tested

Times = np.ndarray[Any, np.dtype[np.float64]]


def open_queue(stream: np.random.Generator, rate: float, service_s: float, seconds: float) -> tuple[Times, Times]:
    """Simulate an M/M/1 queue by Lindley's recursion. Return the arrival and end times of the jobs. [s]"""
    arrivals = np.cumsum(stream.exponential(1 / rate, int(rate * seconds * 1.3) + 200))
    arrivals = arrivals[arrivals < seconds]
    times = stream.exponential(service_s, len(arrivals))
    walk = np.concatenate([[0.0], np.cumsum(times[:-1] - np.diff(arrivals))])
    return arrivals, arrivals + walk - np.minimum.accumulate(walk) + times


def closed_queue(
    stream: np.random.Generator, users: int, think_s: float, service_s: Callable[[float], float], seconds: float
) -> tuple[Times, Times]:
    """Simulate users of a closed load and one server with exponential service times. Return the arrival and end times
    of the jobs. [s]

    `service_s` maps the current time to the mean service time; both are in seconds.
    """
    arriving = list(stream.exponential(think_s, users))
    heapq.heapify(arriving)
    free, arrivals, ends = 0.0, [], []
    while (arrival := heapq.heappop(arriving)) <= seconds:
        free = max(arrival, free) + stream.exponential(service_s(arrival))
        arrivals.append(arrival)
        ends.append(free)
        heapq.heappush(arriving, free + stream.exponential(think_s))
    return np.array(arrivals), np.array(ends)


def window_of(
    arrivals: Times,
    ends: Times,
    start_s: float,
    seconds: int,
    *,
    is_open: bool,
    tiers_cpu_s: dict[str, Times] | None = None,
) -> Window:
    """Return a measurement window of `seconds` intervals of 1 s, beginning at `start_s`.

    `tiers_cpu_s` contains the CPU time of each tier in each interval. [s]
    """
    arrivals, ends = arrivals - start_s, ends - start_s
    edges = np.arange(seconds + 1.0)
    ended, sums = np.histogram(ends, edges)[0], np.histogram(ends, edges, weights=ends - arrivals)[0]
    column = SimpleNamespace(
        ended=ended,
        response=SimpleNamespace(counts=ended),
        response_sum_s=sums,
        exchange=SimpleNamespace(counts=ended),
        exchange_sum_s=sums,
    )
    begun, done = np.sort(arrivals), np.sort(ends)
    flying = np.searchsorted(begun, edges, "right") - np.searchsorted(done, edges, "right")
    # Number of users in the system every 0.01 s. Its mean over each second is used.
    fine = np.arange(0, seconds, 0.01)
    held = (np.searchsorted(begun, fine, "right") - np.searchsorted(done, fine, "right")).reshape(seconds, 100)
    measured = SimpleNamespace(
        starts=edges[:-1],
        ends=edges[1:],
        lengths=np.ones(seconds),
        transactions=column,
        requests=column,
        in_flight=flying[1:].astype(float),
        waiting=np.zeros(seconds),
        mean_users=held.mean(axis=1),
        arrivals=np.histogram(arrivals, edges)[0] if is_open else np.zeros(seconds),
        length_of=lambda chosen: float(chosen.sum()),
    )
    measured.inside = lambda start, end: (edges[:-1] >= start - 1e-6) & (edges[1:] <= end + 1e-6)
    return tested(measured, Window(0.0, seconds, 0.0, seconds, seconds), tiers_cpu_s or {})  # type: ignore[arg-type]


def verdict_on(window: Window) -> str:
    """Return the most severe level of the doubts about the steady state of a window; `valid` if there is no doubt."""
    evidence: Any = SimpleNamespace(window=window)
    levels = {str(doubt.level) for doubt in checks.steady(evidence)}
    return next((level for level in ("invalid", "suspect") if level in levels), "valid")
