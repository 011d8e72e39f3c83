"""Computes the load that the hardware must serve from the load of today, with mix, peak, growth and headroom."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from towtank.errors import Fault
from towtank.sizing.basis import Basis
from towtank.sizing.growth import GrowthModel, HistoricGrowth, highest_drawn, highest_factor
from towtank.sizing.interval import ENDS, Interval
from towtank.sizing.network import Changes
from towtank.sizing.quantities import YEAR_D
from towtank.sizing.sizing_file import SizingFile
from towtank.sizing.steps import Step, Steps
from towtank.spelling import did_you_mean
from towtank.yamlfile import Node, fault_at


@dataclass(frozen=True)
class Load:
    """Number of users and arrival rates, by class.

    Attributes
    ----------
    users : dict of str to float
        Users of closed classes; rounded up before solving. [1]
    rate : dict of str to float
        Arrival rates of open classes. [1/s]
    think_s : dict of str to float
        Think times of closed classes, and of transactions whose think time differs from that of their class. [s]
    shares : dict of str to dict of str to float
        Shares of the transactions of a class, if they differ from those of the model. [ratio]
    """

    users: Mapping[str, float]
    rate: Mapping[str, float]
    think_s: Mapping[str, float]
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def times(self, factor: float) -> Load:
        """Return this load with all users and rates multiplied by a factor."""
        return replace(
            self,
            users={name: factor * amount for name, amount in self.users.items()},
            rate={name: factor * amount for name, amount in self.rate.items()},
        )

    def changes(self, demand: Mapping[tuple[str, str | None], float] | None = None) -> Changes:
        """Return this load as changes of the model for the solver. Numbers of users are rounded up to whole users."""
        whole = {name: max(1, math.ceil(amount - 1e-9)) if amount > 0 else 0 for name, amount in self.users.items()}
        return Changes(whole, dict(self.rate), dict(self.think_s), demand or {}, self.shares)

    @property
    def total(self) -> tuple[float, str]:
        """Sum of the users of all classes, with the unit `users`. In a model without users, it is the sum of the
        arrival rates, with the unit `1/s`.
        """
        return (sum(self.users.values()), "users") if self.users else (sum(self.rate.values()), "1/s")


def load_faults(tree: Node, file: SizingFile, basis: Basis) -> list[Fault]:
    """Return faults of the load settings in a sizing file that contradict the model."""
    found = []
    closed = [name for name, job_class in basis.classes.items() if job_class.users]
    opened = [name for name in basis.classes if name not in closed]
    asked = file.load
    ones = list(basis.transactions)
    kinds = (("users", asked.users, closed, "closed"), ("rate", asked.rate, opened, "open"),
             ("think", asked.think, [*closed, *ones], "closed"))  # fmt: skip
    for key, value, names, kind in kinds:
        if value is not None and not names:
            found.append(fault_at(tree, ("load", key), f"must be left out: the model has no {kind} class", key=True))
        for name in value if isinstance(value, dict) else ():
            if name not in names:
                near = did_you_mean(name, names)
                message = f"must be a {kind} class of the model ({', '.join(names)}), got {name!r} instead{near}"
                found.append(fault_at(tree, ("load", key, name), message, key=True))
    mixed = mixed_names(basis)
    for name in asked.mix or ():
        if name not in mixed:
            near = did_you_mean(name, mixed)
            message = f"must be a class of the model ({', '.join(mixed)}), got {name!r} instead{near}"
            found.append(fault_at(tree, ("load", "mix", name), message, key=True))
    if asked.mix is not None and closed and opened:
        message = "must be left out: the model has closed and open classes, whose loads cannot be added up"
        found.append(fault_at(tree, ("load", "mix"), message, key=True))
    given = isinstance(asked.users, dict) or isinstance(asked.rate, dict)
    if asked.mix is not None and given and not basis.transactions:
        found.append(fault_at(tree, ("load", "mix"), "must be left out if the load is given by class", key=True))
    return found


def mixed_names(basis: Basis) -> list[str]:
    """Return the names that a transaction mix may contain: the transactions if the model has a single class, otherwise
    the classes.
    """
    if len(basis.classes) == 1 and basis.transactions:
        return list(basis.transactions)
    return list(basis.classes)


def shares_of(basis: Basis, mix: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return the shares of transactions, by class; a transaction without a share in the mix has share 0. [ratio]"""
    return {basis.transactions[name]: {each: mix.get(each, 0.0) for each in basis.transactions} for name in mix}


