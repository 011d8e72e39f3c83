"""Types of the documents of fitted models: `model.json`, and the output of `towtank model fit`.

Attributes have the names of the keys. Throughputs are in [1/s], times in [s], and errors, shares and utilizations in
[ratio]. A value is None if it is unknown, and so is an end of an interval or band that is unknown or infinite.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import ConfigDict, Field

from towtank.model.demand_file import UNKNOWN, Ends, ExcludedRun, FittedDemand, FittedValue, TransactionDemands
from towtank.model.parts import Part

BELOW_LINE = "throughput below the proportional line through the lowest load"
"""Name of the evidence for a shortfall of throughput. The report finds the evidence by this name."""


class FitReason(Part):
    """Reason for the verdict on a fit, and the level that it leads to."""

    level: str = ""
    text: str


class FitVerdict(Part):
    """Verdict on a fit: `supported`, `doubtful` or `rejected`."""

    level: str = ""
    reasons: tuple[FitReason, ...] = ()


@dataclass(frozen=True)
class FitAssumption:
    """Assumption of a model, and how the measurements test it."""

    assumes: str
    tested: str


@dataclass(frozen=True)
class HeldOutTransaction:
    """Transaction at a held-out level: count [1], measured and predicted mean response time [s] with their intervals,
    and relative error [ratio]. Unknown values are None.
    """

    count: float
    measured_response_s: float | None
    measured_response_interval: Ends | None
    predicted_response_s: float
    band_95: Ends
    error: float | None


@dataclass(frozen=True)
class HeldOutUse:
    """Measured and predicted utilization of a resource at a held-out level, with their intervals. [ratio]"""

    measured: float
    measured_interval: Ends
    predicted: float
    band_95: Ends


@dataclass(frozen=True)
class HeldOutLevel:
    """Load level that was left out of a fit, with its predictions.

    Attributes
    ----------
    load : float
        Number of users. [1]
    error, response_error : float
        Relative errors of throughput and mean response time. [ratio]
    throughput_band_80, throughput_band_95, response_band_80, response_band_95 : tuple
        Bands of the predictions, with the error of a repeated measurement. [1/s], [s]
    within_95 : bool
        True if the measured throughput lies in its 95 % band.
    classes, utilization : dict
        Results by transaction and by resource; only of networks.
    """

    load: float = 0.0
    measured_throughput: float = 0.0
    measured_throughput_interval: Ends = UNKNOWN
    predicted_throughput: float = 0.0
    error: float = 0.0
    throughput_band_80: Ends = UNKNOWN
    throughput_band_95: Ends = UNKNOWN
    within_95: bool = False
    measured_response_s: float | None = None
    measured_response_interval: Ends = UNKNOWN
    predicted_response_s: float | None = None
    response_error: float | None = None
    response_band_80: Ends = UNKNOWN
    response_band_95: Ends = UNKNOWN
    classes: dict[str, HeldOutTransaction] = field(default_factory=dict)
    utilization: dict[str, HeldOutUse] = field(default_factory=dict)

    @property
    def times(self) -> tuple[float, float] | None:
        """Measured and predicted response time; None if either is unknown. [s]"""
        if self.measured_response_s is None or self.predicted_response_s is None:
            return None
        return self.measured_response_s, self.predicted_response_s


class HeldOutResult(Part):
    """Load levels that a fit left out, at least one."""

    points: tuple[HeldOutLevel, ...]

    @property
    def worst(self) -> HeldOutLevel:
        """Level with the largest relative error of throughput."""
        return max(self.points, key=lambda point: abs(point.error))


@dataclass(frozen=True)
class FittedBands:
    """Value of a fitted model with the bands of the true system.

    Attributes
    ----------
    curve, median : float
        Value of the fit, and median over the bootstrap replicates.
    band_80, band_95 : tuple
        Percentiles over the replicates. An end that is infinite is None.
    """

    curve: float
    median: float
    band_80: Ends
    band_95: Ends


class PredictedPoint(Part):
    """Prediction at a load, or the reason why there is none; `range` is the position among the measured loads. Networks
    have utilizations by resource.
    """

    load: float
    range: str = ""
    throughput: FittedBands | None = None
    response_s: FittedBands | None = None
    utilization: dict[str, FittedBands] = Field({})
    refused: str | None = None


@dataclass(frozen=True)
class FittedKnee:
    """Knee of a capacity curve by one definition.

    Attributes
    ----------
    kind : str
        `model`, `peak`, `efficiency`, `break`, `distance` or `objective`.
    load, low, high : float or None
        Load of the knee and its interval; None if there is no knee, or no interval. [1] or [1/s]
    how : str
        Definition in words.
    """

    kind: str
    load: float | None
    low: float | None
    high: float | None
    confidence: float
    how: str


class FittedCandidate(Part):
    """Curve that was compared with others by Akaike's information criterion and by a held-out level."""

    curve: str
    aicc: float | None
    delta_aicc: float | None
    joint_aicc: float | None
    held_out_error: float | None
    held_out_interval: Ends = UNKNOWN
    verdict: str


