"""A study as loaded: its file, its workload, its system, and the runs that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from towtank import units
from towtank.errors import StudyError
from towtank.study import describing
from towtank.study.design import LOAD_FACTORS, Factor, RunSpec, design
from towtank.study.events import Event
from towtank.study.model import FindLimit, StudyFile
from towtank.study.objectives import Objective, read_objective
from towtank.study.overrides import Override, apply_to_events, apply_to_system, overrides_of, parameters_of
from towtank.study.schedules import Groups, levels_of
from towtank.study.search import amount
from towtank.study.search_stages import plan_search
from towtank.study.shares import Carried, Pilot, share_of, users_at
from towtank.study.stages import plan_load
from towtank.study.traces import Curve
from towtank.system.model import SystemFile, check_tree
from towtank.treecheck import validate_tree
from towtank.workload.loading import Workload
from towtank.yamlfile import Document, Node


@dataclass(frozen=True)
class Study:
    """A study, checked.

    Attributes
    ----------
    study : StudyFile
        What its file says, preset and changes laid over it.
    workload : Workload
        What users do.
    system : SystemFile
        What they do it to, with the overrides that hold for all runs.
    path : Path
        The study file.
    preset : str or None
        Name of the preset in force.
    files : dict of str to str
        Texts of the three files by path, and those of a trace and a sizing, for the results folder.
    curve : Curve or None
        What the trace says, where the load follows one.
    carried : Carried or None
        The limit that levels are shares of, once the pilot run found it.
    numbers : mapping of str to list of str
        Numbers of the hosts that its systems name, as they were checked before the first run.
    """

    study: StudyFile
    workload: Workload
    system: SystemFile
    path: Path
    preset: str | None
    files: dict[str, str]
    tree: Node = field(repr=False)
    system_document: Document = field(repr=False)
    curve: Curve | None = field(default=None, repr=False)
    carried: Carried | None = None
    numbers: Mapping[str, list[str]] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.study.name

    @property
    def presets(self) -> list[str]:
        """Names of the presets of its file."""
        return list(self.study.presets)

    @property
    def system_folder(self) -> Path:
        """Folder that relative paths of the system file start from."""
        return self.system_document.path.parent

    @property
    def trace_path(self) -> Path | None:
        """The file that the load follows, if it follows one."""
        trace = self.study.trace
        return None if trace is None else self.path.parent / trace.csv

    @property
    def sizing_path(self) -> Path | None:
        """The sizing file that the report answers, if there is one."""
        return None if self.study.size is None else self.path.parent / self.study.size

    @property
    def limits(self) -> dict[str, float]:
        """Limits in SI units."""
        return self.study.limits.model_dump(mode="python")

    @property
    def objectives(self) -> list[Objective]:
        """Objectives, read."""
        return [
            read_objective(text).resolved(lambda share: users_at(share, self.carried)) for text in self.study.objectives
        ]

    @cached_property
    def factors(self) -> list[Factor]:
        """Factors in the order of the file."""
        return [make_factor(name, levels, self.carried) for name, levels in self.study.factors.items()]

    @property
    def needs_pilot(self) -> bool:
        """Whether levels of the load are shares of a limit that no pilot run has found yet."""
        shares = [share_of(level) for name in LOAD_FACTORS for level in self.study.factors.get(name, ())]
        return self.carried is None and any(share is not None for share in shares)

    @property
    def pilot(self) -> Pilot:
        """Settings of the pilot run."""
        load = self.study.load
        return Pilot() if isinstance(load, FindLimit) or load.pilot is None else load.pilot

    @property
    def load_factor(self) -> str:
        """What the load is measured in: `users` or `rate`."""
        return "users" if self.study.is_closed else "rate"

    def design(self) -> list[RunSpec]:
        """The runs in their order."""
        return design(self)

    def load_levels(self, factors: dict[str, str]) -> tuple[float, ...]:
        """Levels of load that a run with these levels of factors goes through: users, or rates [1/s]."""
        load = self.study.load
        if isinstance(load, FindLimit):
            return (amount(load.start),)
        if load.schedule is not None or self.curve is not None:
            return levels_of(load, self.curve)
        named = [factors[name] for name in LOAD_FACTORS if name in factors]
        if named:
            return tuple(load_of_level(text, self.carried) for text in named)
        if load.levels is not None:
            return tuple(level_value(level) for level in load.levels)
        only = load.users if load.kind == "closed" else load.rate
        assert only is not None  # the checks saw to it
        return (float(only),)

    @property
    def groups(self) -> Groups:
        """User groups of the workload."""
        groups = self.workload.file.groups
        return Groups(tuple(groups), tuple(group.share for group in groups.values()))

    def load_part(self, levels: tuple[float, ...]) -> dict[str, Any]:
        """`load` of the plan of a run that goes through these levels."""
        load = self.study.load
        if isinstance(load, FindLimit):
            return plan_search(load)
        return plan_load(load, levels, self.groups, self.curve)

    def overrides_with(self, factors: dict[str, str]) -> list[Override]:
        """What the study and these levels set, later ones over earlier ones."""
        overrides = overrides_of(self.tree.child("overrides"))
        written = self.tree.child("factors")
        for name, level in factors.items():
            node = written.child(name) if written is not None and name not in LOAD_FACTORS else None
            overrides += overrides_of(node.child(level) if node is not None else None)
        return overrides

    def system_with(self, factors: dict[str, str]) -> SystemFile:
        """The system with the settings of these levels.

        Raises
        ------
        StudyError
            If a value does not fit; loading has seen to it that it does.
        """
        system, faults = check_tree(apply_to_system(self.system_document.root, self.overrides_with(factors)))
        if faults or system is None:
            raise StudyError(faults)
        return system

    def events_with(self, factors: dict[str, str]) -> dict[str, Event]:
        """What happens in a run of these levels, by name; what does not happen there is left out."""
        overrides = self.overrides_with(factors)
        if not any(override.is_event for override in overrides):
            events = self.study.events
        else:
            checked = validate_tree(apply_to_events(self.tree, overrides), StudyFile)
            assert checked.model is not None  # loading has seen to it that it fits
            events = checked.model.events
        return {name: event for name, event in events.items() if event.happens}

    def parameters_with(self, factors: dict[str, str]) -> dict[str, Any]:
        """Values of parameters that these levels set."""
        return parameters_of(self.overrides_with(factors))

    def describe(self) -> dict[str, Any]:
        """The study as the manifest of the results keeps it: everything the analysis and the report need."""
        return describing.describe(self)


def level_value(level: int | str) -> float:
    """A level of load as a number: users, or arrivals. [1, 1/s]"""
    if isinstance(level, int):
        return float(level)
    return units.rate(level) if "/" in level else float(level)


def load_of_level(level: int | str, carried: Carried | None) -> float:
    """Return a level of load as a number; a share becomes users at that share of the limit. [1] or [1/s]"""
    share = share_of(level)
    return level_value(level) if share is None else float(users_at(share, carried))


def make_factor(name: str, levels: list[Any] | dict[str, dict[str, Any]], carried: Carried | None = None) -> Factor:
    """Make a factor of what the file says."""
    if isinstance(levels, list):
        values = tuple(load_of_level(level, carried) for level in levels)
        return Factor(name, tuple(str(level) for level in levels), tuple({} for _ in levels), values)
    return Factor(name, tuple(levels), tuple(levels.values()), _numbers(list(levels)))


def _numbers(names: list[str]) -> tuple[float, ...] | None:
    """Names of levels as numbers, where all of them are."""
    try:
        return tuple(float(name) for name in names)
    except ValueError:
        return None
