"""Defines the known properties of a system (facts) that rules of thumb use.

Facts are named values. They come from the results of a study or from a configuration sheet. A rule lists the names of
the facts that it uses in its `binds`. Names of facts of a service begin with the kind of the service
(`postgresql.shared_buffers`), or with `tier.` for any service. A system has a set of common facts and one set for each
service.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real

from towtank.analysis import Estimate
from towtank.sizing.rules.rule import Rule

# Unit and meaning of the system properties that study results provide. A configuration sheet may provide any property
# that rules use, also one of these.
COMMON: dict[str, tuple[str, str]] = {
    "load.users": ("users", "users of the load level"),
    "load.rate": ("1/s", "arrival rate of the load level"),
    "throughput": ("1/s", "transactions per second"),
    "response_time.mean": ("s", "mean response time of transactions"),
    "response_time.p95": ("s", "95th percentile of the response time of transactions"),
    "laws.users": ("users", "users N of the interactive response time law"),
    "laws.throughput": ("1/s", "throughput X of the interactive response time law"),
    "laws.response_time": ("s", "response time R of the interactive response time law"),
    "laws.think_time": ("s", "think time Z of the interactive response time law"),
    "connections.opened": ("1/s", "connections opened per second"),
    "host.cpus": ("CPUs", "processors of the host"),
    "host.idle_cpus": ("CPUs", "processors that are idle"),
    "host.cpu_limit": ("CPUs", "processors that the control group allows the process that runs the study"),
    "host.cpu_utilization": ("%", "CPU utilization of the host, generator included"),
    "host.memory": ("B", "memory of the host"),
    "host.memory_available": ("B", "memory available to programs without swapping"),
    "host.disk_utilization": ("%", "utilization of the busiest disk: its busy time, or its share of a limit"),
    "host.steal": ("%", "CPU time that the hypervisor took"),
    "host.io_pressure": ("%", "share of time in which at least one thread waited for a disk"),
    "host.memory_pressure": ("%", "share of time in which at least one thread waited for memory"),
    "host.listen_overflows": ("events", "connections refused by a full accept queue, in the window, hosts included"),
    "host.retransmits": ("1/s", "retransmitted TCP segments, hosts included"),
    "host.open_files_limit": ("files", "open files that the process that runs the study may have"),
    "measurement.window": ("s", "length of the analysed steady state"),
    "measurement.excludes_ramps": ("yes or no", "whether the window begins after the ramp-up"),
    "measurement.planned_in_force": (
        "yes or no",
        "whether the planned limits of all hosts were in force, as read back",
    ),
    "study.last_load_before_rise": ("users", "highest load on the line of ideal scaling"),
    "study.index_ratio": ("1", "largest ratio of response times between levels of a factor for missing indexes"),
}
OF_A_TIER: dict[str, tuple[str, str]] = {
    "cpus": ("CPUs", "processors that the service may use"),
    "cpu_utilization": ("%", "CPU utilization of these processors by the service"),
    "cpu_demand": ("s", "CPU time of a transaction"),
    "memory": ("B", "memory; its origin states how it was measured"),
    "major_faults": ("1/s", "page faults that wait for a disk"),
    "disk_reads": ("B/s", "bytes that came from a disk"),
}
OF_CONTENT_SERVER: dict[str, tuple[str, str]] = {
    "threads": ("threads", "worker threads of a node"),
    "database_pool": ("connections", "connections of a node to the database"),
    "content_cache": ("B", "content cache of a node"),
    "handle_cache": ("handles", "files that a node keeps open"),
    "nodes": ("nodes", "nodes that share a database"),
    "sync": ("yes or no", "whether documents are synced to the disk"),
    "dropped_indexes": ("{indexes}", "database indexes that are missing"),
    "database_bytes": ("B", "size of the SQLite file"),
    "database_cpu_share": ("%", "share of the service's CPU time that is spent in the database"),
    "queue_length": ("requests", "mean number of requests that wait for a thread"),
    "pool_wait": ("%", "share of a thread's time spent waiting for a connection of the pool"),
    "content_cache_hit_ratio": ("%", "hit ratio of the content cache"),
    "handle_cache_hit_ratio": ("%", "hit ratio of the cache of open files"),
}
OF_POSTGRESQL: dict[str, tuple[str, str]] = {
    "shared_buffers": ("B", "shared buffers"),
    "work_mem": ("B", "memory of a sort or hash"),
    "max_connections": ("connections", "largest allowed number of connections"),
    "superuser_reserved_connections": ("connections", "connections reserved for administration"),
    "synchronous_commit": ("yes or no", "whether commits wait for the disk"),
    "connections": ("connections", "largest number of simultaneous connections"),
    "hit_ratio": ("%", "share of blocks found in the shared buffers"),
    "temporary_files": ("1/s", "temporary files of queries"),
    "deadlocks": ("1/s", "deadlocks"),
    "checkpoints_requested": ("1/s", "checkpoints caused by the amount of log"),
    "checkpoints_timed": ("1/s", "checkpoints caused by the time limit"),
    "host_memory": ("B", "memory of the service's host, if services run on separate hosts"),
}
OF_A_KIND = {"content_server": OF_CONTENT_SERVER, "postgresql": OF_POSTGRESQL}
TIER = "tier"


@dataclass(frozen=True)
class Fact:
    """Known property of a system, which a rule can use as input: value in a form that rules read, and its origin. A
    value from a sheet has a place (file, line and column); a measured number may have the ends of its interval, each
    with its unit.
    """

    name: str
    value: object
    origin: str
    place: tuple[str, int, int] | None = None
    ends: tuple[str, str] | None = None


SystemFacts = dict[str, Fact]

# Last components of the names of measured properties that vary between measurement windows of the same system.
_ESTIMATES = frozenset({
    "throughput", "response_time.mean", "response_time.p95", "cpu_utilization", "cpu_demand", "idle_cpus",
    "disk_utilization", "steal", "io_pressure", "memory_pressure", "retransmits", "major_faults", "disk_reads",
    "database_cpu_share", "queue_length", "pool_wait", "content_cache_hit_ratio", "handle_cache_hit_ratio", "hit_ratio",
    "index_ratio",
})  # fmt: skip


def is_uncertain(fact: Fact) -> bool:
    """Return True if a property was measured with a random error, and the interval of its value is unknown."""
    if fact.place is not None or fact.ends is not None:
        return False
    return fact.name in _ESTIMATES or fact.name.rpartition(".")[2] in _ESTIMATES


@dataclass
class Situation:
    """Known properties of a system at one load level. The note is the run with its window, and the verdict on the run
    if it is not valid. `services` has the kind and the facts of each service; the names of these facts do not begin
    with the kind.
    """

    label: str
    note: str
    common: SystemFacts
    services: dict[str, tuple[str, SystemFacts]] = field(default_factory=dict)

    def instances(self, prefix: str) -> list[tuple[str, SystemFacts]]:
        """Return the services of kind `prefix`, with their known properties by full name (`prefix.NAME`). The prefix
        `tier` selects all services.
        """
        found = []
        for name, (kind, facts) in self.services.items():
            if prefix in (TIER, kind):
                found.append((name, {f"{prefix}.{key}": fact for key, fact in facts.items()}))
        return found

    def with_sheet(self, sheet: SystemFacts) -> Situation:
        """Return these known properties together with the properties of a configuration sheet. A property that the
        sheet states for a kind of service applies to every service of that kind.
        """
        services = {}
        for name, (kind, facts) in self.services.items():
            own = {key.partition(".")[2]: fact for key, fact in sheet.items() if key.partition(".")[0] in (kind, TIER)}
            services[name] = (kind, {**facts, **own})
        return Situation(self.label, self.note, {**self.common, **sheet}, services)


def measured(table: Mapping[str, tuple[str, str]], values: Mapping[str, object], origin: str) -> SystemFacts:
    """Return system properties for measured values in base units. Unknown values are left out. A value may be an
    estimate from a run summary.
    """
    found = {}
    for name, known in values.items():
        estimate = known if isinstance(known, Estimate) else None
        value = known if estimate is None else estimate.value
        if not isinstance(value, bool | str | Real):
            continue
        unit = table[name][0]
        given = value if isinstance(value, bool | str) else _text(float(value), unit)
        low, high = (None, None) if estimate is None else (estimate.low, estimate.high)
        ends = None if low is None or high is None else (_text(float(low), unit), _text(float(high), unit))
        found[name] = Fact(name, given, origin, ends=ends)
    return found


def _text(value: float, unit: str) -> str:
    """Return a value as text with its unit; a measured ratio is converted to per cent if the unit is `%`."""
    return f"{value * 100!r} %" if unit == "%" else f"{value!r} {unit}"


def bound_names(rules: Iterable[Rule]) -> dict[str, None]:
    """Return all names of system properties that rules can use, in the order of the rules."""
    return {name: None for rule in rules for quantity in rule.entry.inputs.values() for name in quantity.binds}
