"""Reads the machines that Towtank ships or the user describes, and compares the speed of two machines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from towtank import yamlfile
from towtank.errors import Fault, ModelError, StudyError
from towtank.sizing.kernels import KERNELS, SCALES, Kernel, chosen, names
from towtank.sizing.machine_file import (
    DiskFile,
    KernelFile,
    MachineEntry,
    MachineFile,
    MeasuredFile,
    PriceFile,
    RatingFile,
)
from towtank.spelling import did_you_mean
from towtank.treecheck import validate_tree
from towtank.yamlfile import Document

SHIPPED = Path(__file__).with_name("machines")


@dataclass(frozen=True)
class Ratio:
    """Speed of one machine relative to another, above 1 if the first machine is faster, with the ends of its interval
    [1]. Both ends are equal to `value` if the error is unknown; `notes` then states this. `basis` describes the
    comparison, and `by_kernel` has the ratio for each kernel measured on both machines [1].
    """

    value: float
    low: float
    high: float
    basis: str = ""
    by_kernel: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Machine:
    """Machine of the catalogue. The fields are the keys of a machine file, in bytes and seconds."""

    name: str
    title: str | None = None
    cpus: int | None = None
    cores: int | None = None
    threads_per_core: int | None = None
    memory: int | None = None
    disks: Mapping[str, DiskFile] = field(default_factory=dict)
    network: float | None = None
    ratings: Mapping[str, RatingFile] = field(default_factory=dict)
    price: PriceFile | None = None
    source: str | None = None
    measured: MeasuredFile | None = None

    @classmethod
    def of(cls, name: str, entry: MachineEntry, source: str | None = None) -> Machine:
        """Return the machine for an entry of a machine file. `source` is used if the entry states no source."""
        values = {key: getattr(entry, key) for key in MachineEntry.model_fields}
        return cls(name, **{**values, "source": entry.source or source})

    def speed_against(self, other: Machine, scale: str = "towtank", kernel: str | None = None) -> Ratio:
        """Return the speed of a CPU of this machine relative to a CPU of another machine.

        Parameters
        ----------
        other : Machine
            Machine on which the measurements were made.
        scale : str, default "towtank"
            Scale of the ratings. The default is the scale of `towtank rate`, because users can measure it.
        kernel : str, optional
            Kernel, area of kernels, `cpu` or `disk` to compare by instead of the rating. `disk` compares whole
            machines, since the CPUs of a machine share its disks. If no disk kernels were measured, `disk` compares the
            operations per second of the disks in the machine files.

        Returns
        -------
        Ratio
            Speed ratio; a CPU demand D measured on `other` becomes D / value on this machine.

        Raises
        ------
        ModelError
            If the machines have no rating or kernel in common, or the number of CPUs is unknown.
        """
        if kernel is not None:
            return self._by_kernels(other, kernel)
        mine, theirs = _rating(self, other, scale), _rating(other, self, scale)
        per_cpu = 1.0 if scale == SCALES["disk"] else _cpus(other, scale) / _cpus(self, scale)
        value = mine.value / theirs.value * per_cpu
        low = (mine.low or mine.value) / (theirs.high or theirs.value) * per_cpu
        high = (mine.high or mine.value) / (theirs.low or theirs.value) * per_cpu
        notes = [
            f"the {scale} rating of {machine.name} is published without an interval"
            for machine, rating in ((self, mine), (other, theirs))
            if rating.low is None
        ]
        by_kernel = self._kernel_ratios(other, chosen(scale))
        if by_kernel:
            # The speed ratio of a real workload lies between the lowest and the highest ratio of the kernels.
            least, greatest = self._extremes(other, by_kernel)
            low, high = min(low, least), max(high, greatest)
        part = "machine" if scale == SCALES["disk"] else "CPU"
        return Ratio(value, low, high, f"{scale} rating per {part}", by_kernel, tuple(notes))

    def _by_kernels(self, other: Machine, name: str) -> Ratio:
        kernels = chosen(name)
        if not kernels:
            near = did_you_mean(name, names())
            raise ModelError(f"the kernel must be one of {', '.join(names())}, got {name!r} instead{near}")
        ratios = self._kernel_ratios(other, kernels)
        if not ratios and name == "disk":
            return self._by_operations(other)
        if not ratios:
            lacking = [machine.name for machine in (self, other) if machine.measured is None]
            reason = f"{' and '.join(lacking)} not rated by `towtank rate`" if lacking else "no kernel in common"
            raise ModelError(f"the speed of {self.name} against {other.name} by {name!r} is unknown: {reason}")
        by_area: dict[str, list[float]] = {}
        for kernel, ratio in ratios.items():
            by_area.setdefault(KERNELS[kernel].area, []).append(ratio)
        value = geometric_mean([geometric_mean(area) for area in by_area.values()])
        low, high = self._extremes(other, ratios)
        return Ratio(value, low, high, f"kernels of {name}", ratios)

    def _extremes(self, other: Machine, ratios: Mapping[str, float]) -> tuple[float, float]:
        """Return the lowest and the highest speed ratio over the kernels, including the measurement intervals of both
        machines.
        """
        lows, highs = [], []
        for name, ratio in ratios.items():
            mine, theirs = _kernel(self, name).all, _kernel(other, name).all
            lows.append(ratio * (mine.low or mine.value) / mine.value * theirs.value / (theirs.high or theirs.value))
            highs.append(ratio * (mine.high or mine.value) / mine.value * theirs.value / (theirs.low or theirs.value))
        return min(lows), max(highs)

    def _kernel_ratios(self, other: Machine, kernels: Sequence[Kernel]) -> dict[str, float]:
        """Return the speed ratio for each kernel measured on both machines: per CPU, or per machine for disk
        kernels.
        """
        if self.measured is None or other.measured is None:
            return {}
        shared = [
            kernel
            for kernel in kernels
            if kernel.name in self.measured.kernels and kernel.name in other.measured.kernels
        ]
        return {kernel.name: self._kernel_ratio(other, kernel) for kernel in shared}

    def _kernel_ratio(self, other: Machine, kernel: Kernel) -> float:
        whole = _kernel(self, kernel.name).all.value / _kernel(other, kernel.name).all.value
        if kernel.resource == "disk":
            return whole
        return whole * _cpus(other, kernel.name) / _cpus(self, kernel.name)

    def _by_operations(self, other: Machine) -> Ratio:
        mine, theirs = (_operations(machine) for machine in (self, other))
        value = mine / theirs
        note = "from the operations that the machine files state, which Towtank did not measure"
        return Ratio(value, value, value, "operations of the disks", notes=(note,))


def _rating(machine: Machine, other: Machine, scale: str) -> RatingFile:
    rating = machine.ratings.get(scale)
    if rating is not None:
        return rating
    has = ", ".join(sorted(machine.ratings)) or "none"
    others = ", ".join(sorted(other.ratings)) or "none"
    common = sorted(set(machine.ratings) & set(other.ratings))
    shared = f"scales of both: {', '.join(common)}" if common else "they have no scale in common"
    raise ModelError(
        f"{machine.name} must have a rating on the scale {scale!r} to be compared with {other.name}, got {has} instead",
        hint=f"{other.name} has {others}; {shared}",
    )


def _cpus(machine: Machine, what: str) -> int:
    if machine.cpus is None:
        raise ModelError(
            f"the speed of one CPU of {machine.name} on {what} is not known: its number of CPUs is not stated",
            hint="state `cpus` in a machine file of your own",
        )
    return machine.cpus


def _kernel(machine: Machine, name: str) -> KernelFile:
    assert machine.measured is not None
    return machine.measured.kernels[name]


def _operations(machine: Machine) -> float:
    stated = [disk.count * disk.operations for disk in machine.disks.values() if disk.operations is not None]
    if not stated or len(stated) < len(machine.disks):
        raise ModelError(
            f"the disks of {machine.name} must be measured by `towtank rate`, or all have `operations` in its file"
        )
    return math.fsum(stated)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers; at least one number is required."""
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def check_machines(document: Document) -> list[Fault]:
    """Return all faults of a machine file."""
    return validate_tree(document.root, MachineFile).faults


def load_machines(path: Path | str) -> dict[str, Machine]:
    """Read a machine file.

    Raises
    ------
    StudyError
        If the file is invalid; contains every fault.
    """
    document = yamlfile.load(path)
    checked = validate_tree(document.root, MachineFile)
    if checked.faults or checked.model is None:
        raise StudyError(checked.faults)
    content = checked.model
    return {name: Machine.of(name, entry, content.source) for name, entry in content.machines.items()}


def machine_catalogue(extra: Path | str | Sequence[Path | str] | None = None) -> dict[str, Machine]:
    """Return machines by name. A machine in a file of the user replaces the shipped machine of the same name.

    Raises
    ------
    StudyError
        If a file is invalid; contains every fault of all files.
    """
    extras = [extra] if isinstance(extra, Path | str) else list(extra or ())
    machines: dict[str, Machine] = {}
    faults: list[Fault] = []
    for path in [*sorted(SHIPPED.glob("*.yaml")), *extras]:
        try:
            machines |= load_machines(path)
        except StudyError as error:
            faults += error.faults
    if faults:
        raise StudyError(faults)
    return machines
