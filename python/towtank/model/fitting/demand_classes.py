"""Estimates the service demands of transaction classes by several estimators, and checks if the measurements suffice
to determine the demands.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from towtank.model.demand_file import EstimatedDemands, TransactionDemand, TransactionDemands
from towtank.model.fitting.demand_estimators import (
    ESTIMATORS,
    Estimator,
    Series,
    blocks,
    condition_number,
    variance_inflation,
)
from towtank.model.fitting.intervals import Bounded
from towtank.model.fitting.observations import Floats
from towtank.model.fitting.replicates import SEED

CONDITION_LIMIT, INFLATION_LIMIT = 30.0, 10.0
"""Limits of the condition number (Belsley, Kuh and Welsch) and of the variance inflation factor (Marquardt). Above
either limit, the measurements do not determine the demands of classes.
"""
JUDGING = ("non-negative least squares", "ordinary least squares", "robust (Huber)", "total least squares")
"""Estimators that must agree for a demand to count as identified.

The other estimators assume more (no background work, or a queueing discipline), so they may differ even if the demand
is identified. Their results are only reported.
"""
SPREAD_LIMIT = 1.5
"""Ratio of the largest to the smallest estimate of a class's demand above which the demand is not identified.
[ratio]
"""
REPLICATES = 200
"""Number of bootstrap replicates. [1]

With 200, five replicates lie below the 2.5 % quantile. This is precise enough to show the size of an interval,
and cheap enough for seven estimators.
"""


def demands_of_classes(series: Series, names: list[str]) -> TransactionDemands:
    """Estimate the service demand of every class at one resource, by all estimators.

    The names of the classes are in the order of the columns.
    """
    length = max(1, round(len(series.busy) ** (1 / 3)))
    rows = blocks(series, length, REPLICATES, SEED)
    estimates, drawn = {}, {}
    for name, estimator in ESTIMATORS.items():
        found = estimator(series)
        if found is None:
            continue
        drawn[name] = _drawn(estimator, series, rows, len(names))
        estimates[name] = EstimatedDemands(
            Bounded.of(found[0], drawn[name][:, 0]),
            {each: Bounded.of(found[place], drawn[name][:, place]) for place, each in enumerate(names, start=1)},
        )
    inflation = dict(zip(names, variance_inflation(series), strict=True))
    condition = condition_number(series)
    classes = {transaction: _class(transaction, estimates, inflation[transaction], condition) for transaction in names}
    return TransactionDemands(
        len(series.busy),
        length,
        condition if math.isfinite(condition) else None,
        {name: value if math.isfinite(value) else None for name, value in inflation.items()},
        float(series.busy.mean()),
        estimates,
        classes,
        all(found.identified for found in classes.values()),
        _sentence(classes, inflation, condition),
    )


def _drawn(estimator: Estimator, series: Series, rows: list[npt.NDArray[np.int64]], classes: int) -> Floats:
    values = np.full((len(rows), 1 + classes), np.nan)
    for number, chosen in enumerate(rows):
        found = estimator(series.drawn(chosen))
        if found is not None:
            values[number] = found
    return values


def _class(name: str, estimates: dict[str, EstimatedDemands], inflation: float, condition: float) -> TransactionDemand:
    first = next(iter(ESTIMATORS))
    used = estimates[first].demand_s[name]
    values = {key: estimate.demand_s[name].value or 0.0 for key, estimate in estimates.items()}
    judging = [value for key, value in values.items() if key in JUDGING]
    lowest, highest = min(values.values()), max(values.values())
    spread = max(judging) / min(judging) if min(judging) > 0 else None
    why = []
    if (used.low or 0.0) <= 0:
        why.append("its interval reaches down to zero")
    if condition > CONDITION_LIMIT:
        why.append(f"condition number {condition:.3g}, limit {CONDITION_LIMIT:g}")
    if inflation > INFLATION_LIMIT:
        why.append(f"variance inflation {inflation:.3g}, limit {INFLATION_LIMIT:g}")
    if spread is None or spread > SPREAD_LIMIT:
        factor = "by sign" if spread is None else f"by a factor of {spread:.3g}, limit {SPREAD_LIMIT:g}"
        why.append(f"estimators differ {factor}")
    return TransactionDemand(
        used.value,
        used.low,
        used.high,
        estimator=first,
        lowest_estimate_s=lowest,
        highest_estimate_s=highest,
        spread=spread,
        identified=not why,
        why_not=why,
    )


def _sentence(classes: dict[str, TransactionDemand], inflation: dict[str, float], condition: float) -> str:
    unknown = [name for name, found in classes.items() if not found.identified]
    if not unknown:
        return "the mix varies enough to distinguish the classes, and the estimators agree"
    if condition > CONDITION_LIMIT or any(value > INFLATION_LIMIT for value in inflation.values()):
        return (
            "the classes hardly vary independently of each other or of the background: these data do not determine "
            "their demands; run levels with one class each, or with other mixes"
        )
    return f"the estimators do not agree on {', '.join(unknown)}: use the range of the estimates as the uncertainty"
