"""Reads the properties of a system that rules use from a results folder. For each configuration, the properties are
read at the highest load with a usable run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from towtank import units
from towtank.analysis import SET_ASIDE_SUFFIX, Estimate, StudySummary, describe_study, summaries_of
from towtank.containment import Failed, attempt
from towtank.digging import dig
from towtank.errors import MeasurementError, StudyError
from towtank.estimates import few_digits
from towtank.load_level import Load
from towtank.results import ResultsFolder, RunFolder
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

Json = dict[str, Any]
_TRUST = {"valid": 0, "suspect": 1}
_POSTGRESQL_SIZE = re.compile(r"(\d+)\s*(B|kB|MB|GB|TB)?")
# Units in PostgreSQL settings are powers of 1024, in spite of their names. A number without a unit counts pages if the
# setting is a buffer size, otherwise kB.
_POSTGRESQL_FACTORS = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_POSTGRESQL_PAGE = 8192
_FILES_OF = "study"


def measured_situations(path: Path, users: float | None = None) -> list[Situation]:
    """Return the known properties of the system for each configuration of a results folder.

    Parameters
    ----------
    path : Path
    users : float, optional
        Number of users of the load level to use; by default the highest load level is used.

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
    study = describe_study(manifest, list(summaries.values()))
    found = []
    for configuration in study["configurations"]:
        name = _chosen(configuration, summaries, users)
        if name is None:
            continue
        run = manifests[name], summaries[name]
        situation = attempt(f"facts of {configuration['label']}", _situation, manifest, study, configuration, *run)
        found += [] if isinstance(situation, Failed) else [situation]
    if not found:
        at = f" at {users:g} users" if users is not None else ""
        raise MeasurementError(f"{path}: no run{at} can be used", hint="`towtank report` shows the reasons")
    return found


def _manifest(run: RunFolder) -> Json | None:
    """Return the manifest of a run; None if the file is incomplete because its writing was interrupted."""
    try:
        return run.manifest
    except (OSError, ValueError, StudyError):
        return None


def study_file_of(path: Path) -> Path | None:
    """Return the path of the study file of a results folder; None if this file no longer exists."""
    files = ResultsFolder.open(path).manifest.get("files") or []
    named = [
        Path(str(entry.get("path"))) for entry in files if isinstance(entry, dict) and entry.get("role") == _FILES_OF
    ]
    return next((file for file in named if file.is_file()), None)


def _chosen(configuration: Json, summaries: dict[str, Json], users: float | None) -> str | None:
    """Return the name of the run at the highest load; None if no run is valid or suspect. At equal load, valid runs
    precede suspect runs.
    """
    candidates = [
        (-float(point["load"]), _TRUST[level], run)
        for point in configuration["points"]
        if users is None or point.get("users") == users
        for run in point["runs"]
        if (level := summaries[run]["verdict"]["level"]) in _TRUST
    ]
    return min(candidates)[2] if candidates else None


def _situation(manifest: Json, study: Json, configuration: Json, run: Json, summary: Json) -> Situation:
    window = summary["window"]
    start, end = window.get("start_s"), window.get("end_s")
    level = summary["verdict"]["level"]
    trust = "" if level == "valid" else f", a {level} run"
    origin = f"run {summary['run']}"
    where = f"{origin} at {Load.read(run) or 'an unknown load'}"
    note = f"{where}, {few_digits(start, 4)} to {few_digits(end, 4)} s{trust}"
    common = measured(COMMON, _common(manifest, study, configuration, run, summary), origin)
    services = {}
    for name, tier in summary["tiers"].items():
        kind = str(tier.get("kind"))
        facts = measured(OF_A_TIER, _tier(tier), origin)
        memory, how = memory_of_tier(tier)
        facts |= measured(OF_A_TIER, {"memory": memory}, f"{how} in {origin}")
        settings = (run.get("settings") or {}).get(name) or {}
        facts |= _of_kind(kind, settings, _metrics(summary, name), tier, f"settings of {name} in {origin}")
        if "host_memory" in OF_A_KIND.get(kind, {}):
            of_host = {"host_memory": memory_of_host((run.get("hosts") or {}).get(str(tier.get("host"))))}
            facts |= measured(OF_A_KIND[kind], of_host, f"host of {name} in {origin}")
        services[name] = (kind, facts)
    return Situation(str(configuration["label"] or "all runs"), note, common, services)


