"""Creates the runs of a study: a full factorial design in which each repetition is a block in random order.

If the machine changes slowly during a study, blocks distribute the change evenly over all combinations of levels. The
random order within a block keeps the change from looking like the effect of a factor.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from towtank import files
from towtank.plan import Plan, PlannedLoad, PlannedStage
from towtank.study.model import FindLimit, Overrides
from towtank.study.search import load_amount
from towtank.study.settle import SettleUntil
from towtank.system import SystemFile, Target
from towtank.workload import compile_workload, pinned_plan, read_back_workload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from towtank.study.events import Event
    from towtank.study.study import Study
    from towtank.workload import Workload

LOAD_FACTORS = ("users", "rate")
# Number of bits of the largest seed. A float represents integers of 53 bits exactly, and some JSON readers read all
# numbers as floats. [1]
_SEED_BITS = 53


@dataclass(frozen=True)
class Factor:
    """Factor of the design, with the names of its levels, and the overrides of each level by path. `numeric` has the
    names as numbers; it is None if any name is not a number.
    """

    name: str
    levels: tuple[str, ...]
    overrides: tuple[Overrides, ...]
    numeric: tuple[float, ...] | None = None

    def document(self) -> dict[str, object]:
        """Return the factor as JSON for the manifest of a study: name and levels."""
        numeric = None if self.numeric is None else [int(n) if n == int(n) else n for n in self.numeric]
        return {"name": self.name, "levels": list(self.levels), "numeric": numeric}


@dataclass(frozen=True)
class RunSpec:
    """Run of a study: its factor levels, load and seed.

    Attributes
    ----------
    run : str
        Name of the run and of its folder, `r001` and so on.
    index : int
        Position in the order of runs, from 1.
    repetition : int
        Number of the repetition, from 1.
    factors : dict of str to str
        Level of each factor.
    overrides : dict
        Overrides of the study and of the levels, by path.
    users : int or None
        Highest number of users in the run; None for open load.
    rate : float or None
        Highest arrival rate in the run; None for closed load. [1/s]
    seed : int
        Seed of the random generators in the run.
    """

    run: str
    index: int
    repetition: int
    factors: dict[str, str]
    overrides: Overrides
    levels: tuple[float, ...]
    users: int | None
    rate: float | None
    seed: int
    study: Study = field(repr=False, compare=False)

    @property
    def load_factor(self) -> str:
        """Name of the factor that sets the load: `users` or `rate`."""
        return "rate" if self.users is None else "users"

    @property
    def system(self) -> SystemFile:
        """System file with the overrides of this run applied."""
        return self.study.system_with(self.factors)

    @property
    def settings(self) -> dict[str, Mapping[str, object]]:
        """Configuration of each service, with the overrides of this run applied."""
        return {name: service.configuration for name, service in self.system.services.items()}

    @property
    def parameters(self) -> dict[str, object]:
        """Values of the workload parameters that this run changes."""
        return self.study.parameters_with(self.factors)

    @property
    def events(self) -> dict[str, Event]:
        """Events of the study in this run, by name."""
        return self.study.events_with(self.factors)

    @property
    def load(self) -> PlannedLoad:
        """Load of the run, as the engine applies it."""
        return self.study.planned_load(self.levels)

    def document(self) -> dict[str, object]:
        """Return the run as JSON for its manifest: levels of the factors, load, seed and events."""
        settle = self.study.study.settle
        return {
            "run": self.run,
            "index": self.index,
            "repetition": self.repetition,
            "factors": self.factors,
            "users": self.users,
            "rate": self.rate,
            "seed": self.seed,
            "settle": settle.document() if isinstance(settle, SettleUntil) else None,
            "search": load.document() if isinstance(load := self.study.study.load, FindLimit) else None,
            "events": [event.document(name) for name, event in self.events.items()] or None,
        }

    def plan(
        self,
        out: Path | str,
        targets: Mapping[str, list[str]],
        exports: Mapping[str, Mapping[str, Path | str]],
        threads: int,
        cpus: list[int],
    ) -> Plan:
        """Build the plan that the engine executes.

        `targets` has the addresses `host:port` of each service, and `exports` the files that services export to
        workloads. Without `cpus`, the load threads are not pinned.

        Raises
        ------
        StudyError
            If a target or an export that the workload uses is missing.
        """
        compiled = self._compiled(self.study.workload, targets, exports, self.parameters)
        return self._plan(out, threads, cpus, compiled, self.load)

    def read_back_plan(
        self,
        kind: str,
        keys: Path,
        out: Path | str,
        targets: Mapping[str, list[str]],
        exports: Mapping[str, Mapping[str, Path | str]],
        *,
        cpus: list[int],
    ) -> Plan:
        """Build the plan with which the engine reads back all items of a kind that were acknowledged as stored; the
        column `key` of a CSV file has their keys. Otherwise as `plan`.
        """
        workload, asked = self.study.workload, self.study.study.read_back
        if self.parameters:
            workload = workload.with_parameters(self.parameters)
        stages = [
            PlannedStage("ramp_up", "ramp_up", 0, 0.01, asked.users),
            PlannedStage("read_back", "steady", 0, asked.at_most, asked.users),
        ]
        load = PlannedLoad(kind="closed", users_at_most=asked.users, stages=stages)
        compiled = self._compiled(read_back_workload(workload, kind, keys), targets, exports, {})
        return self._plan(out, 1, cpus[:1], compiled, load)

    def _plan(
        self, out: Path | str, threads: int, cpus: list[int], workload: Mapping[str, object], load: PlannedLoad
    ) -> Plan:
        place = files.engine_path(Path(out))
        return Plan(run=self.run, seed=self.seed, out=place, threads=threads, cpus=cpus, workload=workload, load=load)

    def _compiled(
        self,
        workload: Workload,
        targets: Mapping[str, list[str]],
        exports: Mapping[str, Mapping[str, Path | str]],
        parameters: Mapping[str, object],
    ) -> dict[str, object]:
        named = self.system.all_targets
        placed = {name: _placed(target, targets) for name, target in named.items() if target.all_services[0] in targets}
        compiled = compile_workload(
            workload,
            targets={name: [address for _, address in pairs] for name, pairs in placed.items()},
            exports={service: {k: str(v) for k, v in files.items()} for service, files in exports.items()},
            parameters=parameters,
            balance={name: target.balanced for name, target in named.items()},
            services={name: [service for service, _ in pairs] for name, pairs in placed.items()},
            options=self.system.target_options(self.study.system_folder),
            logins=self.system.logins,
        )
        return pinned_plan(compiled, self.study.numbers)


def _placed(target: Target, addresses: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    """Return each address of a target, with the name of the service at this address."""
    return [(service, address) for service in target.all_services for address in addresses.get(service, ())]


def design(study: Study) -> list[RunSpec]:
    """Return the runs of a study in the order of execution."""
    file = study.study
    cells = list(itertools.product(*(range(len(factor.levels)) for factor in study.factors)))
    shuffler = random.Random(f"{file.seed}/order")
    runs: list[RunSpec] = []
    for repetition, part in _parts(study, cells):
        block = list(part)
        if file.order == "random":
            shuffler.shuffle(block)
        runs += [_run(study, len(runs) + place, repetition, cell) for place, cell in enumerate(block, start=1)]
    return runs


def _parts(study: Study, cells: list[tuple[int, ...]]) -> list[tuple[int, list[tuple[int, ...]]]]:
    """Divide the combinations of factor levels into lists, which run one after the other, each with the number of its
    repetition.

    If the study predicts a configuration, the configuration that is measured for the prediction comes first: in all
    repetitions, or in the first block only if the study repeats its runs until its claims are decided.
    """
    source = {} if study.study.predict is None else study.study.predict.from_
    repetitions = range(1, study.blocks + 1)
    if not source:
        return [(repetition, cells) for repetition in repetitions]
    first = [
        cell
        for cell in cells
        if all(
            source.get(factor.name) in (None, factor.levels[level])
            for factor, level in zip(study.factors, cell, strict=True)
        )
    ]
    others = [cell for cell in cells if cell not in first]
    if study.study.repeat is None:
        return [(repetition, part) for part in (first, others) for repetition in repetitions]
    return [(1, first), (1, others), *((repetition, cells) for repetition in repetitions[1:])]


def _run(study: Study, index: int, repetition: int, cell: tuple[int, ...]) -> RunSpec:
    chosen = list(zip(study.factors, cell, strict=True))
    names = {factor.name: factor.levels[level] for factor, level in chosen}
    levels = study.load_levels(names)
    closed = study.study.is_closed
    load = study.study.load
    # The load levels of a search are unknown before the run, so its upper bound serves as the highest level.
    highest = load_amount(load.at_most) if isinstance(load, FindLimit) else max(levels)
    return RunSpec(
        run=f"r{index:03d}",
        index=index,
        repetition=repetition,
        factors=names,
        overrides={
            **study.study.overrides,
            **{k: v for f, level in chosen for k, v in f.overrides[level].items()},
        },
        levels=levels,
        users=int(highest) if closed else None,
        rate=None if closed else highest,
        seed=run_seed(study.study.seed, repetition, names),
        study=study,
    )


def run_seed(seed: int, repetition: int, factors: dict[str, str]) -> int:
    """Derive the seed of a run from the seed of the study, the repetition and the levels.

    The seed does not depend on the order of runs, so that a single run can be repeated.
    """
    text = "\x1f".join([str(seed), str(repetition), *(f"{name}={level}" for name, level in sorted(factors.items()))])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - _SEED_BITS)
