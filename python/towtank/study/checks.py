"""Validates the content of a study file against the system and workload files that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from towtank import units
from towtank.errors import Fault
from towtank.spelling import Misspelt, meant, misnamed
from towtank.study import search_checks
from towtank.study.claim_checks import ClaimsCheck
from towtank.study.claim_metrics import Names
from towtank.study.design import LOAD_FACTORS
from towtank.study.model import EachRamp, FindLimit, Load, Stages, StudyFile
from towtank.study.objective_levels import Levels
from towtank.study.objectives import STORED, read_objective
from towtank.study.overrides import apply_to_events, apply_to_system, check_override, overrides_of, parameters_of
from towtank.study.precise import SteadyUntil
from towtank.study.schedule_checks import check_schedule
from towtank.study.shares import share_of, wrong_shares
from towtank.system import check_system_tree, host_and_service_names
from towtank.treecheck import validate_tree
from towtank.workload import check_workload
from towtank.yamlfile import Document, Node, Path_, fault_at

# Largest number of runs of a design. A larger number is assumed to be a typing error.
RUNS_AT_MOST = 100_000


@dataclass(frozen=True)
class StudyCheck:
    """Validates one variant of a study: the study file alone, or with one preset applied.

    `written` is the complete syntax tree of the file, including malformed values. If the system or workload file has
    faults, the values that the study overrides in this file are not checked. `levels` and `loads` are those of the
    study file and of all its presets.
    """

    study: StudyFile
    tree: Node
    written: Node
    system: Document | None
    workload: Document | None
    _: KW_ONLY
    system_is_right: bool
    workload_is_right: bool
    levels: Mapping[str, Sequence[str]]
    loads: Levels

    def faults(self) -> list[Fault]:
        """Return all faults, sorted by position."""
        parts = (self._factors, self._load, self._repeat, self._size, self._overrides, self._objectives, self._claims)
        return sorted({fault for part in parts for fault in part()})

    def _at(self, path: Path_, message: str, *, key: bool = False) -> Fault:
        return fault_at(self.tree, path, message, key=key)

    def _factors(self) -> Iterator[Fault]:
        for name, levels in self.study.factors.items():
            if name in LOAD_FACTORS:
                yield from self._load_factor(name, levels)
            elif isinstance(levels, list):
                message = (
                    "must be a mapping of levels to their overrides (only users and rate are lists), got a list instead"
                )
                near = meant(name, LOAD_FACTORS, is_form=True)
                if near is not None:
                    message = Misspelt.of(f"{message}, did you mean {near.meant!r}?", near)
                yield self._at(("factors", name), message, key=near is not None)

    def _load_factor(self, name: str, levels: object) -> Iterator[Fault]:
        path: Path_ = ("factors", name)
        if not isinstance(levels, list):
            yield self._at(path, f"must be a list of levels, got {units.shown(levels)} instead")
            return
        wanted = "users" if self.study.is_closed else "rate"
        if name != wanted and not isinstance(self.study.load, FindLimit):
            message = f"must be the factor {wanted} with {self.study.load.kind} load, got {name!r} instead"
            yield self._at(path, message, key=True)
        shares = wrong_shares(levels) if name == "users" and not isinstance(self.study.load, FindLimit) else []
        for index, message in shares:
            yield self._at((*path, index), message)
        for index, level in enumerate(levels):
            is_share = wanted == "users" and share_of(level) is not None
            message_or_none = None if is_share or index in dict(shares) else _wrong_level(name, level)
            if message_or_none is not None:
                yield self._at((*path, index), message_or_none)
            elif level in levels[:index]:
                yield self._at((*path, index), f"must differ from all earlier levels, got {units.shown(level)} again")

    def _load(self) -> Iterator[Fault]:
        """Check that exactly one key sets the amount of load, and that the key fits the kind of load."""
        load = self.study.load
        if isinstance(load, FindLimit):
            if isinstance(load.stages.steady, SteadyUntil):
                yield self._at(
                    ("load", "stages", "steady"), "must be a fixed duration with find-limit load, got 'until' instead"
                )
            for path, wrong in search_checks.wrongs(self.study, load):
                yield self._at(path, wrong, key=path[0] == "factors")
            return
        given = [f"factors.{name}" for name in LOAD_FACTORS if name in self.study.factors]
        written = ("users", "rate", "levels", "schedule", "trace")
        given += [f"load.{name}" for name in written if self._is_written(name)]
        if len(given) != 1:
            allowed = (
                "factors.users, load.users, load.levels or load.schedule"
                if load.kind == "closed"
                else "factors.rate, load.rate, load.levels, load.schedule or load.trace"
            )
            yield self._at(
                ("load",),
                f"must set its amount by one of {allowed}, got {' and '.join(given) or 'none'} instead",
                key=True,
            )
        for other in ("rate",) if load.kind == "closed" else ("users",):
            if getattr(load, other) is not None:
                yield self._at(("load", other), f"must not be given with {load.kind} load", key=True)
        for index, level in enumerate(load.levels or []):
            message = _wrong_level("users" if load.kind == "closed" else "rate", level)
            if message is not None:
                yield self._at(("load", "levels", index), message)
        yield from self._stages(load)

    def _stages(self, load: Load) -> Iterator[Fault]:
        """Check that the stages are defined in exactly one way: by `stages`, `schedule` or `trace`."""
        if load.trace is not None and load.kind == "closed":
            yield self._at(("load", "trace"), "must not be given with closed load", key=True)
        whole = next((name for name in ("schedule", "trace") if self._is_written(name)), None)
        if whole is not None and self._is_written("stages"):
            yield self._at(
                ("load", "stages"), f"must not be given with load.{whole}, which defines all stages", key=True
            )
        elif whole is None and not self._is_written("stages"):
            yield self._at(("load",), "must have the key 'stages', got none", key=True)
        if load.stages is not None:
            yield from self._ramps(load, load.stages)
        if load.schedule is not None:
            yield from check_schedule(load, load.schedule, _keys_of(self.workload, "groups"), self._at)

    def _is_written(self, name: str) -> bool:
        """Return True if the section `load` contains the given key, even if the value of the key is invalid."""
        load = self.written.child("load")
        value = load.child(name) if load is not None else None
        return value is not None and value.value is not None

    def _ramps(self, load: Load, stages: Stages) -> Iterator[Fault]:
        for name in ("ramp_up", "ramp_down"):
            if load.kind == "open" and isinstance(getattr(stages, name), EachRamp):
                yield self._at(("load", "stages", name), "must be a duration with open load, got {each: ...} instead")
        if load.kind == "open" and load.rate == 0:
            yield self._at(("load", "rate"), "must be above 0, got 0 instead")

    def _repeat(self) -> Iterator[Fault]:
        """Check that a study with the key `repeat` has claims or objectives to decide."""
        if self.study.repeat is not None and not self.study.claims and not self.study.objectives:
            yield self._at(("repeat",), "must be given with claims or objectives to decide, got none", key=True)

    def _size(self) -> Iterator[Fault]:
        runs = self.study.blocks
        for levels in self.study.factors.values():
            runs *= len(levels)
        if runs > RUNS_AT_MOST:
            yield self._at(("factors",), f"must make at most {RUNS_AT_MOST} runs, got {runs} instead", key=True)

    def _overrides(self) -> Iterator[Fault]:
        """Check that the paths of overrides exist and that the values are valid at these paths."""
        yield from self._overrides_in(self.tree.child("overrides"))
        factors = self.tree.child("factors")
        for name in self.study.factors:
            levels = factors.child(name) if factors is not None else None
            if name not in LOAD_FACTORS and levels is not None and isinstance(levels.value, dict):
                for level in levels.value.values():
                    yield from self._overrides_in(level)

    def _overrides_in(self, node: Node | None) -> Iterator[Fault]:
        system = self.system.root if self.system is not None else None
        parameters = self._parameters()
        good = []
        for override in overrides_of(node):
            fault = check_override(override, system, parameters, list(self.study.events))
            if fault is not None:
                yield fault
            else:
                good.append(override)
        if system is not None and self.system_is_right:
            yield from check_system_tree(apply_to_system(system, good))[1]
        if any(override.is_event for override in good):
            known = validate_tree(self.tree, StudyFile).faults
            changed_events = validate_tree(apply_to_events(self.tree, good), StudyFile)
            yield from (fault for fault in changed_events.faults if fault not in known)
        changed = parameters_of(good)
        if self.workload is not None and self.workload_is_right and changed:
            _, faults = check_workload(self.workload, changed)
            places = [override for override in good if override.is_parameter]
            for override in places:
                yield from (override.fault(f"{fault.where} in {fault.file}: {fault.message}") for fault in faults)

    def _parameters(self) -> list[str] | None:
        if self.workload is None:
            return None
        section = self.workload.root.child("parameters")
        return list(section.value) if section is not None and isinstance(section.value, dict) else []

    def _objectives(self) -> Iterator[Fault]:
        for index, text in enumerate(self.study.objectives):
            objective = read_objective(text)
            if objective.metric in STORED and self.workload is not None and not _keys_of(self.workload, "stored"):
                message = f"must have a workload with items to store (`stored`), got {objective.metric!r} without these"
                yield self._at(("objectives", index), message)
            at_no_load = self.loads.wrong(objective)
            if at_no_load is not None:
                yield self._at(("objectives", index), at_no_load)
            known = self._transactions()
            if objective.transaction is not None and known is not None and objective.transaction not in known:
                allowed = f"about a transaction of the workload ({', '.join(known)})"
                message = misnamed(allowed, objective.transaction, known)
                yield self._at(("objectives", index), message)

    def _claims(self) -> Iterator[Fault]:
        names = Names(
            self._transactions(),
            host_and_service_names(self.system.root, "services") if self.system is not None else None,
            host_and_service_names(self.system.root, "hosts") if self.system is not None else None,
            list(self.study.events),
            _keys_of(self.workload, "stored"),
        )
        check = ClaimsCheck(self.study.claims, self.levels, names, lambda path: _stands(self.written, path))
        for path, message, is_key in check.wrongs():
            yield self._at(path, message, key=is_key)

    def _transactions(self) -> list[str] | None:
        return _keys_of(self.workload, "transactions")


def _stands(node: Node | None, path: Path_) -> bool:
    """Return True if a node has a descendant at the given path."""
    for part in path:
        node = node.child(part) if node is not None else None
    return node is not None


def _keys_of(document: Document | None, section: str) -> list[str] | None:
    """Return the keys in a section of a file; None if the file could not be read or lacks the section."""
    node = document.root.child(section) if document is not None else None
    return list(node.value) if node is not None and isinstance(node.value, dict) else None


def _wrong_level(name: str, level: object) -> str | None:
    """Return the error message for an invalid load level; None if the level is valid."""
    if name == "users":
        if isinstance(level, bool) or not isinstance(level, int) or not 1 <= level <= 10_000_000:
            return f"must be a whole number of users from 1, got {units.shown(level)} instead"
        return None
    try:
        return None if units.rate(level) > 0 else f"must be a rate above 0, got {units.shown(level)} instead"
    except ValueError as error:
        return str(error)
