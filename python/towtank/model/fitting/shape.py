"""What kind of limit a capacity curve shows: CPU, lock or pool, disk, memory, or the generator itself.

Response times rise sharply for many reasons that look alike from outside. The summaries tell them apart: each kind of
limit has numbers that only it moves. All numbers that were looked at are listed, also those that rule a kind out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from towtank.analysis.statistics.estimates import from_document
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.observations import Floats

Json = dict[str, Any]
SHARP = 2.0
"""Response time at the top over that at the lowest load from which it counts as risen. [ratio]"""
SHORTFALL = 0.10
"""Throughput below the line of the lowest load by more than this has left it. [ratio]"""
FULL = 0.90
"""Utilization of CPUs from which they are saturated; of disks, which work in parallel, it is told at 0.8. [ratio]"""
DISK_FULL = 0.80
GENERATOR_BUSY = 0.80
"""Share of the calibrated rate of the generator above which it is suspected. [ratio]"""
PRESSURE = 0.10
"""Share of the time that somebody waited for memory or disk from which it counts. [ratio]"""
FAULTS = 20.0
"""Pages per second that had to be read back from a disk, from which memory counts as short. [1/s]"""
GROWN = 1.2
"""CPU time per transaction at the top over that at the lowest load from which it has grown. [ratio]"""
CPU_TIME = "CPU time per transaction of"
"""First words of the evidence that the CPUs of a resource were observed."""
_WAITING_WORDS = ("queue", "wait", "pool", "lock", "pending", "blocked")


@dataclass(frozen=True)
class Evidence:
    """One number at the lowest and at the highest load."""

    what: str
    lowest: float | None
    highest: float | None
    limit: float | None
    speaks_for: str | None

    def document(self) -> Json:
        """As it stands in a document."""
        return {
            "what": self.what,
            "at_lowest": self.lowest,
            "at_highest": self.highest,
            "limit": self.limit,
            "speaks_for": self.speaks_for,
        }


def classify(one: Configuration) -> Json:
    """Kind of limit of a configuration, with the evidence.

    Returns
    -------
    dict
        `kind` (`cpu`, `contention`, `disk`, `memory`, `generator`, `none`, `unknown`), `resource`, `sentence`,
        `evidence`.
    """
    if len(one.points) < 2:
        return {"kind": "unknown", "resource": None, "sentence": "one load level shows no shape", "evidence": []}
    rise = _rise(one)
    shortfall = _shortfall(one)
    evidence = [
        Evidence("mean response time over that at the lowest load", 1.0, rise, SHARP, None),
        Evidence("throughput below the line of the lowest load", 0.0, shortfall, SHORTFALL, None),
        *_generator(one),
        *_memory(one),
        *_disks(one),
        *_cpus(one),
        *_waiting(one),
    ]
    kind, resource = _decide(evidence, rise, shortfall)
    return {
        "kind": kind,
        "resource": resource,
        "sentence": _sentence(kind, resource, rise, shortfall, evidence),
        "evidence": [item.document() for item in evidence],
    }


def _decide(evidence: list[Evidence], rise: float | None, shortfall: float) -> tuple[str, str | None]:
    """The generator first, for it discredits all else; then what is full; contention is what is left."""
    for kind in ("generator", "memory", "disk", "cpu"):
        full = [item for item in evidence if item.speaks_for == kind]
        if not full or (kind != "generator" and (rise or 1.0) < SHARP and shortfall <= SHORTFALL):
            continue
        return kind, max(full, key=lambda item: item.highest or 0.0).what.rsplit(" of ", maxsplit=1)[-1]
    if rise is None:
        return "unknown", None
    if shortfall > SHORTFALL:
        observed = any(item.what.startswith(CPU_TIME) for item in evidence)
        return ("contention", None) if observed else ("unknown", None)
    return "none", None


def _sentence(kind: str, resource: str | None, rise: float | None, shortfall: float, evidence: list[Evidence]) -> str:
    change = (
        f"from the lowest to the highest load response time grew {rise or 0.0:.3g}-fold and throughput is "
        f"{100 * max(0.0, shortfall):.0f} % below the line of the lowest load"
    )
    if kind == "cpu":
        grown = next((item for item in evidence if item.what == f"{CPU_TIME} {resource}"), None)
        more = ""
        if grown and grown.lowest and grown.highest and grown.highest / grown.lowest >= GROWN:
            more = (
                f"; a transaction takes {grown.highest / grown.lowest:.2g} times the CPU time it takes at the lowest "
                f"load, which points to spinning locks, garbage collection or growing data rather than to work alone"
            )
        return f"CPU saturation of {resource}: {change}{more}"
    reasons = {
        "generator": "the generator is at its own limit, so the curve is not that of the system",
        "memory": f"memory: pages come back from the disk ({resource}); {change}",
        "disk": f"disk saturation of {resource}: {change}",
        "contention": f"lock or pool contention, a single thread, or a resource that was not observed: {change}, while "
        f"no observed CPU and no observed disk is full",
        "none": f"no limit was reached: {change}",
        "unknown": "not known: response times were not recorded"
        if rise is None
        else f"not known: {change}, but no CPU of the system was observed",
    }
    return reasons[kind]


def _rise(one: Configuration) -> float | None:
    times = [from_document(point["response_time_s"]["mean"]).value for point in one.points]
    return times[-1] / times[0] if times[0] and times[-1] else None


def _shortfall(one: Configuration) -> float:
    rates = [from_document(point["throughput_per_s"]).value or 0.0 for point in one.points]
    ideal = rates[0] / one.points[0]["load"] * one.points[-1]["load"]
    return 1 - rates[-1] / ideal if ideal else 0.0


def _ends(one: Configuration, read: Callable[[Json], float | None]) -> tuple[float | None, float | None]:
    """Mean over the runs of the lowest and of the highest load."""
    found = []
    for point in (one.points[0], one.points[-1]):
        values = [read(run) for run in one.runs if run["run"] in point["runs"]]
        known = [value for value in values if value is not None]
        found.append(float(np.mean(known)) if known else None)
    return found[0], found[1]


def _over(what: str, ends: tuple[float | None, float | None], limit: float, kind: str) -> Evidence:
    passed = ends[1] is not None and ends[1] >= limit
    return Evidence(what, *ends, limit, kind if passed else None)


def _generator(one: Configuration) -> list[Evidence]:
    share = _ends(one, lambda run: run["generator"].get("envelope_share"))
    saturated = _ends(one, lambda run: float(bool(run["generator"].get("saturated"))))
    found = []
    if share[1] is not None:
        found.append(_over("share of the generator's calibrated rate", share, GENERATOR_BUSY, "generator"))
    if saturated[1] is not None:
        found.append(_over("share of runs with a saturated generator", saturated, 0.5, "generator"))
    return found


def _memory(one: Configuration) -> list[Evidence]:
    found = []
    pressure = _ends(one, lambda run: run["host"]["pressure"].get("memory_some"))
    if pressure[1] is not None:
        found.append(_over("share of time waiting for memory of the host", pressure, PRESSURE, "memory"))
    for tier in dict.fromkeys(name for point in one.points for name in point["tiers"]):
        faults = _ends(one, lambda run, tier=tier: run["tiers"].get(tier, {}).get("major_faults_per_s"))  # type: ignore[misc]
        if faults[1] is not None:
            found.append(_over(f"major page faults per second of {tier}", faults, FAULTS, "memory"))
    return found


def _disks(one: Configuration) -> list[Evidence]:
    found = []
    for disk in dict.fromkeys(name for run in one.runs for name in run["host"]["disks"]):
        ends = _ends(one, lambda run, disk=disk: run["host"]["disks"].get(disk, {}).get("utilization"))  # type: ignore[misc]
        if ends[1] is not None:
            found.append(_over(f"utilization of disk {disk}", ends, DISK_FULL, "disk"))
    pressure = _ends(one, lambda run: run["host"]["pressure"].get("io_full"))
    if pressure[1] is not None:
        found.append(Evidence("share of time in which all waited for disks", *pressure, PRESSURE, None))
    return found


def _cpus(one: Configuration) -> list[Evidence]:
    found = []
    rates = [from_document(point["throughput_per_s"]).value or float("nan") for point in one.points]
    for resource in one.resources:
        used: Floats = one.cpus(resource)
        if not np.isfinite(used[[0, -1]]).all():
            continue
        ends = (float(used[0] / resource.servers), float(used[-1] / resource.servers))
        found.append(_over(f"utilization of {resource.name}", ends, FULL, "cpu"))
        demand = (float(used[0] / rates[0]), float(used[-1] / rates[-1]))
        found.append(Evidence(f"{CPU_TIME} {resource.name}", *demand, None, None))
    return found


def _waiting(one: Configuration) -> list[Evidence]:
    """What the services tell of queues, pools and locks, and how often threads gave the CPU away."""
    found = []
    switches = _ends(one, _switches)
    if switches[1] is not None:
        found.append(Evidence("context switches per transaction", *switches, None, None))
    names = dict.fromkeys(
        (service, key)
        for run in one.runs
        for service, table in run["services"].items()
        for key, value in table.items()
        if value["kind"] == "gauge" and any(word in key.lower() for word in _WAITING_WORDS)
    )
    for service, key in names:
        ends = _ends(one, lambda run, s=service, k=key: run["services"].get(s, {}).get(k, {}).get("mean"))  # type: ignore[misc]
        if ends[1] is not None:
            found.append(Evidence(f"{key} of {service}", *ends, None, None))
    return found


def _switches(run: Json) -> float | None:
    switches = run["host"].get("context_switches_per_s")
    rate = from_document(run["throughput_per_s"]).value
    return switches / rate if switches is not None and rate else None
