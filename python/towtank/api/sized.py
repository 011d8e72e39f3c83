"""Elements of a sizing result: tiers, objectives, scenarios, what-if changes and dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any

from towtank.api.quantity import BYTES, PER_SECOND, RATIO, SECONDS, Quantity, interval_of

Json = Mapping[str, Any]


@dataclass(frozen=True)
class SizedTier:
    """Hardware of one tier.

    Attributes
    ----------
    nodes, cpus : int
        Number of nodes, and number of CPUs in each node; for a tier of kind `disk`, the number of disks. [1]
    machine : str or None
        Name of the machine type of the nodes; None if the sizing does not choose among machine types.
    utilization : mapping of str to Quantity
        Utilization by station while all nodes are up, in [0, 1]. [ratio]
    memory_bytes : Quantity or None
        Memory of a node; None if unknown. [byte]
    """

    name: str
    nodes: int
    cpus: int
    machine: str | None
    utilization: Mapping[str, Quantity]
    memory_bytes: Quantity | None


@dataclass(frozen=True)
class SizedObjective:
    """Objective of a sizing, with the value that the model predicts.

    Attributes
    ----------
    text : str
        Text of the objective, for example `p95 of transactions < 400 ms`.
    value : Quantity or None
        Predicted value; None if the system has no steady state. [s], [1/s] or [ratio]
    limit : Quantity
        Limit of the objective, in the unit of `value`.
    """

    text: str
    value: Quantity | None
    limit: Quantity


@dataclass(frozen=True)
class Scenario:
    """Predicted behaviour of the hardware while all nodes are up, or after the loss of nodes.

    Attributes
    ----------
    lost : str
        Name of the tier that lost nodes; empty if all nodes are up.
    nodes_lost : int
        Number of nodes lost. [1]
    objectives : tuple of SizedObjective
        Objectives with their predicted values.
        utilization : mapping of str to Quantity
        Predicted utilization by station, in [0, 1]. [ratio]
    """

    lost: str
    nodes_lost: int
    objectives: tuple[SizedObjective, ...]
    utilization: Mapping[str, Quantity]


@dataclass(frozen=True)
class Cheaper:
    """Hardware that is slightly cheaper than the result, and the reasons why it does not suffice.

    Attributes
    ----------
    configuration : str
        The hardware in words.
    why_not : tuple of str
        Objectives that the hardware misses, and limits that it exceeds.
    """

    configuration: str
    why_not: tuple[str, ...]


@dataclass(frozen=True)
class WhatIf:
    """Effect of a what-if change.

    Attributes
    ----------
    change : str
        The change, for example `cpu x1.5`; `as it is` for the unchanged model.
    configuration : str
        The hardware in words.
    met : bool or None
        True if all objectives are met; None if the change was refused.
        objectives : tuple of SizedObjective
        Objectives with their predicted values.
    load_at_limit : Quantity or None
        Highest load at which the hardware meets the objectives; None if no limit was found. [users, or 1/s]
    refused : str
        Reason why there is no result; empty if there is a result.
    """

    change: str
    configuration: str
    met: bool | None
    objectives: tuple[SizedObjective, ...]
    load_at_limit: Quantity | None
    refused: str = ""


@dataclass(frozen=True)
class Due:
    """First day on which some hardware no longer suffices, because the load grows.

    Attributes
    ----------
    what : str
        The hardware in words.
    limit : Quantity or None
        Highest load at which the hardware meets the objectives; None if no limit was found. For disks and memory: the
        available size. [users, 1/s or byte]
    missed_from : date or None
        First day on which an objective is missed with a probability above `chance`; None if no such day is expected.
        chance : float
        Accepted probability that an objective is missed, in (0, 1). [ratio]
    """

    what: str
    limit: Quantity | None
    missed_from: date | None
    chance: float


def tier_of(name: str, found: Json) -> SizedTier:
    """Read the hardware of one tier from a sizing document."""
    return SizedTier(
        name,
        int(found["nodes"]),
        int(found["cpus"]),
        found.get("machine"),
        _shares(found["utilization"], found.get("utilization_interval")),
        quantity_of(found, "memory_bytes", "memory_interval", BYTES),
    )


def scenario_of(found: Json) -> Scenario:
    """Read a scenario from a sizing document."""
    lost = found.get("lost") or {}
    return Scenario(
        str(lost.get("tier") or ""),
        int(lost.get("nodes") or 0),
        tuple(map(_objective, found["objectives"])),
        _shares(found["utilization"], found.get("utilization_interval")),
    )


def cheaper_of(found: Json) -> Cheaper:
    """Read a cheaper alternative from a sizing document."""
    return Cheaper(str(found["configuration"]), tuple(map(str, found["why_not"])))


def what_if_of(found: Json) -> WhatIf:
    """Read the effect of a what-if change from a sizing document."""
    return WhatIf(
        str(found["what_if"]),
        str(found.get("configuration") or ""),
        found.get("met"),
        tuple(map(_objective, found.get("objectives") or ())),
        quantity_of(found, "load_at_limit", "load_at_limit_interval", _load_unit(found.get("unit"))),
        str(found.get("refused") or ""),
    )


def due_of(found: Json) -> Due:
    """Read from a sizing document the first day on which some hardware no longer suffices."""
    day = found.get("missed_from")
    return Due(
        str(found["what"]),
        quantity_of(found, "limit", "limit_interval", _load_unit(found.get("unit"))),
        None if day is None else date.fromisoformat(day),
        float(found["chance"]),
    )


def load_unit(answer: Json) -> str:
    """Return the unit of the load in a sizing result: `users` or `1/s`."""
    return _load_unit(answer.get("load_unit"))


def _load_unit(unit: object) -> str:
    text = str(unit or "users")
    return PER_SECOND if text in ("/s", PER_SECOND) else text


def _objective(found: Json) -> SizedObjective:
    text, value = str(found["objective"]), found.get("value")
    unit = PER_SECOND if text.startswith("throughput") else RATIO if text.startswith("loss") else SECONDS
    shown = None if value is None else Quantity(float(value), unit, interval_of(found.get("interval")), text)
    return SizedObjective(text, shown, Quantity(float(found["limit"]), unit))


def _shares(values: Json, intervals: Json | None) -> Mapping[str, Quantity]:
    known = intervals or {}
    return MappingProxyType(
        {
            name: Quantity(float(value), RATIO, interval_of(known.get(name)), f"utilization of {name}")
            for name, value in values.items()
            if value is not None
        }
    )


def quantity_of(document: Json, value: str, interval: str, unit: str) -> Quantity | None:
    """Read a value and its interval from two keys of a sizing document."""
    found = document.get(value)
    ends = interval_of(document.get(interval))
    return None if found is None else Quantity(float(found), unit, ends, value.replace("_", " "))
