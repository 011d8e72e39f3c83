"""The keys of a model file beyond queueing, most for simulation only, and how the engine reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from towtank.errors import Fault
from towtank.fields import Duration, FileModel, Name
from towtank.yamlfile import Node, did_you_mean, fault_at

if TYPE_CHECKING:
    from towtank.model.file import ModelFile

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ClassBehaviour(FileModel):
    """How long a class waits, and what it does then."""

    timeout: Duration | None = Field(None, description="Longest time of an attempt; simulated only.")
    retries: int | None = Field(
        None, ge=0, le=1000, description="Attempts after the first that failed or was dropped; simulated only."
    )
    retry_delay: Duration | None = Field(
        None, description="Mean pause before the first retry, doubled before each further one, up to 1024 times."
    )
    on_timeout: Literal["continue", "cancel"] | None = Field(
        None,
        description="Whether the system then works on (`continue`, if none) or stops (`cancel`).",
    )


class CacheFile(FileModel):
    """A cache in front of a station."""

    hit_ratio: float | None = Field(None, ge=0, le=1, description="Share of visits that hit.")
    items: int | None = Field(None, ge=1, description="Entries that fit, least recently used out first.")
    keys: int | None = Field(None, ge=1, le=20_000_000, description="Different keys that are asked for.")
    skew: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Exponent of Zipf's law of the keys; 0 if none: all alike."
    )
    hit_time: Duration | None = Field(None, description="Time of a hit, without a server; 0 if none.")


class StationBehaviour(FileModel):
    """What happens at a station beyond queueing."""

    up: Duration | None = Field(None, description="Mean time between failures, exponential; simulated only.")
    down: Duration | None = Field(None, description="Mean time that a failure lasts, exponential.")
    failover: Name | None = Field(None, description="Station that takes those who come while this one is down.")
    quantum: Duration | None = Field(
        None, description="Service after which a job loses a rank and goes to the end; simulated only."
    )
    levels: int | None = Field(None, ge=1, le=1000, description="Number of ranks that can be lost to, with `quantum`.")
    weights: dict[Name, Positive] | None = Field(
        None, description="Shares of classes at a station `ps`, 1 if not named; simulated only."
    )
    cache: CacheFile | None = Field(None, description="A cache in front of the station.")
    samples: dict[Name, list[Duration]] | None = Field(
        None, description="Measured service times by class: their shape, with the mean of the service; simulated only."
    )


class BalancerFile(FileModel):
    """Stations that do the same: who is sent to one of them goes to the one that the policy chooses."""

    policy: Literal["random", "round-robin", "shortest-queue", "power-of-two"] = Field(
        "random", description="How one is chosen among those that are up."
    )
    stations: list[Name] = Field(min_length=2, description="The stations; their visits are added up.")


def behaviour_document(model: ModelFile) -> dict[str, Any]:
    """Behaviour in the engine's form."""
    stations = model.stations.items()
    return {
        "patience": [
            {
                "class": name,
                "timeout_s": one.timeout,
                "retries": one.retries or 0,
                "retry_delay_s": one.retry_delay or 0.0,
                "on_timeout": one.on_timeout or "continue",
            }
            for name, one in model.classes.items()
            if one.timeout is not None or one.retries
        ],
        "failures": [
            {"station": name, "up_s": one.up, "down_s": one.down, "failover": one.failover}
            for name, one in stations
            if one.up is not None and one.down is not None
        ],
        "balancers": [{"name": name, **one.model_dump()} for name, one in model.balancers.items()],
        "caches": [{"station": name, **_cache(one.cache)} for name, one in stations if one.cache is not None],
        "feedback": [
            {"station": name, "quantum_s": one.quantum, "levels": one.levels or 1}
            for name, one in stations
            if one.quantum is not None
        ],
        "weights": [
            {"station": name, "class": each, "weight": weight}
            for name, one in stations
            for each, weight in (one.weights or {}).items()
        ],
        "samples": [
            {"station": name, "class": each, "values_s": values}
            for name, one in stations
            for each, values in (one.samples or {}).items()
        ],
    }


def _cache(cache: CacheFile) -> dict[str, Any]:
    return {
        "hit_ratio": cache.hit_ratio,
        "items": cache.items,
        "keys": cache.keys,
        "skew": cache.skew or 0.0,
        "hit_time_s": cache.hit_time or 0.0,
    }


def behaviour_faults(tree: Node, model: ModelFile) -> Iterator[Fault]:
    """Keys that need each other, and classes that there are not; the engine checks the rest."""
    for name, one in model.classes.items():
        for key in ("on_timeout", "retry_delay"):
            needed = one.timeout is not None or (key == "retry_delay" and one.retries)
            if getattr(one, key) is not None and not needed:
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
