"""Compares measured percentiles of the response time with those of a fitted curve, to choose the order of service and a
correction factor.

The curve of a closed system has the same mean response time for processor sharing as for first come, first served, but
other percentiles. Beyond saturation the 95th percentile of processor sharing is twice that of first come, first served.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from towtank.analysis import Estimate, LoadPoint
from towtank.model.engine_model import EngineModel
from towtank.model.loading import load_model
from towtank.model.percentiles import response_percentiles
from towtank.model.solving import solve_models
from towtank.model.stations import stations_of

MAIN = "p95"
"""Percentile that decides the order of service. Every model file contains the ratio of the measured to the computed
value of this percentile.
"""
SHARES = {"p50": 0.5, "p90": 0.9, MAIN: 0.95, "p99": 0.99, "p99.9": 0.999}
"""Percentiles of the response time that are compared: name, and fraction of the responses below it. [ratio]

High percentiles can deviate from the computed values far more than the 95th.
"""
Ratios = list[tuple[float, float, float, float]]
"""For each load level: load [1], ratio of the measured to the computed percentile, and the two ends of the interval
of this ratio. [ratio]
"""
SHARING, IN_TURN = "ps", "fcfs"
"""Processor sharing and first come, first served: orders of service with equal mean response times. `ps` is assumed
if no percentiles were measured.
"""


@dataclass(frozen=True)
class Tails:
    """Comparison of measured percentiles with the percentiles that a curve predicts.

    Attributes
    ----------
    discipline : str
        Order of service whose 95th percentiles are closer to the measured percentiles.
    ratio, low, high : float
        Measured divided by computed 95th percentile: geometric mean over the load levels, and lowest and highest end of
        the intervals. [ratio]
    by_level : tuple of (float, float)
        Load [1] and ratio [ratio] of each level.
    others : mapping of str to tuple of float
        `ratio`, `low` and `high` of every other measured percentile, by name. [ratio]
    """

    discipline: str
    ratio: float
    low: float
    high: float
    by_level: tuple[tuple[float, float], ...]
    others: Mapping[str, tuple[float, float, float]]

    @property
    def distance(self) -> float:
        """Mean absolute logarithm of the ratios of measured to computed 95th percentile; 0 if all ratios are 1."""
        return float(np.mean([abs(np.log(ratio)) for _, ratio in self.by_level]))

    def document(self) -> dict[str, object]:
        """Return the ratios of measured to computed percentiles as a JSON object: mean, bounds, and ratio at each load
        level.
        """
        by_level = [{"load": load, "ratio": ratio} for load, ratio in self.by_level]
        ends = {"ratio": self.ratio, "low": self.low, "high": self.high}
        others = {name: list(ratios) for name, ratios in self.others.items()}
        return {"discipline": self.discipline, **ends, "by_level": by_level, "others": others}


def curve_tails(points: Sequence[LoadPoint], text: Callable[[str], str], name: str) -> Tails | None:
    """Compare the percentiles of a curve with the measured percentiles, for both orders of service.

    The function `text` renders the model file for an order of service. The result is the comparison for the order that
    fits better; None without measured percentiles.
    """
    measured = {
        metric: {
            point.level: estimate
            for point in sorted(points, key=lambda point: point.level)
            if (estimate := point.response_s(metric)).value and point.level >= 1
        }
        for metric in SHARES
    }
    if not measured[MAIN]:
        return None
    return min(
        (_tails(measured, text(order), order, name) for order in (SHARING, IN_TURN)), key=lambda tail: tail.distance
    )


def over_levels(rows: Ratios) -> tuple[float, float, float]:
    """Return the geometric mean of the ratios over all load levels, and the lowest and the highest end of their
    intervals. [ratio]
    """
    table = np.array(rows)
    return float(np.exp(np.log(table[:, 1]).mean())), float(table[:, 2].min()), float(table[:, 3].max())


def _tails(measured: Mapping[str, Mapping[float, Estimate]], text: str, order: str, name: str) -> Tails:
    model, loads = _model(text), sorted({load for levels in measured.values() for load in levels})
    models = [replace(model, classes=[replace(model.classes[0], users=round(load))]) for load in loads]
    answers = [solved.solution for solved in solve_models(models)]
    computed = {
        load: response_percentiles(model, answer, stations_of(answer), name)[0]
        for load, model, answer in zip(loads, models, answers, strict=True)
    }
    rows: dict[str, Ratios] = {metric: [] for metric in SHARES}
    for metric, share in SHARES.items():
        for load, estimate in measured[metric].items():
            value, worked_out = float(estimate.value or 0.0), computed[load](share)
            low, high = (value if end is None else float(end) for end in (estimate.low, estimate.high))
            rows[metric].append((load, value / worked_out, low / worked_out, high / worked_out))
    others = {metric: over_levels(each) for metric, each in rows.items() if each and metric != MAIN}
    return Tails(order, *over_levels(rows[MAIN]), tuple((load, ratio) for load, ratio, *_ in rows[MAIN]), others)


def _model(text: str) -> EngineModel:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        path.write_text(text, "utf-8")
        return load_model(path).document


def tails_lines(others: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> list[str]:
    """Return the lines of the key `tails` of a model file; empty if only the 95th percentile was measured."""
    lines = [
        f"    {name}: {{{', '.join(f'{metric}: [{a:.4g}, {b:.4g}, {c:.4g}]' for metric, (a, b, c) in ratios.items())}}}"
        for name, ratios in others.items()
        if ratios
    ]
    return ["  tails:  # ratios of the other measured percentiles", *lines] if lines else []
