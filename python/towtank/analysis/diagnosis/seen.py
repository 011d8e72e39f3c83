"""Extracts the data for a diagnosis from a run summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from towtank.analysis.diagnosis.common_resources import LimitedLink, SharedCpus, limited_links, shared_cpus
from towtank.analysis.diagnosis.connections_here import (
    AcceptQueue,
    ServerConnections,
    accept_queues_of,
    connections_of,
)
from towtank.analysis.diagnosis.run_values import objects_at
from towtank.analysis.diagnosis.shape import Shape
from towtank.analysis.diagnosis.waits import Series, series_of
from towtank.analysis.doubts import DoubtKind
from towtank.analysis.system.limited_disks import LimitedDisk, limited_disks
from towtank.analysis.system.limits import EXHAUSTED_SHARE
from towtank.analysis.system.rates import lookup
from towtank.digging import dig
from towtank.load_level import Load

SERVED = 0.98
"""Throughput follows an open load if at least this share of the arrivals is served, in (0, 1]."""
_AS_ANSWERS = ("status_4xx", "status_5xx", "status_other", "check", "extract", "refused")
"""Kinds of failures in which the server sent a response in time."""


@dataclass(frozen=True)
class Busiest:
    """CPU use of the busiest process or thread of a tier.

    Attributes
    ----------
    name : str
        Name of the program or thread.
    pid : int or None
        Process id.
    cpus, waits : float
        Mean CPU use, and mean share of the time in which the process or thread was ready to run but waited for a CPU.
        [1]
    most : float or None
        95 % quantile of the CPU use over all samples; None if unknown. [1]
    full_share : float
        Share of the samples with a CPU use of 0.95 or more, in [0, 1].
    """

    name: str
    pid: int | None
    cpus: float
    waits: float
    most: float | None
    full_share: float


@dataclass(frozen=True)
class Tier:
    """Resource use of a tier.

    Attributes
    ----------
    name : str
        Name of the tier.
    host : str or None
        Name of the other machine that runs the tier; None for this machine.
    cpus_used, cpus_allotted : float or None
        CPUs that the tier uses, and CPUs that it may use. [1]
    group : str or None
        Path of the control group that limits the CPUs of the tier.
    throttled : float or None
        Share of the time in which the CPU limit of the control group delayed the tier, in [0, 1].
    waits : float or None
        Mean number of threads of the tier that were ready to run but waited for a CPU. [1]
    process, thread : Busiest or None
        Busiest process and busiest thread.
    open_files, open_files_limit : float or None
        Largest number of open files of a process, and the limit of this number. The process is the one that is closest
        to its limit. [1]
    """

    name: str
    host: str | None
    cpus_used: float | None
    cpus_allotted: float | None
    group: str | None
    throttled: float | None
    waits: float | None
    process: Busiest | None
    thread: Busiest | None
    open_files: float | None = None
    open_files_limit: float | None = None

    @property
    def has_no_file_left(self) -> bool:
        """True if a process of the tier had as many open files and connections as its limit allows."""
        most, limit = self.open_files, self.open_files_limit
        return most is not None and limit is not None and most >= EXHAUSTED_SHARE * limit


@dataclass(frozen=True)
class Served:
    """Share of the arrivals of an open load whose transactions ended, successfully or not.

    Attributes
    ----------
    rate : float
        Rate of arrivals in the window; the requested rate if the number of arrivals is unknown. [1/s]
    share, most : float
        Share of the arrivals whose transactions ended, and the upper limit of its interval. [1]
    """

    rate: float
    share: float
    most: float

    @classmethod
    def of(cls, summary: Mapping[str, Any], rate: float) -> Served | None:
        """Extract the share from a run summary; None if no transaction was completed.

        By chance, the number of arrivals differs from the requested rate. In a window of at least four seconds,
        however, arrivals were counted, and also the transactions in the system at the start and at the end. The share
        is then computed from these counts, so that it hardly depends on chance.
        """
        value, high = (lookup(summary, ("throughput_per_s", key)) for key in ("value", "high"))
        if not value:
            return None
        arrived, counted_s, left = (
            lookup(summary, ("window", "growth", key)) for key in ("arrived", "length_s", "share")
        )
        if arrived and counted_s:
            rate = arrived / counted_s
        of_success = 1 - (lookup(summary, ("errors", "share")) or 0.0)
        ended, most = (per_s / of_success / rate if of_success > 0 else 1.0 for per_s in (value, high or value))
        share = ended if left is None else 1 - left
        return cls(rate, share, max(share, most))


@dataclass(frozen=True)
class Seen:
    """Data of one run that a diagnosis needs.

    Attributes
    ----------
    tiers : tuple of Tier
    machine_cpus, machine_used : float or None
        CPUs of this machine, and their use by all programs. [1]
    generator_used, others_used : float or None
        CPUs used by the load threads, and CPUs used by programs that belong neither to the system nor to the generator.
        [1]
    shared : SharedCpus or None
        Use of the CPUs that tiers on several hosts share.
    links : tuple of LimitedLink
        Network links of hosts with a rate limit.
    not_found : tuple of str
        Addresses of targets on this machine whose process was not found.
    errors, errors_answered : float
        Share of the ended requests that failed, and share that failed although a response came in time, in [0, 1].
    failing : str or None
        Transaction with more than half of the failures.
    pool_share : float
        Share of the response time that requests waited for a connection of the generator's pool, in [0, 1].
    kinds : dict of str to int
        Failed requests by kind of failure. [1]
    doubts : dict of str to (str, str)
        Level and message of each doubt, by kind.
    users, rate, throughput : float or None
        Number of users of a closed load [1], arrival rate of an open load [1/s], and throughput of successful
        transactions [1/s].
    response_s, think_s : float or None
        Mean response time, and mean think time from the check of Little's law. [s]
    grows : bool
        True if the number of transactions in the system grew significantly.
    transactions : tuple of str
        Names of the transactions.
    series : tuple of Series
        Metrics that the services report.
    disks : tuple of LimitedDisk
        Disks whose use was measured against a limit.
    connections : tuple of ServerConnections
        Connections between servers of this machine.
    accept_queues : tuple of AcceptQueue
        Accept queues of the targets on this machine.
    shape : Shape or None
        Throughput during and after the ramp; None if no transaction was completed.
    served : Served or None
        Share of the arrivals that was served; None for a closed load, or if no transaction was completed.
    """

    tiers: tuple[Tier, ...]
    machine_cpus: float | None
    machine_used: float | None
    generator_used: float | None
    others_used: float | None
    shared: SharedCpus | None
    links: tuple[LimitedLink, ...]
    not_found: tuple[str, ...]
    errors: float
    errors_answered: float
    failing: str | None
    pool_share: float
    kinds: Mapping[str, int]
    doubts: Mapping[str, tuple[str, str]]
    users: float | None
    rate: float | None
    throughput: float | None
    response_s: float | None
    think_s: float | None
    grows: bool
    transactions: tuple[str, ...]
    series: tuple[Series, ...] = ()
    disks: tuple[LimitedDisk, ...] = ()
    connections: tuple[ServerConnections, ...] = ()
    accept_queues: tuple[AcceptQueue, ...] = ()
    shape: Shape | None = None
    served: Served | None = None

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Seen:
        """Extract the data from a run summary."""

        def number(*path: str) -> float | None:
            return lookup(summary, path)

        load = Load.read(summary)
        by_kind = objects_at(summary, "request_errors", "by_kind")
        kinds = {kind: int(count) for kind, count in by_kind.items() if isinstance(count, int | float)}
        failed, share = sum(kinds.values()), number("request_errors", "share") or 0.0
        answered = sum(count for kind, count in kinds.items() if kind in _AS_ANSWERS)
        return cls(
            tiers=tuple(_tier(name, summary) for name in objects_at(summary, "tiers")),
            machine_cpus=number("host", "cpus"),
            machine_used=number("host", "cpus_used", "value"),
            generator_used=number("generator", "cpus_used"),
            others_used=number("other_programs", "cpus_used", "value"),
            shared=shared_cpus(summary),
            links=tuple(limited_links(summary)),
            not_found=tuple(dig(summary, "other_programs", "not_found") or ()),
            errors=share,
            errors_answered=share * answered / failed if failed else 0.0,
            failing=_failing(summary),
            pool_share=number("connections", "wait_time_s", "share_of_response_time") or 0.0,
            kinds=kinds,
            doubts={kind: (level, message) for kind, level, message in _doubts(summary)},
            users=None if load is None or load.is_open else load.level,
            rate=load.level if load is not None and load.is_open else None,
            throughput=number("throughput_per_s", "value"),
            response_s=number("response_time_s", "mean", "value"),
            think_s=number("laws", "little", "z_s"),
            grows=bool(dig(summary, "window", "growth", "is_significant")),
            transactions=tuple(objects_at(summary, "transactions")),
            series=tuple(series_of(objects_at(summary, "services"))),
            disks=tuple(limited_disks(summary)),
            connections=connections_of(objects_at(summary, "services")),
            accept_queues=accept_queues_of(objects_at(summary, "services")),
            shape=Shape.of(summary),
            served=Served.of(summary, load.level) if load is not None and load.is_open else None,
        )

    @property
    def is_serial(self) -> bool:
        """True if the load is a single user without pauses, so that requests never overlap or wait for other
        requests.
        """
        return self.users == 1 and self.think_s == 0

    @property
    def unexplained(self) -> tuple[str, ...]:
        """Evidence that throughput does not follow the load, and the resulting limit; empty if there is no such
        evidence.
        """
        if self.shape is None:
            return ()
        if self.rate is None:
            return self.shape.evidence("users")
        falls_short = self.served is not None and self.served.most < SERVED
        return self.shape.evidence("arrivals per second", self.served.rate if self.served and falls_short else None)

    @property
    def in_flight(self) -> float:
        """Mean number of transactions in the system, by Little's law; 0 if unknown. [1]"""
        return (self.throughput or 0.0) * (self.response_s or 0.0)

    @property
    def target(self) -> str | None:
        """Name of the only tier on this machine that is a target; None if there are several such tiers, or none."""
        names = {queue.target for queue in self.accept_queues}
        return names.pop() if len(names) == 1 else None

    def has(self, kind: DoubtKind, *levels: str) -> str | None:
        """Return the message of the doubt of this kind if it has one of the given levels; otherwise None."""
        level, message = self.doubts.get(str(kind), ("", ""))
        return message if level in levels else None


