"""Types of the output of `towtank model demands`. Attributes have the names of the keys.

Times are in [s], shares and utilizations in [ratio]. A value is None if it is unknown, and so is an end of an interval
that is unknown or infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from towtank.model.parts import Part

UNKNOWN = (None, None)
"""Ends of an unknown interval."""
Ends = Annotated[tuple[float | None, float | None], BeforeValidator(lambda ends: ends or UNKNOWN)]
"""Lower and upper end of an interval or band."""


@dataclass(frozen=True)
class FittedValue:
    """Value with its confidence interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    confidence: float = 0.95


@dataclass(frozen=True)
class ExcludedRun:
    """Run that is not modelled: its name, its load as the study asked for it, and the reason."""

    run: str
    load: float | None
    why: str


@dataclass(frozen=True)
class LevelDemand:
    """Throughput [1/s], utilization [ratio], and busy time per transaction [s] at a load level."""

    throughput: float
    utilization: float
    demand_s: float


@dataclass(frozen=True)
class LoadDependence:
    """Test whether the demand depends on the load, by the probability of a curvature as large as the measured one if
    the demand is constant; `depends` is True if this curvature is significant. The demand `grows` or `falls`
    (`direction`); it is given at the lowest and at the highest throughput, with its interval. [s]
    """

    p_value: float
    depends: bool
    direction: str
    demand_at_lowest_s: float | None
    demand_at_lowest_interval: Ends
    demand_at_highest_s: float | None
    demand_at_highest_interval: Ends


@dataclass(frozen=True, kw_only=True)
class TransactionDemand(FittedValue):
    """Demand of a transaction by an estimator, and the range of all estimates. [s]

    Attributes
    ----------
    spread : float or None
        Ratio of the largest to the smallest estimate of the estimators that must agree; None if they differ by sign.
    identified : bool
        True if the measurements determine the demand; otherwise, `why_not` contains the reasons.
    """

    estimator: str
    lowest_estimate_s: float
    highest_estimate_s: float
    spread: float | None
    identified: bool
    why_not: list[str]


@dataclass(frozen=True)
class EstimatedDemands:
    """Background [1] and demands of transactions [s] by one estimator."""

    background: FittedValue
    demand_s: dict[str, FittedValue]


@dataclass(frozen=True)
class TransactionDemands:
    """Demands of the transactions at a resource, by each estimator, and the demands to use (`classes`).

    Attributes
    ----------
    intervals, block_length : int
        Intervals of the runs, and intervals in a block of the bootstrap. [1]
    condition_number, variance_inflation : float or None, dict of str to float or None
        None if infinite. [1]
    mean_busy : float
        Mean number of busy servers. [1]
    identified : bool
        True if all demands are identified; `sentence` gives the reasons.
    """

    intervals: int
    block_length: int
    condition_number: float | None
    variance_inflation: dict[str, float | None]
    mean_busy: float
    estimates: dict[str, EstimatedDemands]
    classes: dict[str, TransactionDemand]
    identified: bool
    sentence: str


class FittedDemand(Part):
    """Demand of the mean transaction at a resource, with the servers that are busy without transactions [1]."""

    servers: int
    demand_s: FittedValue
    background: FittedValue
    by_level: tuple[LevelDemand, ...] = ()
    load_dependence: LoadDependence | None = None


class ConfigurationDemands(Part):
    """Demands at the resources of a configuration, or the reason why there are none."""

    label: str
    excluded: tuple[ExcludedRun, ...] = ()
    resources: dict[str, FittedDemand] = Field({})
    classes: dict[str, TransactionDemands] = Field({})
    why_none: str = ""


class DemandsFile(Part):
    """Demands of all configurations of a study."""

    configurations: tuple[ConfigurationDemands, ...] = ()
