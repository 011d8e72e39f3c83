"""Reads the properties of a system that rules use from a results folder. For each configuration, the properties are
read at the highest load with a usable run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from towtank import units
from towtank.analysis import (
    NO_ESTIMATE,
    NO_METRIC,
    SET_ASIDE_SUFFIX,
    Configuration,
    Estimate,
    Metric,
    RunSummary,
    StudySummary,
    TierUse,
    describe_study,
    summaries_of,
)
from towtank.containment import Failed, attempt
from towtank.digging import dig
from towtank.errors import MeasurementError, StudyError
from towtank.estimates import few_digits
from towtank.load_level import Load
from towtank.results import ResultsFolder, RunFolder, RunManifest, usable_part
from towtank.sizing.rules.facts import (
    COMMON,
    OF_A_KIND,
    OF_A_TIER,
    OF_CONTENT_SERVER,
    OF_POSTGRESQL,
    Situation,
    SystemFacts,
    measured,
)
from towtank.tier_memory import memory_of_tier

_TRUST = {"valid": 0, "suspect": 1}
_POSTGRESQL_SIZE = re.compile(r"(\d+)\s*(B|kB|MB|GB|TB)?")
# Units in PostgreSQL settings are powers of 1024, in spite of their names. A number without a unit counts pages if the
# setting is a buffer size, otherwise kB.
_POSTGRESQL_FACTORS = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_POSTGRESQL_PAGE = 8192
_FILES_OF = "study"


def measured_situations(path: Path, users: float | None = None) -> list[Situation]:
    """Return the known properties of the system for each configuration of a results folder.

    The load level is that with the given number of users; by default the highest one.

    Raises
    ------
    MeasurementError
        If no run is usable.
    """
    folder = ResultsFolder.open(path)
    runs = {run.run_id: run for run in folder.runs() if SET_ASIDE_SUFFIX not in run.run_id}
    manifests = {name: read for name, run in runs.items() if (read := _manifest(run)) is not None}
    # Without a manifest, the settings and the load of a run are unknown.
    summaries = summaries_of(runs[name] for name in manifests)
    manifest = folder.manifest
    study = StudySummary.model_validate(describe_study(manifest, list(summaries.values())))
    known = {name: _record(summary) for name, summary in summaries.items()}
    found = []
    for configuration in study.configurations:
        name = _chosen(configuration, known, users)
        if name is None:
            continue
        run, host = (manifests[name], known[name]), manifest.get("host") or {}
        situation = attempt(f"facts of {configuration.label}", _situation, host, study, configuration, *run)
        found += [] if isinstance(situation, Failed) else [situation]
    if not found:
        at = f" at {users:g} users" if users is not None else ""
        raise MeasurementError(f"{path}: no run{at} can be used", hint="`towtank report` shows the reasons")
    return found


def _manifest(run: RunFolder) -> RunManifest | None:
    """Return the manifest of a run; None if the file is incomplete because its writing was interrupted."""
    try:
        return RunManifest.model_validate(usable_part(run.manifest, RunManifest))
    except (OSError, ValueError, StudyError):
        return None


def _record(summary: Mapping[str, Any]) -> RunSummary:
    """Return a run summary of any version as a record, with the memory of its tiers."""
    keys = ("memory_bytes", "memory_how")
    tiers = {
        name: {**use, **dict(zip(keys, memory_of_tier(use), strict=True))} for name, use in summary["tiers"].items()
    }
    return RunSummary.read({**summary, "tiers": tiers})


def study_file_of(path: Path) -> Path | None:
    """Return the path of the study file of a results folder; None if this file no longer exists."""
    files = ResultsFolder.open(path).manifest.get("files") or []
    named = [
        Path(str(entry.get("path"))) for entry in files if isinstance(entry, dict) and entry.get("role") == _FILES_OF
    ]
    return next((file for file in named if file.is_file()), None)


def _chosen(configuration: Configuration, summaries: Mapping[str, RunSummary], users: float | None) -> str | None:
    """Return the name of the run at the highest load; None if no run is valid or suspect. At equal load, valid runs
    precede suspect runs.
    """
    candidates = [
        (-point.level, _TRUST[level], run)
        for point in configuration.points
        if users is None or point.users == users
        for run in point.runs
        if (level := summaries[run].verdict.level) in _TRUST
    ]
    return min(candidates)[2] if candidates else None


def _situation(
    host: Mapping[str, Any], study: StudySummary, configuration: Configuration, run: RunManifest, summary: RunSummary
) -> Situation:
    start, end = _window(summary)
    level = summary.verdict.level
    trust = "" if level == "valid" else f", a {level} run"
    origin = f"run {summary.run}"
    where = f"{origin} at {Load.read(run.model_dump()) or 'an unknown load'}"
    note = f"{where}, {few_digits(start, 4)} to {few_digits(end, 4)} s{trust}"
    common = measured(COMMON, _common(host, study, configuration, run, summary), origin)
    services = {}
    for name, tier in summary.tiers.items():
        kind = str(tier.kind)
        facts = measured(OF_A_TIER, _tier(tier), origin)
        facts |= measured(OF_A_TIER, {"memory": tier.memory_bytes}, f"{tier.memory_how} in {origin}")
        settings = (run.settings or {}).get(name) or {}
        facts |= _of_kind(kind, settings, _metrics(summary, name), tier, f"settings of {name} in {origin}")
        if "host_memory" in OF_A_KIND.get(kind, {}):
            of_host = {"host_memory": memory_of_host(dig(run.hosts, str(tier.host)))}
            facts |= measured(OF_A_KIND[kind], of_host, f"host of {name} in {origin}")
        services[name] = (kind, facts)
    return Situation(configuration.label, note, common, services)


def _window(summary: RunSummary) -> tuple[float, float]:
    """Return begin and end of the steady window of a run; the window of a usable run is known. [s]"""
    window = summary.window or {}
    return window["start_s"], window["end_s"]


def memory_of_host(host: Mapping[str, Any] | None) -> float | None:
    """Return the memory of the host of a service, or the memory limit of the host if the limit was in force; None if no
    memory was recorded. [byte]
    """
    if host is None:
        return None
    sizes = host.get("sizes") or {}
    limit = sizes.get("memory") if sizes.get("in_force", True) else None
    return _number(limit if limit is not None else host.get("memory_bytes"))


def planned_in_force(hosts: Mapping[str, Any] | None) -> bool | None:
    """Return True if the limits of all hosts were in force when the run began, and False if the limits of a host were
    not. The result is None if no host recorded whether its limits were in force: the settings of a service do not show
    this.
    """
    known = [state for host in (hosts or {}).values() if (state := dig(host, "sizes", "in_force")) is not None]
    return all(known) if known else None


def _known_by(value: float | None, estimate: object) -> object:
    """Return the estimate, with its interval, if its value equals `value`; otherwise return `value` alone."""
    return estimate if value is not None and isinstance(estimate, Estimate) and estimate.value == value else value


def _share_of(used: Estimate, cpus: float | None) -> Estimate:
    """Return the used share of the CPUs, limited to [0, 1] because counters of CPU time may be ahead by a
    tick. [ratio]
    """
    if not cpus or used.value is None:
        return NO_ESTIMATE
    low, high = (None if end is None else min(max(end / cpus, 0.0), 1.0) for end in (used.low, used.high))
    return Estimate(min(used.value / cpus, 1.0), low, high)


def _idle(used: Estimate, cpus: float | None) -> Estimate:
    """Return the number of idle CPUs, with an interval if known. [1]"""
    share = _share_of(used, cpus)
    if cpus is None:
        return NO_ESTIMATE
    value, low, high = (None if of is None else cpus * (1 - of) for of in (share.value, share.high, share.low))
    return Estimate(value, low, high)


def _common(
    facts: Mapping[str, Any], study: StudySummary, configuration: Configuration, run: RunManifest, summary: RunSummary
) -> dict[str, object]:
    host, law = summary.host, summary.laws.little
    # Little's law is not checked if the response time of some transactions is unknown.
    if law is not None and law.holds is None:
        law = None
    rate, mean = summary.throughput_per_s, summary.response_time_s.get("mean")
    start, end = _window(summary)
    again = _everywhere(summary, "retransmits")
    ramp, limit = summary.phases.get("ramp_up"), configuration.limit
    leaves = None if limit is None else limit.leaves_ideal_at
    places = (host.disks, *(each.disks for each in summary.hosts.values()))
    disks = [disk.utilization for disks_of_place in places for disk in disks_of_place.values()]
    return {
        "load.users": run.users,
        "load.rate": run.rate,
        "throughput": rate,
        "response_time.mean": mean,
        "response_time.p95": summary.response_time_s.get("p95"),
        "laws.users": law and law.n,
        "laws.throughput": law and _known_by(law.x_per_s, rate),
        "laws.response_time": law and _known_by(law.r_s, mean),
        "laws.think_time": law and law.z_s,
        "connections.opened": summary.connections.opened_per_s,
        "host.cpus": host.cpus,
        "host.idle_cpus": _idle(host.cpus_used, host.cpus),
        "host.cpu_limit": facts.get("cpu_limit"),
        "host.cpu_utilization": _share_of(host.cpus_used, host.cpus),
        "host.memory": facts.get("memory_limit_bytes") or facts.get("memory_bytes"),
        "host.memory_available": host.memory_available_bytes,
        "host.disk_utilization": max((share for share in disks if share is not None), default=None),
        "host.steal": host.steal,
        "host.io_pressure": host.pressure.get("io_some"),
        "host.memory_pressure": host.pressure.get("memory_some"),
        "host.listen_overflows": _everywhere(summary, "listen_overflows"),
        "host.retransmits": again / (end - start) if again is not None else None,
        "host.open_files_limit": facts.get("open_files_limit"),
        "measurement.window": end - start,
        "measurement.excludes_ramps": None if ramp is None else start >= ramp.end_s,
        "measurement.planned_in_force": planned_in_force(run.hosts),
        "study.last_load_before_rise": None if leaves is None else leaves.after,
        "study.index_ratio": _index_ratio(study, run),
    }


def _everywhere(summary: RunSummary, event: str) -> float | None:
    """Return the sum of a TCP event count over the study machine and all hosts; None if no machine recorded the
    event.
    """
    networks = (summary.host.tcp, *(host.tcp for host in summary.hosts.values()))
    seen = [count for network in networks if (count := network.get(event)) is not None]
    return sum(seen) if seen else None


def _index_ratio(study: StudySummary, run: RunManifest) -> Estimate | None:
    """Return the largest ratio of mean response times between two levels of an index factor, among the ratios whose
    interval excludes 1; None if no such ratio exists.

    An index factor is a factor whose name contains `index`.
    """
    ratios = [
        _above_one(each.ratio)
        for each in study.comparisons
        if each.factor in (run.factors or {}) and "index" in each.factor
        if each.transaction is not None and each.ratio.value and each.is_certain
    ]
    return max(ratios, key=lambda ratio: ratio.value or 0.0, default=None)


def _above_one(ratio: Estimate) -> Estimate:
    """Return a ratio with its interval. A ratio below 1 is replaced by its reciprocal."""
    if ratio.value is None or ratio.value >= 1:
        return ratio
    value, low, high = (1 / end if end else None for end in (ratio.value, ratio.high, ratio.low))
    return Estimate(value, low, high)


def _tier(tier: TierUse) -> dict[str, object]:
    used = None if tier.utilization is None else min(tier.utilization, 1.0)
    return {
        "cpus": tier.cpus_allotted,
        "cpu_utilization": _known_by(used, _share_of(tier.cpus_used, tier.cpus_allotted)),
        "cpu_demand": tier.cpu_demand_s,
        "major_faults": tier.major_faults_per_s,
        "disk_reads": tier.disk_read_bytes_per_s,
    }


class _Metrics:
    """Metrics of a service, from the tables of all its nodes."""

    def __init__(self, tables: Iterable[Mapping[str, Metric]]) -> None:
        self._tables = list(tables)

    def total(self, name: str, key: str = "per_s") -> float | None:
        """Return the sum of a metric over the nodes of the service; None if no node has the metric."""
        metrics = (table.get(name, NO_METRIC) for table in self._tables)
        found = [value for metric in metrics if (value := getattr(metric, key)) is not None]
        return sum(found) if found else None

    def ratio(self, hits: str, misses: str) -> float | None:
        """Return the share of cache hits in all requests; None if either count is unknown. [ratio]"""
        hit, missed = self.total(hits), self.total(misses)
        return hit / (hit + missed) if hit is not None and missed is not None and hit + missed > 0 else None


def _metrics(summary: RunSummary, name: str) -> _Metrics:
    """Return the metrics of a service, including those of its nodes and of its SQLite database."""
    own = re.compile(rf"{re.escape(name)}(-\d+|-sqlite)?")
    return _Metrics(service for key, service in summary.services.items() if own.fullmatch(key))


def _of_kind(kind: str, settings: Mapping[str, Any], metrics: _Metrics, tier: TierUse, origin: str) -> SystemFacts:
    """Return the system properties that exist only for this kind of service."""
    if kind not in OF_A_KIND:
        return {}
    values = _content_server(settings, metrics, tier) if kind == "content_server" else _postgresql(settings, metrics)
    return measured(OF_A_KIND[kind], values, origin)


def _content_server(settings: Mapping[str, Any], metrics: _Metrics, tier: TierUse) -> dict[str, object]:
    cache = settings.get("content_cache")
    part, used = tier.parts.get("database"), tier.cpus_used.value
    database = None if part is None else part.cpus_used.value
    dropped = settings.get("drop_index")
    values: dict[str, object] = dict.fromkeys(OF_CONTENT_SERVER)
    values |= {key: settings.get(key) for key in ("threads", "database_pool", "handle_cache", "nodes", "sync")}
    values |= {
        "content_cache": units.size(cache) if isinstance(cache, str) else cache,
        "dropped_indexes": len(dropped) if isinstance(dropped, list) else None,
        "database_bytes": metrics.total("sqlite_database_bytes", "max"),
        "database_cpu_share": database / used if database is not None and used else None,
        "queue_length": metrics.total("content_server_queue_length", "mean"),
        "pool_wait": metrics.total("content_server_database_pool_wait_seconds_total"),
    }
    for fact, label in (("content_cache_hit_ratio", "content"), ("handle_cache_hit_ratio", "handles")):
        hits, misses = (f'content_server_cache_{what}_total{{cache="{label}"}}' for what in ("hits", "misses"))
        values[fact] = metrics.ratio(hits, misses)
    return values


def _postgresql(settings: Mapping[str, Any], metrics: _Metrics) -> dict[str, object]:
    commit = settings.get("synchronous_commit")
    values: dict[str, object] = dict.fromkeys(OF_POSTGRESQL)
    values |= {
        "shared_buffers": postgresql_size(settings.get("shared_buffers"), _POSTGRESQL_PAGE),
        "work_mem": postgresql_size(settings.get("work_mem"), 2**10),
        "max_connections": _number(settings.get("max_connections")),
        "superuser_reserved_connections": _number(settings.get("superuser_reserved_connections")),
        "synchronous_commit": None if commit is None else str(commit).lower() not in ("off", "false", "no", "0"),
        "connections": metrics.total("pg_stat_database_connections", "max"),
        "hit_ratio": metrics.ratio("pg_stat_database_blocks_hit_total", "pg_stat_database_blocks_read_total"),
        "temporary_files": metrics.total("pg_stat_database_temporary_files_total"),
        "deadlocks": metrics.total("pg_stat_database_deadlocks_total"),
        "checkpoints_requested": metrics.total("pg_stat_checkpoints_requested_total"),
        "checkpoints_timed": metrics.total("pg_stat_checkpoints_timed_total"),
    }
    return values


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def postgresql_size(value: Any, unit: int) -> int | None:
    """Parse the size in a PostgreSQL setting. `unit` is the size of the unit to use if the text contains no unit.
    [byte]
    """
    match = _POSTGRESQL_SIZE.fullmatch(str(value).strip()) if value is not None else None
    if match is None:
        return None
    return int(match[1]) * (_POSTGRESQL_FACTORS[match[2]] if match[2] else unit)
