"""Classifies the limit of a capacity curve: CPU, lock or pool, disk, memory, or the load generator.

Response times rise sharply for many reasons, and the curve alone does not distinguish them. The classification
therefore uses other metrics of the run summaries. The result lists all examined metrics, including those that
contradict the chosen kind of limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from towtank.analysis import NO_ESTIMATE, NO_METRIC, Estimate, RunSummary, ratio_interval
from towtank.estimates import few_digits, number_estimate, share_estimate
from towtank.model.capacity_file import BELOW_LINE
from towtank.model.fitting.machines import disks, machines
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.observations import Floats
from towtank.model.percentiles import erlang_c

SHARP = 2.0
"""Smallest ratio of the response times at the highest and the lowest load that counts as growth. [ratio]"""
SHORTFALL = 0.10
"""Smallest relative shortfall of throughput that counts as evidence. The shortfall is measured from the proportional
line through the lowest load. [ratio]
"""
FULL = 0.90
"""Utilization from which CPUs count as saturated. [ratio]

Disks have the lower threshold `DISK_FULL`, because they process requests in parallel.
"""
DISK_FULL = 0.80
QUEUES = 2.0
"""Queues at the observed resources explain a growth of response time up to this factor times 1 / (1 - U), where U is
the highest observed utilization. [ratio]

