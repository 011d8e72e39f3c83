"""Decides during a load, second by second, whether the load clearly misses an objective, so that it may end early."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from towtank.analysis.doubts import percent_text, seconds
from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.merged_percentiles import QUANTILES
from towtank.analysis.objective import Objective
from towtank.analysis.objective_scopes import column_of
from towtank.analysis.statistics import error_of
from towtank.estimates import few_digits
from towtank.results import RecordedStage

MISS_METRICS = ("mean", "max", *QUANTILES, "throughput", "errors")
"""Metrics of objectives that can be judged during a load."""
# Confidence of the interval that must lie beyond the limit. It is repeated each second, so that it is far above 95 %.
_CONFIDENCE = 0.999
# A miss by this factor in this number of seconds in a row is clear without an interval: a load that overloads the
# system has no steady state, and so no interval.
_TIMES, _IN_A_ROW = 2.0, 10
_FIELDS = 5


def miss_tests(objectives: Iterable[Mapping[str, object]]) -> list[MissTest]:
    """Return the test of each objective in the form of a manifest."""
    return [MissTest(Objective.read(objective)) for objective in objectives]


@dataclass
class MissTest:
    """Test, repeated each second, whether the stages of a load clearly miss an objective.

    Parameters
    ----------
    objective : Objective
        Objective with one of `MISS_METRICS`; it may name a transaction, a phase, a load or the length of windows.

    Notes
    -----
    Every objective limits a ratio of two sums over seconds: for a mean, times and responses; for throughput,
    transactions and seconds; for errors, failed and ended ones; for the percentile p_q < L, responses that took longer
    than L, and all responses, with the limit 1 - q. A stage clearly misses the objective in any of these cases:

    - the 99.9 % interval of the ratio, which allows for correlated seconds, lies beyond the limit;
    - the ratio misses the limit twofold in each of ten seconds in a row;
    - a response took longer than the limit of an objective for the maximum, or a whole window misses the objective, so
      that later responses cannot change the result;
    - no transaction ended for longer than the limit of the maximum, or for ten seconds and twice the limit of another
      response time, although requests were in flight.
    """

    objective: Objective
    _stage: int = -1
    _rows: list[Floats] = field(default_factory=list)
    _in_flight: float = 0.0

    def take(self, measurement: Measurement, chosen: Mask) -> str | None:
        """Add the chosen bins of a stage, in the order of time, and test all bins of the stage.

        Returns
        -------
        str or None
            Reason why the objective is clearly missed; None if it is not.
        """
        tops, bottoms = self._sums(measurement, chosen)
        ended = column_of(measurement, self.objective.transaction).ended
        for number in np.flatnonzero(chosen):
            if measurement.stage[number] != self._stage:
                self._stage, self._rows = int(measurement.stage[number]), []
            row = (tops[number], bottoms[number], measurement.lengths[number], ended[number], self._in_flight)
            self._rows.append(np.array(row, dtype=float))
            self._in_flight = float(measurement.in_flight[number])
        return self._why() if chosen.any() and self.applies(measurement.stages[self._stage]) else None

    def applies(self, stage: RecordedStage) -> bool:
        """Return True if the objective limits this stage of the load: its phase, and its users or arrival rate."""
        return stage.phase == (self.objective.phase or "steady") and self.objective.is_at(stage.users, stage.rate)

    def _sums(self, measurement: Measurement, chosen: Mask) -> tuple[Floats, Floats]:
        """Return the two sums of each bin, whose ratio the objective limits."""
        column = column_of(measurement, self.objective.transaction)
        if self.objective.metric == "throughput":
            return column.ok, measurement.lengths
        if self.objective.metric == "errors":
            return column.failed, column.ended
        if self.objective.metric == "mean":
            return column.response_sum_s, column.response.counts
        bins, times_s, counts = column.response.values(chosen)
        late = counts * (times_s > self._limit)
        return np.bincount(bins, weights=late, minlength=measurement.bins).astype(float), column.response.counts

    @property
    def _limit(self) -> float:
        return float(self.objective.limit or 0.0)

    @property
    def _bound(self) -> float:
        """Limit of the ratio."""
        if self.objective.metric == "max":
            return 0.0
        quantile = QUANTILES.get(self.objective.metric)
        return self._limit if quantile is None else 1.0 - quantile

    def _misses(self, ratio: float, by: float = 1.0) -> bool:
        """Return True if a ratio misses the limit, at least by the factor `by`."""
        is_upward = self.objective.is_upward and self.objective.metric not in ("max", *QUANTILES)
        return ratio * by < self._bound if is_upward else ratio > self._bound * by

    def _why(self) -> str | None:
        table = np.array(self._rows).reshape(-1, _FIELDS).T
        if silent_s := self._silent_s(table):
            text = self.objective.text
            return f"{text}: no transaction ended for {seconds(silent_s)}, although requests were in flight"
        tops, bottoms, lengths = table[:3]
        if self.objective.every_s is not None:
            return self._window(tops, bottoms, lengths)
        return self._whole(tops, bottoms, lengths) if bottoms.sum() > 0 else None

    def _whole(self, tops: Floats, bottoms: Floats, lengths: Floats) -> str | None:
        """Return the reason if the whole stage so far clearly misses the objective."""
        text, ratio = self.objective.text, float(tops.sum() / bottoms.sum())
        if not self._misses(ratio):
            return None
        if self.objective.metric == "max":
            return f"{text}: a response took longer"
        last = np.array((tops, bottoms))[:, -_IN_A_ROW:]
        is_gross = last.shape[1] == _IN_A_ROW and all(
            bottom > 0 and self._misses(top / bottom, _TIMES) for top, bottom in last.T
        )
        if is_gross or self._is_beyond(tops, bottoms, ratio):
            return f"{text}: {self._shown(ratio)} over {seconds(float(lengths.sum()))}"
        return None

    def _is_beyond(self, tops: Floats, bottoms: Floats, ratio: float) -> bool:
        """Return True if the interval of the ratio lies beyond the limit."""
        error = error_of(tops, bottoms)
        if error is None or error.needs is not None:
            return False
        half = error.half_width(_CONFIDENCE)
        return self._misses(ratio - half) and self._misses(ratio + half)

    def _window(self, tops: Floats, bottoms: Floats, lengths: Floats) -> str | None:
        """Return the reason if a whole window misses the objective."""
        top = bottom = length = 0.0
        for values in zip(tops, bottoms, lengths, strict=True):
            top, bottom, length = top + values[0], bottom + values[1], length + values[2]
            if length >= float(self.objective.every_s or 0.0) - 1e-6:
                if bottom > 0 and self._misses(top / bottom):
                    return f"{self.objective.text}: {self._shown(top / bottom)} in a window of {seconds(length)}"
                top = bottom = length = 0.0
        return None

    def _silent_s(self, table: Floats) -> float:
        """Return the time for which requests were in flight and no transaction ended, if it is a clear miss; else 0.

        It is known only if the objective is about all transactions. A few late responses do not decide a mean or a
        percentile, so for these the time must be ten seconds and twice the limit.
        """
        if self.objective.metric in ("throughput", "errors") or self.objective.transaction or self.objective.is_upward:
            return 0.0
        answered = np.flatnonzero(table[3] > 0)
        first = int(answered[-1]) + 1 if len(answered) else 0
        silent = table[:, first:]
        if not silent.size or (silent[4] <= 0).any():
            return 0.0
        silent_s, is_max = float(silent[2].sum()), self.objective.metric == "max"
        longest_s = self._limit if is_max else max(_IN_A_ROW - 1e-6, _TIMES * self._limit)
        return silent_s if silent_s > longest_s else 0.0

    def _shown(self, ratio: float) -> str:
        """Return the value of the ratio for people."""
        if self.objective.metric in QUANTILES:
            return f"{percent_text(ratio)} of the responses took longer"
        if self.objective.metric == "errors":
            return f"{percent_text(ratio)} failed"
        return f"{few_digits(ratio)} /s" if self.objective.metric == "throughput" else f"mean {seconds(ratio)}"
