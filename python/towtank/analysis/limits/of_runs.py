"""The limits that the runs of one configuration found, brought together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from towtank.analysis.statistics import t_interval
from towtank.analysis.statistics.estimates import CONFIDENCE, RUNS
from towtank.estimates import interval_texts

Json = dict[str, Any]


def found_limit(runs: Sequence[Json]) -> Json | None:
    """What the repetitions of a search say together.

    Parameters
    ----------
    runs : sequence of dict
        Summaries of the runs of one configuration that are not invalid.

    Returns
    -------
    dict or None
        None where no run searched. With two or more runs that found a limit the interval is Student's t over their
        values, as everywhere: the spread from run to run is what a further run would show. One alone keeps the
        interval of its own search. Where a run found a lower bound only, no interval over runs would be right, and the
        lowest of all stands as a lower bound.
    """
    limits = [(str(run["run"]), run["limit"]) for run in runs if run.get("limit")]
    if not limits:
        return None
    found = [(name, one) for name, one in limits if one["value"] is not None and not one["is_lower_bound"]]
    bounds = [one["value"] for _, one in limits if one["is_lower_bound"] and one["value"] is not None]
    about = found or limits
    told = {
        "of": about[0][1]["of"],
        "failure": about[0][1]["failure"],
        "binding": about[0][1]["binding"],
        "runs": [{"run": name, **_brief(one)} for name, one in limits],
        "lower_bounds": len(bounds),
        "not_found": sum(one["value"] is None for _, one in limits),
    }
    if len(found) == 1 and not bounds:
        return {**told, **_interval(found[0][1]), "is_lower_bound": False}
    if len(found) > 1 and not bounds:
        over = t_interval([float(limit["value"]) for _, limit in found]).of_quantity()
        return {**told, **_keys(over.document()), "is_lower_bound": False}
    values = [*bounds, *(float(one["value"]) for _, one in found)]
    lowest = min(values, default=None)
    bare = {"value": lowest, "low": lowest, "high": None, "method": "none", "confidence": None, "n": len(values)}
    return {**told, **bare, "is_lower_bound": lowest is not None}


def _brief(limit: Json) -> Json:
    return {**_interval(limit), "is_lower_bound": limit["is_lower_bound"], "ended": limit["ended"]}


def _interval(limit: Json) -> Json:
    return {key: limit[key] for key in ("value", "low", "high", "method", "confidence", "n")}


def _keys(document: Json) -> Json:
    return {**_interval(document), "confidence": CONFIDENCE}


def text_of(limit: Mapping[str, Any]) -> str:
    """A limit with its interval and unit, in words: `430 users [410, 450]`."""
    unit = "users" if limit["of"] == "users" else "/s"
    if limit["value"] is None:
        return f"below {limit['high']:,.6g} {unit}" if limit.get("high") is not None else "unknown"
    if limit["high"] is None:
        return f"{limit['value']:,.6g} {unit} or more"
    value, low, high = _texts(limit["value"], limit["low"], limit["high"], of_runs=limit["method"] == RUNS)
    return f"{value} {unit} [{low}, {high}]"


def bracket_text(value: float, low: float, high: float) -> str:
    """Render a limit within the bracket of one search: `187.5 [187.5, 195]`."""
    shown, *ends = _texts(value, low, high, of_runs=False)
    return f"{shown} [{', '.join(ends)}]"


def _texts(value: float, low: float, high: float, *, of_runs: bool) -> tuple[str, ...]:
    """Render a limit and its ends; the ends of the bracket of a search are chosen levels without an error."""
    rounded = interval_texts(value, low, high)
    chosen = tuple(f"{each:,.6g}" for each in (value, low, high))
    return rounded if of_runs else (chosen[0] if value in (low, high) else rounded[0], *chosen[1:])
