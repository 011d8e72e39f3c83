"""Determines the states of objectives for exports. The state is "met" only if measured values show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from towtank import units
from towtank.estimates import FEW_DIGITS, significant

State = Literal["met", "missed", "not measured", "not valid"]


def state(objective: Mapping[str, Any]) -> State:
    """Return the state of an objective, such as `met` or `missed`.

    The state is `not valid` if the objective is undecided because the study has no valid run at one of the loads.
    """
    if objective["met"] is None:
        kinds = {gap["kind"] for gap in objective.get("not_judged") or ()}
        return "not valid" if kinds & {"invalid", "missing"} else "not measured"
    return "met" if objective["met"] else "missed"


def explained(objective: Mapping[str, Any]) -> str:
    """Return the reason for the state of an objective, for example why it is undecided."""
    found = state(objective)
    if found == "not measured":
        return "no measured value decides it"
    if found == "not valid":
        loads = "; ".join(f"at load {gap['load']:g}: {gap['why']}" for gap in objective["not_judged"])
        return f"measured {seen(objective)} in valid runs, but {loads}"
    at = ", ".join(f"{name} {level}" for name, level in (objective.get("at") or {}).items())
    holds = objective.get("holds_up_to")
    until = "at no load" if holds is None else f"up to load {holds:g}"
    return f"measured {seen(objective)}{f' at {at}' if at else ''}; the objective is met {until}"


def doubt(objective: Mapping[str, Any]) -> str:
    """Render the suspect runs on which the state of an objective depends; an empty text without suspect runs."""
    runs = [str(run) for run in objective.get("suspect_runs") or ()]
    return f"depends on {'a suspect run' if len(runs) == 1 else 'suspect runs'}: {', '.join(runs)}" if runs else ""


def seen(objective: Mapping[str, Any]) -> str:
    """Render the worst value that was measured for an objective, in the unit of the objective. The value is rounded to
    three digits, because its error is unknown.
    """
    value, metric = objective.get("seen"), str(objective.get("text")).split()[:1]
    if value is None:
        return "not measured"
    if metric == ["errors"]:
        return f"{100 * value:.3g} %"
    few = significant(value, FEW_DIGITS)
    return units.format_rate(few) if metric == ["throughput"] else units.format_duration(few)