The response time of M/M/1 grows by 1 / (1 - U), and the response times of M/M/m and of closed systems grow by less. The
factor is a safety factor.
"""
GENERATOR_BUSY = 0.80
"""Load of the generator, as a share of its calibrated rate, from which the generator itself may limit the
load. [ratio]
"""
PRESSURE = 0.10
"""Share of time from which waiting of threads for memory or disk counts as evidence. [ratio]"""
HELD_UP = 0.10
"""Share of throttled time, under the CPU limit of a control group, from which throttling counts as evidence. [ratio]"""
FAULTS = 20.0
"""Smallest rate at which pages are read back from disk that counts as a lack of memory. [1/s]"""
GROWN = 1.2
"""Smallest ratio of the CPU times per transaction at the highest and the lowest load that counts as growth. [ratio]"""
CPU_TIME = "CPU time per transaction of"
"""Start of the name of the evidence on CPU time."""
UTILIZATION = "utilization of"
"""Start of the name of the evidence on the utilization of a CPU or disk."""
_WAITING_WORDS = ("queue", "wait", "pool", "lock", "pending", "blocked")


@dataclass(frozen=True)
class Evidence:
    """Values of one metric at the lowest and at the highest load, the latter with its interval, as evidence for a kind
    of limit. The value at the highest load counts from the threshold `limit` on; None for `speaks_for` if it supports
    no kind of limit.
    """

    what: str
    lowest: float | None
    highest: float | None
    limit: float | None
    speaks_for: str | None
    interval: tuple[float | None, float | None] | None = None

    def document(self) -> dict[str, object]:
        """Return the evidence as a JSON object: its values at the lowest and highest load, and its threshold."""
        return {
            "what": self.what,
            "at_lowest": self.lowest,
            "at_highest": self.highest,
            "limit": self.limit,
            "speaks_for": self.speaks_for,
            **({} if self.interval is None else {"at_highest_interval": list(self.interval)}),
        }


@dataclass(frozen=True)
class Shape:
    """Kind of limit that a configuration shows (`cpu`, `quota`, `contention`, `disk`, `memory`, `generator`, `none` or
    `unknown`), the limiting resource, and all examined metrics.
    """

    kind: str
    resource: str | None
    sentence: str
    evidence: tuple[Evidence, ...] = ()

    def document(self) -> dict[str, object]:
        """Return the kind of limit with its evidence as a JSON object."""
        return {**vars(self), "evidence": [item.document() for item in self.evidence]}


def classify(configuration: Configuration) -> Shape:
    """Return the kind of limit that a configuration shows, with the evidence."""
    if len(configuration.points) < 2:
        return Shape("unknown", None, "a single load level does not show the limit")
    grown, reached = _grown(configuration), _reached(configuration)
    rise, shortfall = grown.value, 1 - (1.0 if reached.value is None else reached.value)
    below = None if reached.low is None or reached.high is None else (1 - reached.high, 1 - reached.low)
    evidence = [
        Evidence("mean response time, relative to the lowest load", 1.0, rise, SHARP, None, (grown.low, grown.high)),
        Evidence(BELOW_LINE, 0.0, shortfall, SHORTFALL, None, below),
        *_generator(configuration),
        *_memory(configuration),
        *_disks(configuration),
        *_cpus(configuration),
        *_quotas(configuration),
        *_waiting(configuration),
    ]
    explained = _explained(evidence)
    evidence.insert(
        2, Evidence("largest growth that queues at the observed resources explain", 1.0, explained, None, None)
    )
    by_queues = _is_by_queues(configuration, rise, shortfall)
    kind, resource = _decide(evidence, rise, shortfall, by_queues=by_queues)
    return Shape(kind, resource, _sentence(kind, resource, evidence, by_queues=by_queues), tuple(evidence))


def _explained(evidence: list[Evidence]) -> float:
    """Return the largest growth of the response time that queues at the observed resources explain. [ratio]"""
    used = [item.highest for item in evidence if item.what.startswith(UTILIZATION) and item.highest is not None]
    return max(SHARP, QUEUES / (1 - min(max(used, default=0.0), FULL)))


def _is_by_queues(configuration: Configuration, rise: float | None, shortfall: float) -> bool:
    """Return True if queues at the CPUs explain the entire shortfall of throughput.

    Notes
    -----
    If response time grows from R0 to R at think time Z, throughput falls to the fraction (Z + R0) / (Z + R) of the
    proportional line. For M/M/m with service time S, R / S = 1 + C / (m (1 - U)) with Erlang's C. In a closed system
    with the same utilization, R / S is smaller.
    """
    most = 1.0
    for resource in configuration.resources:
        used = float(configuration.cpus(resource)[-1])
        if np.isfinite(used) and used < resource.servers:
            waits = erlang_c(resource.servers, used) / (resource.servers - used)
            most = max(most, 1 + waits)
    if rise is None or not 1 < rise <= most:
        return False
    first, last = configuration.points[0], configuration.points[-1]
    rate, times = first.throughput_per_s.value, [point.response_time_s.mean.value for point in (first, last)]
    if not rate or times[0] is None or times[1] is None:
        return False
    cycle = first.level / rate
    slower = 1 - cycle / (cycle + times[1] - times[0])
    return shortfall <= slower + SHORTFALL


def _decide(
    evidence: list[Evidence], rise: float | None, shortfall: float, *, by_queues: bool = False
) -> tuple[str, str | None]:
    """Return the kind of limit and its resource.

    A busy load generator is checked first, because it invalidates all other evidence. Saturated resources are checked
    next, and contention last.
    """
    for kind in ("generator", "memory", "disk", "cpu", "quota"):
        full = [item for item in evidence if item.speaks_for == kind]
        if not full or (kind != "generator" and (rise or 1.0) < SHARP and shortfall <= SHORTFALL):
            continue
        return kind, max(full, key=lambda item: item.highest or 0.0).what.rsplit(" of ", maxsplit=1)[-1]
    if rise is None:
        return "unknown", None
    if (shortfall > SHORTFALL and not by_queues) or rise > _explained(evidence):
        observed = any(item.what.startswith(CPU_TIME) for item in evidence)
        return ("contention", None) if observed else ("unknown", None)
    return "none", None


def _sentence(kind: str, resource: str | None, evidence: list[Evidence], *, by_queues: bool) -> str:
    """Describe the kind of limit. The first two elements of `evidence` are the growth of response time and the
    shortfall of throughput.
    """
    rise, shortfall = evidence[0].highest, evidence[1].highest or 0.0
    change = (
        f"from the lowest to the highest load response time grew by a factor of {_factor(evidence[0])} and throughput "
        f"is {_percent(evidence[1])} below the proportional line through the lowest load"
    )
    if kind == "cpu":
        grown = next((item for item in evidence if item.what == f"{CPU_TIME} {resource}"), None)
        more = ""
        if grown and grown.lowest and grown.highest and grown.highest / grown.lowest >= GROWN:
            more = (
                f"; a transaction takes {grown.highest / grown.lowest:.2g} times as much CPU time as at the "
                "lowest load, which points to spinning locks, garbage collection or growing data"
            )
        return f"CPU saturation of {resource}: {change}{more}"
    reasons = {
        "generator": "the generator is at its own limit, so the curve does not show the system",
        "memory": f"memory: pages are read back from disk ({resource}); {change}",
        "disk": f"disk saturation of {resource}: {change}",
        "quota": f"a CPU limit of the control group of {resource}, below the number of CPUs assumed for it: {change}",
        "contention": f"lock or pool contention, a single thread, or a resource that was not observed: {change}, while "
        f"no observed CPU and no observed disk is full",
        "none": f"no limit was reached: {change}"
        + (", which queues at CPUs of this utilization explain" if by_queues and shortfall > SHORTFALL else ""),
        "unknown": "unknown: response times were not recorded"
        if rise is None
        else f"unknown: {change}, but no CPU of the system was observed",
    }
    return reasons[kind]


def _factor(grown: Evidence) -> str:
    low, high = grown.interval or (None, None)
    value = grown.highest or 0.0
    return few_digits(value) if low is None or high is None else number_estimate(value, low, high)


def _percent(short: Evidence) -> str:
    """Render the shortfall of throughput from the proportional line through the lowest load; 0 if throughput is above
    this line.
    """
    low, high = short.interval or (None, None)
    value = max(0.0, short.highest or 0.0)
    if low is None or high is None:
        return f"{100 * value:.0f} %"
    return share_estimate(value, max(0.0, low), max(0.0, high))


def _grown(configuration: Configuration) -> Estimate:
    """Return the response time at the highest load, relative to the response time at the lowest load. [ratio]"""
    times = [point.response_time_s.mean for point in configuration.points]
    return ratio_interval(times[-1], times[0]) if times[-1].value else NO_ESTIMATE


def _reached(configuration: Configuration) -> Estimate:
    """Return the throughput at the highest load, relative to the proportional line through the lowest load.
    [ratio]
    """
    first, last = configuration.points[0], configuration.points[-1]
    if not first.throughput_per_s.value or not last.level:
        return NO_ESTIMATE
    rate = replace(last.throughput_per_s, value=last.throughput_per_s.value or 0.0)
    return ratio_interval(rate, first.throughput_per_s).scaled(first.level / last.level)


def _ends(
    configuration: Configuration, read: Callable[[RunSummary], float | None]
) -> tuple[float | None, float | None]:
    """Return the mean of a metric over the runs at the lowest load, and over the runs at the highest load."""
    found = []
    for point in (configuration.points[0], configuration.points[-1]):
        values = [read(run) for run in configuration.runs if run.run in point.runs]
        known = [value for value in values if value is not None]
        found.append(float(np.mean(known)) if known else None)
    return found[0], found[1]


def _over(what: str, ends: tuple[float | None, float | None], limit: float, kind: str) -> Evidence:
    passed = ends[1] is not None and ends[1] >= limit
    return Evidence(what, *ends, limit, kind if passed else None)


def _generator(configuration: Configuration) -> list[Evidence]:
    share = _ends(configuration, lambda run: run.generator.envelope_share)
    saturated = _ends(configuration, lambda run: float(run.generator.saturated))
    found = []
    if share[1] is not None:
        found.append(_over("share of the generator's calibrated rate", share, GENERATOR_BUSY, "generator"))
    if saturated[1] is not None:
        found.append(_over("share of runs with a saturated generator", saturated, 0.5, "generator"))
    return found


def _memory(configuration: Configuration) -> list[Evidence]:
    found = []
    for on in _machines(configuration):
        pressure = _ends(configuration, partial(_pressure, on=on, name="memory_some"))
        if pressure[1] is not None:
            found.append(_over(f"share of time waiting for memory of the host{on}", pressure, PRESSURE, "memory"))
    for tier in dict.fromkeys(name for point in configuration.points for name in point.tiers):
        faults = _ends(configuration, partial(_faults, tier=tier))
        if faults[1] is not None:
            found.append(_over(f"major page faults per second of {tier}", faults, FAULTS, "memory"))
    return found


def _machines(configuration: Configuration) -> list[str]:
    return list(dict.fromkeys(on for run in configuration.runs for on in machines(run)))


def _faults(run: RunSummary, tier: str) -> float | None:
    return run.tiers[tier].major_faults_per_s if tier in run.tiers else None


def _pressure(run: RunSummary, on: str, name: str) -> float | None:
    """Return the share of time in which threads of a machine waited for a resource. [ratio]"""
    found = machines(run).get(on)
    return None if found is None else found.pressure.get(name)


def _disks(configuration: Configuration) -> list[Evidence]:
    found = []
    for disk in dict.fromkeys(name for run in configuration.runs for name in disks(run)):
        ends = _ends(configuration, partial(_use_of_disk, disk=disk))
        if ends[1] is not None:
            found.append(_over(f"utilization of disk {disk}", ends, DISK_FULL, "disk"))
    for on in _machines(configuration):
        pressure = _ends(configuration, partial(_pressure, on=on, name="io_full"))
        if pressure[1] is not None:
            found.append(
                Evidence(f"share of time in which all threads waited for disks{on}", *pressure, PRESSURE, None)
            )
    return found


def _use_of_disk(run: RunSummary, disk: str) -> float | None:
    found = disks(run).get(disk)
    return None if found is None else found.utilization


def _cpus(configuration: Configuration) -> list[Evidence]:
    found = []
    rates = [point.throughput_per_s.value or float("nan") for point in configuration.points]
    for resource in configuration.resources:
        used: Floats = configuration.cpus(resource)
        if not np.isfinite(used[[0, -1]]).all():
            continue
        ends = (float(used[0] / resource.servers), float(used[-1] / resource.servers))
        found.append(_over(f"utilization of {resource.name}", ends, FULL, "cpu"))
        demand = (float(used[0] / rates[0]), float(used[-1] / rates[-1]))
        found.append(Evidence(f"{CPU_TIME} {resource.name}", *demand, None, None))
    return found


def _quotas(configuration: Configuration) -> list[Evidence]:
    """Return the evidence on CPU limits of control groups: the share of time for which these limits paused tiers.

    A tier whose CPU limit was known before the test is left out, because the CPU count of its resource includes the
    limit.
    """
    known = {
        tier
        for run in configuration.runs
        for host in run.hosts.values()
        if host.cpus_virtual is not None
        for tier in host.tiers
    }
    known |= {name for run in configuration.runs for name, tier in run.tiers.items() if tier.cpu_control_group}
    found = []
    for tier in dict.fromkeys(name for point in configuration.points for name in point.tiers):
        ends = _ends(configuration, partial(_held_up, tier=tier))
        if ends[1] is not None:
            kind = "quota" if tier not in known and ends[1] >= HELD_UP else None
            what = f"share of time paused by the CPU limit of {tier}"
            found.append(Evidence(what, *ends, HELD_UP, kind))
    return found


def _held_up(run: RunSummary, tier: str) -> float | None:
    shares = [seen.throttled.get(tier) for seen in machines(run).values()]
    return next((share for share in shares if share is not None), None)


def _waiting(configuration: Configuration) -> list[Evidence]:
    """Return the evidence on waiting: queues, pools and locks of services, and context switches per
    transaction.
    """
    found = []
    switches = _ends(configuration, _switches)
    if switches[1] is not None:
        found.append(Evidence("context switches per transaction", *switches, None, None))
    names = dict.fromkeys(
        (service, key)
        for run in configuration.runs
        for service, table in run.services.items()
        for key, value in table.items()
        if value.kind == "gauge" and any(word in key.lower() for word in _WAITING_WORDS)
    )
    for service, key in names:
        ends = _ends(configuration, partial(_mean_of, service=service, key=key))
        if ends[1] is not None:
            found.append(Evidence(f"{key} of {service}", *ends, None, None))
    return found


def _mean_of(run: RunSummary, service: str, key: str) -> float | None:
    return run.services.get(service, {}).get(key, NO_METRIC).mean


def _switches(run: RunSummary) -> float | None:
    switches, rate = run.host.context_switches_per_s, run.throughput_per_s.value
    return switches / rate if switches is not None and rate else None
