"""Collects the points of figures: estimates by load, for each configuration.

Valid points are drawn as filled symbols, points that depend on a suspect run as open symbols. Invalid runs, which no
point includes, are drawn as crosses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeGuard

from towtank.report.source import Json, Results, label_of, load_of

OPEN_SYMBOLS = "Open symbols depend on a suspect run."
"""Note below figures with open symbols."""


@dataclass(frozen=True)
class Point:
    """Estimate of a quantity at one load in one configuration.

    Attributes
    ----------
    configuration : str
        Label of the configuration.
    load : float
        Number of users, or arrival rate [1/s].
    value, low, high : float
        Estimate and the ends of its interval, in the unit of the figure; `low` and `high` are None if unknown.
    state : str
        `valid`, `suspect` or `invalid`.
    runs : tuple of str
        Names of the runs from which the estimate is computed.
    """

    configuration: str
    load: float
    value: float
    low: float | None
    high: float | None
    state: str
    runs: tuple[str, ...]

    @property
    def stated(self) -> dict[str, Any] | None:
        """Estimate with the keys `value`, `low` and `high`; None for an invalid run, because tables do not show its
        values.
        """
        return None if self.state == "invalid" else vars(self)

    def scaled(self, factor: float) -> Point:
        """Multiply value and interval by a factor, for a change of unit."""
        low = None if self.low is None else self.low * factor
        high = None if self.high is None else self.high * factor
        return Point(self.configuration, self.load, self.value * factor, low, high, self.state, self.runs)


def point_state(point: Json) -> str:
    """Return the verdict on a load point: `suspect` if it includes a suspect run, `invalid` if it includes neither a
    valid nor a suspect run, otherwise `valid`.
    """
    verdicts = [str(verdict) for verdict in point.get("verdicts") or ()]
    used = [verdict for verdict in verdicts if verdict in ("valid", "suspect")]
    if not used:
        return "invalid"
    return "suspect" if "suspect" in used else "valid"


def states(results: Results) -> dict[tuple[str, float], str]:
    """Return the verdict of every load point, by configuration and load."""
    return {
        (label_of(configuration), load_of(point)): point_state(point)
        for configuration in results.configurations
        for point in configuration.get("points") or ()
    }


def estimate_point(configuration: Json, point: Json, estimate: Any) -> Point | None:
    """Convert an estimate of a load point to a point; return None if the estimate has no value."""
    if not isinstance(estimate, dict) or not _is_number(estimate.get("value")):
        return None
    low, high = estimate.get("low"), estimate.get("high")
    if not (_is_number(low) and _is_number(high)):
        low = high = None
    runs = tuple(str(run) for run in point.get("runs") or ())
    value, state = float(estimate["value"]), point_state(point)
    return Point(label_of(configuration), load_of(point), value, low, high, state, runs)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def collect(
    results: Results, of_point: Callable[[Json], Any], of_run: Callable[[Json], Any] | None = None
) -> list[Point]:
    """Collect the points of all configurations, and the invalid runs as further points.

    Parameters
    ----------
    results : Results
        Results of the study.
    of_point : callable
        Function that returns the estimate of a load point in the study summary.
    of_run : callable, optional
        Function that returns the same estimate from a run summary; default: `of_point`.
    """
    found = [
        made
        for configuration in results.configurations
        for point in configuration.get("points") or ()
        if point_state(point) != "invalid"
        and (made := estimate_point(configuration, point, of_point(point))) is not None
    ]
    found += _invalid(results, of_run or of_point)
    order = {label_of(configuration): place for place, configuration in enumerate(results.configurations)}
    return sorted(found, key=lambda point: order.get(point.configuration, len(order)))


def _invalid(results: Results, of_run: Callable[[Json], Any]) -> Iterable[Point]:
    for run in results.in_state("invalid"):
        estimate = of_run(run.summary)
        value = estimate.get("value") if isinstance(estimate, dict) else None
        if _is_number(value) and run.load is not None:
            yield Point(results.label(run), run.load, float(value), None, None, "invalid", (run.run_id,))


def single_runs(results: Results, of_run: Callable[[Json], Any]) -> list[Point]:
    """Return the single runs of each load point that combines several runs.

    Parameters
    ----------
    results : Results
        Results of the study.
    of_run : callable
        Function that returns the estimate from a run summary.
    """
    found = []
    for configuration in results.configurations:
        for point in configuration.get("points") or ():
            runs = [run for name in point.get("runs") or () if (run := results.run(str(name))) is not None]
            counting = [run for run in runs if run.verdict in ("valid", "suspect")]
            if len(counting) > 1:
                made = (
                    estimate_point(
                        configuration,
                        {"load": load_of(point), "runs": [run.run_id], "verdicts": [run.verdict]},
                        of_run(run.summary),
                    )
                    for run in counting
                )
                found += [each for each in made if each is not None]
    return found


def labels(points: Iterable[Point]) -> list[str]:
    """Return the labels of the configurations, in order of first appearance."""
    return list(dict.fromkeys(point.configuration for point in points))


def rows(points: Iterable[Point], **more: Any) -> list[dict[str, Any]]:
    """Return points as chart data, one row for each point; `more` contains further fields of every row."""
    return [
        {
            "configuration": point.configuration,
            "load": point.load,
            "value": point.value,
            "low": point.low,
            "high": point.high,
            "state": point.state,
            "runs": ", ".join(point.runs),
            **more,
        }
        for point in points
    ]


def states_note(points: Iterable[Point], runs: Iterable[Point] = ()) -> str:
    """Explain the symbols and whiskers of a figure."""
    points = list(points)
    seen = {point.state for point in points}
    parts = []
    if any(point.low is not None for point in points):
        parts.append("Whiskers are 95 % confidence intervals.")
    if list(runs):
        parts.append("Small symbols to the right of a point are its single runs.")
    if "suspect" in seen:
        parts.append(OPEN_SYMBOLS)
    if "invalid" in seen:
        parts.append("Crosses are invalid runs, on which no result depends.")
    return " ".join(parts)
