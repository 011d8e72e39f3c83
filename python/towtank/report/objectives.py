"""Renders outcomes of objectives for the report and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.report import format as people
from towtank.report.suspects import MARK

_NAMED = 3
"""Largest number of runs that a text lists by name. [1]"""
_OUTCOMES = {True: "met", False: "missed", None: "not judged"}


def outcome(objective: Mapping[str, Any]) -> str:
    """Render the outcome of an objective: `met` or `missed`, with a mark if it depends on a suspect run, or `not
    judged` with reasons.

    Parameters
    ----------
    objective : dict
        An entry of `objectives` in a study summary.
    """
    met = objective.get("met")
    word = _OUTCOMES.get(met if isinstance(met, bool) else None, "not judged")
    gaps = [gap for gap in objective.get("not_judged") or () if isinstance(gap, Mapping)]
    if word != "not judged":
        return f"{word} {MARK}" if objective.get("suspect_runs") else word
    unit = " users" if objective.get("users") is not None else " /s" if objective.get("rate") is not None else ""
    reasons = "; ".join(f"at {people.plain(gap.get('load'))}{unit}, {gap.get('why')}" for gap in gaps)
    return f"{word}: {reasons or 'no value was measured'}"


def at_load(objective: Mapping[str, Any]) -> str:
    """Render the load to which an objective applies, such as ` at 500 users`; empty if it applies to every load."""
    for name, unit in (("users", " users"), ("rate", " /s")):
        if objective.get(name) is not None:
            return f" at {people.plain(objective[name])}{unit}"
    return ""


def held(objective: Mapping[str, Any]) -> str:
    """Render the highest load at which a missed objective is met, such as `holds up to 48 users`; empty if it applies
    to one load.
    """
    if objective.get("met") is not False or at_load(objective) or "holds_up_to" not in objective:
        return ""
    load = objective["holds_up_to"]
    unit = " /s" if "rate" in (objective.get("at") or {}) else " users"
    return "holds at no load" if load is None else f"holds up to {people.plain(load)}{unit}"


def alone(objective: Mapping[str, Any]) -> str:
    """Render the runs that violate an objective although all runs together meet it, such as `450 ms in r002 alone`."""
    unit, far = objective_unit(objective.get("metric")), list(objective.get("far_misses") or ())
    named = [f"{people.quantity(miss.get('value'), unit)} in {miss.get('run')}" for miss in far[:_NAMED]]
    more = f" and {people.plural(len(far) - _NAMED, 'further run')}" if len(far) > _NAMED else ""
    return f"{', '.join(named)}{more} alone" if named else ""


def seen(objective: Mapping[str, Any]) -> str:
    """Render the worst measured value for an objective, in the unit of the objective."""
    return people.quantity(objective.get("seen"), objective_unit(objective.get("metric")))


def objective_unit(metric: Any) -> str:
    """Return the base unit of the metric of an objective; seconds by default."""
    name = str(metric)
    if name.startswith("stored."):
        return ""
    return "1/s" if name.startswith("throughput") else "ratio" if name.startswith("err") else "s"


def line(objective: Mapping[str, Any]) -> str:
    """Render an objective in one line: `objective: p95 < 1 s (workers 4): missed, 1.2 s at users 750; holds up to 500
    users`.
    """
    where = f" ({objective['label']})" if objective.get("configuration") else ""
    at = objective.get("at")
    place = ", ".join(f"{name} {level}" for name, level in at.items()) if isinstance(at, Mapping) else ""
    value = "" if objective.get("seen") is None else f", {seen(objective)}{f' at {place}' if place else ''}"
    word, _, why = outcome(objective).partition(": ")
    runs = [str(run) for run in objective.get("suspect_runs") or ()]
    doubt = f", from {people.plural(len(runs), 'suspect run')} ({', '.join(runs)})" if runs and not why else ""
    more = "".join(f"; {words}" for words in (alone(objective), held(objective)) if words)
    shown = f"{word.removesuffix(f' {MARK}')}{value if not why else f': {why}'}{doubt}{more}"
    return f"objective: {objective.get('text', '')}{where}: {shown}"
