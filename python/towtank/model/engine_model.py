"""Queueing network in the form that the engine reads (`docs/reference/model.md`). Times are in seconds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_SCV = {"deterministic": 0.0, "uniform": 1 / 3}


class _Part:
    _NOT_SENT: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """Return the fields that the engine reads, by key."""
        names = {"job_class": "class"}
        return {names.get(key, key): each for key, each in vars(self).items() if key not in self._NOT_SENT}


@dataclass(frozen=True)
class Variation(_Part):
    """Variation of a time; exponential if nothing is given. `scv` is the squared coefficient of variation. [1]"""

    distribution: str | None = None
    scv: float | None = None

    @property
    def squared(self) -> float:
        """Squared coefficient of variation. [1]"""
        return self.scv if self.scv is not None else _SCV.get(str(self.distribution), 1.0)


@dataclass(frozen=True)
class Transaction(_Part):
    """Transaction of a class: its share [ratio], and its think time [s], which is that of the class if None."""

    name: str
    share: float
    think_time_s: float | None = None


@dataclass(frozen=True)
class JobClass(_Part):
    """Class of jobs: closed with `users` [1], or open with `arrival_rate_per_s` [1/s]. Python solves transactions by
    one chain of jobs, so the engine does not read them.
    """

    _NOT_SENT = ("transactions",)

    name: str
    users: int | None = None
    think_time_s: float = 0.0
    think: Variation = Variation()
    arrival_rate_per_s: float | None = None
    arrivals: Variation = Variation()
    priority: int | None = None
    transactions: Sequence[Transaction] = ()


@dataclass(frozen=True)
class Service(_Part):
    """Visits of a class to a station [1], the service time of a visit [s] with its variation, and the rank of the
    class. If `visits` is None, the service time is that of all visits.
    """

    job_class: str
    visits: float | None
    service_time_s: float
    variation: Variation = Variation()
    priority: int | None = None

    @property
    def visits_or_one(self) -> float:
        """Number of visits with the given service time. [1]"""
        return 1.0 if self.visits is None else float(self.visits)


@dataclass(frozen=True)
class Station(_Part):
    """Station: servers [1] or relative rates by number of jobs, and limits of the jobs at the station (`capacity`) and
    in service (`at_once`) [1]. The engine does not read `at_once`.
    """

    _NOT_SENT = ("at_once",)

    name: str
    discipline: str = "fcfs"
    servers: int = 1
    rates: Sequence[float] = ()
    capacity: int | None = None
    at_once: int | None = None
    preemptive: bool = False
    services: Sequence[Service] = ()

    @property
    def service_by_class(self) -> dict[str, Service]:
        """Services by the name of their class or transaction."""
        return {service.job_class: service for service in reversed(self.services)}

    def service_of(self, name: str) -> Service | None:
        """Return the service of a class or transaction; None if it does not visit the station."""
        return next((service for service in self.services if service.job_class == name), None)


@dataclass(frozen=True)
class Pool(_Part):
    """Pool of units [1] that jobs hold while they are at the stations and inner pools `holds`."""

    name: str
    size: int
    holds: Sequence[str]
    classes: Sequence[str] = ()


@dataclass(frozen=True)
class Fork(_Part):
    """Branches of a transaction that run at the same time; each is a list of stations and forks."""

    name: str
    branches: Sequence[Sequence[str]]
    classes: Sequence[str] = ()


@dataclass(frozen=True)
class Route(_Part):
    """Probabilities of the first and of each next station of a class. [ratio]"""

    job_class: str
    start: Mapping[str, float]
    next: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class EngineModel(_Part):
    """Queueing network of classes and stations. `behaviour` has the keys of timeouts, failures, caches and balancers,
    as `behaviour_document` returns them.
    """

    classes: Sequence[JobClass]
    stations: Sequence[Station]
    pools: Sequence[Pool] = ()
    forks: Sequence[Fork] = ()
    routing: Sequence[Route] = ()
    behaviour: Mapping[str, object] = field(default_factory=dict)

    @property
    def class_by_name(self) -> dict[str, JobClass]:
        """Classes by their names."""
        return {job_class.name: job_class for job_class in self.classes}

    @property
    def station_by_name(self) -> dict[str, Station]:
        """Stations by their names."""
        return {station.name: station for station in self.stations}

    @property
    def chain_by_transaction(self) -> dict[str, str]:
        """Class of each transaction, by name of the transaction."""
        return {each.name: job_class.name for job_class in self.classes for each in job_class.transactions}


def json_of(models: Sequence[EngineModel]) -> str:
    """Return models as the JSON text that the engine reads."""
    return json.dumps(models, default=_Part.document)
