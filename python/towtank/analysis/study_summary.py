"""Types of a study summary (`study-summary.json`): configurations with their load points, and comparisons.

Each attribute is a key of the document, as `docs/reference/summary.md` describes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from towtank.analysis.diagnosis.answer import Diagnosis
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel
from towtank.analysis.factorial import EffectsOnMetric
from towtank.analysis.load_point import (
    AtLoad,
    FoundLimit,
    IdealScaling,
    LimitOfLevels,
    LoadPoint,
    Measured,
    Number,
    Part,
)
from towtank.analysis.objective_levels import Gap
from towtank.analysis.objective_runs import FarMiss
from towtank.analysis.objective_scopes import Windows
from towtank.analysis.run_summary_forms import DoubtForm, is_written_doubt
from towtank.analysis.statistics.estimates import NO_ESTIMATE
from towtank.documents import malformed


def _diagnosis(found: object) -> object:
    return Diagnosis.read(found) if isinstance(found, Mapping) else found


Diagnosed = Annotated[Diagnosis | None, BeforeValidator(_diagnosis)]


class DemandOfTier(Part):
    """CPU time per transaction [s] and CPU use without load [1], from a regression over a number of points."""

    intercept_cpus: Number | None = None
    d_s: Measured = NO_ESTIMATE
    points: int = 0


class Configuration(Part):
    """Combination of the levels of all factors except the load.

    Attributes
    ----------
    key : dict of str to str
        Level of each factor except the load.
    label : str
        Levels in words; `all runs` if the load is the only factor.
    points : tuple of LoadPoint
        Load levels in ascending order.
    """

    key: Annotated[dict[str, str], BeforeValidator(lambda key: key or {})] = Field(default_factory=dict)
    label: Annotated[str, BeforeValidator(lambda label: label or "all runs")] = "all runs"
    points: tuple[LoadPoint, ...] = ()
    ideal: IdealScaling | None = None
    limit: LimitOfLevels | None = None
    diagnosis: Diagnosed = None
    found_limit: FoundLimit | None = None
    demand: dict[str, DemandOfTier] = Field(default_factory=dict)

    @property
    def usable(self) -> list[LoadPoint]:
        """Points that include a run that is not invalid."""
        return [point for point in self.points if point.is_usable]

    @property
    def is_suspect(self) -> bool:
        """True if a point includes a suspect run."""
        return any(point.state == "suspect" for point in self.points)


class AssumedChange(Part):
    """Interval of a ratio that includes an assumed difference of the system's speed from run to run. [ratio]"""

    run_to_run: float
    to_share: float
    from_share: float
    low: float | None
    high: float | None
    differs: bool | None


class Comparison(AtLoad):
    """Values of a metric at two levels of a factor, with equal levels of all other factors and equal load.

    Attributes
    ----------
    factor, from_level, to_level : str
        Factor, and its compared levels.
    others : dict of str to str
        Levels of the other factors.
    pace_ratio : float or None
        CPU time of a fixed amount of work at `to_level`, divided by that at `from_level`. [ratio]
    rested_page_from_s, rested_page_to_s : float or None
        CPU time to access a page of memory that was last used a second ago, at both levels. [s]
    metric : str
        Name of the quantity, such as `cpu_demand_s of web`; `transaction`, or `tier` and `part`, are its subject.
    from_value, to_value, ratio : Estimate
        Both values, and `to_value` divided by `from_value`.
    differs : bool or None
        True if the interval of the ratio excludes 1; None if a value comes from a single run.
    assumed : AssumedChange or None
        Interval with assumed differences from run to run; None if both values come from several runs.
    """

    factor: str
    from_level: str = Field(validation_alias="from", serialization_alias="from")
    to_level: str = Field(validation_alias="to", serialization_alias="to")
    others: dict[str, str] = Field(default_factory=dict)
    pace_ratio: float | None = None
    rested_page_from_s: float | None = None
    rested_page_to_s: float | None = None
    metric: str
    transaction: str | None = None
    tier: str | None = None
    part: str | None = None
    from_value: Measured = NO_ESTIMATE
    to_value: Measured = NO_ESTIMATE
    ratio: Measured = NO_ESTIMATE
    differs: bool | None = None
    assumed: AssumedChange | None = None

    @property
    def is_certain(self) -> bool:
        """True if the change is significant. If a value comes from a single run, this relies on the assumed difference
        between runs.
        """
        return bool(self.differs or (self.assumed is not None and self.assumed.differs))

    def document(self) -> dict[str, object]:
        """Return the comparison as JSON for a study summary."""
        written = super().document()
        return {key: written[key] for key in ("factor", "from", "to", *written)}

    def points(self, configurations: Iterable[Configuration], *levels: str) -> list[LoadPoint]:
        """Return the load points of both configurations that the comparison covers, or of those with given levels."""
        sides = [{**self.others, self.factor: level} for level in levels or (self.from_level, self.to_level)]
        return [
            point
            for configuration in configurations
            if configuration.key in sides
            for point in configuration.points
            if point.level == self.level
        ]