def _failing(summary: Mapping[str, Any]) -> str | None:
    """Return the transaction with more than half of all failures; None if there is no such transaction, or only one
    transaction in the run.
    """
    names = objects_at(summary, "transactions")
    failed = {name: lookup(summary, ("transactions", name, "errors")) or 0.0 for name in names}
    most = max(failed, key=lambda name: failed[name], default=None)
    return most if most is not None and len(failed) > 1 and failed[most] > sum(failed.values()) / 2 else None


def _doubts(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    reasons = dig(summary, "verdict", "reasons") or ()
    return [tuple(dig(each, key) for key in ("kind", "level", "message")) for each in reasons]


def _tier(name: str, summary: Mapping[str, Any]) -> Tier:
    def number(*path: str) -> float | None:
        return lookup(summary, ("tiers", name, *path))

    host = dig(summary, "tiers", name, "host")
    of_host = objects_at(summary, "hosts", str(host))
    # If a probe ran on a host, the summary of the host contains `steal`. A host without a probe is a part of this
    # machine.
    is_elsewhere = "steal" in of_host
    of_groups = (
        dig(of_host, "throttled", name),
        dig(of_host, "throttled_share"),
        dig(summary, "host", "throttled", name),
    )
    return Tier(
        name,
        str(host) if is_elsewhere else None,
        number("cpus_used", "value"),
        number("cpus_allotted"),
        dig(summary, "tiers", name, "cpu_control_group"),
        next((float(share) for share in of_groups if isinstance(share, int | float)), None),
        number("run_queue_wait_s_per_s"),
        _busiest(dig(summary, "tiers", name, "busiest", "process")),
        _busiest(dig(summary, "tiers", name, "busiest", "thread")),
        number("limits", "open_files", "most"),
        number("limits", "open_files", "limit"),
    )


def _busiest(found: Any) -> Busiest | None:
    if dig(found, "cpus") is None:
        return None
    given = {key: value for key, value in found.items() if value is not None}
    known = {**{"name": "", "pid": None, "waits": 0.0, "most": None, "share_of_time_full": 0.0}, **given}
    return Busiest(*(known[key] for key in ("name", "pid", "cpus", "waits", "most", "share_of_time_full")))
