"""Maps values to the buckets of a histogram in HdrHistogram format."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from towtank.arrays import Counts


@dataclass(frozen=True)
class Layout:
    """Mapping of values to histogram buckets.

    Attributes
    ----------
    lowest, highest : int
        Lowest value that the buckets distinguish from 0, and highest value that can be counted. [ns]
    digits : int
        Number of significant decimal digits, in [1, 5].
    """

    lowest: int
    highest: int
    digits: int

    @property
    def unit_magnitude(self) -> int:
        """Binary logarithm of the width of the narrowest bucket in nanoseconds."""
        return self.lowest.bit_length() - 1

    @property
    def half_magnitude(self) -> int:
        """Binary logarithm of half the number of sub-buckets in a bucket."""
        return math.ceil(math.log2(2 * 10**self.digits)) - 1

    @cached_property
    def counters(self) -> int:
        """Number of counters, which is the length of the array of counts."""
        untrackable = (2 << self.half_magnitude) << self.unit_magnitude
        buckets = 1
        while untrackable <= self.highest:
            untrackable <<= 1
            buckets += 1
        return (buckets + 1) << self.half_magnitude

    def lower_edges(self, indices: Counts) -> Counts:
        """Return the smallest value in each bucket. [ns]"""
        bucket, sub = self._split(indices)
        return sub << (bucket + self.unit_magnitude)

    def upper_edges(self, indices: Counts) -> Counts:
        """Return the largest value in each bucket. [ns]"""
        bucket, sub = self._split(indices)
        return ((sub + 1) << (bucket + self.unit_magnitude)) - 1

    def _split(self, indices: Counts) -> tuple[Counts, Counts]:
        half = 1 << self.half_magnitude
        indices = indices.astype(np.int64)
        bucket = (indices >> self.half_magnitude) - 1
        sub = (indices & (half - 1)) + half
        linear = bucket < 0
        return np.where(linear, 0, bucket), np.where(linear, sub - half, sub)
