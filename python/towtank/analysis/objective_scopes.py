"""Evaluates objectives that apply to a phase of the load, or to each window of a phase, for one run.

Such objectives are evaluated when the run is summarized, because they need the values of each second. The module
`objectives` combines the results of all runs of a study.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from towtank.analysis.measurement import Mask, MeasuredColumn, Measurement
from towtank.analysis.merged_percentiles import HISTOGRAM, QUANTILES
from towtank.analysis.objective import Objective
from towtank.analysis.statistics.histograms import encode
from towtank.digging import dig


@dataclass(frozen=True)
class WorstWindow:
    """Window with the worst value of a metric: start and end in run time [s], and the value. `run` is the name of the
    run in a study summary, and None in a run summary.
    """

    start_s: float
    end_s: float
    value: float
    run: str | None = None

    def document(self) -> Mapping[str, object]:
        """Return the window as JSON; without the key `run` in a run summary."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Windows:
    """Results of an objective that must be met in every window of a given length.

    Attributes
    ----------
    count, met, empty : int
        Number of windows with a value, number of windows that meet the objective, and number of windows without a
        value. [1]
    worst : WorstWindow or None
    """

    count: int
    met: int
    empty: int
    worst: WorstWindow | None

    @property
    def share(self) -> float | None:
        """Share of the windows with a value that meet the objective, in [0, 1]; None if no window has a value."""
        return self.met / self.count if self.count else None

    @classmethod
    def read(cls, document: Mapping[str, object], run: str) -> Windows:
        """Read the results of all windows of a run from its summary."""
        count, met, empty = (int(dig(document, key)) for key in ("count", "met", "empty"))
        worst = dig(document, "worst")
        start_s, end_s, value = (float(dig(worst, key) or 0.0) for key in ("start_s", "end_s", "value"))
        return cls(count, met, empty, WorstWindow(start_s, end_s, value, run) if worst else None)

    def document(self) -> Mapping[str, object]:
        """Return the results as JSON for a summary."""
        worst = None if self.worst is None else self.worst.document()
        return {"count": self.count, "met": self.met, "share": self.share, "empty": self.empty, "worst": worst}


@dataclass(frozen=True)
class ScopedValue:
    """Value of an objective in one run, over its scope: a phase of the load, or the windows of a phase.

    Attributes
    ----------
    text : str
        Text of the objective.
    value : float or None
        Value over the whole phase; None if it was not measured.
    windows : Windows or None
        Results of the windows; None if the objective does not apply to windows.
    histogram : str or None
        Encoded histogram of all response times in the phase; None if the metric is not a percentile.
    """

    text: str
    value: float | None
    windows: Windows | None = None
    histogram: str | None = None

    @classmethod
    def read(cls, run: Mapping[str, object], objective: Objective) -> ScopedValue | None:
        """Read the value of an objective from a run summary; None if the summary does not contain it."""
        for entry in dig(run, "objectives") or ():
            if dig(entry, "text") == objective.text:
                value, windows = dig(entry, "value"), dig(entry, "windows")
                return cls(
                    objective.text,
                    None if value is None else float(value),
                    Windows.read(windows, str(dig(run, "run"))) if windows else None,
                    dig(entry, HISTOGRAM),
                )
        return None

    def document(self) -> Mapping[str, object]:
        """Return the value as JSON for the summary of a run."""
        windows = None if self.windows is None else self.windows.document()
        histogram = {} if self.histogram is None else {HISTOGRAM: self.histogram}
        return {"text": self.text, "value": self.value, "windows": windows, **histogram}


