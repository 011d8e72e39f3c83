"""Checks that the load for which an objective is defined occurs in at least one run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from towtank import units
from towtank.study.model import FindLimit, StudyFile
from towtank.study.objectives import Objective
from towtank.study.schedules import levels_of
from towtank.study.shares import share_of


@dataclass
class Levels:
    """Loads of the runs of a study, collected over all its presets: users [1], arrival rates [1/s], and shares of the
    load limit that a pilot run finds [1]. `unknown` if some loads are unknown before a run, as for a search or a trace.
    """

    users: set[float] = field(default_factory=set)
    rates: set[float] = field(default_factory=set)
    shares: set[float] = field(default_factory=set)
    unknown: bool = False

    def add(self, study: StudyFile) -> None:
        """Add the loads of one variant of a study."""
        load = study.load
        if isinstance(load, FindLimit) or load.trace is not None:
            self.unknown = True
            return
        written: list[object] = [*study.factors.get("users", ()), *study.factors.get("rate", ()), *(load.levels or ())]
        written += [amount for amount in (load.users, load.rate) if amount is not None]
        numbers = list(levels_of(load, None)) + [number for number in map(_number, written) if number is not None]
        (self.users if study.is_closed else self.rates).update(numbers)
        self.shares.update(share for share in map(share_of, written) if share is not None)

    def wrong(self, objective: Objective) -> str | None:
        """Return a message if an objective is defined for a load that no run has; otherwise None.

        If some loads are unknown before the run, every load is accepted.
        """
        if self.unknown:
            return None
        if objective.of_limit is not None:
            shares = [f"{100 * share:g} % of the limit" for share in sorted(self.shares)]
            return self._wrong(objective.of_limit, self.shares, shares, f"{100 * objective.of_limit:g} % of the limit")
        if objective.users is not None and not self.shares:
            return self._wrong(objective.users, self.users, [], f"{objective.users} users")
        if objective.rate is not None:
            return self._wrong(objective.rate, self.rates, [], units.format_rate(objective.rate))
        return None

    def _wrong(self, asked: float, known: Iterable[float], named: list[str], text: str) -> str | None:
        if any(math.isclose(asked, level, rel_tol=1e-6) for level in known):
            return None
        allowed = named or [
            *(f"{level:g} users" for level in sorted(self.users)),
            *(units.format_rate(level) for level in sorted(self.rates)),
            *(f"{100 * share:g} % of the limit" for share in sorted(self.shares)),
        ]
        if not allowed:  # The load of the study is invalid, which is reported at the key of the load.
            return None
        return f"must be at a load of a run ({', '.join(allowed)}), got {text} instead"


def at_a_load(objective: Objective) -> bool:
    """Return True if an objective is defined for a single load only."""
    return any(load is not None for load in (objective.users, objective.rate, objective.of_limit))


def _number(level: object) -> float | None:
    """Return a load level as a number; None if the level is a share of the limit, or is invalid."""
    if isinstance(level, bool):
        return None
    if isinstance(level, int | float):
        return float(level)
    try:
        return units.rate(level)
    except ValueError:
        return None
