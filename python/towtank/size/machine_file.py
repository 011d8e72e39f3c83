"""Machine files: machines with their processors, memory, disks, network, ratings and price."""

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
    """A value with an interval around it."""

    value: Positive = Field(description="The value.")
    low: Positive | None = Field(None, description="Lower end of its interval.")
    high: Positive | None = Field(None, description="Upper end of its interval.")

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        if (self.low is None) != (self.high is None):
            only = "low" if self.high is None else "high"
            raise ValueError(f"must have both 'low' and 'high', or none of them, got only {only!r} instead")
        if not low <= self.value <= high:
            raise ValueError(f"must have low <= value <= high, got {low:g}, {self.value:g}, {high:g} instead")
        return self


class RatingFile(Bracketed):
    """A rating of the whole machine on one scale."""

    source: str | None = Field(
        None, min_length=1, description="Publication of this rating; that of the machine if none."
    )


class KernelFile(FileModel):
    """Rates of a kernel: on one CPU alone, and on all CPUs at once."""

    single: Bracketed = Field(description="One thread, on one CPU. [1/s], [byte/s]")
    all: Bracketed = Field(description="One thread on each CPU, together. [1/s], [byte/s]")


class MeasuredFile(FileModel):
    """Rating of the machine by `towtank rate`."""

    at: str = Field(min_length=1, description="Time of the rating, as `2026-01-31T12:00:00Z`.")
    towtank: str = Field(min_length=1, description="Version that rated it.")
    fingerprint: dict[str, str | int | float | bool | None] = Field(
        {}, description="Facts about the machine: processor, kernel, file system and so on."
    )
    doubts: list[str] = Field([], description="Doubts about the measurement.")
    kernels: dict[Name, KernelFile] = Field(min_length=1, description="Rates of each kernel.")


class DiskFile(FileModel):
    """Equal disks of one kind."""

    kind: Literal["hdd", "ssd", "nvme", "network"] = Field(
        description="Kind of the disks; `network` is remote storage."
    )
    count: Count = Field(1, description="Number of disks.")
    operations: PositiveRate | None = Field(
        None, description="Random reads or writes, of 4 KiB unless the source says other, that one disk does."
    )
    throughput: DataRate | None = Field(None, description="Data that one disk reads or writes in a row.")
    size: PositiveSize | None = Field(None, description="Size of one disk.")


class PriceFile(FileModel):
    """Price of the machine; Towtank ships no prices."""

    amount: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(description="The price of one machine.")
    currency: str = Field(min_length=1, max_length=20, description="As `EUR`.")
    per: Literal["hour", "month", "once"] = Field(description="Period that the price covers; `once` is a purchase.")


def _rating(value: Any) -> Any:
    """Accept a plain number as a rating without an interval."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return {"value": value} if plain else value


Rating = Annotated[RatingFile, BeforeValidator(_rating, json_schema_input_type=float | RatingFile)]


class MachineEntry(FileModel):
    """Machine, real or planned."""

    title: str | None = Field(None, description="One line about it.")
    cpus: Count | None = Field(
        None, description="CPUs that the operating system has: hardware threads, virtual processors."
    )
    cores: Count | None = Field(None, description="Cores.")
    threads_per_core: Annotated[int, Field(ge=1, le=16)] | None = Field(None, description="Hardware threads of a core.")
    memory: PositiveSize | None = Field(None, description="Main memory.")
    disks: dict[Name, DiskFile] = Field({}, description="Disks, by a name of your own.")
    network: DataRate | None = Field(None, description="Speed of its network, one way.")
    ratings: dict[Name, Rating] = Field(
        {}, description="Rating of the whole machine by scale: `towtank`, `cpw`, `mcu` or any other; a number will do."
    )
    price: PriceFile | None = Field(None, description="Price of the machine.")
    source: str | None = Field(None, min_length=1, description="Publication or author of these numbers.")
    measured: MeasuredFile | None = Field(None, description="Rating by `towtank rate`.")

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
    """Machines by name."""

    schema_: Literal["towtank/machine/1"] = Field(alias="schema", description="The format of the file.")
    title: str | None = Field(None, description="One line about the machines.")
    source: str | None = Field(None, min_length=1, description="Source of all entries that name none.")
    machines: dict[Name, MachineEntry] = Field(min_length=1, description="Machines.")
