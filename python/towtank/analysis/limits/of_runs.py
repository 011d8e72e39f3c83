"""Combines the limits that several runs of one configuration found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from towtank.analysis.limits.estimate import BRACKET, TESTED
from towtank.analysis.statistics import t_interval
from towtank.analysis.statistics.estimates import CONFIDENCE, RUNS
from towtank.estimates import few_digits, interval_texts

Json = dict[str, Any]


def found_limit(runs: Sequence[Json]) -> Json | None:
    """Combine the limits that several runs of the same search found.

    Parameters
    ----------
    runs : sequence of dict
        Summaries of the runs of one configuration that are not invalid.

    Returns
    -------
    dict or None
        None if no run made a search. A single run keeps the interval of its search. With several runs, there are three
        cases:

        - All runs found a limit by tests: the interval is Student's t interval over the limits of the runs, extended so
        that it contains the overlap of the intervals of all runs.
        - A run has a bracket without tests, so that its limit may lie anywhere in the bracket: the result is the range
        that covers the brackets and intervals of all runs. It has no confidence.
        - A run found only a lower bound, so that no interval is correct: the result is the smallest value of all runs,
        as a lower bound.
    """
    limits = [(str(run["run"]), run["limit"]) for run in runs if run.get("limit")]
    if not limits:
        return None
    found = [(name, limit) for name, limit in limits if limit["value"] is not None and not limit["is_lower_bound"]]
    bounds = [limit["value"] for _, limit in limits if limit["is_lower_bound"] and limit["value"] is not None]
    about = found or limits
    common = {
        "of": about[0][1]["of"],
        "failure": about[0][1]["failure"],
        "binding": about[0][1]["binding"],
        "runs": [{"run": name, **_brief(limit)} for name, limit in limits],
        "lower_bounds": len(bounds),
        "not_found": sum(limit["value"] is None for _, limit in limits),
    }
    if len(found) == 1 and not bounds:
        return {**common, **_interval(found[0][1]), "is_lower_bound": False}
    if len(found) > 1 and not bounds:
        return {**common, **_over([limit for _, limit in found]), "is_lower_bound": False}
    values = [*bounds, *(float(limit["value"]) for _, limit in found)]
    lowest = min(values, default=None)
    bare = {"value": lowest, "low": lowest, "high": None, "method": "none", "confidence": None, "n": len(values)}
    return {**common, **bare, "is_lower_bound": lowest is not None}


def _over(found: Sequence[Json]) -> Json:
    """Combine the limits of several runs, each of which found a limit."""
    values = [float(limit["value"]) for limit in found]
    ends = [(limit["low"], limit["high"]) for limit in found]
    lows, highs = [low for low, _ in ends if low is not None], [high for _, high in ends if high is not None]
    if len(lows) < len(found) or len(highs) < len(found):
        return _keys(t_interval(values).of_quantity().document())
    if any(limit["method"] != TESTED for limit in found):
        bare = {"value": min(values), "low": min(lows), "high": max(highs)}
        return {**bare, "method": BRACKET, "confidence": None, "n": len(found)}
    over = t_interval(values).of_quantity()
    open_low, open_high = max(lows), min(highs)
    if open_low <= open_high and over.low is not None and over.high is not None:
        over = replace(over, low=min(over.low, open_low), high=max(over.high, open_high))
    return _keys(over.document())


def _brief(limit: Json) -> Json:
    return {**_interval(limit), "is_lower_bound": limit["is_lower_bound"], "ended": limit["ended"]}


def _interval(limit: Json) -> Json:
    return {key: limit[key] for key in ("value", "low", "high", "method", "confidence", "n")}


def _keys(document: Json) -> Json:
    return {**_interval(document), "confidence": CONFIDENCE}


def limit_text(limit: Mapping[str, Any]) -> str:
    """Render a limit with its unit and its interval or bracket.

    Notes
    -----
    An interval with a confidence is rendered in square brackets: `430 users [410, 450]`. The bracket of a search that
    no test confirmed is less certain, although it is usually narrower. It is therefore rendered in words: `430 users
    (bracket 430 to 450, no confidence level)`. A lower bound is rendered as `430 users or more`.
    """
    unit = "users" if limit["of"] == "users" else "/s"
    value, low, high = limit["value"], limit["low"], limit.get("high")
    if value is None:
        return f"below {_level(high)} {unit}" if high is not None else "unknown"
    if high is None or low is None or limit.get("is_lower_bound"):
        return f"{_level(value)} {unit} or more"
    if not limit.get("confidence"):
        return f"{_level(value)} {unit} (bracket {_level(low)} to {_level(high)}, no confidence level)"
    shown, *ends = _texts(value, low, high, of_runs=limit["method"] == RUNS)
    return f"{shown} {unit} [{', '.join(ends)}]"


def _level(value: float) -> str:
    """Render a load level with thousands separators and without an exponent."""
    return few_digits(value, 6) if abs(value) < 1e5 else f"{value:,.0f}"


def how_limit_was_found(limit: Mapping[str, Any]) -> str:
    """Render the method that found a limit, as ` (METHOD)` for use after `limit_text`. Empty if `limit_text` already
    states the method.
    """
    if not limit.get("confidence"):
        return ""
    within = " within one run" if limit["method"] == TESTED else ""
    return f" ({limit['method']}, {100 * limit['confidence']:.0f} % confidence{within})"


def _texts(value: float, low: float, high: float, *, of_runs: bool) -> tuple[str, ...]:
    """Render a limit and both limits of its interval as numbers.

    For a single search, the limits of the interval are measured load levels, so they are not rounded.
    """
    rounded = interval_texts(value, low, high)
    chosen = tuple(_level(each) for each in (value, low, high))
    return rounded if of_runs else (chosen[0] if value in (low, high) else rounded[0], *chosen[1:])
