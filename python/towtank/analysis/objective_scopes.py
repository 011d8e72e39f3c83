"""Judges objectives that apply to a phase of the load, or to every window of a phase, on one run.

Such objectives need the values of each second, so they are judged when the run is summarized. The module `objectives`
combines the runs of a study.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from towtank.analysis.measurement import Mask, MeasuredColumn, Measurement
from towtank.analysis.merged_percentiles import HISTOGRAM, QUANTILES
from towtank.analysis.statistics.histograms import encode

Compare = Callable[[float, float], bool]
COMPARISONS: dict[str, Compare] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def is_scoped(objective: dict[str, Any]) -> bool:
    """Return True if an objective applies only to a phase of the load, or to every window of a given length."""
    return objective.get("phase") is not None or objective.get("every_s") is not None


def judge(
    objectives: Iterable[dict[str, Any]], measurement: Measurement, steady: Mask, phases: dict[str, Mask]
) -> list[dict[str, Any]]:
    """Compute the values of all objectives that apply to phases or windows, in one run.

    Parameters
    ----------
    objectives : iterable of dict
        Objectives from the manifest of the study.
    measurement : Measurement
    steady : ndarray of bool of shape (n_bins,)
        Bins of the planned steady stages. The analysed window would be wrong here, because it may leave out a
        transient in which the objective is missed.
    phases : dict of ndarray of bool of shape (n_bins,)

    Returns
    -------
    list of dict
        For each objective with a scope: `text`, `value` over the whole scope (None if nothing was recorded), `windows`
        (None without windows), and for percentiles the `histogram` of all values in the scope.
    """
    found = []
    for objective in objectives:
        if not is_scoped(objective):
            continue
        phase = objective.get("phase") or "steady"
        mask = steady if phase == "steady" else phases.get(phase, np.zeros(measurement.bins, dtype=bool))
        column = column_of(measurement, objective.get("transaction"))
        every = objective.get("every_s")
        merged = column.response.merged(mask) if objective.get("metric") in QUANTILES else None
        found.append(
            {
                "text": objective.get("text", ""),
                "value": value(str(objective.get("metric")), column, measurement, mask),
                "windows": None if every is None else _windows(objective, column, measurement, mask),
                **({} if merged is None else {HISTOGRAM: encode(merged)}),
            }
        )
    return found


def column_of(measurement: Measurement, transaction: str | None) -> MeasuredColumn:
    """Return the results of the transaction that an objective names, or of all transactions if it names none."""
    if transaction is None:
        return measurement.transactions
    return measurement.columns("transaction").get(transaction) or MeasuredColumn.empty(measurement.bins)


def value(metric: str, column: MeasuredColumn, measurement: Measurement, mask: Mask) -> float | None:
    """Return the value of a metric over the bins of time that a mask selects.

    None if it selects no bins, or if the metric needs responses and the bins contain none.
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


def _windows(
    objective: dict[str, Any], column: MeasuredColumn, measurement: Measurement, mask: Mask
) -> dict[str, Any] | None:
    """Return the number of windows that meet an objective, and the window with the worst value."""
    compare = COMPARISONS.get(str(objective.get("comparison")))
    limit = objective.get("value")
    if compare is None or not isinstance(limit, int | float):
        return None
    count = met = empty = 0
    worst: dict[str, Any] | None = None
    upward = compare in (operator.gt, operator.ge)
    for window in windows_of(measurement, mask, float(objective["every_s"])):
        seen = value(str(objective.get("metric")), column, measurement, window)
        if seen is None:
            empty += 1
            continue
        count += 1
        met += compare(seen, limit)
        if worst is None or (seen < worst["value"] if upward else seen > worst["value"]):
            start, end = float(measurement.starts[window].min()), float(measurement.ends[window].max())
            worst = {"start_s": start, "end_s": end, "value": seen}
    return {"count": count, "met": met, "share": met / count if count else None, "empty": empty, "worst": worst}


def windows_of(measurement: Measurement, mask: Mask, every_s: float) -> Iterator[Mask]:
    """Yield consecutive windows. Each window ends with the first bin that makes it at least `every_s` long.

    A window never spans a gap, such as the time between two levels. Seconds at the end that fill no window are left
    out.
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
