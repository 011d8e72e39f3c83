"""Compares the percentiles of a fitted curve with measured ones, to choose the order of service and a correction.

The mean response time of a closed curve is the same for processor sharing and for first come, first served; its
percentiles differ. Near saturation the 95th percentile of processor sharing is three times that of first come, first
served.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from towtank.analysis.statistics.estimates import Estimate, from_document
from towtank.model.loading import load_model
from towtank.model.percentiles import response_percentiles
from towtank.model.solving import solve_models
from towtank.model.stations import stations_of

Json = dict[str, Any]
SHARE = 0.95
SHARING, IN_TURN = "ps", "fcfs"
"""Orders of service with the same mean; the first is assumed if no percentiles were measured."""


@dataclass(frozen=True)
class Tails:
    """Comparison of the measured percentiles with those of a curve.

    Attributes
    ----------
    discipline : str
        The order of service whose 95th percentiles are nearer to the measured ones.
    ratio, low, high : float
        Measured over computed 95th percentile: geometric mean over the levels, and the smallest and the largest value
        within the measured intervals of any level. [ratio]
    by_level : tuple of (float, float)
        Load [1] and ratio [ratio] of each level.
    """

    discipline: str
    ratio: float
    low: float
    high: float
    by_level: tuple[tuple[float, float], ...]

    @property
    def distance(self) -> float:
        """Mean distance of the ratios from 1, as a logarithm."""
        return float(np.mean([abs(np.log(ratio)) for _, ratio in self.by_level]))

    def document(self) -> Json:
        """Entry beside the name of the model file."""
        by_level = [{"load": load, "ratio": ratio} for load, ratio in self.by_level]
        ends = {"ratio": self.ratio, "low": self.low, "high": self.high}
        return {"discipline": self.discipline, **ends, "by_level": by_level}


def curve_tails(points: Sequence[Mapping[str, Any]], text: Callable[[str], str], name: str) -> Tails | None:
    """Compare the percentiles of a curve with the measured ones, for both orders of service.

    Parameters
    ----------
    points : sequence of mapping
        The measured levels, with `load` and `response_time_s`.
    text : callable
        Renders the model file with an order of service.
    name : str
        Class of the model.

    Returns
    -------
    Tails or None
        The comparison for the nearer order of service; None without measured percentiles.
    """
    measured = {float(point["load"]): from_document(point["response_time_s"].get("p95")) for point in points}
    known = {load: p95 for load, p95 in sorted(measured.items()) if p95.value and load >= 1}
    if not known:
        return None
    return min((_tails(known, text(order), order, name) for order in (SHARING, IN_TURN)), key=lambda one: one.distance)


def _tails(known: Mapping[float, Estimate], text: str, order: str, name: str) -> Tails:
    document = _document(text)
    models = [{**document, "classes": [{**document["classes"][0], "users": round(load)}]} for load in known]
    rows = []
    for (load, p95), model, solved in zip(known.items(), models, solve_models(models), strict=True):
        answer = solved["answer"]
        worked_out = response_percentiles(model, answer, stations_of(answer), name)[0](SHARE)
        ends = [p95.value if end is None else end for end in (p95.low, p95.high)]
        rows.append((load, *(float(each or 0.0) / worked_out for each in (p95.value, *ends))))
    table = np.array(rows)
    mean = float(np.exp(np.log(table[:, 1]).mean()))
    by_level = tuple((float(load), float(ratio)) for load, ratio, *_ in rows)
    return Tails(order, mean, float(table[:, 2].min()), float(table[:, 3].max()), by_level)


def _document(text: str) -> Json:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        path.write_text(text, "utf-8")
        return load_model(path).document
