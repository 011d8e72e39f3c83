"""Defines the hardware options of each tier: numbers of nodes and CPUs, or machines of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from towtank.sizing.machines import Machine, Ratio
from towtank.sizing.network import Layout


@dataclass(frozen=True)
class Option:
    """Hardware option of a tier: nodes with CPUs, or disks for a tier of disks [1], speed of a CPU relative to a CPU of
    the model with its interval [ratio], machine of each node, None if only CPUs are specified, price of all nodes, None
    if unknown, and memory of a node, None if unknown or free to choose [byte].
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
        """Capacity of the option: the number of CPUs of all nodes, times their speed relative to the CPUs of the model.
        [1]
        """
        return self.nodes * self.cpus * self.speed

    @property
    def strength(self) -> tuple[float, float, float]:
        """Number of nodes, CPUs of each node, and speed. If none of these numbers is lower than that of another option,
        this option is at least as fast.
        """
        return (float(self.nodes), float(self.cpus), self.speed)

    @property
    def chain(self) -> tuple[int, float, str | None]:
        """Key that is equal for options that differ only in the number of CPUs."""
        return (self.nodes, self.speed, self.machine)

    def layout(self, lost: int = 0) -> Layout:
        """Return nodes, servers and speed of the tier's stations, after `lost` nodes have failed."""
        return Layout(self.nodes - lost, self.cpus, self.speed)

    def named(self, unit: str = "CPU") -> str:
        """Render the hardware option, such as `3 x 8 CPUs`."""
        count = f"{self.cpus} {unit}{'s' if self.cpus != 1 else ''}"
        what = f"{self.machine} ({count})" if self.machine else count
        return f"{self.nodes} x {what}" if self.nodes != 1 or self.machine else what


@dataclass(frozen=True)
class Tier:
    """Stations that run on the same machines of kind `cpu` or `disk`, with the hardware options for these machines, and
    the capacity of one disk [byte]. `beyond_room` counts the options left out because they have more servers than the
    job capacity of a station. [1]
    """

    name: str
    stations: tuple[str, ...]
    options: tuple[Option, ...]
    kind: str = "cpu"
    disk_size_bytes: int | None = None
    ratios: Mapping[str, Ratio] = field(default_factory=dict, compare=False)
    beyond_room: int = 0

    @property
    def unit(self) -> str:
        """Name of a server of the tier: `CPU` or `disk`."""
        return "CPU" if self.kind == "cpu" else "disk"

    @property
    def strongest(self) -> Option:
        """Hardware with the most nodes, the most CPUs and the highest speed of all options. It need not be an option
        itself.

        If a candidate fails even with this hardware for a tier, it fails with every option of the tier.
        """
        nodes, cpus, speeds = zip(*(option.strength for option in self.options), strict=True)
        return Option(int(max(nodes)), int(max(cpus)), max(speeds))

    @property
    def scales(self) -> bool:
        """True if at least one option has more than one node."""
        return any(option.nodes > 1 for option in self.options)


Candidate = tuple[Option, ...]
"""Candidate hardware: one option for each tier, in the order of the tiers."""


def machine_options(
    machines: Sequence[Machine], ratios: Mapping[str, Ratio], nodes: Sequence[int]
) -> tuple[Option, ...]:
    """Return the hardware options of a tier whose nodes are machines of the catalogue."""
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
    """Return the hardware options of a tier whose nodes have CPUs as fast as those of the model."""
    return tuple(
        Option(count, each, price=None if price is None else price * each * count) for count in nodes for each in cpus
    )


@dataclass(frozen=True)
class Cost:
    """Cost function by which candidates are ordered.

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
        """Return the cost of a candidate: the sum of the costs of its options."""
        return sum(self.of_option(option) for option in candidate)

    def of_option(self, option: Option) -> float:
        """Return the cost of the hardware option of a tier."""
        if self.by == "price":
            assert option.price is not None
            return option.price
        return option.capacity if self.by == "capacity" else float(option.nodes * option.cpus)


def cost_of(tiers: Sequence[Tier], unit: str) -> Cost:
    """Return the cost function for the options of all tiers.

    The cost is the price if every option has a price. Otherwise the cost is the capacity if CPU speeds differ, and the
    number of CPUs if they do not.
    """
    options = [option for tier in tiers for option in tier.options]
    if all(option.price is not None for option in options):
        return Cost("price", unit)
    if any(option.speed != 1 for option in options):
        return Cost("capacity", "CPUs of the measured machine")
    return Cost("CPUs", "CPUs")


def in_words(tiers: Sequence[Tier], candidate: Candidate) -> str:
    """Render the hardware of all tiers in one line."""
    return ", ".join(f"{tier.name} {option.named(tier.unit)}" for tier, option in zip(tiers, candidate, strict=True))
