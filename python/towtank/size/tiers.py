"""Hardware options of each tier: numbers of nodes and CPUs, or machines of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from towtank.size.machines import Machine, Ratio
from towtank.size.network import Layout
from towtank.units import format_size


@dataclass(frozen=True)
class Option:
    """Hardware option of a tier.

    Attributes
    ----------
    nodes : int
        Number of nodes. [1]
    cpus : int
        CPUs of each node; disks, of a tier of disks. [1]
    speed : float
        Speed of one CPU over that of the model. [ratio]
    speed_low, speed_high : float
        Ends of the interval of the speed. [ratio]
    machine : str or None
        Machine of a node; None if only CPUs are counted.
    price : float or None
        Price of all nodes; None if none is known.
    memory_bytes : int or None
        Memory of a node; None if it is not known, or free to choose. [byte]
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
        """Measures of strength: an option that is not less in any of them answers no later."""
        return (float(self.nodes), float(self.cpus), self.speed)

    @property
    def chain(self) -> tuple[int, float, str | None]:
        """Key that options share if they differ in the number of CPUs only."""
        return (self.nodes, self.speed, self.machine)

    def layout(self, lost: int = 0, speed: float | None = None) -> Layout:
        """Return the layout of its stations, with some nodes lost."""
        return Layout(self.nodes - lost, self.cpus, self.speed if speed is None else speed)

    def named(self, unit: str = "CPU") -> str:
        """Render the option, as `3 x 8 CPUs`."""
        count = f"{self.cpus} {unit}{'s' if self.cpus != 1 else ''}"
        what = f"{self.machine} ({count})" if self.machine else count
        return f"{self.nodes} x {what}" if self.nodes != 1 or self.machine else what


@dataclass(frozen=True)
class Tier:
    """Stations on the same machines, with the options for these.

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
        """Name of its servers: `CPU` or `disk`."""
        return "CPU" if self.kind == "cpu" else "disk"

    @property
    def strongest(self) -> Option:
        """Option that is at least as strong as every option, and perhaps stronger than all: for bounds."""
        nodes, cpus, speeds = zip(*(option.strength for option in self.options), strict=True)
        return Option(int(max(nodes)), int(max(cpus)), max(speeds))

    @property
    def scales(self) -> bool:
        """True if the tier may have more than one node."""
        return any(option.nodes > 1 for option in self.options)


Candidate = tuple[Option, ...]
"""An option for each tier, in their order."""


def machine_options(
    machines: Sequence[Machine], ratios: Mapping[str, Ratio], nodes: Sequence[int]
) -> tuple[Option, ...]:
    """Return the options of a tier whose nodes are machines."""
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
    """Return the options of a tier whose nodes are so many CPUs of the speed of the model."""
    return tuple(
        Option(count, each, price=None if price is None else price * each * count) for count in nodes for each in cpus
    )


@dataclass(frozen=True)
class Cost:
    """Order of candidates, the cheapest first.

    Attributes
    ----------
    by : str
        `price`, `capacity` or `CPUs`.
    unit : str
        Unit of the cost.
    """

    by: str
    unit: str

    def of(self, candidate: Candidate) -> float:
        """Return the cost of a candidate."""
        return sum(self.of_option(option) for option in candidate)

    def of_option(self, option: Option) -> float:
        """Return the cost of one tier."""
        if self.by == "price":
            assert option.price is not None
            return option.price
        return option.capacity if self.by == "capacity" else float(option.nodes * option.cpus)


def cost_of(tiers: Sequence[Tier], unit: str) -> Cost:
    """Return the order: by price if every option has one, else by capacity if speeds differ, else by CPUs."""
    options = [option for tier in tiers for option in tier.options]
    if all(option.price is not None for option in options):
        return Cost("price", unit)
    if any(option.speed != 1 for option in options):
        return Cost("capacity", "CPUs of the machine measured")
    return Cost("CPUs", "CPUs")


def in_words(tiers: Sequence[Tier], candidate: Candidate) -> str:
    """Return a candidate in one line."""
    return ", ".join(f"{tier.name} {option.named(tier.unit)}" for tier, option in zip(tiers, candidate, strict=True))


def room(option: Option) -> str:
    """Return the memory of a node in words."""
    return "free to choose" if option.memory_bytes is None else format_size(option.memory_bytes)
