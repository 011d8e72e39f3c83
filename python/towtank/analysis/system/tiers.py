"""Describes tiers, machines and services in a window, from the records of probes and scrapers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from towtank.analysis.bounds import most_cpus
from towtank.analysis.load import numbers
from towtank.analysis.measurement import RAMPS, Floats, Mask, Measurement
from towtank.analysis.statistics import estimates, mean_along_trend, ratio_of_sums
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.system.busiest import busiest
from towtank.analysis.system.disks import disks_counted_once, is_stacked
from towtank.analysis.system.entries import DiskUse, Gap, MachineUse, Metric, Observation, PartUse, TierUse
from towtank.analysis.system.limits import tier_limits
from towtank.analysis.system.memory import memory
from towtank.analysis.system.pace import pace, rested_page_s
from towtank.analysis.system.parts import PARTS, Part
from towtank.analysis.system.rates import Samples, Track, track
from towtank.documents import record_of
from towtank.results import ProbeStream, ServiceStream

_COUNTER_ENDINGS = ("_total", "_count", "_sum")
_DISK_RATES = {
    "read_bytes_per_s": "read_bytes_total",
    "write_bytes_per_s": "write_bytes_total",
    "read_operations_per_s": "read_operations_total",
    "write_operations_per_s": "write_operations_total",
    "utilization": "busy_s_total",
}
_NETWORK_RATES = {
    "receive_bytes_per_s": "receive_bytes_total",
    "transmit_bytes_per_s": "transmit_bytes_total",
    "receive_packets_per_s": "receive_packets_total",
    "transmit_packets_per_s": "transmit_packets_total",
    "errors_per_s": "errors_total",
    "drops_per_s": "drops_total",
}
_PRESSURES = {
    "cpu_some": ("cpu", "some_s_total"),
    "io_some": ("io", "some_s_total"),
    "io_full": ("io", "full_s_total"),
    "memory_some": ("memory", "some_s_total"),
    "memory_full": ("memory", "full_s_total"),
}
TCP_COUNTS = {
    "listen_overflows": "tcp_listen_overflows_total",
    "listen_drops": "tcp_listen_drops_total",
    "retransmits": "tcp_retransmits_total",
    "needless_retransmits": "tcp_needless_retransmits_total",
    "timeouts": "tcp_timeouts_total",
    "probe_recoveries": "tcp_probe_recoveries_total",
}
HOST_CPU = ("cpu_user_s_total", "cpu_system_s_total", "cpu_irq_s_total")
_HOST_CPU_ALL = (*HOST_CPU, "cpu_idle_s_total", "cpu_iowait_s_total", "cpu_steal_s_total")


@dataclass
class Observed:
    """Streams of all probes and scrapers of a run.

    Attributes
    ----------
    probe : ProbeStream
        Records of the probe on this machine.
    services : dict of str to ServiceStream
        Records of the scrapers, by name of the service.
    tiers : dict
        Entry `tiers` of `run.json`: kind, host and CPUs of each tier, by name.
    origin_ns : int
        Monotonic time of the start of the run. [ns]
    hosts : dict
        Entry `hosts` of `run.json`: provider, address and sizes of each host, by name.
    remote : dict of str to Observed
        Streams of the probes on other machines, by host.
    """

    probe: ProbeStream
    services: dict[str, ServiceStream]
    tiers: dict[str, Any]
    origin_ns: int
    hosts: dict[str, Any] = field(default_factory=dict)
    remote: dict[str, Observed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.samples = Samples(self.probe.samples, self.origin_ns, self.probe.times_ns, self.probe.clock_jump_s)
        self.metrics = {name: Samples(stream.samples, self.origin_ns) for name, stream in self.services.items()}

    @property
    def host_cpus(self) -> int | None:
        """Number of CPUs of the observed machine, from the header of the probe stream or from a sample; None if
        unknown.
        """
        cpus = self.probe.header.host.get("cpus") if self.probe.header else None
        if isinstance(cpus, int):
            return cpus
        return len(self.probe.samples[-1].get("cpus", [])) or None if self.probe.samples else None

    def where(self, tier: str) -> Observed:
        """Return the observations on the machine that runs a tier."""
        return self.remote.get(str(self.tiers.get(tier, {}).get("host")), self)

    def allotted(self, tier: str, start_s: float, end_s: float) -> float | None:
        """Return the number of CPUs that a tier may use in a time span.

        It is the smallest of three numbers: the CPUs to which the tier is pinned (without pinning, all CPUs of its
        machine), the virtual CPUs of its host, and the limit of its control group. Return None if all are unknown.
        """
        about = self.tiers.get(tier, {})
        given = self.hosts.get(str(about.get("host")), {}).get("cpus_virtual")
        pinned = max(len(about.get(key) or []) for key in ("cpus", "affinity"))
        bounds = [pinned or self.where(tier).host_cpus, given, self._quota(tier, start_s, end_s)]
        return min((cpus for cpus in bounds if isinstance(cpus, int | float)), default=None)

    def limiting_group(self, tier: str, start_s: float, end_s: float) -> str | None:
        """Return the path of the control group that limits the CPUs of a tier; None if no group limits them."""
        quota = self._quota(tier, start_s, end_s)
        if quota is None or quota != self.allotted(tier, start_s, end_s):
            return None
        groups = (sample.get("groups", {}).get(tier, {}) for sample in reversed(self.where(tier).samples.samples))
        return next((str(group["cgroup"]["path"]) for group in groups if "path" in group.get("cgroup", {})), None)

    def _quota(self, tier: str, start_s: float, end_s: float) -> float | None:
        """Return the CPU limit of the control group of a tier's first process; the largest limit if it changed. [CPUs]

        Return None if the group had no limit for part of the time, or if processes of the tier run outside the group.
        Processes are assumed to run outside the group if the tier uses more CPU time than the whole group, or more than
        the limit allows.
        """
        samples, group = self.where(tier).samples, ("groups", tier, "cgroup")
        limits = samples.gauge(start_s, end_s, *group, "cpu_limit")
        if not limits or len(limits) < len(samples.gauge(start_s, end_s, *group, "version")):
            return None
        rates = [
            samples.track("groups", tier, name).rate(start_s, end_s)
            for name in ("cpu_user_s_total", "cpu_system_s_total")
        ]
        used, whole = sum(rate or 0.0 for rate in rates), samples.track(*group, "cpu_s_total").rate(start_s, end_s)
        most = max(limits) if whole is None else min(max(limits), whole)
        return None if used > most_cpus(most, end_s - start_s) else max(limits)

    def cpu_s(self, tier: str, measurement: Measurement) -> Floats:
        """Return the CPU time of a tier in each bin, as an array of shape (n_bins,); NaN if it was not observed. [s]"""
        parts = [
            self.where(tier).samples.track("groups", tier, name).by_bin(measurement.starts, measurement.ends)
            for name in ("cpu_user_s_total", "cpu_system_s_total")
        ]
        return np.asarray(parts[0] + parts[1], dtype=float)

    def part_cpu_s(self, tier: str, part: Part, measurement: Measurement) -> Floats | None:
        """Return the CPU time of an embedded component (part) of a tier in each bin; None if the service does not
        report it. [s]
        """
        samples = self.metrics.get(tier)
        if samples is None or not samples.samples:
            return None
        keys = {key for sample in samples.samples for key in sample["values"] if key.split("{", 1)[0] == part.counter}
        counters = [samples.track("values", key) for key in sorted(keys)]
        if not counters:
            return None
        grown = [counter.by_bin(measurement.starts, measurement.ends) for counter in counters]
        return np.asarray(np.sum(grown, axis=0), dtype=float)

    def parts(self, tier: str) -> tuple[Part, ...]:
        """Return the embedded components (parts) whose CPU time a tier may report, according to the kind of its
        service.
        """
        return PARTS.get(str(self.tiers.get(tier, {}).get("kind", "")), ())


def ratio(tops: Floats, bottoms: Floats, chosen: Mask, *, bin_s: float) -> Estimate:
    """Return the ratio of two sums over the observed bins of a window. It has no value if fewer than half of the bins
    were observed.
    """
    usable = chosen & np.isfinite(tops)
    if usable.sum() * 2 < chosen.sum() or not usable.any():
        return estimates.NO_ESTIMATE
    return ratio_of_sums(tops[usable], bottoms[usable], bin_s=bin_s * float(chosen.sum()) / float(usable.sum()))[0]


def in_phase(cpu_s: Floats, measurement: Measurement, phase: str, mask: Mask) -> Estimate:
    """Return the number of CPUs that a tier used in a phase of the load, with an interval. [1]

    During a ramp, the CPU use follows a trend, so the interval is computed from deviations from a trend.
    """
    found = ratio(cpu_s, measurement.lengths, mask, bin_s=measurement.bin_s)
    if phase not in RAMPS or found.value is None:
        return found
    # Short bins, which may occur at the edges of a stage, vary more than other bins, so they are not used.
    whole = mask & np.isfinite(cpu_s) & (measurement.lengths > 0.5 * measurement.bin_s)
    along = mean_along_trend(cpu_s[whole] / measurement.lengths[whole])
    if along.value is None or along.low is None or along.high is None:
        return Estimate(found.value, n=along.n)
    return replace(along.scaled(found.value / along.value), value=found.value)


def tier(observed: Observed, name: str, measurement: Measurement, chosen: Mask, targets: Collection[str]) -> TierUse:
    """Describe one tier in the window: CPU use, service demand, memory, disk traffic, waits and use of kernel limits.

    `targets` are the addresses of the targets of the generator, see `tier_limits`.
    """
    start, end = span(measurement, chosen)
    cpu = observed.cpu_s(name, measurement)
    used, demand = _usage(cpu, measurement, chosen)
    samples, allotted = observed.where(name).samples, observed.allotted(name, start, end)

    def rate(counter: str) -> float | None:
        return samples.track("groups", name, counter).rate(start, end)

    parts = {}
    for part in observed.parts(name):
        seconds = observed.part_cpu_s(name, part, measurement)
        if seconds is not None:
            parts[part.name] = PartUse(*_usage(seconds, measurement, chosen), part.how)
    memory_bytes, memory_how, resident_sets_bytes = memory(samples, name, start, end)
    return TierUse(
        kind=observed.tiers.get(name, {}).get("kind"),
        host=observed.tiers.get(name, {}).get("host"),
        cpus_used=used,
        cpus_allotted=allotted,
        cpu_control_group=observed.limiting_group(name, start, end),
        cpu_user=rate("cpu_user_s_total"),
        cpu_system=rate("cpu_system_s_total"),
        utilization=used.value / allotted if used.value is not None and allotted else None,
        cpu_demand_s=demand,
        memory_bytes=memory_bytes,
        memory_how=memory_how,
        resident_sets_bytes=resident_sets_bytes,
        disk_read_bytes_per_s=rate("read_bytes_total"),
        disk_write_bytes_per_s=rate("write_bytes_total"),
        major_faults_per_s=rate("major_page_faults_total"),
        run_queue_wait_s_per_s=rate("run_queue_wait_s_total"),
        busiest=busiest(samples, name, start, end),
        parts=parts,
        limits=tier_limits(observed, name, start, end, targets),
    )


def _usage(seconds: Floats, measurement: Measurement, chosen: Mask) -> tuple[Estimate, Estimate]:
    """Return two values: CPU use [CPUs], and CPU time per transaction [s]."""
    return (
        ratio(seconds, measurement.lengths, chosen, bin_s=measurement.bin_s),
        ratio(seconds, measurement.transactions.ended, chosen, bin_s=measurement.bin_s),
    )


def host(observed: Observed, measurement: Measurement, chosen: Mask) -> MachineUse:
    """Describe a machine in the window: CPU use, steal time, speed, disks, networks and memory."""
    start, end = span(measurement, chosen)
    samples = observed.samples

    def rates(group: str, table: dict[str, str]) -> dict[str, dict[str, float]]:
        seen = {key for sample in samples.samples[-1:] for key in sample.get(group, {})}
        found = {}
        for key in sorted(seen):
            values = {out: samples.track(group, key, name).rate(start, end) for out, name in table.items()}
            found[key] = {out: value for out, value in values.items() if value is not None}
        return found

    disks = rates("disks", _DISK_RATES)
    last = samples.samples[-1].get("disks", {}) if samples.samples else {}
    used = sum(host_bins(samples, name, measurement) for name in HOST_CPU)
    pressures = {out: samples.track("host", "pressure", *path).rate(start, end) for out, path in _PRESSURES.items()}
    return MachineUse(
        cpus=observed.host_cpus,
        cpus_used=ratio(np.asarray(used), measurement.lengths, chosen, bin_s=measurement.bin_s),
        disks={
            name: record_of(DiskUse, {**each, "stacked": is_stacked(name, last.get(name, {}))})
            for name, each in disks.items()
        },
        networks=rates("networks", _NETWORK_RATES),
        tcp={out: samples.track("host", name).growth(start, end) for out, name in TCP_COUNTS.items()},
        tcp_memory_bytes=samples.mean_gauge(start, end, "host", "tcp_memory_bytes"),
        throttled=throttled(observed, start, end),
        pressure={name: value for name, value in pressures.items() if value is not None},
        steal=steal(observed, start, end),
        pace=pace(observed, start, end),
        rested_page_s=rested_page_s(observed, start, end),
        foreign_share=foreign_share(observed, start, end),
        context_switches_per_s=samples.track("host", "context_switches_total").rate(start, end),
        memory_available_bytes=samples.mean_gauge(start, end, "host", "memory_available_bytes"),
    )


def host_bins(samples: Samples, name: str, measurement: Measurement) -> Floats:
    """Return the CPU time that a machine spent in one state, such as idle, in each bin; array of shape (n_bins,).
    [s]
    """
    found: Track = samples.track("host", name)
    if not len(found.times_s) and name == "cpu_irq_s_total":
        return np.zeros(measurement.bins)
    return found.by_bin(measurement.starts, measurement.ends)


def steal(observed: Observed, start_s: float, end_s: float) -> float | None:
    """Return the steal time: the share of the CPU time of a machine that the hypervisor gave to other guests, in [0,
    1]. Return None if unknown.
    """
    grown = {name: observed.samples.track("host", name).growth(start_s, end_s) for name in _HOST_CPU_ALL}
    stolen = grown["cpu_steal_s_total"]
    total = sum(value for value in grown.values() if value is not None)
    return stolen / total if stolen is not None and total > 0 else None


def throttled(observed: Observed, start_s: float, end_s: float) -> dict[str, float]:
    """Return the share of the time for which each process group with a control group of its own was throttled by a CPU
    limit.

    Returns
    -------
    dict
        Throttled time divided by the length of the window, by name of the process group. It may exceed 1 if several
        CPUs were throttled at the same time.
    """
    samples = observed.samples
    names = sorted({name for sample in samples.samples[-1:] for name in sample.get("groups", {})})
    shares = {name: samples.track("groups", name, "cgroup", "throttled_s_total").rate(start_s, end_s) for name in names}
    return {name: share for name, share in shares.items() if share is not None}


def foreign_share(observed: Observed, start_s: float, end_s: float) -> float | None:
    """Return the share of the tiers' CPUs that other programs used, in [0, 1].

    Returns
    -------
    float or None
        Busy time of the CPUs to which tiers are pinned, minus the CPU time of the tiers, divided by the length of the
        time span and by the number of CPUs. None if a tier is not pinned, or if the samples do not contain busy times.
        Time in interrupts is not counted, because network packets of the system cause interrupts as well.
    """
    here = {name: about for name, about in observed.tiers.items() if observed.where(name) is observed}
    pinned = {cpu for about in here.values() for cpu in about.get("cpus") or []}
    if not pinned or not all(about.get("cpus") for about in here.values()):
        return None
    samples = observed.samples
    busy, interrupts = (
        [_cpu_track(samples, cpu, counter).rate(start_s, end_s) for cpu in pinned]
        for counter in ("busy_s_total", "irq_s_total")
    )
    if not any(len(_cpu_track(samples, cpu, "irq_s_total").times_s) for cpu in pinned):
        interrupts = [0.0]
    used = [
        samples.track("groups", name, counter).rate(start_s, end_s)
        for name in here
        for counter in ("cpu_user_s_total", "cpu_system_s_total")
    ]
    if None in busy or None in used or None in interrupts:
        return None
    foreign = sum(rate for rate in busy if rate is not None) - sum(rate for rate in used if rate is not None)
    return max(0.0, foreign - sum(rate for rate in interrupts if rate is not None)) / len(pinned)


def _cpu_track(samples: Samples, cpu: int, counter: str) -> Track:
    """Return the growth over time of a counter of one CPU.

    Counters are not subtracted before their growth is computed: a difference of two counters may fall by a clock tick,
    which would count as a restart.
    """
    values = [
        found[cpu].get(counter) if cpu < len(found := sample.get("cpus", [])) else None for sample in samples.samples
    ]
    return track(samples.times_s, values)


def services(observed: Observed, measurement: Measurement, chosen: Mask) -> dict[str, dict[str, Metric]]:
    """Return the metrics that services reported in the window: rates of counters, and means and maxima of gauges."""
    start, end = span(measurement, chosen)
    found: dict[str, dict[str, Metric]] = {}
    for name, samples in observed.metrics.items():
        keys = sorted({key for sample in samples.samples for key in sample["values"]})
        table: dict[str, Metric] = {}
        for key in keys:
            base = key.split("{", 1)[0]
            if base.endswith("_bucket"):
                continue
            if base.endswith(_COUNTER_ENDINGS):
                rate = samples.track("values", key).rate(start, end)
                if rate is not None:
                    table[key] = Metric("counter", rate)
            elif values := samples.gauge(start, end, "values", key):
                table[key] = Metric("gauge", mean=float(np.mean(values)), max=max(values))
        found[name] = table
    return found


def observation(observed: Observed, end_s: float, sending_cpus: float | None, gaps: Sequence[Gap]) -> Observation:
    """Describe the observation of a run that ended at `end_s` in run time. [s]"""
    start_s = 0.0
    samples = observed.samples
    late = samples.gauge(start_s, end_s, "probe", "late_s")
    took = [value for scrape in observed.metrics.values() for value in scrape.gauge(start_s, end_s, "took_s")]
    probe = samples.track("probe", "cpu_s_total").mean_rate()
    # All scrapers share one thread, and each stream records the CPU time of this thread. Therefore the largest value is
    # used instead of the sum.
    scrapes = [scrape.track("cpu_s_total").mean_rate() for scrape in observed.metrics.values()]
    scraping = max((rate for rate in scrapes if rate is not None), default=0.0)
    return Observation(
        cpus_used=sending_cpus if probe is None else probe + scraping + (sending_cpus or 0.0),
        sending_cpus_used=sending_cpus,
        samples=len(samples.all_times_s),
        late_max_s=max(late) if late else None,
        scrape_s_mean=float(np.mean(took)) if took else None,
        scrape_failures=sum(len(service.failures) for service in observed.services.values()),
        longest_gap_s=samples.longest_gap(start_s, end_s) if samples.samples else None,
        gaps=tuple(gaps),
    )


def timeline(observed: Observed, measurement: Measurement) -> dict[str, object]:
    """Return the CPU use of each tier and the disk traffic of the machine in each second of the run."""
    lengths = measurement.lengths_of_rates
    samples = observed.samples
    disks = disks_counted_once(samples.samples[-1].get("disks", {})) if samples.samples else {}
    parts = {}
    for name in observed.tiers:
        for part in observed.parts(name):
            seconds = observed.part_cpu_s(name, part, measurement)
            if seconds is not None:
                parts[f"{name} / {part.name}"] = numbers(seconds / lengths)

    def disk(counter: str) -> list[float | None]:
        grown = [samples.track("disks", key, counter).by_bin(measurement.starts, measurement.ends) for key in disks]
        return numbers(np.sum(grown, axis=0) / lengths) if grown else []

    return {
        "tiers_cpus_used": {name: numbers(observed.cpu_s(name, measurement) / lengths) for name in observed.tiers},
        "parts_cpus_used": parts,
        "disk_read_bytes_per_s": disk("read_bytes_total"),
        "disk_write_bytes_per_s": disk("write_bytes_total"),
    }


def span(measurement: Measurement, chosen: Mask) -> tuple[float, float]:
    """Return start and end of the chosen bins in run time; zeros if no bin is chosen. [s]"""
    if not chosen.any():
        return 0.0, 0.0
    return float(measurement.starts[chosen].min()), float(measurement.ends[chosen].max())
