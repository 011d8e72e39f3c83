"""Defines the format of machine files: machines with processors, memory, disks, network, ratings and price."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from towtank.fields import DataRate, FileModel, Name, PositiveRate, Size

SCHEMA: Literal["towtank/machine/1"] = "towtank/machine/1"
CPUS_AT_MOST = 100_000

Count = Annotated[int, Field(ge=1, le=CPUS_AT_MOST)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _above_zero(value: int) -> int:
    if value <= 0:
        raise ValueError("must be above 0 B, got 0 instead")
    return value


PositiveSize = Annotated[Size, AfterValidator(_above_zero)]


class Bracketed(FileModel):
    """Value and its interval."""

    value: Positive = Field(description="Best estimate of the value.")
    low: Positive | None = Field(None, description="Lower end of the interval of `value`.")
    high: Positive | None = Field(None, description="Upper end of the interval of `value`.")

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        if (self.low is None) != (self.high is None):
            only = "low" if self.high is None else "high"
            raise ValueError(f"must have both 'low' and 'high', or neither, got only {only!r} instead")
        if not low <= self.value <= high:
            raise ValueError(f"must have low <= value <= high, got {low:g}, {self.value:g}, {high:g} instead")
        return self


class RatingFile(Bracketed):
    """Rating of the whole machine on one rating scale."""

    source: str | None = Field(
        None, min_length=1, description="Publication that states the rating; default: `source` of the machine."
    )


class KernelFile(FileModel):
    """Rates of a kernel (small benchmark program): on one CPU alone, and on all CPUs at once."""

    single: Bracketed = Field(description="Rate of one thread on one CPU. [1/s], [byte/s]")
    all: Bracketed = Field(description="Total rate of one thread on each CPU. [1/s], [byte/s]")


class MeasuredFile(FileModel):
    """Results of `towtank rate` on a machine."""

    at: str = Field(min_length=1, description="Time of the measurement, for example `2026-01-31T12:00:00Z`.")
    towtank: str = Field(min_length=1, description="Version of Towtank that measured the rating.")
    fingerprint: dict[str, str | int | float | bool | None] = Field(
        {}, description="Properties of the machine: processor, kernel, file system and so on."
    )
    doubts: list[str] = Field([], description="Doubts about the validity of the measurement.")
    kernels: dict[Name, KernelFile] = Field(
        min_length=1, description="Measured rates by kernel (small benchmark program)."
    )


class DiskFile(FileModel):
    """Identical disks of a machine."""

    kind: Literal["hdd", "ssd", "nvme", "network"] = Field(
        description="Type of the disks; `network` is remote storage."
    )
    count: Count = Field(1, description="Number of disks of this type.")
    operations: PositiveRate | None = Field(
        None,
        description="Random reads or writes per second of one disk, of 4 KiB unless the source states another size.",
    )
    throughput: DataRate | None = Field(None, description="Rate of sequential reads or writes of one disk.")
    size: PositiveSize | None = Field(None, description="Capacity of one disk.")


class PriceFile(FileModel):
    """Price of a machine. The machine files shipped with Towtank contain no prices."""

    amount: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        description="Price of one machine for the period `per`."
    )
    currency: str = Field(min_length=1, max_length=20, description="Currency of the price, for example `EUR`.")
    per: Literal["hour", "month", "once"] = Field(description="Period that the price covers; `once` is a purchase.")


def _rating(value: Any) -> Any:
    """Accept a plain number as a rating that has no interval."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return {"value": value} if plain else value


Rating = Annotated[RatingFile, BeforeValidator(_rating, json_schema_input_type=float | RatingFile)]


class MachineEntry(FileModel):
    """Machine of a machine file, existing or planned."""

    title: str | None = Field(None, description="Description of the machine in one line.")
    cpus: Count | None = Field(
        None, description="Number of CPUs that the operating system shows: hardware threads or virtual processors."
    )
    cores: Count | None = Field(None, description="Number of physical cores.")
    threads_per_core: Annotated[int, Field(ge=1, le=16)] | None = Field(
        None, description="Number of hardware threads per core."
    )
    memory: PositiveSize | None = Field(None, description="Size of the main memory.")
    disks: dict[Name, DiskFile] = Field({}, description="Disks of the machine, under names of your choice.")
    network: DataRate | None = Field(None, description="Data rate of the network connection in each direction.")
    ratings: dict[Name, Rating] = Field(
        {},
        description=(
            "Ratings of the whole machine by scale: `towtank`, `cpw`, `mcu` or any other. Each rating is a "
            "number, or a number with its interval."
        ),
    )
    price: PriceFile | None = Field(None, description="Price of the machine, for a period or for purchase.")
    source: str | None = Field(None, min_length=1, description="Publication or author of the numbers of this machine.")
    measured: MeasuredFile | None = Field(None, description="Measurements by `towtank rate`.")

    @model_validator(mode="after")
    def _cpus_fit_cores(self) -> Self:
        if None not in (self.cpus, self.cores, self.threads_per_core):
            threads = (self.cores or 0) * (self.threads_per_core or 0)
            if (self.cpus or 0) > threads:
                raise ValueError(
                    f"must have at most cores x threads_per_core = {threads} cpus, got {self.cpus} instead"
                )
        return self


class MachineFile(FileModel):
    """Machines to choose from or to compare with."""

    schema_: Literal["towtank/machine/1"] = Field(alias="schema", description="Name and version of the file format.")
    title: str | None = Field(None, description="Description of the machines in one line.")
    source: str | None = Field(
        None, min_length=1, description="Publication or author of the numbers of machines that have no `source`."
    )
    machines: dict[Name, MachineEntry] = Field(min_length=1, description="Machines by name.")