def load_now(file: SizingFile, basis: Basis) -> Load:
    """Return the load of today, by class."""
    asked = file.load
    closed = {name: job_class for name, job_class in basis.classes.items() if job_class.users}
    users = {name: float(job_class.users or 0) for name, job_class in closed.items()}
    rate = {
        name: job_class.arrival_rate_per_s or 0.0 for name, job_class in basis.classes.items() if name not in closed
    }
    think = {name: job_class.think_time_s for name, job_class in closed.items()}
    if isinstance(asked.think, dict):
        think |= asked.think
    elif asked.think is not None:
        think = dict.fromkeys(think, asked.think)
    if asked.mix is not None and mixed_names(basis) == list(basis.transactions):
        shares = shares_of(basis, asked.mix)
        return Load(_by_class(users, asked.users, None), _by_class(rate, asked.rate, None), think, shares)
    return Load(_by_class(users, asked.users, asked.mix), _by_class(rate, asked.rate, asked.mix), think)


def _by_class(model: dict[str, float], asked: Any, mix: dict[str, float] | None) -> dict[str, float]:
    """Return the requested load of each class. A total is split by the requested mix, or by the model's mix."""
    if isinstance(asked, dict):
        return {**model, **{name: float(amount) for name, amount in asked.items()}}
    total = sum(model.values()) if asked is None else float(asked)
    if not model:
        return {}
    if mix is not None:
        return {name: total * mix.get(name, 0.0) for name in model}
    return {name: total * amount / sum(model.values()) for name, amount in model.items()}


def _grown_interval(growing: GrowthModel, days: float, total: float) -> Interval | None:
    """Return the interval of the highest load until a number of days from today; None if the growth has no interval."""
    if growing.certain:
        return None
    low, high = highest_drawn(growing, days, np.array(ENDS))
    return Interval(float(low) * total, float(high) * total)


def _grown(steps: Steps, growing: GrowthModel, days: float, load: tuple[float, str]) -> float:
    """Return the expected growth factor of the load after a number of days, and add the calculation steps."""
    total, unit = load
    grown = growing.factor(days)
    if isinstance(growing, HistoricGrowth):
        # With a season, the load at the horizon is the highest load in the season.
        values, formula = {"N": total, "f": grown}, "N f"
        source = f"{growing.source}; f is the factor of the highest load in the season before the horizon"
    else:
        values, formula = {"g": growing.yearly, "years": days / YEAR_D, "N": total}, "N g^years"
        source = growing.source
    highest = highest_factor(growing, days)
    interval = _grown_interval(growing, days, total)
    steps.add(
        Step(
            "load at the horizon", formula, values, total * grown, unit, source, interval if highest == grown else None
        )
    )
    if highest > grown:
        # If the load shrinks, it is highest before the horizon. The hardware must serve the highest load.
        values = {"N": total, "f": highest}
        source = "the load decreases, so its highest value before the horizon counts"
        steps.add(Step("load until the horizon", "N f", values, total * highest, unit, source, interval))
    return highest


def load_at_horizon(steps: Steps, file: SizingFile, now: Load, growing: GrowthModel | None) -> Load:
    """Return the load that the hardware must serve at the horizon, and add the calculation steps."""
    asked, (total, unit) = file.load, now.total
    source = "asked" if asked.users is not None or asked.rate is not None else "model"
    steps.add(Step("load now", "N0", {"N0": total}, total, unit, source))
    factor = asked.peak
    if asked.peak != 1:
        steps.add(
            Step("load in the busiest time", "N0 peak", {"N0": total, "peak": asked.peak}, total * factor, unit, source)
        )
    interval = None
    if growing is not None and asked.horizon:
        interval = _grown_interval(growing, asked.horizon, total * factor)
        factor *= _grown(steps, growing, asked.horizon, (total * factor, unit))
    if file.headroom:
        values = {"N": total * factor, "headroom": file.headroom}
        factor *= 1 + file.headroom
        interval = interval and interval.times(1 + file.headroom)
        steps.add(Step("load with headroom", "N (1 + headroom)", values, total * factor, unit, "asked", interval))
    carried = now.times(factor)
    if len(now.users) + len(now.rate) > 1:
        for name, amount in {**carried.users, **carried.rate}.items():
            whole = carried.total[0] if name in carried.users else sum(carried.rate.values())
            kind = "users" if name in carried.users else "1/s"
            known = interval and interval.times(amount / carried.total[0])
            steps.add(
                Step(f"load of {name}", "N share", {"N": whole, "share": amount / whole}, amount, kind, source, known)
            )
    return carried
