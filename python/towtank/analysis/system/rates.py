"""Computes the growth of a counter between any two run times.

Samples are not taken exactly at the edges of the recorded intervals of the load. Some samples are missing, and a
counter restarts from zero with its process. A `Track` therefore interpolates linearly between samples, and adds up the
growth before and after a restart.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.arrays import Floats

GAP_S = 2.5
"""The time between two samples is a gap if it is longer than this. At one sample per second, two samples are then
missing. [s]
"""
EDGE_S = 0.5
"""Samples may be missing for this time at the start and at the end of a time span that they cover. [s]"""
CLOCK_JUMP_S = 0.5
"""Smallest step of the wall clock, relative to the monotonic clock, that counts as a jump. [s]"""


@dataclass(frozen=True)
class Track:
    """Growth of a counter as a function of run time. It does not fall when the counter restarts from zero.

    Attributes
    ----------
    times_s : ndarray of shape (n_samples,)
        Times of the samples, ascending. [s]
    values : ndarray of shape (n_samples,)
        Growth of the counter since the first sample, ascending.
    restarts : int
        Number of restarts of the counter.
    """

    times_s: Floats
    values: Floats
    restarts: int

    def growth(self, start_s: float, end_s: float) -> float | None:
        """Return the growth of the counter between two run times, interpolated linearly between samples. Return None if
        the samples do not cover both times.
        """
        if not self.covers(start_s, end_s):
            return None
        first, last = np.interp([start_s, end_s], self.times_s, self.values)
        return float(last - first)

    def rate(self, start_s: float, end_s: float) -> float | None:
        """Return the mean rate of the counter between two run times; None if the samples do not cover both times.
        [1/s]
        """
        growth = self.growth(start_s, end_s)
        return None if growth is None or end_s <= start_s else growth / (end_s - start_s)

    def mean_rate(self) -> float | None:
        """Return the mean rate of the counter over all samples; None if there are fewer than two samples. [1/s]"""
        if len(self.times_s) < 2:
            return None
        return float((self.values[-1] - self.values[0]) / (self.times_s[-1] - self.times_s[0]))

    def covers(self, start_s: float, end_s: float) -> bool:
        """Return True if samples cover a time span. Up to half a second may be missing at its start and at its end."""
        return len(self.times_s) > 1 and self.times_s[0] <= start_s + EDGE_S and self.times_s[-1] >= end_s - EDGE_S

    def by_bin(self, starts: Floats, ends: Floats) -> Floats:
        """Return the growth of the counter in each bin, as an array of shape (n_bins,); NaN for a bin that samples do
        not cover.
        """
        if len(self.times_s) < 2:
            return np.full(len(starts), np.nan)
        edges = [np.interp(at, self.times_s, self.values) for at in (starts, ends)]
        covered = (self.times_s[0] <= starts + EDGE_S) & (self.times_s[-1] >= ends - EDGE_S)
        return np.where(covered, edges[1] - edges[0], np.nan)


def track(times_s: Sequence[float], raw: Sequence[float | None]) -> Track:
    """Return the growth of a counter as a function of run time, computed from its samples.

    Missing samples are skipped. If a value is lower than the previous value, the counter has restarted from zero.
    """
    pairs = [(at, value) for at, value in zip(times_s, raw, strict=True) if value is not None]
    if not pairs:
        return Track(np.zeros(0), np.zeros(0), 0)
    times = np.array([at for at, _ in pairs])
    values = np.array([value for _, value in pairs], dtype=float)
    steps = np.diff(values)
    fell = steps < 0
    steps[fell] = values[1:][fell]
    grown = np.concatenate([[0.0], np.cumsum(steps)])
    return Track(times, grown, int(fell.sum()))


def lookup(sample: Mapping[str, Any], path: Sequence[str]) -> float | None:
    """Return the number at a path of keys in a sample; None if it is missing or not a number."""
    found: Any = sample
    for key in path:
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


class Samples:
    """Samples of one recorded stream, with their run times.

    Parameters
    ----------
    samples : list of dict
        Samples, in ascending order of their time `t_ns`.
    origin_ns : int
        Monotonic time of the start of the run. [ns]
    times_ns : list of int, optional
        Times of all samples, ascending, if `samples` has only some of them; by default those of `samples`. [ns]
    clock_jump_s : float, optional
        Largest step of the wall clock between all samples; by default that between `samples`. [s]

    Attributes
    ----------
    times_s : list of float
        Times of `samples`. [s]
    all_times_s : list of float
        Times of all samples. [s]
    """

    def __init__(
        self,
        samples: list[dict[str, Any]],
        origin_ns: int,
        times_ns: Sequence[int] | None = None,
        clock_jump_s: float | None = None,
    ) -> None:
        self.samples = samples
        self.times_s = [(sample["t_ns"] - origin_ns) / 1e9 for sample in samples]
        self.all_times_s = self.times_s if times_ns is None else [(at - origin_ns) / 1e9 for at in times_ns]
        self._clock_jump_s = clock_jump_s
        self._tracks: dict[tuple[str, ...], Track] = {}

    def track(self, *path: str) -> Track:
        """Return the growth over time of the counter at a path of keys in the samples."""
        if path not in self._tracks:
            self._tracks[path] = track(self.times_s, [lookup(sample, path) for sample in self.samples])
        return self._tracks[path]

    def has(self, *path: str) -> bool:
        """Return True if any sample contains a number at a path of keys."""
        return bool(len(self.track(*path).times_s))

    def pairs(self, *path: str) -> list[tuple[float, float]]:
        """Return time [s] and value of each sample that contains a number at a path of keys."""
        found = zip(self.times_s, (lookup(sample, path) for sample in self.samples), strict=True)
        return [(at, value) for at, value in found if value is not None]

    def gauge(self, start_s: float, end_s: float, *path: str) -> list[float]:
        """Return the values of a gauge at a path of keys, from all samples in a time span."""
        chosen = [sample for at, sample in zip(self.times_s, self.samples, strict=True) if start_s <= at <= end_s]
        return [value for sample in chosen if (value := lookup(sample, path)) is not None]

    def mean_gauge(self, start_s: float, end_s: float, *path: str) -> float | None:
        """Return the mean of a gauge over a time span; None if no sample contains it."""
        values = self.gauge(start_s, end_s, *path)
        return float(np.mean(values)) if values else None

    def longest_gap(self, start_s: float, end_s: float) -> float:
        """Return the longest time without a sample in a time span; the length of the time span if it has no sample.
        [s]
        """
        inside = [at for at in self.all_times_s if start_s <= at <= end_s]
        return float(np.diff([start_s, *inside, end_s]).max()) if end_s > start_s else 0.0

    def clock_jump(self) -> float:
        """Return the largest step of the wall clock between two samples, relative to the monotonic clock. [s]"""
        if self._clock_jump_s is not None:
            return self._clock_jump_s
        offsets = [
            sample["wall_ns"] - sample["t_ns"] for sample in self.samples if isinstance(sample.get("wall_ns"), int)
        ]
        return max((abs(b - a) for a, b in itertools.pairwise(offsets)), default=0) / 1e9