class CurveChoice(Part):
    """Compared curves, and the reason for the choice."""

    why: str
    candidates: tuple[FittedCandidate, ...] = ()


class FitTrust(Part):
    """Range of the measured loads, highest load of predictions with its reason, numbers of levels and points, and
    assumptions.
    """

    measured_from: float
    measured_to: float
    predicts_to: float
    because: str
    levels: int
    points: int
    assumptions: tuple[FitAssumption, ...] = ()


class FitAudit(Part):
    """Number of checked runs, and the contradictions to operational laws."""

    checked: int
    findings: tuple[object, ...] = ()


class ParameterIntervals(Part):
    """95 % intervals of the parameters by two methods, by parameter."""

    profile: dict[str, Ends] = Field({})
    bootstrap: dict[str, Ends] = Field({})


class PointOfFit(Part):
    """Measured point with its standard error, and the fitted throughput with its band. `busy` are servers of the
    bottleneck, `others` those that other programs use [1], and `work` is the relative demand of the mix [ratio].
    """

    name: str = ""
    load: float
    throughput: float
    standard_error: float | None = None
    response_s: float | None = None
    think_s: float | None = None
    busy: float | None = None
    work: float | None = None
    others: float | None = None
    fitted_throughput: float | None = None
    fitted_throughput_band_95: Ends = UNKNOWN


class ShapeEvidence(Part):
    """Metric that shows the kind of limit, with its value at the highest load."""

    what: str
    at_highest: float | None
    at_highest_interval: Ends = UNKNOWN


class FittedShape(Part):
    """Kind of limit that the measurements show."""

    sentence: str
    evidence: tuple[ShapeEvidence, ...] = ()


class WorkAtLoad(Part):
    """Demand of the mean transaction at a load, relative to the mean over all levels."""

    load: float
    work: float


class FittedMix(Part):
    """Work of the mean transaction by load, and the estimator of demands with the share of scatter that each leaves."""

    estimator: str
    scatter_left: dict[str, float]
    work: tuple[WorkAtLoad, ...]


class MeasuredUse(Part):
    """Measured utilization at a load."""

    load: float
    utilization: float


class UseOfCurve(Part):
    """Modelled utilization at a load."""

    load: float
    median: float
    band_95: Ends


class ResourceUse(Part):
    """Measured and modelled utilization of a resource; `by` is the model, `curve` or `network`."""

    by: str = "curve"
    measured: tuple[MeasuredUse, ...]
    curve: tuple[UseOfCurve, ...]


class NetworkStation(Part):
    """Resource of a network: servers and background [1], CPUs that other programs use at each level [1], demands of the
    mix and of each transaction, and groups of transactions whose demands are separated.
    """

    servers: int
    demand_s: FittedValue
    background: FittedValue
    other_programs: tuple[float, ...]
    demands_s: dict[str, FittedValue]
    told_apart: tuple[tuple[str, ...], ...] = ()
    within_groups: str = ""

    @property
    def merged(self) -> list[tuple[str, ...]]:
        """Groups of transactions whose demands cannot be separated."""
        return [group for group in self.told_apart if len(group) > 1]


class NetworkTransaction(Part):
    """Transaction of a network: share, requests [1], and time that no resource explains."""

    share: float
    requests: float
    elsewhere_s: FittedValue


