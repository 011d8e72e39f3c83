"""From the load of today to the load that must be carried: mix, peak, growth, headroom, each a step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from towtank.errors import Fault
from towtank.size.basis import Basis
from towtank.size.growth import Growing, HistoricGrowth, highest_drawn, highest_factor
from towtank.size.interval import ENDS, Interval
from towtank.size.network import Changes
from towtank.size.quantities import YEAR_D
from towtank.size.sizing_file import SizingFile
from towtank.size.steps import Step, Steps
from towtank.yamlfile import Node, did_you_mean, fault_at


@dataclass(frozen=True)
class Load:
    """Users and rates by class.

    Attributes
    ----------
    users : dict of str to float
        Of closed classes; whole only where it is solved. [1]
    rate : dict of str to float
        Of open classes. [1/s]
    think_s : dict of str to float
        Of closed classes, and of transactions that have one of their own. [s]
    shares : dict of str to dict of str to float
        Of the transactions of a class, where they are not those of the model. [ratio]
    """

    users: Mapping[str, float]
    rate: Mapping[str, float]
    think_s: Mapping[str, float]
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def times(self, factor: float) -> Load:
        """The same mix, more of it."""
        return replace(
            self,
            users={name: factor * one for name, one in self.users.items()},
            rate={name: factor * one for name, one in self.rate.items()},
        )

    def changes(self, demand: Mapping[tuple[str, str | None], float] | None = None) -> Changes:
        """For the solver; users are rounded up, as half a user cannot be served half as long."""
        whole = {name: max(1, math.ceil(one - 1e-9)) if one > 0 else 0 for name, one in self.users.items()}
        return Changes(whole, dict(self.rate), dict(self.think_s), demand or {}, self.shares)

    @property
    def total(self) -> tuple[float, str]:
        """Users of all classes, or the rate of all where there are no users."""
        return (sum(self.users.values()), "users") if self.users else (sum(self.rate.values()), "1/s")


def load_faults(tree: Node, file: SizingFile, basis: Basis) -> list[Fault]:
    """What the load says that the model does not allow."""
    found = []
    closed = [name for name, one in basis.classes.items() if one.get("users")]
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
        message = "must be left out: the model has closed and open classes, whose loads have no common sum"
        found.append(fault_at(tree, ("load", "mix"), message, key=True))
    given = isinstance(asked.users, dict) or isinstance(asked.rate, dict)
    if asked.mix is not None and given and not basis.transactions:
        found.append(fault_at(tree, ("load", "mix"), "must be left out where the load is given by class", key=True))
    return found


def mixed_names(basis: Basis) -> list[str]:
    """What a mix is of: the transactions of the only class, else the classes."""
    if len(basis.classes) == 1 and basis.transactions:
        return list(basis.transactions)
    return list(basis.classes)


def shares_of(basis: Basis, mix: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """A mix of transactions by their class; what is not named has no share."""
    return {basis.transactions[name]: {each: mix.get(each, 0.0) for each in basis.transactions} for name in mix}


def load_now(file: SizingFile, basis: Basis) -> Load:
    """The load given, of today, by class."""
    asked = file.load
    users = {name: float(one["users"]) for name, one in basis.classes.items() if one.get("users")}
    rate = {name: float(one["arrival_rate_per_s"]) for name, one in basis.classes.items() if not one.get("users")}
    think = {name: float(one["think_time_s"]) for name, one in basis.classes.items() if one.get("users")}
    if isinstance(asked.think, dict):
        think |= asked.think
    elif asked.think is not None:
        think = dict.fromkeys(think, asked.think)
    if asked.mix is not None and mixed_names(basis) == list(basis.transactions):
        shares = shares_of(basis, asked.mix)
        return Load(_by_class(users, asked.users, None), _by_class(rate, asked.rate, None), think, shares)
    return Load(_by_class(users, asked.users, asked.mix), _by_class(rate, asked.rate, asked.mix), think)


def _by_class(model: dict[str, float], asked: Any, mix: dict[str, float] | None) -> dict[str, float]:
    """The load of each class: given, or the total given in the mix given, else in the mix of the model."""
    if isinstance(asked, dict):
        return {**model, **{name: float(one) for name, one in asked.items()}}
    total = sum(model.values()) if asked is None else float(asked)
    if not model:
        return {}
    if mix is not None:
        return {name: total * mix.get(name, 0.0) for name in model}
    return {name: total * one / sum(model.values()) for name, one in model.items()}


def _grown_interval(growing: Growing, days: float, total: float) -> Interval | None:
    """Interval of a load after some days; None if growth is certain."""
    if growing.certain:
        return None
    low, high = highest_drawn(growing, days, np.array(ENDS))
    return Interval(float(low) * total, float(high) * total)


def _grown(steps: Steps, growing: Growing, days: float, load: tuple[float, str]) -> float:
    """Factor of the highest load within some days, with its steps."""
    total, unit = load
    grown = growing.factor(days)
    if isinstance(growing, HistoricGrowth):
        # A season makes more of it than the yearly growth alone.
        values, formula = {"N": total, "f": grown}, "N f"
        source = f"{growing.source}; f of the highest load in the season that ends then"
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
        # It must be enough until the horizon, and not only then.
        values = {"N": total, "f": highest}
        source = "the load shrinks: the highest one until the horizon"
        steps.add(Step("load until the horizon", "N f", values, total * highest, unit, source, interval))
    return highest


def load_at_horizon(steps: Steps, file: SizingFile, now: Load, growing: Growing | None) -> Load:
    """The load that must be carried, with its steps."""
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
        for name, one in {**carried.users, **carried.rate}.items():
            whole = carried.total[0] if name in carried.users else sum(carried.rate.values())
            kind = "users" if name in carried.users else "1/s"
            known = interval and interval.times(one / carried.total[0])
            steps.add(Step(f"load of {name}", "N share", {"N": whole, "share": one / whole}, one, kind, source, known))
    return carried
