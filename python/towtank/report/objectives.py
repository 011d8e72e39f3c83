"""Renders outcomes of objectives for the report and the terminal."""

from __future__ import annotations

from towtank.analysis import ObjectiveAnswer
from towtank.report import format as people
from towtank.report.suspects import MARK

_NAMED = 3
"""Largest number of runs that a text lists by name. [1]"""
_OUTCOMES = {True: "met", False: "missed"}


def outcome(objective: ObjectiveAnswer) -> str:
    """Render the outcome of an objective: `met` or `missed`, with a mark if it depends on a suspect run, or `not
    judged` with reasons.
    """
    if objective.met is not None:
        word = _OUTCOMES[objective.met]
        return f"{word} {MARK}" if objective.suspect_runs else word
    unit = " users" if objective.users is not None else " /s" if objective.rate is not None else ""
    reasons = "; ".join(f"at {people.plain(gap.load)}{unit}, {gap.why}" for gap in objective.not_judged)
    return f"not judged: {reasons or 'no value was measured'}"


def at_load(objective: ObjectiveAnswer) -> str:
    """Render the load to which an objective applies, such as ` at 500 users`; empty if it applies to every load."""
    if objective.users is not None:
        return f" at {people.plain(objective.users)} users"
    return "" if objective.rate is None else f" at {people.plain(objective.rate)} /s"


def held(objective: ObjectiveAnswer) -> str:
    """Render the highest load at which a missed objective is met, such as `holds up to 48 users`; empty if it applies
    to one load.
    """
    if objective.met is not False or objective.names_load or "holds_up_to" not in objective.model_fields_set:
        return ""
    load = objective.holds_up_to
    unit = " /s" if "rate" in objective.at else " users"
    return "holds at no load" if load is None else f"holds up to {people.plain(load)}{unit}"


def alone(objective: ObjectiveAnswer) -> str:
    """Render the runs that violate an objective although all runs together meet it, such as `450 ms in r002 alone`."""
    unit, far = objective_unit(objective.metric), objective.far_misses
    named = [f"{people.quantity(miss.value, unit)} in {miss.run}" for miss in far[:_NAMED]]
    more = f" and {people.plural(len(far) - _NAMED, 'further run')}" if len(far) > _NAMED else ""
    return f"{', '.join(named)}{more} alone" if named else ""


def objective_unit(metric: object) -> str:
    """Return the base unit of the metric of an objective; seconds by default."""
    name = str(metric)
    if name.startswith("stored."):
        return ""
    return "1/s" if name.startswith("throughput") else "ratio" if name.startswith("err") else "s"


def place_of(objective: ObjectiveAnswer) -> str:
    """Render the load and the factor levels at which the worst value was measured."""
    return ", ".join(f"{name} {level}" for name, level in objective.at.items())


def line(objective: ObjectiveAnswer) -> str:
    """Render an objective in one line: `objective: p95 < 1 s (workers 4): missed, 1.2 s at users 750; holds up to 500
    users`.
    """
    where = f" ({objective.label})" if objective.configuration else ""
    place = place_of(objective)
    seen = people.quantity(objective.seen, objective_unit(objective.metric))
    value = "" if objective.seen is None else f", {seen}{f' at {place}' if place else ''}"
    word, _, why = outcome(objective).partition(": ")
    runs = objective.suspect_runs
    doubt = f", from {people.plural(len(runs), 'suspect run')} ({', '.join(runs)})" if runs and not why else ""
    more = "".join(f"; {words}" for words in (alone(objective), held(objective)) if words)
    shown = f"{word.removesuffix(f' {MARK}')}{value if not why else f': {why}'}{doubt}{more}"
    return f"objective: {objective.text}{where}: {shown}"
