"""Objectives as exports tell them: an objective is met on evidence only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from towtank import units
from towtank.results.exports.material import Material

State = Literal["met", "missed", "not measured", "not valid"]


def state(material: Material, objective: Mapping[str, Any]) -> State:
    """How an objective came out; `not valid` where it seems met but rests on runs that are not valid."""
    if objective["met"] is None:
        return "not measured"
    if not objective["met"]:
        return "missed"
    return "not valid" if any(_invalid_loads(material, objective)) else "met"


def explained(material: Material, objective: Mapping[str, Any]) -> str:
    """Why an objective is not simply met, in words."""
    found = state(material, objective)
    if found == "not measured":
        return "nothing was measured that tells"
    if found == "not valid":
        loads = ", ".join(f"{load:g}" for load in _invalid_loads(material, objective))
        return f"seen {seen(objective)}, but no run is valid at load {loads}"
    at = ", ".join(f"{name} {level}" for name, level in (objective.get("at") or {}).items())
    holds = objective.get("holds_up_to")
    until = "at no load" if holds is None else f"up to load {holds:g}"
    return f"seen {seen(objective)}{f' at {at}' if at else ''}; the objective holds {until}"


def seen(objective: Mapping[str, Any]) -> str:
    """The worst value seen, in the unit that the text of the objective is in."""
    value, metric = objective.get("seen"), str(objective.get("text")).split()[:1]
    if value is None:
        return "not measured"
    if metric == ["errors"]:
        return f"{100 * value:.4g} %"
    return units.format_rate(value) if metric == ["throughput"] else units.format_duration(value)


def _invalid_loads(material: Material, objective: Mapping[str, Any]) -> Iterator[float]:
    """Loads that the objective is about at which every run is invalid."""
    users = objective.get("users")
    for configuration in material.summary["configurations"]:
        if configuration["key"] == objective["configuration"]:
            for point in configuration["points"]:
                about = users is None or point.get("users") == users
                if about and point["verdicts"] and all(level == "invalid" for level in point["verdicts"]):
                    yield float(point["load"])
