"""Types of `prediction.json`: the prediction that a study asks for, and its result."""

from __future__ import annotations

from pydantic import Field

from towtank.model.parts import Part


class PredictedBand(Part):
    """Median and 95 % band of a predicted throughput [1/s] or response time [s]; an end is None if unknown."""

    median: float
    band_95: tuple[float | None, float | None]


class PredictedLoad(Part):
    """Prediction at a load: throughput and response time, None if unknown."""

    load: float
    throughput: PredictedBand | None = None
    response_s: PredictedBand | None = None


class SharedHost(Part):
    """Host that all servers of the predicted service use together: demand and time of a transaction [s], highest
    measured utilization [ratio], and CPUs in the predicted configuration [1].
    """

    name: str
    demand_s: float
    service_time_s: float
    utilization: float
    cpus_then: float | None = None


class FittedTier(Part):
    """Demand of a transaction at the bottleneck, and its time elsewhere. [s]"""

    bottleneck_demand_s: float
    other_s: float


class PredictionAsked(Part):
    """Configurations, service and loads of a prediction, as the manifest of the study describes them: servers and CPUs
    [1], and periods of CPU quotas [s].
    """

    from_: dict[str, str] = Field({}, alias="from")
    to: dict[str, str] = Field({})
    service: str = ""
    hosts: tuple[str, ...] = ()
    loads: tuple[float, ...] = ()
    servers_from: int = 1
    servers_to: int = 1
    cpus_from: float | None = None
    cpus_to: float | None = None
    cpus_of_hosts: dict[str, float] = Field({})
    cpu_period_of_hosts_s: dict[str, float] = Field({})


class PredictionResult(PredictionAsked):
    """Prediction of a configuration; `refused` is the reason if it is impossible. `machine_demand_s` is the CPU time of
    a transaction on all hosts [s], and `machine_cpus` the number of CPUs of the machine [1].
    """

    refused: str | None = None
    runs: tuple[str, ...] = ()
    made_before: bool = False
    made_wall_ns: int | None = None
    rows: tuple[PredictedLoad, ...] = ()
    fitted: FittedTier = FittedTier(bottleneck_demand_s=0.0, other_s=0.0)
    shared: tuple[SharedHost, ...] = ()
    think_time_s: float = 0.0
    machine_demand_s: float | None = None
    machine_cpus: float | None = None
