"""Exports run summaries in the OpenMetrics text format, for the textfile collector of the Prometheus node_exporter.

The file is valid in OpenMetrics 1.0 and in the older Prometheus text format, which the collector reads. It contains
only gauges without time stamps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from towtank.results.exports import judged
from towtank.results.exports.format import ExportFile, ExportFormat, text_file
from towtank.results.exports.material import Material, RunMaterial
from towtank.tier_memory import memory_of_tier

Labels = Mapping[str, str]

_STATISTICS = ("mean", "min", "p50", "p90", "p95", "p99", "p99.9", "max")
_BOUNDS = {"value": "estimate", "low": "low", "high": "high"}
_LEVELS = ("valid", "suspect", "invalid")
_UNITS = ("seconds", "ratio", "bytes")

# Metric families in the order of the file: name without prefix, and help text.
_FAMILIES = {
    "study_runs": "Runs of the study by verdict.",
    "objective_met": "Whether an objective is met by a configuration; left out if no valid run decides this.",
    "run_verdict": "Whether the run has this verdict.",
    "run_ended_timestamp_seconds": "Time since 1970 at which the run ended.",
    "window_seconds": "Duration of the analysed window.",
    "users": "Mean number of active users in the window.",
    "throughput_transactions_per_second": "Transactions that succeeded.",
    "throughput_requests_per_second": "Requests that succeeded.",
    "response_time_seconds": "Response time of transactions, from the planned start.",
    "exchange_time_seconds": "Time of requests from their actual start.",
    "failed_transactions": "Transactions that failed in the window.",
    "failed_ratio": "Share of transactions that failed.",
    "failed_requests": "Requests that failed in the window, by kind.",
    "answers": "Complete responses in the window, by status code.",
    "transaction_throughput_per_second": "Transactions of one kind that succeeded.",
    "transaction_response_time_seconds": "Response time of one kind of transaction, from the planned start.",
    "transaction_failed": "Transactions of one kind that failed in the window.",
    "tier_cpus_used": "Number of CPUs that a tier used.",
    "tier_utilization_ratio": "Share of the CPUs of a tier that it used.",
    "tier_cpu_demand_seconds": "CPU time of a tier per transaction.",
    "tier_memory_bytes": "Memory of a tier; the label `how` states the method.",
    "tier_resident_sets_bytes": "Sum of the resident sets of the processes of a tier; shared pages count repeatedly.",
    "not_attributed_cpus_used": "CPUs of a machine that no tier, generator or observer used.",
    "connections_open": "Mean number of open connections in the window.",
    "connection_wait_ratio": "Share of the requests that found no free connection in the pool.",
    "connection_wait_seconds": "Time that requests without a free connection waited for one.",
    "generator_cpus_used": "Number of CPUs that the load generator used.",
    "generator_start_lag_p99_seconds": "99th percentile of actual minus planned start.",
}


@dataclass
class _Page:
    """Samples of an OpenMetrics file, by metric family."""

    samples: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in _FAMILIES})

    def add(self, family: str, labels: Labels, value: Any) -> None:
        """Add a sample to a metric family. If the value was not measured, no sample is added."""
        if isinstance(value, int | float) and math.isfinite(value):
            inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            self.samples[family].append(f"towtank_{family}{{{inside}}} {float(value)!r}")

    def estimate(self, family: str, labels: Labels, estimate: Any) -> None:
        """Add a value and the bounds of its interval to a metric family. A plain number has no bounds."""
        if not isinstance(estimate, Mapping):
            self.add(family, {**labels, "bound": "estimate"}, estimate)
            return
        for key, bound in _BOUNDS.items():
            self.add(family, {**labels, "bound": bound}, estimate.get(key))

    def times(self, family: str, labels: Labels, times: Mapping[str, Any]) -> None:
        """Add mean, extremes and quantiles of a time to a metric family."""
        for name in _STATISTICS:
            self.estimate(family, {**labels, "statistic": name}, times.get(name))

    def lines(self) -> Iterator[str]:
        """Yield all lines of the OpenMetrics file. Metric families without samples are omitted."""
        for family, samples in self.samples.items():
            if samples:
                yield f"# HELP towtank_{family} {_FAMILIES[family]}"
                yield f"# TYPE towtank_{family} gauge"
                unit = family.rpartition("_")[2]
                if unit in _UNITS:
                    yield f"# UNIT towtank_{family} {unit}"
                yield from samples
        yield "# EOF"


def _files(material: Material) -> list[ExportFile]:
    return [text_file("towtank.prom", lambda: _text(material))]


def _text(material: Material) -> str:
    page = _Page()
    _study(page, material)
    names = _label_names(material.factors)
    for run in material.runs:
        levels = {names[name]: level for name, level in run.factors.items()}
        _run(page, {"study": material.study, "run": run.name, **levels}, run)
    return "".join(f"{line}\n" for line in page.lines())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", " ")


def _label_names(factors: list[str]) -> dict[str, str]:
    """Return the label name of each factor. If the label of another factor is the same, a number is appended."""
    names: dict[str, str] = {}
    for factor in factors:
        plain = "factor_" + re.sub(r"[^a-zA-Z0-9_]", "_", factor)
        label, number = plain, 1
        while label in names.values():
            number += 1
            label = f"{plain}_{number}"
        names[factor] = label
    return names


def _study(page: _Page, material: Material) -> None:
    verdict, study = material.summary["verdict"], {"study": material.study}
    for level in (*_LEVELS, "missing"):
        page.add("study_runs", {**study, "verdict": level}, verdict[f"{level}_runs"])
    for objective in material.summary["objectives"]:
        met = {"met": 1, "missed": 0}.get(judged.state(objective))
        page.add("objective_met", {**study, "objective": objective["text"], "configuration": objective["label"]}, met)


def _run(page: _Page, labels: Labels, run: RunMaterial) -> None:
    summary = run.summary
    for level in _LEVELS:
        page.add("run_verdict", {**labels, "verdict": level}, int(summary["verdict"]["level"] == level))
    ended = run.manifest.ended_wall_ns
    page.add("run_ended_timestamp_seconds", labels, None if ended is None else ended / 1e9)
    window = summary.get("window") or {}
    if window:
        page.add("window_seconds", labels, window["end_s"] - window["start_s"])
    page.add("users", labels, (summary.get("users") or {}).get("mean"))
    page.estimate("throughput_transactions_per_second", labels, summary["throughput_per_s"])
    page.estimate("throughput_requests_per_second", labels, summary["request_throughput_per_s"])
    page.times("response_time_seconds", labels, summary["response_time_s"])
    page.times("exchange_time_seconds", labels, summary["exchange_time_s"])
    if window:  # A run without a measured window has no counts, and zeros would be wrong.
        page.add("failed_transactions", labels, summary["errors"]["count"])
        page.add("failed_ratio", labels, summary["errors"]["share"])
        for kind, count in (summary.get("request_errors") or {}).get("by_kind", {}).items():
            page.add("failed_requests", {**labels, "kind": kind}, count)
        for code, count in (summary.get("status_codes") or {}).items():
            page.add("answers", {**labels, "status": code}, count)
    for name, transaction in (summary.get("transactions") or {}).items():
        _transaction(page, {**labels, "transaction": name}, transaction)
    for name, tier in (summary.get("tiers") or {}).items():
        _tier(page, {**labels, "tier": name}, tier)
    for name, machine in (summary.get("not_attributed") or {}).items():
        page.estimate("not_attributed_cpus_used", {**labels, "machine": name}, machine.get("cpus_used"))
    connections = summary.get("connections") or {}
    waits = connections.get("wait_time_s") or {}
    page.add("connections_open", labels, connections.get("open_mean"))
    page.add("connection_wait_ratio", labels, waits.get("share_waited"))
    for name in _STATISTICS:
        page.add("connection_wait_seconds", {**labels, "statistic": name}, waits.get(name))
    generator = summary.get("generator") or {}
    page.add("generator_cpus_used", labels, generator.get("cpus_used"))
    page.add("generator_start_lag_p99_seconds", labels, generator.get("start_lag_p99_s"))


def _transaction(page: _Page, labels: Labels, transaction: Mapping[str, Any]) -> None:
    page.estimate("transaction_throughput_per_second", labels, transaction["throughput_per_s"])
    page.times("transaction_response_time_seconds", labels, transaction["response_time_s"])
    page.add("transaction_failed", labels, transaction["errors"])


def _tier(page: _Page, labels: Labels, tier: Mapping[str, Any]) -> None:
    page.estimate("tier_cpus_used", labels, tier.get("cpus_used"))
    page.add("tier_utilization_ratio", labels, tier.get("utilization"))
    page.estimate("tier_cpu_demand_seconds", labels, tier.get("cpu_demand_s"))
    found, how = memory_of_tier(tier)
    page.add("tier_memory_bytes", {**labels, "how": how or ""}, found)
    sets = tier.get("resident_sets_bytes", tier.get("resident_bytes"))
    page.add("tier_resident_sets_bytes", labels, sets)


FORMAT = ExportFormat("openmetrics", "summaries of runs, verdicts and objectives for a textfile collector", _files)
