"""Plan that the load engine executes: the compiled workload, and the load as stages of load levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from towtank.documents import Sparse


@dataclass(frozen=True)
class PlannedStage(Sparse):
    """Stage of a load. Exactly one of `users`, `rate`, `users_by_group`, `rates_by_group` and `rates` is given.

    Attributes
    ----------
    name, phase : str
        Name of the stage, and its phase: `ramp_up`, `settle`, `steady` or `ramp_down`.
    level : int
        Position of the load level in the order of the levels, from 0.
    duration_s : float
        Length, or time limit if the stage ends by a command. [s]
    users, rate : float
        Users [1] or arrival rate [1/s] at the end of the stage.
    users_by_group, rates_by_group : sequence of float
        The same for each user group, in the order of the workload.
    rates : sequence of (float, float)
        Times since the start of the stage [s] with their arrival rates [1/s]; the rate is linear in between.
    until : str
        `command` if a command of the steering ends the stage.
    """

    name: str
    phase: str
    level: int
    duration_s: float
    users: int | None = None
    rate: float | None = None
    users_by_group: Sequence[int] | None = None
    rates_by_group: Sequence[float] | None = None
    rates: Sequence[Sequence[float]] | None = None
    until: str | None = None

    @classmethod
    def at(
        cls,
        name: str,
        phase: str,
        level: int,
        duration_s: float,
        amount: float,
        *,
        closed: bool,
        until: str | None = None,
    ) -> PlannedStage:
        """Return a stage whose amount is a number of users if the load is closed [1], otherwise a rate [1/s]."""
        users, rate = (int(amount), None) if closed else (None, amount)
        return cls(name, phase, level, duration_s, users, rate, until=until)


@dataclass(frozen=True, kw_only=True)
class PlannedLoad(Sparse):
    """Load of a run, `closed` or `open`. The arrival process (`constant` or `poisson`) and the longest backlog are
    those of an open load; else they are None. `users_at_most` and `backlog_at_most` are the largest number of users,
    and of arrivals that wait for a user. [1]
    """

    kind: str
    arrivals: str | None = None
    users_at_most: int
    backlog_at_most: int | None = None
    stages: Sequence[PlannedStage]

    @property
    def planned_s(self) -> float:
        """Planned length of the load. [s]"""
        return float(sum(stage.duration_s for stage in self.stages))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Plan of the engine for one run, see `docs/reference/plan.md`: the seed of the random generators, the folder into
    which the engine writes its records, the compiled workload, and the load with its stages.

    `threads` is the number of load threads [1], and `cpus` has their CPUs; it is empty if they are not pinned.
    """

    run: str
    seed: int
    out: str
    threads: int
    cpus: Sequence[int]
    workload: Mapping[str, Any]
    load: PlannedLoad

    @property
    def addresses(self) -> Iterator[tuple[str, str]]:
        """Name and address of each place to which the plan connects, in the order of the targets."""
        return ((target["name"], address) for target in self.workload["targets"] for address in target["addresses"])

    @property
    def sources(self) -> Sequence[str]:
        """Local addresses from which the generator connects; empty if the kernel chooses them."""
        return tuple(self.workload["connections"].get("sources") or ())

    @property
    def has_own_connections(self) -> bool:
        """True if each user keeps a connection of its own to each target."""
        return bool(self.workload["connections"]["mode"] == "per_user")

    @property
    def transactions(self) -> list[str]:
        """Names of the transactions."""
        return [transaction["name"] for transaction in self.workload["transactions"]]

    @property
    def drain_s(self) -> float:
        """Longest time that the engine waits for pending responses at the end of the load. [s]"""
        return float(self.workload["timeouts"]["drain_s"])

    def document(self) -> dict[str, object]:
        """Return the plan as JSON for `plan.json`."""
        return {
            "schema": "towtank/plan/1",
            "run": self.run,
            "seed": self.seed,
            "out": self.out,
            "threads": self.threads,
            "cpus": list(self.cpus),
            **self.workload,
            "load": self.load.document(),
        }
