"""Elements of a sizing result: tiers, objectives, scenarios, what-if changes and dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING

from towtank.api.quantity import BYTES, PER_SECOND, RATIO, SECONDS, Quantity, interval_of

if TYPE_CHECKING:
    from towtank.sizing import DateResult, ObjectiveResult, ScenarioResult, TierResult, WhatIfResult
    from towtank.sizing import Interval as KnownInterval


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


def tier_of(name: str, found: TierResult) -> SizedTier:
    """Return the hardware of one tier of a sizing result."""
    shares = _shares(found.utilization, found.utilization_interval)
    memory = quantity_of(found.memory_bytes, found.memory_interval, BYTES, "memory bytes")
    return SizedTier(name, found.nodes, found.cpus, found.machine, shares, memory)


def scenario_of(found: ScenarioResult) -> Scenario:
    """Return a scenario of a sizing result."""
    lost, nodes = (found.lost.tier, found.lost.nodes) if found.lost else ("", 0)
    shares = _shares(found.utilization, found.utilization_interval)
    return Scenario(lost, nodes, tuple(map(_objective, found.objectives)), shares)


def what_if_of(found: WhatIfResult) -> WhatIf:
    """Return the effect of a what-if change of a sizing result."""
    return WhatIf(
        found.what_if,
        found.configuration,
        found.met,
        tuple(map(_objective, found.objectives)),
        quantity_of(found.load_at_limit, found.load_at_limit_interval, load_unit(found.unit), "load at limit"),
        found.refused or "",
    )


def due_of(found: DateResult) -> Due:
    """Return the first day on which some hardware of a sizing result no longer suffices."""
    return Due(
        found.what,
        quantity_of(found.limit, found.limit_interval, load_unit(found.unit), "limit"),
        None if found.missed_from is None else date.fromisoformat(found.missed_from),
        float(found.chance),
    )


def load_unit(unit: str) -> str:
    """Return the unit of a quantity for the unit of a load in a sizing result: `users`, `1/s` or `byte`."""
    return PER_SECOND if unit == "/s" else unit or "users"


def _objective(found: ObjectiveResult) -> SizedObjective:
    text = found.objective
    unit = PER_SECOND if text.startswith("throughput") else RATIO if text.startswith("loss") else SECONDS
    return SizedObjective(
        text, quantity_of(found.value, found.interval, unit, text), Quantity(float(found.limit), unit)
    )


def _shares(
    values: Mapping[str, float | None], intervals: Mapping[str, KnownInterval | None]
) -> Mapping[str, Quantity]:
    found = {
        name: quantity_of(value, intervals.get(name), RATIO, f"utilization of {name}") for name, value in values.items()
    }
    return MappingProxyType({name: share for name, share in found.items() if share is not None})


def quantity_of(value: float | None, interval: KnownInterval | None, unit: str, about: str) -> Quantity | None:
    """Return a value of a sizing result as a quantity; None if the value is unknown."""
    known = None if interval is None else interval_of(interval.document())
    return None if value is None else Quantity(float(value), unit, known, about)
