"""Reads HdrHistogram V2 histograms: decodes them, merges them by adding counts, and computes quantiles by rank.

Only buckets with values are kept in memory: the response times of one second fill a few dozen of 24,576 buckets. Means
of response times are not computed here, but from exact sums that are recorded beside the histograms. A quantile is the
upper edge of its bucket, as in other readers of the format. With three significant digits, it is at most 0.1 % too
high.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from hdrh.codec import (
    HdrCookieException,
    HdrHistogramEncoder,
    HdrHistogramSettingsException,
    HdrLengthException,
)

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Largest number of counters of a histogram. A larger number indicates a damaged layout: a histogram with a lowest value
# of 1 ns, a highest value of an hour and five digits has 3.4 million counters.
_COUNTERS_AT_MOST = 4_000_000
# Magic numbers of the HdrHistogram format V2, which include the word size.
_COOKIE, _DEFLATED_COOKIE = 0x1C849303 | 0x10, 0x1C849304 | 0x10
_BROKEN = (
    HdrCookieException,
    HdrHistogramSettingsException,
    HdrLengthException,
    binascii.Error,
    struct.error,
    zlib.error,
    AssertionError,
    ArithmeticError,
    IndexError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)


class BadHistogramError(ValueError):
    """Raised if an encoded histogram cannot be read. The file that contains the histogram then counts as damaged."""


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


@dataclass(frozen=True)
class Histogram:
    """Number of values in each bucket. Empty buckets are not stored.

    Attributes
    ----------
    layout : Layout
    indices : ndarray of shape (n_buckets,)
        Numbers of the buckets that contain values, in ascending order.
    counts : ndarray of shape (n_buckets,)
        Number of values in each of these buckets, > 0. [1]
    """

    layout: Layout
    indices: Counts
    counts: Counts

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def minimum_s(self) -> float:
        """Lower edge of the lowest bucket with a value. [s]"""
        return float(self.layout.lower_edges(self.indices[:1])[0]) / 1e9

    @property
    def maximum_s(self) -> float:
        """Upper edge of the highest bucket with a value. [s]"""
        return float(self.layout.upper_edges(self.indices[-1:])[0]) / 1e9

    @property
    def mean_s(self) -> float:
        """Mean of the values, computed from bucket centres. [s]"""
        return float(np.average(self.middles_s, weights=self.counts))

    @property
    def middles_s(self) -> Floats:
        """Centres of the buckets with values, in ascending order; ndarray of shape (n_buckets,). [s]"""
        edges = self.layout.lower_edges(self.indices) + self.layout.upper_edges(self.indices)
        return np.asarray(edges / 2e9)

    @property
    def variance_s2(self) -> float:
        """Variance of the values, computed from bucket centres. [s²]"""
        middles = self.middles_s
        mean = float(np.average(middles, weights=self.counts))
        return float(np.average((middles - mean) ** 2, weights=self.counts))

    def count_above(self, value_s: float) -> int:
        """Return the number of values above a limit. A value counts as the upper edge of its bucket. [1]"""
        above = self.layout.upper_edges(self.indices) > 1e9 * value_s
        return int(self.counts[above].sum())

    def index_at_rank(self, rank: int) -> int:
        """Return the number of the bucket that contains the value of a given rank. Ranks count from 1, in ascending
        order of the values.
        """
        if not 1 <= rank <= self.total:
            raise ValueError(f"rank must be in [1, {self.total}], got {rank} instead")
        return int(self.indices[np.searchsorted(np.cumsum(self.counts), rank)])

    def value_at_rank(self, rank: int) -> float:
        """Return the value of a given rank. Ranks count from 1, in ascending order of the values. [s]"""
        index = np.array([self.index_at_rank(rank)], dtype=np.int64)
        return float(self.layout.upper_edges(index)[0]) / 1e9

    def quantile(self, probability: float) -> float:
        """Return a quantile: the smallest value x such that at least the given share of all values is at most x. [s]

        Parameters
        ----------
        probability : float
            Share of the values, in (0, 1].

        Notes
        -----
        The result is the value of rank ceil(n p), the inverse of the empirical distribution function, definition 1 of
        Hyndman and Fan [1]_.

        References
        ----------
        .. [1] R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American Statistician
               50(4), 361-365, 1996, doi:10.1080/00031305.1996.10473566.
        """
        return self.value_at_rank(rank_of(probability, self.total))

    def quantiles(self, probabilities: Iterable[float]) -> list[float]:
        total = self.total
        ranks = [rank_of(probability, total) for probability in probabilities]
        places = np.searchsorted(np.cumsum(self.counts), ranks)
        return [float(edge) / 1e9 for edge in self.layout.upper_edges(self.indices[places])]


def rank_of(probability: float, count: int) -> int:
    """Return the rank ceil(n p) of the p-quantile of n values. Ranks count from 1.

    Decimal fractions are not exact in binary: 0.95 * 100 may be slightly above 95. The product is therefore rounded to
    12 digits first, so that p95 of 100 values is the 95th value and not the 96th.
    """
    return min(count, max(1, math.ceil(round(probability * count, 12 - len(str(count))))))


@lru_cache(maxsize=16)
def _layout(lowest: int, highest: int, digits: int) -> Layout:
    return Layout(lowest, highest, digits)


def decode(encoded: str) -> Histogram:
    """Decode a histogram from text in HdrHistogram V2 format (deflated, base64).

    Raises
    ------
    BadHistogramError
        If the text is not a histogram in this format.
    """
    try:
        payload = HdrHistogramEncoder.decode(encoded)
        head = payload.payload
        layout = _layout(
            int(head.lowest_trackable_value), int(head.highest_trackable_value), int(head.significant_figures)
        )
        if not (1 <= layout.digits <= 5 and layout.lowest >= 1 and 2 * layout.lowest <= layout.highest):
            raise BadHistogramError(f"settings of the histogram are out of range: {layout}")
        if layout.counters > _COUNTERS_AT_MOST:
            raise BadHistogramError(f"histogram has {layout.counters} counters")
        found = payload.init_counts(layout.counters)
        counts = np.frombuffer(payload.get_counts(), dtype=np.int64)
    except BadHistogramError:
        raise
    except _BROKEN as fault:
        raise BadHistogramError(f"not an HdrHistogram V2: {fault}") from fault
    if not found["total"]:
        return Histogram(layout, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    # Counters outside this range are zero.
    first, last = int(found["min_nonzero_index"]), int(found["max_nonzero_index"])
    indices = np.flatnonzero(counts[first : last + 1]) + first
    if (counts[indices] < 0).any():
        raise BadHistogramError("histogram has negative counts")
    return Histogram(layout, indices, counts[indices])


def encode(histogram: Histogram) -> str:
    """Encode a histogram in HdrHistogram V2 format (deflated, base64), as the engine does.

    Notes
    -----
    Counts are written as ZigZag LEB128 numbers, up to the last bucket with a value. A negative number -k stands for k
    empty buckets [1]_.

    References
    ----------
    .. [1] G. Tene, HdrHistogram, `encodeIntoByteBuffer` of `AbstractHistogram.java`, format V2.
    """
    counts = bytearray()
    after = 0
    for index, count in zip(histogram.indices.tolist(), histogram.counts.tolist(), strict=True):
        if index > after:
            counts += _zigzag(after - index)
        counts += _zigzag(count)
        after = index + 1
    layout = histogram.layout
    # The number 0 states that counts are not shifted. The number 1.0 states that values are integers without a
    # conversion factor.
    head = struct.pack(">iiiiqqd", _COOKIE, len(counts), 0, layout.digits, layout.lowest, layout.highest, 1.0)
    packed = zlib.compress(head + bytes(counts))
    return base64.b64encode(struct.pack(">ii", _DEFLATED_COOKIE, len(packed)) + packed).decode("ascii")


def _zigzag(number: int) -> bytes:
    """Encode a number as ZigZag LEB128: seven bits in each byte, with the sign in the lowest bit."""
    rest = 2 * number if number >= 0 else -2 * number - 1
    found = bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def merge(histograms: Iterable[Histogram]) -> Histogram | None:
    """Merge histograms by adding their counts; None if there is no histogram.

    Raises
    ------
    BadHistogramError
        If the layouts of the histograms differ.
    """
    found = list(histograms)
    if not found:
        return None
    layout = found[0].layout
    if any(histogram.layout != layout for histogram in found):
        raise BadHistogramError("histograms of different layouts cannot be added")
    return gather(
        layout,
        np.concatenate([histogram.indices for histogram in found]),
        np.concatenate([histogram.counts for histogram in found]),
    )


def gather(layout: Layout, indices: Counts, counts: Counts) -> Histogram:
    """Return a histogram with the given counts by bucket. The numbers of the buckets may be in any order and occur
    several times.
    """
    if not len(indices):
        return Histogram(layout, indices, counts)
    first = int(indices.min())
    summed = np.bincount(indices - first, weights=counts).astype(np.int64)
    used = np.flatnonzero(summed)
    return Histogram(layout, used + first, summed[used])
