"""Computes the resource use of a machine that is caused neither by a tier, nor by the generator, nor by the
observers.
"""

from __future__ import annotations

import numpy as np

from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.system import memory
from towtank.analysis.system.disks import disks_counted_once
from towtank.analysis.system.entries import OtherPrograms, Unattributed
from towtank.analysis.system.rates import Samples
from towtank.analysis.system.tiers import HOST_CPU, Observed, host_bins, ratio, span
from towtank.results import GENERATOR_GROUP, THIS_MACHINE

_CPU = ("cpu_user_s_total", "cpu_system_s_total")


def machines(observed: Observed) -> dict[str, Observed]:
    """Return the observations on each machine that runs a tier, by name of the machine."""
    found: dict[str, Observed] = {}
    for tier in observed.tiers:
        where = observed.where(tier)
        name = THIS_MACHINE if where is observed else str(observed.tiers[tier].get("host"))
        found[name] = where
    return found


def not_attributed(observed: Observed, measurement: Measurement, chosen: Mask) -> dict[str, Unattributed]:
    """Return the resource use of each machine in the window that is caused neither by a tier, nor by the generator, nor
    by the observers.

    Notes
    -----
    A process group counts written bytes when pages become dirty, but a disk counts them when the pages are written. The
    difference is therefore exact only over a window much longer than the write-back interval (30 s). The CPU time of
    the machine is counted in clock ticks, but the CPU time of process groups exactly, so the difference may be slightly
    negative.
    """
    start, end = span(measurement, chosen)
    found = {}
    for name, where in machines(observed).items():
        samples = where.samples
        groups = sorted({group for sample in samples.samples for group in sample.get("groups", {})})
        seconds = _unexplained_cpu_s(where, groups, measurement, name == THIS_MACHINE)
        found[name] = Unattributed(
            ratio(seconds, measurement.lengths, chosen, bin_s=measurement.bin_s),
            samples.track("host", "cpu_irq_s_total").rate(start, end),
            where.host_cpus,
            _memory(samples, groups, start, end),
            _disk_bytes(samples, groups, "read_bytes_total", start, end),
            _disk_bytes(samples, groups, "write_bytes_total", start, end),
        )
    return found


def other_programs(observed: Observed, measurement: Measurement, chosen: Mask, targets: object) -> OtherPrograms | None:
    """Return the CPU use of programs on this machine other than generator and target. This applies if this machine runs
    a target that Towtank did not start.

    Parameters
    ----------
    observed, measurement, chosen
        Observations, load and bins of the window.
    targets : dict
        Entry `targets_here` of `run.json`: process of each of these targets, by address; None for a process that was
        not found.

    Returns
    -------
    OtherPrograms or None
        None if there are no such targets or no samples.
    """
    if not isinstance(targets, dict) or not targets or not observed.samples.samples:
        return None
    start, end = span(measurement, chosen)
    groups = sorted({group for sample in observed.samples.samples for group in sample.get("groups", {})})
    seconds = _unexplained_cpu_s(observed, groups, measurement, is_here=True)
    interrupts = observed.samples.track("host", "cpu_irq_s_total").rate(start, end) or 0.0
    used = ratio(seconds - interrupts * measurement.lengths, measurement.lengths, chosen, bin_s=measurement.bin_s)
    not_found = tuple(sorted(address for address, pid in targets.items() if pid is None))
    return OtherPrograms(used, observed.host_cpus, not_found)


def timeline(observed: Observed, measurement: Measurement) -> dict[str, Floats]:
    """Return the number of CPUs used outside tiers, generator and observers in each bin, by name of the machine. [1]"""
    found = {}
    for name, where in machines(observed).items():
        groups = sorted({group for sample in where.samples.samples for group in sample.get("groups", {})})
        seconds = _unexplained_cpu_s(where, groups, measurement, name == THIS_MACHINE)
        found[name] = seconds / measurement.lengths_of_rates
    return found


def _unexplained_cpu_s(observed: Observed, groups: list[str], measurement: Measurement, is_here: bool) -> Floats:
    """Return the CPU time that a machine used outside its process groups in each bin; NaN if it was not observed.
    [s]
    """
    samples = observed.samples
    used = np.sum([host_bins(samples, name, measurement) for name in HOST_CPU], axis=0)
    paths: list[tuple[str, ...]] = [("groups", group, counter) for group in groups for counter in _CPU]
    paths += [("probe", "cpu_s_total"), ("probe", "observer_cpu_s_total")]
    for path in paths:
        grown = samples.track(*path).by_bin(measurement.starts, measurement.ends)
        # A process group that does not exist yet, or no longer exists, uses no CPU time, so missing values count as
        # zero.
        used = used - np.nan_to_num(grown)
    if is_here and GENERATOR_GROUP not in groups:
        # In older versions of Towtank, the CPU time of the load threads was recorded by the engine instead of the
        # probe.
        used = used - measurement.cpu_s
    if not samples.has("probe", "observer_cpu_s_total"):
        used = used - _scraping(observed, measurement)
    return np.asarray(used, dtype=float)


def _scraping(observed: Observed, measurement: Measurement) -> Floats:
    """Return the CPU time of the thread that scrapes all services, in each bin. [s]

    Each stream records the total of this thread. Therefore the largest growth among the streams is used instead of the
    sum.
    """
    grown = [
        np.nan_to_num(metric.track("cpu_s_total").by_bin(measurement.starts, measurement.ends))
        for metric in observed.metrics.values()
    ]
    return np.max(grown, axis=0) if grown else np.zeros(measurement.bins)


def _memory(samples: Samples, groups: list[str], start_s: float, end_s: float) -> float | None:
    """Return the anonymous and shared memory in use on a machine outside its process groups; None if unknown. [byte]"""
    whole = samples.mean_gauge(start_s, end_s, "host", "memory_anonymous_bytes")
    parts = [memory.anonymous_bytes(samples, group, start_s, end_s) for group in groups]
    if whole is None or None in parts:
        return None
    return whole - sum(part for part in parts if part is not None)


def _disk_bytes(samples: Samples, groups: list[str], counter: str, start_s: float, end_s: float) -> float | None:
    """Return the disk traffic of a machine that its process groups did not cause; None if unknown. [byte/s]"""
    last = samples.samples[-1].get("disks", {}) if samples.samples else {}
    disks = [samples.track("disks", name, counter).rate(start_s, end_s) for name in disks_counted_once(last)]
    parts = [samples.track("groups", group, counter).rate(start_s, end_s) for group in groups]
    if not disks or None in disks or None in parts:
        return None
    return sum(rate for rate in disks if rate is not None) - sum(rate for rate in parts if rate is not None)