class ObjectiveAnswer(Part):
    """Outcome of an objective in a configuration, as `analysis.objectives` describes.

    Attributes
    ----------
    limit, seen : float or None
        Limit, and worst measured value, in the unit of the metric.
    at : dict of str to object
        Load and factor levels at which `seen` was measured.
    users, rate : float or None
        Load that the objective names; None if it applies to every load. [1] or [1/s]
    up_to : str or None
        Limit of a search that this objective determined, as text.
    holds_up_to, missed_at : float or None
        Highest load up to which the objective is met, and lowest load that misses it. [1] or [1/s]
    """

    text: str = ""
    metric: str = ""
    configuration: dict[str, str] | None = Field(default_factory=dict)
    label: str = ""
    limit: Number | None = None
    users: Number | None = None
    rate: Number | None = None
    not_judged: tuple[Gap, ...] = ()
    suspect_runs: tuple[str, ...] = ()
    windows: Windows | None = None
    up_to: str | None = None
    met: bool | None = None
    certain: bool | None = None
    seen: Number | None = None
    at: dict[str, object] = Field(default_factory=dict)
    holds_up_to: Number | None = None
    missed_at: Number | None = None
    holds_certain: bool | None = None
    missed_certain: bool | None = None
    far_misses: tuple[FarMiss, ...] = ()

    @property
    def names_load(self) -> bool:
        """True if the objective applies to one load only."""
        return self.users is not None or self.rate is not None


class DoubtOfRuns(Part):
    """Doubt in a summary, with the measured value and its limit; a doubt of a study has the names of its runs."""

    kind: str = ""
    level: str = ""
    message: str = ""
    seen: Number | None = None
    limit: Number | None = None
    unit: str = ""
    why: str | None = None
    hint: str | None = None
    runs: tuple[str, ...] = ()


def _named_faults(reasons: object) -> object:
    """Return the reasons of a verdict, with a doubt in the place of each malformed reason that names its fault."""
    if not isinstance(reasons, list | tuple):
        return reasons
    return [_reason(number, each) for number, each in enumerate(reasons)]


def _reason(number: int, reason: object) -> object:
    if is_written_doubt(reason) or isinstance(reason, DoubtOfRuns):
        return reason
    faults = malformed(_Reasons, {"reasons": [reason]}).values()
    texts = [fault.replace("reasons[0]", f"verdict.reasons[{number}]") for fault in faults]
    return Doubt(
        DoubtKind.DATA_DAMAGED,
        DoubtLevel.SUSPECT,
        f"summary of the study: {'; '.join(texts)}; this entry is left out",
    ).document()


@dataclass(frozen=True)
class _Reasons:
    reasons: tuple[DoubtForm, ...]


class StudyVerdict(Part):
    """Verdict on a study: `valid`, `suspect` or `invalid`, doubts about its runs, and numbers of runs by verdict."""

    level: str = "invalid"
    reasons: Annotated[tuple[DoubtOfRuns, ...], BeforeValidator(_named_faults)] = ()
    valid_runs: int = 0
    suspect_runs: int = 0
    invalid_runs: int = 0
    missing_runs: int = 0


class StudySummary(Part):
    """Results of a study by configuration, comparisons between configurations, effects of two-level factors, outcomes
    of objectives, verdict, and CPU demands by tier of a study with one configuration.
    """

    configurations: tuple[Configuration, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    effects: tuple[EffectsOnMetric, ...] = ()
    objectives: tuple[ObjectiveAnswer, ...] = ()
    verdict: StudyVerdict = StudyVerdict()
    demand: dict[str, DemandOfTier] = Field(default_factory=dict)


def configurations_of(summary: Mapping[str, object]) -> tuple[Configuration, ...]:
    """Read the configurations of a study summary."""
    return StudySummary.model_validate({"configurations": summary.get("configurations") or ()}).configurations