def judge(
    objectives: Iterable[Mapping[str, object]], measurement: Measurement, steady: Mask, phases: Mapping[str, Mask]
) -> list[Mapping[str, object]]:
    """Compute the values of all objectives that apply to phases or windows, in one run.

    Parameters
    ----------
    objectives : iterable of dict
        Objectives from the manifest of the study.
    measurement : Measurement
    steady : ndarray of bool of shape (n_bins,)
        Bins of the planned steady stages. The analysed window would be wrong here: it excludes transients, in which the
        objective may be missed.
    phases : dict of str to ndarray of bool of shape (n_bins,)
        Bins of each phase of the load, by name of the phase.

    Returns
    -------
    list of dict
        `ScopedValue` of each objective about a phase or windows, as JSON for the run summary.
    """
    scoped = [objective for objective in map(Objective.read, objectives) if objective.is_scoped]
    nothing = np.zeros(measurement.bins, dtype=bool)
    masks = {**phases, "steady": steady}
    return [
        _judged(objective, measurement, masks.get(objective.phase or "steady", nothing)).document()
        for objective in scoped
    ]


def _judged(objective: Objective, measurement: Measurement, mask: Mask) -> ScopedValue:
    column = column_of(measurement, objective.transaction)
    merged = column.response.merged(mask) if objective.metric in QUANTILES else None
    return ScopedValue(
        objective.text,
        value(objective.metric, column, measurement, mask),
        _windows(objective, column, measurement, mask),
        None if merged is None else encode(merged),
    )


def column_of(measurement: Measurement, transaction: str | None) -> MeasuredColumn:
    """Return the results of the transaction that an objective names; of all transactions if it names none."""
    if transaction is None:
        return measurement.transactions
    return measurement.columns("transaction").get(transaction) or MeasuredColumn.empty(measurement.bins)


def value(metric: str, column: MeasuredColumn, measurement: Measurement, mask: Mask) -> float | None:
    """Return the value of a metric over the bins in a mask. Return None if the mask selects no bins, or if the metric
    needs responses and the bins contain none.
    """
    if not mask.any():
        return None
    if metric == "throughput":
        return float(column.ok[mask].sum() / measurement.length_of(mask))
    if metric == "errors":
        ended = float(column.ended[mask].sum())
        return float(column.failed[mask].sum()) / ended if ended else None
    return _time(metric, column, mask)


def _time(metric: str, column: MeasuredColumn, mask: Mask) -> float | None:
    merged = column.response.merged(mask)
    if merged is None:
        return None
    if metric in QUANTILES:
        return merged.quantile(QUANTILES[metric])
    mean = float(column.response_sum_s[mask].sum()) / merged.total
    return {"mean": mean, "min": merged.minimum_s, "max": merged.maximum_s}.get(metric)


def _windows(objective: Objective, column: MeasuredColumn, measurement: Measurement, mask: Mask) -> Windows | None:
    """Return the results of an objective in all windows of a mask; None if the objective does not apply to windows."""
    if objective.every_s is None or objective.limit is None:
        return None
    count = met = empty = 0
    worst: WorstWindow | None = None
    for window in windows_of(measurement, mask, float(objective.every_s)):
        seen = value(objective.metric, column, measurement, window)
        if seen is None:
            empty += 1
            continue
        count += 1
        met += objective.compare(seen, objective.limit)
        if worst is None or (seen < worst.value if objective.is_upward else seen > worst.value):
            start, end = float(measurement.starts[window].min()), float(measurement.ends[window].max())
            worst = WorstWindow(start, end, seen)
    return Windows(count, met, empty, worst)


def windows_of(measurement: Measurement, mask: Mask, every_s: float) -> Iterator[Mask]:
    """Yield consecutive windows of the bins in a mask. Each window ends with the first bin that makes it at least
    `every_s` long.

    A window never contains a gap, such as the time between two load levels. Bins that do not fill a window are skipped.
    """
    window = np.zeros(measurement.bins, dtype=bool)
    length, end = 0.0, None
    for number in np.flatnonzero(mask):
        if end is not None and abs(measurement.starts[number] - end) > 1e-6:
            window[:], length = False, 0.0
        window[number] = True
        length += float(measurement.lengths[number])
        end = float(measurement.ends[number])
        if length >= every_s - 1e-6:
            yield window.copy()
            window[:], length = False, 0.0
