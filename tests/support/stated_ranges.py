"""Compares the values of an approximate solution, and the ranges that it states for them, with a simulation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from random_networks import STRETCH

ROUNDING = 1e-3
"""Allowed difference from the interval of the simulation, which counts whole jobs, relative to the value. [ratio]"""
IN_STEP = 0.02
"""The same if the simulated value has no variation: its replications begin and end between the same jobs. [ratio]"""
COARSE = 0.25
"""Largest half-width of a simulated 95 % interval that shows the error of a solution, relative to its stated error.
[ratio]
"""
RATIOS = ("utilization", "loss")
"""Quantities whose differences are not relative to the value."""


@dataclass(frozen=True)
class Ranged:
    """A value of a solution, its stated range, and the interval of the simulated value.

    Attributes
    ----------
    quantity : str
        `response time`, `time at a station`, `wait for a pool`, `throughput`, `jobs`, `loss` or `utilization`.
    name : str
        Class, station or pool, and the class at it.
    solved : float
        Value of the solution.
    low, high : float
        Stated range of the value; both equal the value of an exact solution. `high` may be infinite.
    simulated : float
        Middle of the simulated 95 % interval.
    half : float
        Half of this interval, widened by `STRETCH`.
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
        """Distance of the widened interval from the stated range; relative to the simulated value, except for loss and
        utilization. [ratio]
        """
        beyond = max(self.simulated - self.half - self.high, self.low - self.simulated - self.half, 0.0)
        unit = 1.0 if self.quantity in RATIOS else abs(self.simulated)
        allowed = IN_STEP if self.half <= ROUNDING * ROUNDING * abs(self.simulated) else ROUNDING
        return max(0.0, beyond / unit - allowed) if beyond else 0.0

    @property
    def used(self) -> float | None:
        """Error of the solution as a share of the stated error on the side of the simulated value. [ratio]

        None if the solution states no error there, or if the simulated 95 % interval is too wide for a comparison.
        """
        side = self.high - self.solved if self.simulated > self.solved else self.solved - self.low
        if not math.isfinite(side) or self.half / STRETCH >= COARSE * side:
            return None
        return abs(self.simulated - self.solved) / side


@dataclass(frozen=True)
class _Place:
    """Stated ranges and simulated intervals of the values of one class, station or pool, by key."""

    stated: Mapping[str, list[float | None]]
    known: Mapping[str, list[float | None]]

    def rows(self, quantity: str, name: str, key: str, solved: float, *, unit: float = 1.0) -> Iterator[Ranged]:
        """Return the value with the given key, divided by `unit`; nothing if the simulation has no interval of it."""
        least, most = self.known[key]
        if least is None or most is None:
            return
        low, high = self.stated.get(key, [solved, solved])
        ends = [math.inf if end is None else end / unit for end in (low, high)]
        middle, half = (least + most) / 2 / unit, STRETCH * (most - least) / 2 / unit
        yield Ranged(quantity, name, solved / unit, *ends, middle, half)


def ranged(model: Mapping[str, Any], answer: Mapping[str, Any], simulated: Mapping[str, Any]) -> Iterator[Ranged]:
    """Return all values of a solution that a simulation gives with an interval."""
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
