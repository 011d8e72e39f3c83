"""Keys of a model file for timeouts, failures, caches and load balancers, and their conversion into the format of the
engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from towtank.errors import Fault
from towtank.fields import Duration, FileModel, Name, one_or_more
from towtank.spelling import did_you_mean
from towtank.yamlfile import Node, fault_at

if TYPE_CHECKING:
    from towtank.model.file import ModelFile

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ClassBehaviour(FileModel):
    """Patience, timeout, retries and batches of the jobs of a class."""

    patience: Duration | None = Field(
        None,
        description=(
            "Mean time that a job waits in the queue of a station before it gives up, exponentially distributed. A job "
            "in service does not give up. Only simulation uses it."
        ),
    )
    batch: float | None = Field(
        None,
        ge=1,
        allow_inf_nan=False,
        description=(
            "Mean number of jobs that arrive together, for open classes; `rate` counts the jobs. Only simulation uses "
            "it."
        ),
    )
    batch_sizes: Literal["constant", "geometric"] | None = Field(
        None, description="Distribution of the number of jobs in a batch; default: `constant`."
    )
    timeout: Duration | None = Field(None, description="Timeout of each attempt of a job; only simulation uses it.")
    retries: int | None = Field(
        None,
        ge=0,
        le=1000,
        description="Largest number of retries after a failed or dropped attempt; only simulation uses it.",
    )
    retry_delay: Duration | None = Field(
        None,
        description=(
            "Mean pause before the first retry; doubles before each further retry, up to 1024 times the first pause."
        ),
    )
    on_timeout: Literal["continue", "cancel"] | None = Field(
        None,
        description=(
            "Action of the system after a timeout: `continue` the work on the job, or `cancel` the job; default: "
            "`continue`."
        ),
    )
    after: Annotated[list[Name], BeforeValidator(one_or_more)] | None = Field(
        None,
        description=(
            "Names of the stations that a job visits after the user has received its response. The user does not wait. "
            "Only simulation uses it."
        ),
    )


class CacheFile(FileModel):
    """Cache in front of a station. It serves a share of the visits to the station."""

    hit_ratio: float | None = Field(None, ge=0, le=1, description="Share of visits that the cache serves.")
    items: int | None = Field(
        None,
        ge=1,
        description="Number of entries that the cache can hold; it evicts the least recently used entry first.",
    )
    keys: int | None = Field(None, ge=1, le=20_000_000, description="Number of different keys that jobs request.")
    skew: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="Exponent of Zipf's law for the popularity of keys; 0 makes all keys equally popular. Default: 0.",
    )
    hit_time: Duration | None = Field(None, description="Time that a cache hit takes; default: 0.")


class StationBehaviour(FileModel):
    """Optional behaviour of a station: failures, feedback queue, class weights, a cache, and measured service times."""

    up: Duration | None = Field(
        None,
        description="Mean time between failures of the station, exponentially distributed; only simulation uses it.",
    )
    down: Duration | None = Field(
        None, description="Mean duration of a failure, exponentially distributed; only simulation uses it."
    )
    failover: Name | None = Field(
        None, description="Name of the station that takes the arrivals while this station is down."
    )
    quantum: Duration | None = Field(
        None,
        description="Service time after which a job moves to the end of the next lower queue; only simulation uses it.",
    )
    levels: int | None = Field(
        None, ge=1, le=1000, description="Number of lower queues that `quantum` can move a job to; default: 1."
    )
    weights: dict[Name, Positive] | None = Field(
        None,
        description="Weights of the classes at a station of discipline `ps`; default: 1. Only simulation uses them.",
    )
    cache: CacheFile | None = Field(None, description="Cache in front of the station.")
    samples: dict[Name, list[Duration]] | None = Field(
        None,
        description=(
            "Measured service times by class. Simulation uses the shape of their distribution, scaled to the mean "
            "service time of the station; solving uses only their variation."
        ),
    )


class BalancerFile(FileModel):
    """Load balancer in front of equal stations. Its policy chooses the station of each visit."""

    policy: Literal["random", "round-robin", "shortest-queue", "power-of-two"] = Field(
        "random", description="Policy that chooses a station among those that are up."
    )
    stations: list[Name] = Field(
        min_length=2, description="Names of the stations behind the balancer, which shares the sum of their visits."
    )


def behaviour_document(model: ModelFile) -> dict[str, object]:
    """Return the keys of a model for timeouts, failures, caches, load balancers and other behaviour, converted into the
    format of the engine.
    """
    stations = model.stations.items()
    return {
        "patience": [
            {
                "class": name,
                "timeout_s": job_class.timeout,
                "retries": job_class.retries or 0,
                "retry_delay_s": job_class.retry_delay or 0.0,
                "on_timeout": job_class.on_timeout or "continue",
                "patience_s": job_class.patience,
            }
            for name, job_class in model.classes.items()
            if job_class.timeout is not None or job_class.retries or job_class.patience is not None
        ],
        "batches": [
            {"class": name, "size": job_class.batch, "sizes": job_class.batch_sizes or "constant"}
            for name, job_class in model.classes.items()
            if job_class.batch is not None
        ],
        "after": [
            {"class": name, "stations": job_class.after}
            for name, job_class in model.classes.items()
            if job_class.after is not None
        ],
        "failures": [
            {"station": name, "up_s": station.up, "down_s": station.down, "failover": station.failover}
            for name, station in stations
            if station.up is not None and station.down is not None
        ],
        "balancers": [{"name": name, **balancer.model_dump()} for name, balancer in model.balancers.items()],
        "caches": [
            {
                "station": name,
                "hit_ratio": cache.hit_ratio,
                "items": cache.items,
                "keys": cache.keys,
                "skew": cache.skew or 0.0,
                "hit_time_s": cache.hit_time or 0.0,
            }
            for name, station in stations
            if (cache := station.cache) is not None
        ],
        "feedback": [
            {"station": name, "quantum_s": station.quantum, "levels": station.levels or 1}
            for name, station in stations
            if station.quantum is not None
        ],
        "weights": [
            {"station": name, "class": each, "weight": weight}
            for name, station in stations
            for each, weight in (station.weights or {}).items()
        ],
        "samples": [
            {"station": name, "class": each, "values_s": values}
            for name, station in stations
            for each, values in (station.samples or {}).items()
        ],
    }


def behaviour_faults(tree: Node, model: ModelFile) -> Iterator[Fault]:
    """Yield a fault for each key that lacks a required other key, and for each class name that is not in the model.

    The engine checks all other rules of a model file.
    """
    for name, job_class in model.classes.items():
        if job_class.batch_sizes is not None and job_class.batch is None:
            yield fault_at(tree, ("classes", name, "batch_sizes"), "must be given together with 'batch'")
        if job_class.after is not None and job_class.transactions:
            message = "must be left out for a class with transactions; give each transaction a class of its own"
            yield fault_at(tree, ("classes", name, "after"), message)
        for key in ("on_timeout", "retry_delay"):
            needed = job_class.timeout is not None or (key == "retry_delay" and job_class.retries)
            if getattr(job_class, key) is not None and not needed:
                message = f"must be given together with '{'timeout' if key == 'on_timeout' else 'retries'}'"
                yield fault_at(tree, ("classes", name, key), message)
    for name, station in model.stations.items():
        for key, other in (("up", "down"), ("down", "up"), ("failover", "up"), ("levels", "quantum")):
            if getattr(station, key) is not None and getattr(station, other) is None:
                yield fault_at(tree, ("stations", name, key), f"must be given together with '{other}'")
        for key in ("weights", "samples"):
            for each in getattr(station, key) or {}:
                if each not in model.classes:
                    near = did_you_mean(each, list(model.classes))
                    message = f"must be a class of the model ({', '.join(model.classes)}), got {each!r} instead{near}"
                    yield fault_at(tree, ("stations", name, key, each), message, key=True)
