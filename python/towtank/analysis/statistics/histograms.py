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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from towtank.analysis.statistics.histogram_layout import Layout
from towtank.arrays import Counts, Floats, Mask, Places

# Largest number of counters of a histogram. A larger number indicates a damaged layout: a histogram with a lowest value
# of 1 ns, a highest value of an hour and five digits has 3.4 million counters.
_COUNTERS_AT_MOST = 4_000_000
# Magic numbers of the HdrHistogram format V2. They include the word size, which has no meaning in this version.
_WORD_SIZE = 0xF0
_COOKIE, _DEFLATED_COOKIE = 0x1C849303 | 0x10, 0x1C849304 | 0x10
# Before compression: cookie, length of the counts, offset, digits, lowest and highest value, conversion factor. Before
# the compressed data: cookie, length of these data.
_HEAD, _PREFIX = struct.Struct(">IIIIQQd"), struct.Struct(">II")
# Bit of a byte that states that its number continues in the next byte.
_MORE = 0x80
# Largest length of a number. A ninth byte would be necessary for a count of 2^55 or more. [byte]
_BYTES_AT_MOST = 8
# Length of the counts that are decoded together, unless those of one histogram are longer. [byte]
_TOGETHER = 8_192
_SMALL = np.iinfo(np.int32).max
# Largest number of values in a histogram. The sum over a million histograms fits into 64 bits. [1]
_VALUES_AT_MOST = 2**43


class BadHistogramError(ValueError):
    """Raised if an encoded histogram cannot be read. The file that contains the histogram then counts as damaged."""


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
    if probability >= 1:
        return count
    return min(count, max(1, math.ceil(round(probability * count, 12 - len(str(count))))))


@lru_cache(maxsize=16)
def _layout(lowest: int, highest: int, digits: int) -> Layout:
    return Layout(lowest, highest, digits)


@dataclass(frozen=True)
class Decoded:
    """Several histograms that were decoded together, in the order of their texts.

    Attributes
    ----------
    layouts : tuple of Layout or None
        Layout of each histogram; None if its text cannot be read.
    faults : dict of int to str
        Numbers of the texts that cannot be read, and what is wrong with them.
    edges : ndarray of shape (n_histograms + 1,)
        Position of each histogram's first bucket in `indices` and `counts`, and, last, the number of all buckets.
    indices, counts : ndarray of shape (n_buckets,)
        Numbers of the buckets that contain values, in ascending order within each histogram, and numbers of values in
        these buckets, > 0. [1]
    """

    layouts: tuple[Layout | None, ...]
    faults: dict[int, str]
    edges: Counts
    indices: Places
    counts: Places

    def totals(self) -> Counts:
        """Return the number of values in each histogram; ndarray of shape (n_histograms,). [1]"""
        return np.diff(self._counts_until[self.edges])

    def quantiles(self, probabilities: Iterable[float]) -> Floats:
        """Return quantiles of each histogram, as `Histogram.quantile` defines them; NaN if a histogram has no values.
        ndarray of shape (n_histograms, n_probabilities). [s]
        """
        until, totals = self._counts_until, self.totals()
        shares = list(probabilities)
        found = np.full((len(totals), len(shares)), np.nan)
        filled = np.flatnonzero(totals)
        if not len(filled):
            return found
        ranks = np.array([[rank_of(share, int(total)) for share in shares] for total in totals[filled]])
        places = np.searchsorted(until, ranks + until[self.edges[filled]][:, np.newaxis]) - 1
        for layout in {self.layouts[number] for number in filled}:
            # For the type checker: a histogram with values has a layout.
            assert layout is not None
            rows = np.array([self.layouts[number] == layout for number in filled])
            found[filled[rows]] = layout.upper_edges(self.indices[places[rows]]) / 1e9
        return found

    @cached_property
    def _counts_until(self) -> Counts:
        """Number of values in all buckets before each bucket, and, last, in all buckets. [1]"""
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.counts, dtype=np.int64)])


def decode(encoded: str) -> Histogram:
    """Decode a histogram from text in HdrHistogram V2 format (deflated, base64).

    Raises
    ------
    BadHistogramError
        If the text is not a histogram in this format.
    """
    found = decode_all([encoded])
    (layout,) = found.layouts
    if layout is None:
        raise BadHistogramError(found.faults[0])
    return Histogram(layout, found.indices.astype(np.int64), found.counts.astype(np.int64))


def decode_all(encoded: Iterable[str]) -> Decoded:
    """Decode several histograms from texts in HdrHistogram V2 format (deflated, base64).

    Notes
    -----
    Counts are ZigZag LEB128 numbers, see `encode`. The numbers of many histograms are decoded together. A histogram has
    a few dozen numbers, so array operations on each histogram alone would take longer than the decoding.
    """
    layouts: list[Layout | None] = []
    faults: dict[int, str] = {}
    bodies: list[bytes] = []
    for number, text in enumerate(encoded):
        try:
            layout, body = _unpacked(text)
        except BadHistogramError as fault:
            faults[number] = str(fault)
            layout, body = None, b""
        layouts.append(layout)
        bodies.append(body)
    counters = np.array([0 if layout is None else layout.counters for layout in layouts], dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    small = none.astype(np.int32)
    sizes, places, counts = [none], [small], [small]
    ends = np.cumsum([len(body) for body in bodies])
    first = 0
    while first < len(bodies):
        begun = ends[first] - len(bodies[first])
        group = slice(first, max(first + 1, int(np.searchsorted(ends, begun + _TOGETHER, side="right"))))
        found = _decoded(bodies[group], counters[group])
        for number in np.flatnonzero(found.is_bad).tolist():
            faults[first + number] = "histogram has counts that are too large, or more counts than counters"
            layouts[first + number] = None
        first = group.stop
        sizes.append(found.sizes)
        places.append(found.places)
        counts.append(found.counts)
    edges = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate(sizes))])
    return Decoded(tuple(layouts), faults, edges, np.concatenate(places), np.concatenate(counts))


