"""Evaluates the objectives of a study at each load level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from towtank.analysis.load_point import FoundLimit
from towtank.analysis.objective import Objective
from towtank.analysis.objective_levels import (
    Document,
    Gap,
    Level,
    Runs,
    estimate_of_objective,
    first_reason,
)
from towtank.analysis.objective_runs import FarMiss, far_misses
from towtank.analysis.objective_scopes import Windows
from towtank.analysis.objective_stored import is_certain, left_open
from towtank.analysis.statistics.estimates import CONFIDENCE, Estimate
from towtank.digging import dig
from towtank.documents import document_of


@dataclass(frozen=True)
class MissingRun:
    """Planned run of a study that has no results.

    Attributes
    ----------
    run : str
        Name of the run.
    key : dict
        Levels of all factors except the load.
    load : float
        Level of the load: users [1] or arrival rate [1/s].
    """

    run: str
    key: Mapping[str, str]
    load: float


@dataclass(frozen=True)
class Judgement:
    """Verdict on an objective for one configuration. The names of the fields are those of the keys in a study summary.

    Attributes
    ----------
    met : bool or None
        True if all load levels meet the objective, False if a level misses it; None if it is undecided.
    certain : bool or None
        True if the intervals confirm `met`; None if a level that matters has no interval.
    seen : float or None
        Measured value at the worst of the levels that were evaluated.
    at : dict
        Load and factor levels at which `seen` was measured.
    holds_up_to, missed_at : float or None
        Highest load up to which all levels meet the objective, and lowest load that misses it.
    holds_certain, missed_certain : bool or None
        True if the intervals confirm that the levels up to `holds_up_to` meet the objective, and that the level
        `missed_at` misses it.
    far_misses : list of FarMiss
        Runs that miss the objective by far, although the requests of all runs at their level together meet it.
    """

    met: bool | None = None
    certain: bool | None = None
    seen: float | None = None
    at: Document = field(default_factory=dict)
    holds_up_to: float | None = None
    missed_at: float | None = None
    holds_certain: bool | None = None
    missed_certain: bool | None = None
    far_misses: Sequence[FarMiss] = ()


def check(
    objectives: Sequence[Document],
    configurations: Sequence[Document],
    runs: Iterable[Document] = (),
    missing: Sequence[MissingRun] = (),
    confidence: float = CONFIDENCE,
) -> list[Document]:
    """Decide whether each configuration meets each objective, at the load that the objective names or at all loads.

    Parameters
    ----------
    objectives : list of dict
        Objectives from the manifest of the study.
    configurations : list of dict
        Configurations with their load levels (points).
    runs : iterable of dict
        Summaries of the runs, with phases, windows and verdicts.
    missing : sequence of MissingRun
        Planned runs that have no results.
    confidence : float
        Confidence of the intervals that decide whether a verdict is certain, in (0, 1).

    Returns
    -------
    list of dict
        One entry per objective and configuration. It contains the fields of `Judgement` and the following keys:

        - `text`, `metric`, `limit`, `users`, `rate`, `configuration`, `label`: the objective and the configuration.
        - `not_judged`: load levels at which no run decides the objective (`Gap`).
        - `suspect_runs`: suspect runs at the load levels that were evaluated.
        - `windows`: results of all windows, if the objective applies to windows.
        - `up_to`: limit that a search found, as text, if this objective determined it.

    Notes
    -----
    An invalid run decides an objective only if its doubts do not affect the value that the objective limits. A loss of
    stored data always counts. An objective is missed if any level with a deciding run misses it. It is met if no level
    misses it, and if each load to which it applies has a deciding run.

    A level misses the objective if the value over all requests of its runs misses it. It also misses the objective if a
    single run misses the limit by a factor of two or more (`far_misses`), because that run did not serve its users as
    required.
    """
    by_name = {str(dig(run, "run")): run for run in runs}
    read = [Objective.read(objective) for objective in objectives]
    return [
        _Check(objective, configuration, by_name, missing, confidence).document()
        for objective in read
        for configuration in configurations
    ]


@dataclass(frozen=True)
class _Check:
    """Evaluates one objective for one configuration."""

    objective: Objective
    configuration: Document
    runs: Runs
    missing: Sequence[MissingRun]
    confidence: float

    def document(self) -> Document:
        """Return the entry for this objective and configuration in a study summary."""
        objective, limit = self.objective, self.objective.limit
        levels = [level for level in self.asked if level.decides(objective)]
        left = [gap for level in levels if (gap := self.left_open(level)) is not None]
        levels = [level for level in levels if level.load not in {gap.load for gap in left}]
        seen = [(level, value) for level in levels if (value := level.value_of(objective)) is not None]
        judged = [level for level, _ in seen]
        unmeasured = [self.unmeasured(level) for level in levels if level not in judged]
        gaps = sorted([*self.undecided(), *left, *unmeasured], key=lambda gap: gap.load)
        windows = {} if objective.every_s is None else {"windows": self.windows(levels)}
        found = Judgement() if limit is None or not seen else self.judgement(seen, gaps, limit)
        holds, up_to = self.found_limit() if found.seen is not None else (None, {})
        if holds is not None and limit is not None:
            certain = _Certainty(objective, judged, limit, found.far_misses, self.confidence).up_to(holds)
            found = replace(found, holds_up_to=holds, holds_certain=certain)
        return {
            "text": objective.text,
            "metric": objective.metric,
            "configuration": dig(self.configuration, "key"),
            "label": dig(self.configuration, "label"),
            "limit": limit,
            "users": objective.users,
            "rate": objective.rate,
            "not_judged": list(map(document_of, gaps)),
            "suspect_runs": [name for level in judged for name in level.suspects],
            **windows,
            **up_to,
            **document_of(found),
        }

    @property
    def asked(self) -> list[Level]:
        """Load levels to which the objective applies: levels at the load that it names, or all levels if it names no
        load.
        """
        points = dig(self.configuration, "points")
        named = [point for point in points if self.objective.is_at(dig(point, "users"), dig(point, "rate"))]
        return [Level.read(point, self.runs) for point in named]

    def judgement(self, seen: Sequence[tuple[Level, float]], gaps: Sequence[Gap], limit: float) -> Judgement:
        """Return the verdict that follows from the values at the load levels (`seen`) and from the levels without a
        verdict (`gaps`).
        """
        objective = self.objective
        worst = (min if objective.is_upward else max)(seen, key=lambda pair: pair[1])
        meeting = [(level, objective.compare(value, limit)) for level, value in seen]
        far = [miss for level, met in meeting if met for miss in self.far(level, limit)]
        missed = {miss.load for miss in far}
        holding = [(level.load, met and level.load not in missed) for level, met in meeting]
        met: bool | None = all(holds for _, holds in holding)
        met = None if met and gaps else met
        holds = _holds_up_to(holding, gaps)
        missed_at = min((load for load, is_met in holding if not is_met), default=None)
        judged = [level for level, _ in seen]
        certainty = _Certainty(objective, judged, limit, far, self.confidence)
        point = worst[0].point
        return Judgement(
            met=met,
            certain=None if met is None else certainty.of(judged, met=met),
            seen=worst[1],
            at={key: point[key] for key in ("users", "rate") if key in point} | dig(self.configuration, "key"),
            holds_up_to=holds,
            missed_at=missed_at,
            holds_certain=certainty.up_to(holds),
            missed_certain=certainty.at(missed_at),
            far_misses=far,
        )

    def far(self, level: Level, limit: float) -> list[FarMiss]:
        """Return the runs at a load level that miss the objective by far; empty if the level has only one run."""
        found = level.counting
        return far_misses(self.objective, level.load, found, limit) if len(found) > 1 else []

    def found_limit(self) -> tuple[float | None, Document]:
        """Return the limit of a search that this objective determined, and an entry `up_to` with the limit as text.
        Return None and an empty entry if there is no such limit.
        """
        found = dig(self.configuration, "found_limit")
        if dig(found, "binding", "text") != self.objective.text or dig(found, "value") is None:
            return None, {}
        return dig(found, "value"), {"up_to": FoundLimit.model_validate(found).in_words}

    def left_open(self, level: Level) -> Gap | None:
        """Return the gap at a load level if its counts of stored documents leave the objective undecided; otherwise
        None.
        """
        objective = self.objective
        if not objective.is_about_stored or objective.limit is None:
            return None
        whys = left_open(objective, level.summaries)
        text = "; ".join(f"{name} does not decide the objective ({why})" for name, why in whys.items())
        return level.gap("not_measured", text, list(whys)) if whys else None

    def undecided(self) -> list[Gap]:
        """Return the loads at which no run decides whether the objective is met: all runs are invalid, missing or not
        planned.
        """
        asked, load = self.asked, self.objective.load
        found = [self.invalid(level) for level in asked if not level.decides(self.objective)]
        known = {float(dig(point, "load")) for point in dig(self.configuration, "points")}
        absent = [run for run in self.missing if run.key == dig(self.configuration, "key") and run.load not in known]
        if load is not None:
            absent = [run for run in absent if math.isclose(run.load, load, rel_tol=1e-6)]
            if not asked and not absent:
                found.append(Gap(float(load), [], "not_measured", self.no_run(known)))
        return found + [Gap(run.load, [run.run], "missing", f"{run.run} is missing") for run in absent]

    def no_run(self, known: set[float]) -> str:
        """Return a text that no run has the load that the objective names, with the loads of the existing runs."""
        unit = " users" if self.objective.users is not None else " /s"
        loads = " and ".join(f"{load:g}" for load in sorted(known)) or "none"
        why, share = f"no run has this load, the runs have {loads}{unit}", self.objective.of_limit
        return why if share is None else f"{100 * share:g} % of the limit: {why}"

    def invalid(self, level: Level) -> Gap:
        """Return the gap at a load level whose runs are all invalid, with a reason for each run."""
        why = [f"{name} is invalid{first_reason(self.runs.get(name))}" for name in level.runs]
        return level.gap("invalid", "; ".join(why) or "no valid run")

    def unmeasured(self, level: Level) -> Gap:
        """Return the gap at a load level whose runs have no value for the objective, for instance because the named
        transaction never completed.
        """
        transaction = self.objective.transaction
        why = f"{transaction} was not measured" if transaction else "no value was measured"
        return level.gap("not_measured", why)

    def windows(self, levels: Sequence[Level]) -> Document:
        """Combine the window results of all runs at the given load levels."""
        judged = [value.windows for level in levels for value in level.scoped(self.objective)]
        found = [windows for windows in judged if windows is not None]
        worst = [windows.worst for windows in found if windows.worst is not None]
        together = Windows(
            count=sum(windows.count for windows in found),
            met=sum(windows.met for windows in found),
            empty=sum(windows.empty for windows in found),
            worst=(min if self.objective.is_upward else max)(worst, key=lambda window: window.value, default=None),
        )
        return {"every_s": self.objective.every_s, **together.document()}


@dataclass(frozen=True)
class _Certainty:
    """Determines whether intervals confirm that load levels meet or miss an objective."""

    objective: Objective
    judged: Sequence[Level]
    limit: float
    far: Sequence[FarMiss]
    confidence: float

    def up_to(self, load: float | None) -> bool | None:
        """Return True if the intervals confirm that each level up to the given load meets the objective. Return None if
        no such level was evaluated, or if an interval is missing.
        """
        levels = [level for level in self.judged if load is not None and level.load <= load]
        return self.of(levels, met=True) if levels else None

    def at(self, load: float | None) -> bool | None:
        """Return True if the intervals confirm that the level at the given load misses the objective. Return None if
        the level was not evaluated, or if an interval is missing.
        """
        levels = [level for level in self.judged if level.load == load]
        return self.of(levels, met=False) if levels else None

    def of(self, levels: Sequence[Level], *, met: bool) -> bool | None:
        """Return True if the intervals at the given load levels confirm the verdict on an objective, False if they do
        not, and None if an interval is missing.

        The interval at a single level confirms a miss. To confirm that the objective is met, the intervals at all
        levels are needed.
        """
        if self.objective.is_about_stored:
            found = [run for level in levels for run in level.summaries]
            return is_certain(self.objective, found, self.limit, met=met)
        sides = [self._side(level, met=met) for level in levels]
        if met:
            return False if False in sides else None if None in sides else True
        return True if True in sides else None if None in sides else False

    def _side(self, level: Level, *, met: bool) -> bool | None:
        """Return True if the interval at a load level confirms the verdict; None if there is no interval.

        If runs at this level miss the objective by far, their intervals are used to confirm the miss.
        """
        of_far = [miss.certain for miss in self.far if miss.load == level.load]
        if of_far and not met:
            return True if True in of_far else None if None in of_far else False
        found = estimate_of_objective(level.point, self.objective).at(self.confidence)
        if found.low is None or found.high is None or self.objective.is_scoped:
            return None
        compare = self.objective.compare
        return {compare(found.low, self.limit), compare(found.high, self.limit)} == {met}


def _holds_up_to(levels: Sequence[tuple[float, bool]], gaps: Sequence[Gap]) -> float | None:
    """Return the highest load up to which every level was evaluated and meets the objective; None if the lowest level
    does not meet it.
    """
    first_gap = min((gap.load for gap in gaps), default=math.inf)
    holds = None
    for load, met in levels:
        if not met or load > first_gap:
            break
        holds = load
    return holds


def estimate_at(point: Document, objective: Document) -> Estimate:
    """Return the estimate of the metric that an objective, given as JSON, limits at one load level."""
    return estimate_of_objective(point, Objective.read(objective))
