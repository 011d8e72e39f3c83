"""Compares an approximate solution, and the error ranges that it states, with a simulation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from random_networks import STRETCH

ROUNDING = 1e-3
"""Allowed distance from the simulated interval, relative to the value. The simulation counts whole jobs. [ratio]"""
IN_STEP = 0.02
"""Allowed relative distance if the simulated value does not vary, because all replications begin and end between the
same jobs. [ratio]
"""
COARSE = 0.25
"""Largest half-width of a simulated 95 % interval, relative to the stated error, at which the interval can still show
the error of the solution. [ratio]
"""
RATIOS = ("utilization", "loss")
"""Quantities whose differences are absolute, because they are ratios."""


@dataclass(frozen=True)
class Ranged:
    """A value of a solution, its stated range, and the simulated interval.

    Attributes
    ----------
    quantity : str
        `response time`, `time at a station`, `wait for a pool`, `throughput`, `jobs`, `loss` or `utilization`.
    name : str
        Class; or station or pool, with the class.
    solved : float
        Value of the solution.
    low, high : float
        Stated range of the value; both equal `solved` if the solution is exact. `high` may be infinite.
    simulated : float
        Middle of the simulated 95 % interval.
    half : float
        Half-width of this interval, widened by `STRETCH`.
    """

    quantity: str
    name: str
    solved: float
    low: float
    high: float
    simulated: float
    half: float

    @property
    def outside(self) -> float:
        """Distance between the widened simulated interval and the stated range, less a tolerance; relative to the
        simulated value, except for loss and utilization. [ratio]
        """
        beyond = max(self.simulated - self.half - self.high, self.low - self.simulated - self.half, 0.0)
        unit = 1.0 if self.quantity in RATIOS else abs(self.simulated)
        allowed = IN_STEP if self.half <= ROUNDING * ROUNDING * abs(self.simulated) else ROUNDING
        return max(0.0, beyond / unit - allowed) if beyond else 0.0

    @property
    def used(self) -> float | None:
        """Error of the solution, as a fraction of the error that it states in this direction. [ratio]

        None if the stated range has no bound in this direction, or if the simulated 95 % interval is too wide.
        """
        side = self.high - self.solved if self.simulated > self.solved else self.solved - self.low
        if not math.isfinite(side) or self.half / STRETCH >= COARSE * side:
            return None
        return abs(self.simulated - self.solved) / side


@dataclass(frozen=True)
class _Place:
    """Stated ranges and simulated intervals of one class, station or pool, by quantity."""

    stated: Mapping[str, list[float | None]]
    known: Mapping[str, list[float | None]]

    def rows(self, quantity: str, name: str, key: str, solved: float, *, unit: float = 1.0) -> Iterator[Ranged]:
        """Yield the quantity with the given key, divided by `unit`; nothing if the simulation has no interval for
        it.
        """
        least, most = self.known[key]
        if least is None or most is None:
            return
        low, high = self.stated.get(key, [solved, solved])
        ends = [math.inf if end is None else end / unit for end in (low, high)]
        middle, half = (least + most) / 2 / unit, STRETCH * (most - least) / 2 / unit
        yield Ranged(quantity, name, solved / unit, *ends, middle, half)


def ranged(model: Mapping[str, Any], answer: Mapping[str, Any], simulated: Mapping[str, Any]) -> Iterator[Ranged]:
    """Yield all values of a solution for which the simulation has an interval."""
    within = answer["within"] or {"classes": {}, "stations": {}, "pools": {}}
    rates = {job_class["name"]: job_class.get("arrival_rate_per_s") for job_class in model["classes"]}

    def place(kind: str, name: str) -> _Place:
        return _Place(within[kind].get(name, {}), simulated[kind][name]["confidence_interval"])

    for name, found in answer["classes"].items():
        of = place("classes", name)
        yield from of.rows("response time", name, "response_time_s", found["response_time_s"])
        yield from of.rows("throughput", name, "throughput_per_s", found["throughput_per_s"])
        if rates[name]:
            yield from of.rows("loss", name, "dropped_per_s", found["dropped_per_s"], unit=rates[name])
    for name, found in answer["stations"].items():
        of = place("stations", name)
        yield from of.rows("utilization", name, "utilization", found["utilization"])
        yield from of.rows("jobs", name, "queue_length", found["queue_length"])
        for job_class, time in found["residence_time_s"].items():
            yield from of.rows("time at a station", f"{name}.{job_class}", f"residence_time_s.{job_class}", time)
    for name, found in answer["pools"].items():
        of = place("pools", name)
        yield from of.rows("utilization", name, "utilization", found["utilization"])
        for job_class, time in found["waiting_time_s"].items():
            yield from of.rows("wait for a pool", f"{name}.{job_class}", f"waiting_time_s.{job_class}", time)