class NetworkUse(Part):
    """Measured and fitted utilization of a resource."""

    measured: float
    measured_interval: Ends = UNKNOWN
    fitted: float
    fitted_band_95: Ends


class NetworkLevel(Part):
    """Measured and fitted values at a load level."""

    load: float
    throughput: float
    throughput_interval: Ends = UNKNOWN
    fitted_throughput: float
    fitted_throughput_band_95: Ends = UNKNOWN
    response_s: float | None = None
    response_interval: Ends = UNKNOWN
    fitted_response_s: float | None = None
    fitted_response_band_95: Ends = UNKNOWN
    utilization: dict[str, NetworkUse] = Field({})


class NetworkTail(Part):
    """Measured 95th percentile, divided by the computed one."""

    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class StationLimit:
    """Highest throughput that a resource allows, with its interval. [1/s]"""

    station: str
    limit_throughput: FittedValue


class CheckedLoad(Part):
    """Relative error of a written model at a measured load."""

    load: int
    error: float
    error_interval: Ends = UNKNOWN


class WrittenModel(Part):
    """File of a model, and its errors at the measured loads."""

    file: str
    check: tuple[CheckedLoad, ...] = ()


class FittedNetwork(Part):
    """Network that is fitted to a configuration, or the reason why there is none."""

    label: str = ""
    excluded: tuple[ExcludedRun, ...] = ()
    refused: str | None = None
    verdict: FitVerdict = FitVerdict()
    stations: dict[str, NetworkStation] = Field({})
    transactions: dict[str, NetworkTransaction] = Field({})
    levels: tuple[NetworkLevel, ...] = ()
    held_out: HeldOutResult | None = None
    predictions: tuple[PredictedPoint, ...] = ()
    percentiles: dict[str, NetworkTail] = Field({})
    limits: tuple[StationLimit, ...] = ()
    sentence: str = ""
    assumptions: tuple[FitAssumption, ...] = ()
    model: WrittenModel | None = None


class FittedConfiguration(Part):
    """Curve that is fitted to a configuration or a CSV file, with its network, or the reason why there is none.

    The parameters of the curve are further attributes, with the names of their keys.
    """

    model_config = ConfigDict(extra="allow")

    label: str = ""
    source: str = ""
    refused: str | None = None
    excluded: tuple[ExcludedRun, ...] = ()
    verdict: FitVerdict = FitVerdict()
    curve: str | None = None
    limit_throughput: float | None = None
    confidence_interval: dict[str, Ends] = Field({})
    intervals: ParameterIntervals = ParameterIntervals()
    audit: FitAudit | None = None
    points: tuple[PointOfFit, ...] = ()
    held_out: HeldOutResult | None = None
    predictions: tuple[PredictedPoint, ...] = ()
    trust: FitTrust | None = None
    knees: tuple[FittedKnee, ...] = ()
    choice: CurveChoice | None = None
    bottleneck: str | None = None
    bottleneck_sentence: str | None = None
    mix: FittedMix | None = None
    shape: FittedShape | None = None
    demands: dict[str, FittedDemand] = Field({})
    classes: dict[str, TransactionDemands] = Field({})
    grid: tuple[PredictedPoint, ...] = ()
    utilization: dict[str, ResourceUse] = Field({})
    network: FittedNetwork | None = None
    model: WrittenModel | None = None

    def parameter(self, name: str) -> float | None:
        """Return a parameter of the curve, or a quantity derived from its parameters; None if the curve has none of
        this name.
        """
        found: float | None = getattr(self, name, None)
        return found

    @property
    def fitted_network(self) -> FittedNetwork | None:
        """Network of the configuration; None if no network was fitted."""
        return None if self.network is None or self.network.refused is not None else self.network


class CapacityModel(Part):
    """Fitted models of all configurations of a study (`model.json`), or the reason why there is none."""

    refused: str | None = None
    configurations: tuple[FittedConfiguration, ...] = ()

    @property
    def modelled(self) -> list[FittedConfiguration]:
        """Configurations with a fitted curve."""
        return [configuration for configuration in self.configurations if configuration.refused is None]