class _Group(NamedTuple):
    """Histograms that were decoded together: mask of the damaged ones, their numbers of buckets with values, and places
    and counts of these buckets. [1]
    """

    is_bad: Mask
    sizes: Counts
    places: Places
    counts: Places


def _decoded(bodies: Sequence[bytes], counters: Counts) -> _Group:
    """Decode the counts of histograms that have the given numbers of counters, array of shape (n_histograms,)."""
    numbers, owners, is_long = _numbers(bodies)
    steps = np.where(numbers < 0, np.minimum(np.abs(numbers), _COUNTERS_AT_MOST + 1), 1)
    after = np.cumsum(steps)
    firsts = np.searchsorted(owners, np.arange(len(bodies)))
    places = after - steps - np.concatenate([np.zeros(1, dtype=np.int64), after])[firsts][owners]
    is_bad = np.zeros(len(bodies), dtype=bool)
    is_bad[owners[is_long | (places + steps > counters[owners])]] = True
    sums = np.bincount(owners, weights=np.maximum(numbers, 0), minlength=len(bodies))
    is_bad |= sums > _VALUES_AT_MOST
    used = (numbers > 0) & ~is_bad[owners]
    counts = numbers[used]
    # Half of the usual space is enough for almost all recordings.
    small = counts.astype(np.int32) if counts.max(initial=0) <= _SMALL else counts
    return _Group(is_bad, np.bincount(owners[used], minlength=len(bodies)), places[used].astype(np.int32), small)


def _unpacked(encoded: str) -> tuple[Layout, bytes]:
    """Return the layout of an encoded histogram, and its counts as ZigZag LEB128 numbers."""
    try:
        packed = base64.b64decode(encoded)
        cookie, length = _PREFIX.unpack_from(packed)
        if cookie & ~_WORD_SIZE != _DEFLATED_COOKIE & ~_WORD_SIZE or length != len(packed) - _PREFIX.size:
            raise BadHistogramError("not an HdrHistogram V2: the beginning or the length is wrong")
        inflating = zlib.decompressobj()
        cookie, _, _, digits, lowest, highest, _ = _HEAD.unpack(
            inflating.decompress(packed[_PREFIX.size :], _HEAD.size)
        )
    except BadHistogramError:
        raise
    except (binascii.Error, struct.error, zlib.error, TypeError, ValueError) as fault:
        raise BadHistogramError(f"not an HdrHistogram V2: {fault}") from fault
    if cookie & ~_WORD_SIZE != _COOKIE & ~_WORD_SIZE:
        raise BadHistogramError("not an HdrHistogram V2: the beginning of the payload is wrong")
    layout = _layout(lowest, highest, digits)
    if not (1 <= digits <= 5 and lowest >= 1 and 2 * lowest <= highest):
        raise BadHistogramError(f"settings of the histogram are out of range: {layout}")
    if layout.counters > _COUNTERS_AT_MOST:
        raise BadHistogramError(f"histogram has {layout.counters} counters")
    try:
        # No valid histogram is longer. Without this limit, a damaged one could fill the memory.
        body = inflating.decompress(inflating.unconsumed_tail, _BYTES_AT_MOST * layout.counters)
    except zlib.error as fault:
        raise BadHistogramError(f"not an HdrHistogram V2: {fault}") from fault
    if not inflating.eof or (body and body[-1] & _MORE):
        raise BadHistogramError("the counts of the histogram are incomplete, or more than its counters")
    return layout, body


def _numbers(bodies: Sequence[bytes]) -> tuple[Counts, Counts, Mask]:
    """Decode ZigZag LEB128 numbers. Return three arrays of shape (n_numbers,): the numbers, the body that contains each
    number, and True for a number of more than eight bytes, whose value is wrong.
    """
    data = np.frombuffer(b"".join(bodies), dtype=np.uint8)
    if not len(data):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    ends = np.flatnonzero(data < _MORE)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1] + 1])
    lengths = ends - starts + 1
    digits = data & ~np.uint8(_MORE)
    raw = digits[starts].astype(np.uint64)
    for place in range(1, min(int(lengths.max()), _BYTES_AT_MOST)):
        longer = np.flatnonzero(lengths > place)
        raw[longer] |= digits[starts[longer] + place].astype(np.uint64) << np.uint64(7 * place)
    numbers = (raw >> np.uint64(1)).astype(np.int64) ^ -(raw & np.uint64(1)).astype(np.int64)
    owners = np.searchsorted(np.cumsum([len(body) for body in bodies]), ends, side="right")
    return numbers, owners, lengths > _BYTES_AT_MOST


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
    head = _HEAD.pack(_COOKIE, len(counts), 0, layout.digits, layout.lowest, layout.highest, 1.0)
    packed = zlib.compress(head + bytes(counts))
    return base64.b64encode(_PREFIX.pack(_DEFLATED_COOKIE, len(packed)) + packed).decode("ascii")


def _zigzag(number: int) -> bytes:
    """Encode a number as ZigZag LEB128: seven bits in each byte, with the sign in the lowest bit."""
    rest = 2 * number if number >= 0 else -2 * number - 1
    found = bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | _MORE)
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