def memory_of_host(host: Mapping[str, Any] | None) -> float | None:
    """Return the memory of the host of a service, or the memory limit of the host if the limit was in force; None if no
    memory was recorded. [byte]
    """
    if host is None:
        return None
    sizes = host.get("sizes") or {}
    limit = sizes.get("memory") if sizes.get("in_force", True) else None
    return _number(limit if limit is not None else host.get("memory_bytes"))


def planned_in_force(run: Mapping[str, Any]) -> bool | None:
    """Return True if the limits of all hosts were in force when the run began, and False if the limits of a host were
    not. The result is None if no host recorded whether its limits were in force: the settings of a service do not show
    this.
    """
    hosts = (dig(run, "hosts") or {}).values()
    known = [state for host in hosts if (state := dig(host, "sizes", "in_force")) is not None]
    return all(known) if known else None


def _value(estimate: Any) -> Any:
    return estimate.get("value") if isinstance(estimate, dict) else estimate


def _known_by(value: float | None, estimate: Any) -> Any:
    """Return the estimate, with its interval, if its value equals `value`; otherwise return `value` alone."""
    return estimate if value is not None and value == _value(estimate) else value


def _share_of(used: Any, cpus: float | None) -> Any:
    """Return the used share of the CPUs, limited to [0, 1] because counters of CPU time may be ahead by a
    tick. [ratio]
    """
    if not cpus or _value(used) is None:
        return None
    if not isinstance(used, dict) or used.get("low") is None or used.get("high") is None:
        return min(_value(used) / cpus, 1.0)
    return {key: min(max(used[key] / cpus, 0.0), 1.0) for key in ("value", "low", "high")}


def _idle(used: Any, cpus: float | None) -> Any:
    """Return the number of idle CPUs, with an interval if known. [1]"""
    share = _share_of(used, cpus)
    if share is None or cpus is None:
        return None
    if not isinstance(share, dict):
        return cpus * (1 - share)
    return {end: cpus * (1 - share[of]) for end, of in (("value", "value"), ("low", "high"), ("high", "low"))}


def _disk_utilizations(summary: Mapping[str, Any]) -> list[float]:
    """Return the utilization of each disk of the study machine and of all hosts of its services. [1]"""
    places = (dig(summary, "host"), *(dig(summary, "hosts") or {}).values())
    shares = [dig(disk, "utilization") for place in places for disk in (dig(place, "disks") or {}).values()]
    return [share for share in shares if share is not None]


def _common(manifest: Json, study: Json, configuration: Json, run: Json, summary: Json) -> Json:
    host, facts, law = summary["host"], manifest.get("host") or {}, summary["laws"].get("little") or {}
    # Little's law is not checked if the response time of some transactions is unknown.
    if law.get("holds") is None:
        law = {}
    cpus, used = host.get("cpus"), host.get("cpus_used")
    rate, mean = summary["throughput_per_s"], summary["response_time_s"].get("mean")
    window = summary["window"]
    length = window["end_s"] - window["start_s"]
    again = _everywhere(summary, "retransmits")
    pressure = host.get("pressure") or {}
    return {
        "load.users": run.get("users"),
        "load.rate": run.get("rate"),
        "throughput": rate,
        "response_time.mean": mean,
        "response_time.p95": summary["response_time_s"].get("p95"),
        "laws.users": law.get("n"),
        "laws.throughput": _known_by(law.get("x_per_s"), rate),
        "laws.response_time": _known_by(law.get("r_s"), mean),
        "laws.think_time": law.get("z_s"),
        "connections.opened": (summary.get("connections") or {}).get("opened_per_s"),
        "host.cpus": cpus,
        "host.idle_cpus": _idle(used, cpus),
        "host.cpu_limit": facts.get("cpu_limit"),
        "host.cpu_utilization": _share_of(used, cpus),
        "host.memory": facts.get("memory_limit_bytes") or facts.get("memory_bytes"),
        "host.memory_available": host.get("memory_available_bytes"),
        "host.disk_utilization": max(_disk_utilizations(summary), default=None),
        "host.steal": host.get("steal"),
        "host.io_pressure": pressure.get("io_some"),
        "host.memory_pressure": pressure.get("memory_some"),
        "host.listen_overflows": _everywhere(summary, "listen_overflows"),
        "host.retransmits": again / length if again is not None else None,
        "host.open_files_limit": facts.get("open_files_limit"),
        "measurement.window": length,
        "measurement.excludes_ramps": _after_ramp(summary),
        "measurement.planned_in_force": planned_in_force(run),
        "study.last_load_before_rise": _before_rise(configuration),
        "study.index_ratio": _index_ratio(study, run),
    }


