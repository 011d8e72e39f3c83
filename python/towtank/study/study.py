"""Defines a loaded study, which consists of its file, workload, system and runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from towtank import units
from towtank.errors import StudyError
from towtank.plan import PlannedLoad
from towtank.study import describing
from towtank.study.design import LOAD_FACTORS, Factor, RunSpec, design
from towtank.study.events import Event
from towtank.study.model import FindLimit, Levels, StudyFile
from towtank.study.named_files import NamedFile, files_of_study
from towtank.study.objectives import Objective, read_objective
from towtank.study.overrides import Override, apply_to_events, apply_to_system, overrides_of, parameters_of
from towtank.study.schedules import Groups, levels_of
from towtank.study.search import load_amount
from towtank.study.search_stages import plan_search
from towtank.study.shares import Pilot, PilotResult, share_of, users_at
from towtank.study.shipping import shipped_folders
from towtank.study.stages import plan_load
from towtank.study.traces import RateCurve
from towtank.system import SystemFile, check_system_tree
from towtank.treecheck import validate_tree
from towtank.workload import Workload
from towtank.yamlfile import Document, Node


@dataclass(frozen=True)
class Study:
    """Loaded study without faults.

    Attributes
    ----------
    study : StudyFile
        Content of the study file, with preset and changes applied.
    workload : Workload
        Workload of the virtual users.
    system : SystemFile
        System under test, with the overrides that apply to all runs.
    path : Path
        Path of the study file.
    preset : str or None
        Name of the applied preset; None without a preset.
    files : dict of str to str
        Texts of the study, workload and system files, and of the trace and sizing files if any, by path. They are
        copied to the results folder.
    curve : RateCurve or None
        Rates of the trace that the load follows, if any.
    pilot_result : PilotResult or None
        Result of the pilot run: the load limit, to which load levels in percent refer. None before the pilot run.
    numbers : mapping of str to list of str
        IP addresses of the hosts that the systems name, as resolved before the first run.
    left_out : dict of str to list of str
        Levels of the study file that the preset or the command line omits, by factor. A factor to which they add
        other levels is not listed.
    at_least : int
        Requested number of runs of each combination of levels; 0 for the number in the study file. [1]
    """

    study: StudyFile
    workload: Workload
    system: SystemFile
    path: Path
    preset: str | None
    files: dict[str, str]
    tree: Node = field(repr=False)
    system_document: Document = field(repr=False)
    curve: RateCurve | None = field(default=None, repr=False)
    pilot_result: PilotResult | None = None
    numbers: Mapping[str, list[str]] = field(default_factory=dict, repr=False)
    left_out: Mapping[str, list[str]] = field(default_factory=dict)
    at_least: int = 0

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def presets(self) -> list[str]:
        """Names of the presets in the study file."""
        return list(self.study.presets)

    @property
    def system_folder(self) -> Path:
        """Folder to which paths in the system file are relative."""
        return self.system_document.path.parent

    @property
    def is_shipped(self) -> bool:
        """True if the study comes with Towtank."""
        return any(self.path.resolve().is_relative_to(folder.resolve()) for folder in shipped_folders())

    def named_files(self) -> list[NamedFile]:
        """Return the files that are named in the workload and in the systems of the runs."""
        systems = {run.system.model_dump_json(): run.system for run in self.design()}
        return files_of_study(self.workload, systems.values(), self.system_document.path)

    @property
    def trace_path(self) -> Path | None:
        """Path of the trace that the load follows, if any."""
        trace = self.study.trace
        return None if trace is None else self.path.parent / trace.csv

    @property
    def sizing_path(self) -> Path | None:
        """Path of the sizing file that the report evaluates, if any."""
        return None if self.study.size is None else self.path.parent / self.study.size

    @property
    def limits(self) -> dict[str, float]:
        """Limits that a run of the study must not violate, in SI units, by name."""
        return self.study.limits.model_dump(mode="python")

    @property
    def objectives(self) -> list[Objective]:
        """Objectives of the study, with loads in users instead of shares of the load limit."""
        return [
            read_objective(text).resolved(lambda share: users_at(share, self.pilot_result))
            for text in self.study.objectives
        ]

    @cached_property
    def factors(self) -> list[Factor]:
        """Factors in the order of the file."""
        return [make_factor(name, levels, self.pilot_result) for name, levels in self.study.factors.items()]

    @property
    def needs_pilot(self) -> bool:
        """True if load levels are shares of the system's load limit, and no pilot run has found this limit yet."""
        shares = [share_of(level) for name in LOAD_FACTORS for level in self.study.factors.get(name, ())]
        return self.pilot_result is None and any(share is not None for share in shares)

    @property
    def pilot(self) -> Pilot:
        """Settings of the pilot run."""
        load = self.study.load
        return Pilot() if isinstance(load, FindLimit) or load.pilot is None else load.pilot

    @property
    def blocks(self) -> int:
        """Largest number of runs of each combination of levels. [1]"""
        return self.at_least or self.study.blocks

    @property
    def load_factor(self) -> str:
        """Name of the load factor: `users` or `rate`."""
        return "users" if self.study.is_closed else "rate"

    def design(self) -> list[RunSpec]:
        """Return the runs in the order of execution."""
        return design(self)

    def load_levels(self, factors: dict[str, str]) -> tuple[float, ...]:
        """Return the load levels of a run with the given factor levels, in users or arrivals per second. [1, 1/s]"""
        load = self.study.load
        if isinstance(load, FindLimit):
            return (load_amount(load.start),)
        if load.schedule is not None or self.curve is not None:
            return levels_of(load, self.curve)
        named = [factors[name] for name in LOAD_FACTORS if name in factors]
        if named:
            return tuple(load_of_level(text, self.pilot_result) for text in named)
        if load.levels is not None:
            return tuple(level_value(level) for level in load.levels)
        only = load.users if load.kind == "closed" else load.rate
        assert only is not None  # ensured by the checks of the study file
        return (float(only),)

    @property
    def groups(self) -> Groups:
        """User groups of the workload, with their shares."""
        groups = self.workload.file.groups
        return Groups(tuple(groups), tuple(group.share for group in groups.values()))

    def planned_load(self, levels: tuple[float, ...]) -> PlannedLoad:
        """Return the load of a run with the given load levels, as the engine applies it."""
        load = self.study.load
        if isinstance(load, FindLimit):
            return plan_search(load)
        return plan_load(load, levels, self.groups, self.curve)

    def overrides_with(self, factors: dict[str, str]) -> list[Override]:
        """Return the overrides of the study and of the given factor levels; later entries take precedence."""
        overrides = overrides_of(self.tree.child("overrides"))
        written = self.tree.child("factors")
        for name, level in factors.items():
            node = written.child(name) if written is not None and name not in LOAD_FACTORS else None
            overrides += overrides_of(node.child(level) if node is not None else None)
        return overrides

    def system_with(self, factors: dict[str, str]) -> SystemFile:
        """Return the system with the overrides of the given factor levels.

        Raises
        ------
        StudyError
            If a value is invalid. This cannot occur for a loaded study, because loading checks all values.
        """
        system, faults = check_system_tree(apply_to_system(self.system_document.root, self.overrides_with(factors)))
        if faults or system is None:
            raise StudyError(faults)
        return system

    def events_with(self, factors: dict[str, str]) -> dict[str, Event]:
        """Return the enabled events of a run with the given factor levels, by name."""
        overrides = self.overrides_with(factors)
        if not any(override.is_event for override in overrides):
            events = self.study.events
        else:
            checked = validate_tree(apply_to_events(self.tree, overrides), StudyFile)
            # The file was checked when the study was loaded, so that this check finds no fault.
            assert checked.model is not None
            events = checked.model.events
        return {name: event for name, event in events.items() if event.happens}

    def parameters_with(self, factors: dict[str, str]) -> dict[str, object]:
        """Return the parameter values that the study and the given factor levels set."""
        return parameters_of(self.overrides_with(factors))

    def describe(self) -> dict[str, object]:
        """Return the description of the study for the manifest, as needed by the analysis and the report."""
        return describing.describe(self)


def level_value(level: int | str) -> float:
    """Return a load level as a number of users or an arrival rate. [1, 1/s]"""
    if isinstance(level, int):
        return float(level)
    return units.rate(level) if "/" in level else float(level)


def load_of_level(level: int | str, pilot_result: PilotResult | None) -> float:
    """Return a load level as a number; a share of the system's load limit becomes a number of users. [1, 1/s]"""
    share = share_of(level)
    return level_value(level) if share is None else float(users_at(share, pilot_result))


def make_factor(name: str, levels: Levels, pilot_result: PilotResult | None) -> Factor:
    if isinstance(levels, list):
        values = tuple(load_of_level(level, pilot_result) for level in levels)
        return Factor(name, tuple(str(level) for level in levels), tuple({} for _ in levels), values)
    return Factor(name, tuple(levels), tuple(levels.values()), _numbers(list(levels)))


def _numbers(names: list[str]) -> tuple[float, ...] | None:
    """Return the names of levels as numbers; None if a name is not a number."""
    try:
        return tuple(float(name) for name in names)
    except ValueError:
        return None
