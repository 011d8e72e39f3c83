"""Holds the recorded histograms of one kind of time for all bins of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from towtank.analysis.statistics import histograms
from towtank.analysis.statistics.histogram_layout import Layout
from towtank.analysis.statistics.histograms import BadHistogramError, Histogram
from towtank.arrays import Floats, Mask, Places

# Numbers of bins are stored in half of the usual space.
_PLACE = np.int32


@dataclass
class TimedHistograms:
    """Histograms of one kind of time, such as the response time, for all bins. They are decoded on first use.

    Attributes
    ----------
    bins : int
        Number of bins of the run. [1]
    encoded : list of (int, str)
        Number of the bin, and the encoded histogram. A bin may have several histograms.
    """

    bins: int
    encoded: list[tuple[int, str]] = field(default_factory=list)

    @cached_property
    def _decoded(self) -> tuple[Layout | None, Places, Places, Places, int]:
        found = histograms.decode_all(text for _, text in self.encoded)
        layout = next(filter(None, found.layouts), None)
        is_good = np.array([each is not None and each == layout for each in found.layouts], dtype=bool)
        sizes = np.diff(found.edges)
        bins = np.repeat(np.array([number for number, _ in self.encoded], dtype=_PLACE), sizes)
        if is_good.all():
            return layout, bins, found.indices, found.counts, 0
        used = np.repeat(is_good, sizes)
        return layout, bins[used], found.indices[used], found.counts[used], int(len(is_good) - is_good.sum())

    @property
    def bad(self) -> int:
        """Number of histograms that could not be decoded, or whose layout differs from that of the first histogram.
        [1]
        """
        return self._decoded[4]

    @cached_property
    def counts(self) -> Floats:
        """Number of values in each bin; ndarray of shape (n_bins,). [1]"""
        _, bins, _, counts, _ = self._decoded
        return np.bincount(bins, weights=counts, minlength=self.bins).astype(float)

    def values(self, chosen: Mask) -> tuple[Places, Floats, Floats]:
        """Return the values in the chosen bins as three arrays: number of the bin, middle of the histogram bucket [s],
        and number of values in that bucket [1].
        """
        layout, bins, indices, counts, _ = self._decoded
        inside = chosen[bins] if len(bins) else np.zeros(0, dtype=bool)
        if layout is None or not inside.any():
            return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
        indices = indices[inside]
        middles_s = (layout.lower_edges(indices) + layout.upper_edges(indices)) / 2e9
        return bins[inside], np.asarray(middles_s, dtype=float), counts[inside].astype(float)

    def below(self, index: int) -> Floats:
        """Return, for each bin, the number of values in histogram buckets up to and including bucket `index`; ndarray
        of shape (n_bins,). [1]
        """
        _, bins, indices, counts, _ = self._decoded
        return np.bincount(bins, weights=counts * (indices <= index), minlength=self.bins).astype(float)

    def merged(self, chosen: Mask) -> Histogram | None:
        """Merge all values in the chosen bins into one histogram; None if the bins contain no values."""
        layout, bins, indices, counts, _ = self._decoded
        inside = chosen[bins] if len(bins) else np.zeros(0, dtype=bool)
        if layout is None or not inside.any():
            return None
        return histograms.gather(layout, indices[inside], counts[inside])

    def quantile_by_bin(self, probability: float) -> list[float | None]:
        """Return a quantile of the values in each bin; None for a bin without values. [s]"""
        layout, bins, indices, counts, _ = self._decoded
        found: list[float | None] = [None] * self.bins
        if layout is None:
            return found
        order = np.argsort(bins, kind="stable")
        bins, indices, counts = bins[order], indices[order], counts[order]
        edges = np.searchsorted(bins, np.arange(self.bins + 1))
        for number in range(self.bins):
            first, last = edges[number], edges[number + 1]
            if first < last:
                histogram = histograms.gather(layout, indices[first:last], counts[first:last])
                found[number] = histogram.quantile(probability)
        return found

    @classmethod
    def union(cls, bins: int, parts: Iterable[TimedHistograms]) -> TimedHistograms:
        """Merge several collections of histograms. Histograms that are already decoded are not decoded again.

        Raises
        ------
        BadHistogramError
            If the layouts of the collections differ.
        """
        whole = cls(bins)
        decoded = [part._decoded for part in parts]
        layouts = {part[0] for part in decoded if part[0] is not None}
        if len(layouts) > 1:
            raise BadHistogramError("histograms of different layouts cannot be added")
        whole.__dict__["_decoded"] = (
            next(iter(layouts), None),
            _joined([part[1] for part in decoded], _PLACE),
            _joined([part[2] for part in decoded], _PLACE),
            _joined([part[3] for part in decoded]),
            sum(part[4] for part in decoded),
        )
        return whole


def _joined(parts: Sequence[Places], kind: type[np.signedinteger[Any]] = np.int64) -> Places:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)
