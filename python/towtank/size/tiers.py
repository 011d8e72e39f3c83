"""What each tier may stand on: numbers of nodes and CPUs, or machines of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from towtank.size.machines import Machine, Ratio
from towtank.size.network import Layout
from towtank.units import format_size


@dataclass(frozen=True)
class Option:
    """One thing that a tier may stand on.

    Attributes
    ----------
    nodes : int
        [1]
    cpus : int
        Of each node; disks, of a tier of disks. [1]
    speed : float
        Of one CPU over that of the model. [ratio]
    speed_low, speed_high : float
        Between what it lies. [ratio]
    machine : str or None
        What a node is; None where only CPUs are counted.
    price : float or None
        Of all nodes; None where none is known.
    memory_bytes : int or None
        Of a node; None where it is not known, or free to choose. [byte]
    """

    nodes: int
    cpus: int
    speed: float = 1.0
    speed_low: float = 1.0
    speed_high: float = 1.0
    machine: str | None = None
    price: float | None = None
    memory_bytes: int | None = None

    @property
    def capacity(self) -> float:
        """CPUs of all nodes in CPUs of the model. [1]"""
        return self.nodes * self.cpus * self.speed

    @property
    def strength(self) -> tuple[float, float, float]:
        """What makes it stronger than another: one that is not less in any of them answers no later."""
        return (float(self.nodes), float(self.cpus), self.speed)

    @property
    def chain(self) -> tuple[int, float, str | None]:
        """Options that differ in the number of CPUs only have the same chain."""
        return (self.nodes, self.speed, self.machine)

    def layout(self, lost: int = 0, speed: float | None = None) -> Layout:
        """For its stations, with some nodes lost."""
        return Layout(self.nodes - lost, self.cpus, self.speed if speed is None else speed)

    def named(self, unit: str = "CPU") -> str:
        """In words, as `3 x 8 CPUs`."""
        count = f"{self.cpus} {unit}{'s' if self.cpus != 1 else ''}"
        what = f"{self.machine} ({count})" if self.machine else count
        return f"{self.nodes} x {what}" if self.nodes != 1 or self.machine else what


@dataclass(frozen=True)
class Tier:
    """Stations on the same machines, and what these may be.

    Attributes
    ----------
    name : str
    stations : tuple of str
    kind : str
        `cpu` or `disk`.
    options : tuple of Option
    disk_size_bytes : int or None
        Room on one disk. [byte]
    """

    name: str
    stations: tuple[str, ...]
    options: tuple[Option, ...]
    kind: str = "cpu"
    disk_size_bytes: int | None = None
    ratios: Mapping[str, Ratio] = field(default_factory=dict, compare=False)

    @property
    def unit(self) -> str:
        """What its servers are, in words."""
        return "CPU" if self.kind == "cpu" else "disk"

    @property
    def strongest(self) -> Option:
        """At least as strong as every option, and perhaps stronger than all: for bounds."""
        nodes, cpus, speeds = zip(*(one.strength for one in self.options), strict=True)
        return Option(int(max(nodes)), int(max(cpus)), max(speeds))

    @property
    def scales(self) -> bool:
        """Whether there may be more than one node."""
        return any(one.nodes > 1 for one in self.options)


Candidate = tuple[Option, ...]
"""An option for each tier, in their order."""


def machine_options(
    machines: Sequence[Machine], ratios: Mapping[str, Ratio], nodes: Sequence[int]
) -> tuple[Option, ...]:
    """Options of a tier whose nodes are machines."""
    return tuple(
        Option(
            count,
            int(machine.cpus or 0),
            ratios[machine.name].value,
            ratios[machine.name].low,
            ratios[machine.name].high,
            machine.name,
            None if machine.price is None else machine.price.amount * count,
            machine.memory,
        )
        for machine in machines
        for count in nodes
    )


def plain_options(cpus: Sequence[int], nodes: Sequence[int], price: float | None) -> tuple[Option, ...]:
    """Options of a tier whose nodes are so many CPUs of the speed of the model."""
    return tuple(
        Option(count, each, price=None if price is None else price * each * count) for count in nodes for each in cpus
    )


@dataclass(frozen=True)
class Cost:
    """How candidates are put in order, the cheapest first.

    Attributes
    ----------
    by : str
        `price`, `capacity` or `CPUs`.
    unit : str
        Of the cost.
    """

    by: str
    unit: str

    def of(self, candidate: Candidate) -> float:
        """Cost of a candidate."""
        return sum(self.of_option(one) for one in candidate)

    def of_option(self, one: Option) -> float:
        """Cost of one tier."""
        if self.by == "price":
            assert one.price is not None
            return one.price
        return one.capacity if self.by == "capacity" else float(one.nodes * one.cpus)


def cost_of(tiers: Sequence[Tier], unit: str) -> Cost:
    """Price where every option has one, else capacity where machines differ in speed, else CPUs."""
    options = [one for tier in tiers for one in tier.options]
    if all(one.price is not None for one in options):
        return Cost("price", unit)
    if any(one.speed != 1 for one in options):
        return Cost("capacity", "CPUs of the machine measured")
    return Cost("CPUs", "CPUs")


def in_words(tiers: Sequence[Tier], candidate: Candidate) -> str:
    """A candidate in one line."""
    return ", ".join(f"{tier.name} {one.named(tier.unit)}" for tier, one in zip(tiers, candidate, strict=True))


def room(one: Option) -> str:
    """Memory of a node in words."""
    return "free to choose" if one.memory_bytes is None else format_size(one.memory_bytes)