def _everywhere(summary: Json, event: str) -> float | None:
    """Return the sum of a TCP event count over the study machine and all hosts; None if no machine recorded the
    event.
    """
    networks = (summary["host"], *(summary.get("hosts") or {}).values())
    seen = [count for network in networks if (count := (network.get("tcp") or {}).get(event)) is not None]
    return sum(seen) if seen else None


def _after_ramp(summary: Json) -> bool | None:
    ramp = (summary.get("phases") or {}).get("ramp_up")
    return summary["window"]["start_s"] >= ramp["end_s"] if ramp else None


def _before_rise(configuration: Json) -> float | None:
    left = (configuration.get("limit") or {}).get("leaves_ideal_at")
    return left.get("after") if left else None


def _index_ratio(study: Json, run: Json) -> Json | None:
    """Return the largest ratio of mean response times between two levels of an index factor, among the ratios whose
    interval excludes 1; None if no such ratio exists.

    An index factor is a factor whose name contains `index`.
    """
    factors = {name for name, level in (run.get("factors") or {}).items() if "index" in name}
    ratios = [
        _above_one(each.ratio)
        for each in StudySummary.model_validate(study).comparisons
        if each.factor in factors and each.transaction is not None and each.ratio.value and each.is_certain
    ]
    return max(ratios, key=lambda ratio: float(ratio["value"]), default=None)


def _above_one(ratio: Estimate) -> Json:
    """Return a ratio with its interval. A ratio below 1 is replaced by its reciprocal."""
    value, low, high = ratio.value, ratio.low, ratio.high
    if value is None or value >= 1:
        return {"value": value, "low": low, "high": high}
    return {"value": 1 / value, "low": 1 / high if high else None, "high": 1 / low if low else None}


def _tier(tier: Json) -> Json:
    return {
        "cpus": tier.get("cpus_allotted"),
        "cpu_utilization": _utilization(tier),
        "cpu_demand": tier.get("cpu_demand_s"),
        "major_faults": tier.get("major_faults_per_s"),
        "disk_reads": tier.get("disk_read_bytes_per_s"),
    }


def _utilization(tier: Json) -> Any:
    """Return the utilization of a tier, with its interval if the interval of the CPUs used is known. [ratio]"""
    used, share = tier.get("utilization"), _share_of(tier.get("cpus_used"), tier.get("cpus_allotted"))
    return _known_by(None if used is None else min(used, 1.0), share)


class _Metrics:
    """Metrics of a service, from the tables of all its nodes."""

    def __init__(self, tables: Iterable[Json]) -> None:
        self._tables = list(tables)

    def total(self, name: str, key: str = "per_s") -> float | None:
        """Return the sum of a metric over the nodes of the service; None if no node has the metric."""
        found = [table[name][key] for table in self._tables if name in table and table[name].get(key) is not None]
        return sum(found) if found else None

    def ratio(self, hits: str, misses: str) -> float | None:
        """Return the share of cache hits in all requests; None if either count is unknown. [ratio]"""
        hit, missed = self.total(hits), self.total(misses)
        return hit / (hit + missed) if hit is not None and missed is not None and hit + missed > 0 else None


def _metrics(summary: Json, name: str) -> _Metrics:
    """Return the metrics of a service, including those of its nodes and of its SQLite database."""
    services = summary.get("services") or {}
    own = re.compile(rf"{re.escape(name)}(-\d+|-sqlite)?")
    return _Metrics(service for key, service in services.items() if own.fullmatch(key))


def _of_kind(kind: str, settings: Json, metrics: _Metrics, tier: Json, origin: str) -> SystemFacts:
    """Return the system properties that exist only for this kind of service."""
    if kind not in OF_A_KIND:
        return {}
    values = _content_server(settings, metrics, tier) if kind == "content_server" else _postgresql(settings, metrics)
    return measured(OF_A_KIND[kind], values, origin)


def _content_server(settings: Json, metrics: _Metrics, tier: Json) -> Json:
    cache = settings.get("content_cache")
    part = (tier.get("parts") or {}).get("database") or {}
    database, used = _value(part.get("cpus_used")), _value(tier.get("cpus_used"))
    dropped = settings.get("drop_index")
    values: Json = dict.fromkeys(OF_CONTENT_SERVER)
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


def _postgresql(settings: Json, metrics: _Metrics) -> Json:
    commit = settings.get("synchronous_commit")
    values: Json = dict.fromkeys(OF_POSTGRESQL)
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
