"""Types of the output of `towtank model demands`. Attributes have the names of the keys.

Times are in [s], shares and utilizations in [ratio]. A value is None if it is unknown, and so is an end of an interval
that is unknown or infinite.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

UNKNOWN = (None, None)
"""Ends of an unknown interval."""
Ends = Annotated[tuple[float | None, float | None], BeforeValidator(lambda ends: ends or UNKNOWN)]
"""Lower and upper end of an interval or band."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)


class FittedValue(_Part):
    """Value with the ends of its 95 % interval."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class ExcludedRun(_Part):
    """Run that is not modelled, and the reason."""

    run: str
    why: str


class DemandAtLevel(_Part):
    """Busy time per transaction at a load level."""

    demand_s: float


class DemandTrend(_Part):
    """Test whether a demand depends on the load; `direction` is `grows` or `falls`."""

    p_value: float
    depends: bool
    direction: str
    demand_at_lowest_s: float | None
    demand_at_lowest_interval: Ends = UNKNOWN
    demand_at_highest_s: float | None
    demand_at_highest_interval: Ends = UNKNOWN


class FittedDemand(_Part):
    """Demand of the mean transaction at a resource, with the servers that are busy without transactions [1]."""

    servers: int
    demand_s: FittedValue
    background: FittedValue
    by_level: tuple[DemandAtLevel, ...] = ()
    load_dependence: DemandTrend | None = None


class TransactionDemand(FittedValue):
    """Demand of a transaction, with the lowest and the highest of all estimates, and reasons why it is not known."""

    lowest_estimate_s: float | None
    highest_estimate_s: float | None
    identified: bool
    why_not: tuple[str, ...] = ()


class TransactionDemands(_Part):
    """Demands of the transactions at a resource, from a number of intervals [1]; `estimates` are those of each
    estimator.
    """

    intervals: int
    variance_inflation: dict[str, float | None]
    estimates: dict[str, object]
    classes: dict[str, TransactionDemand]
    sentence: str


class ConfigurationDemands(_Part):
    """Demands at the resources of a configuration, or the reason why there are none."""

    label: str
    excluded: tuple[ExcludedRun, ...] = ()
    resources: dict[str, FittedDemand] = {}
    classes: dict[str, TransactionDemands] = {}
    why_none: str = ""
