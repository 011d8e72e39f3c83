"""Compares percentiles that a network computes with measured percentiles, and derives correction factors for the
computed percentiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towtank.analysis import Estimate
from towtank.model.fitting.curve_tails import MAIN, SHARES, Ratios, over_levels
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.networks.closed import CLASS, Solved, class_names
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.percentiles import response_percentiles
from towtank.model.stations import stations_of

FAR_FROM_ONE = 1.5
"""Largest ratio of a measured to a computed percentile. If the ratio is larger, or smaller than the inverse of this
number, the network is doubtful. [ratio]
"""


@dataclass(frozen=True)
class LevelRatio:
    """Ratio of a measured to a computed percentile [ratio] at a load level [1]."""

    load: float
    ratio: float


@dataclass(frozen=True)
class Correction:
    """Ratios of measured to computed percentiles of a class or transaction: of the 95th percentile, the geometric mean
    over the levels, and the lowest and highest end of its intervals; and these three numbers of each other percentile,
    by name. [ratio]
    """

    ratio: float
    low: float
    high: float
    by_level: tuple[LevelRatio, ...]
    others: Mapping[str, tuple[float, float, float]]


def corrections(configuration: Configuration, of: Measured, solved: Solved) -> dict[str, Correction]:
    """Return the ratios of measured to computed percentiles, by name of the class or transaction in the
    model.

    The entry of the class covers all transactions.

    Notes
    -----
    The network computes only means. Response times are assumed to follow gamma distributions with the variances of the
    stations. The ratio corrects for effects that the network lacks (more variable service times, pauses, retries).
    """
    found = {}
    for name, key in ((None, CLASS), *zip(of.classes, class_names(of), strict=True)):
        rows = {
            metric: ratios
            for metric, share in SHARES.items()
            if (ratios := _ratios(_measured(configuration, of, name, metric), solved, key, share))
        }
        if MAIN in rows:
            by_level = tuple(LevelRatio(load, ratio) for load, ratio, *_ in rows[MAIN])
            others = {metric: over_levels(each) for metric, each in rows.items() if metric != MAIN}
            found[key] = Correction(*over_levels(rows[MAIN]), by_level, others)
    return found


def _measured(
    configuration: Configuration, of: Measured, name: str | None, metric: str
) -> list[tuple[float, Estimate]]:
    """Return a measured percentile of the response time at each load level. `name` is the transaction; None stands for
    all transactions together. [s]
    """
    points = {point.level: point for point in configuration.points}
    return [(load, points[load].response_s(metric, name)) for load in map(float, of.loads)]


def _ratios(levels: list[tuple[float, Estimate]], solved: Solved, key: str, share: float) -> Ratios:
    """Return a row for each load level with a measured percentile: load, ratio of measured to computed percentile, and
    the two ends of the interval of this ratio.
    """
    rows = []
    for place, (load, measured) in enumerate(levels):
        if not measured.value:
            continue
        model, answer = solved.networks[place]
        worked_out = response_percentiles(model, answer, stations_of(answer), key)[0](share)
        if worked_out > 0:
            ends = [measured.value if end is None else end for end in (measured.low, measured.high)]
            rows.append((load, measured.value / worked_out, ends[0] / worked_out, ends[1] / worked_out))
    return rows


def doubts(found: Mapping[str, Correction]) -> list[str]:
    """Return a doubt if computed percentiles of response time are far from the measured percentiles."""
    far = [
        f"{name} {tail.ratio:.2g}" for name, tail in found.items() if not 1 / FAR_FROM_ONE <= tail.ratio <= FAR_FROM_ONE
    ]
    if not far:
        return []
    return [
        f"measured 95th percentiles differ much from computed percentiles, by a factor of {', '.join(far)}; computed "
        f"percentiles are corrected by this factor, which may differ at other loads"
    ]
