"""Describes the hosts of a system in the window, and their total use of the real machine.

The module reads the streams `host-NAME` and the sizes of the hosts in `run.json`. A host without declared sizes has no
stream; its resource use is known only from its tiers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.system.entries import Consumer, DiskUse, HostUse, SharedMachine
from towtank.analysis.system.limited_disks import utilization
from towtank.analysis.system.rates import Samples
from towtank.analysis.system.tiers import TCP_COUNTS, Observed, host, ratio, span, steal
from towtank.digging import dig
from towtank.units import data_rate

STREAM = "host-{}"
_DISK = re.compile(r'host_disk_size_bytes\{disk="([^"]+)"\}')


def hosts(observed: Observed, measurement: Measurement, chosen: Mask) -> dict[str, HostUse]:
    """Describe every host with declared sizes and every other machine with a probe in the window, by name."""
    found = {}
    for name in observed.hosts:
        if name in observed.remote:
            found[name] = _machine_of_its_own(observed, name, measurement, chosen)
            continue
        samples = observed.metrics.get(STREAM.format(name))
        if samples is not None and observed.hosts[name].get("provider") == "namespaces":
            found[name] = _host(observed, name, samples, measurement, chosen)
    return found


def _host(observed: Observed, name: str, samples: Samples, measurement: Measurement, chosen: Mask) -> HostUse:
    start, end = span(measurement, chosen)
    declared = dig(observed.hosts, name, "disks") or {}
    track = samples.track("values", "host_cpu_seconds_total")
    used = ratio(
        track.by_bin(measurement.starts, measurement.ends), measurement.lengths, chosen, bin_s=measurement.bin_s
    )
    tiers = tuple(tier for tier, about in observed.tiers.items() if about.get("host") == name)
    allotted = max((cpus for tier in tiers if (cpus := observed.allotted(tier, start, end)) is not None), default=None)

    def rate(name: str) -> float | None:
        return samples.track("values", f"host_{name}_total").rate(start, end)

    def count(name: str) -> float | None:
        return samples.track("values", f"host_{name}_total").growth(start, end)

    tcp = {out: samples.track("values", f"host_{key}").growth(start, end) for out, key in TCP_COUNTS.items()}
    return HostUse(
        tiers=tiers,
        cpus_virtual=observed.hosts[name].get("cpus_virtual"),
        cpus_allotted=allotted,
        cpus_used=used,
        utilization=used.value / allotted if used.value is not None and allotted else None,
        throttled_share=_throttled_share(samples, start, end),
        throttled_s_per_s=rate("throttled_seconds"),
        page_cache_refaults_per_s=rate("page_cache_refaults"),
        major_faults_per_s=rate("major_page_faults"),
        receive_bytes_per_s=rate("network_receive_bytes"),
        transmit_bytes_per_s=rate("network_transmit_bytes"),
        receive_packets_per_s=rate("network_receive_packets"),
        transmit_packets_per_s=rate("network_transmit_packets"),
        link_bytes_per_s=_link_rate(dig(observed.hosts[name], "sizes", "network", "rate")),
        out_of_memory_kills=count("out_of_memory_kills"),
        receive_drops=count("network_receive_drops"),
        transmit_drops=count("network_transmit_drops"),
        tcp=tcp,
        memory_bytes=samples.mean_gauge(start, end, "values", "host_memory_bytes"),
        memory_cache_bytes=samples.mean_gauge(start, end, "values", "host_memory_cache_bytes"),
        swap_bytes=samples.mean_gauge(start, end, "values", "host_swap_bytes"),
        socket_memory_bytes=samples.mean_gauge(start, end, "values", "host_socket_memory_bytes"),
        pressure=_pressure(samples, start, end),
        disks={disk: _disk(samples, disk, declared.get(disk) or {}, start, end) for disk in _disks(samples)},
    )


def _machine_of_its_own(observed: Observed, name: str, measurement: Measurement, chosen: Mask) -> HostUse:
    """Describe a host that is a separate machine in the window, from the records of the probe on the host."""
    whole = host(observed.remote[name], measurement, chosen)
    used, cpus = whole.cpus_used.value, whole.cpus
    return HostUse(
        tiers=tuple(tier for tier, about in observed.tiers.items() if about.get("host") == name),
        cpus_allotted=cpus,
        cpus_used=whole.cpus_used,
        utilization=used / cpus if used is not None and cpus else None,
        tcp=whole.tcp,
        socket_memory_bytes=whole.tcp_memory_bytes,
        pressure=whole.pressure,
        steal=whole.steal,
        pace=whole.pace,
        rested_page_s=whole.rested_page_s,
        throttled=whole.throttled,
        disks=whole.disks,
        networks=whole.networks,
    )


def _throttled_share(samples: Samples, start_s: float, end_s: float) -> float | None:
    """Return the share of CPU accounting periods of the kernel in which a host used up its CPU limit, in [0, 1]. Return
    None if the host has no limit.
    """
    periods = samples.track("values", "host_periods_total").growth(start_s, end_s)
    throttled = samples.track("values", "host_throttled_periods_total").growth(start_s, end_s)
    return throttled / periods if periods and throttled is not None else None


def _link_rate(declared: object) -> float | None:
    """Read the rate limit of a network link from its text in `run.json`; None if there is no limit. [byte/s]"""
    return data_rate(declared) if isinstance(declared, str) else None


def _pressure(samples: Samples, start_s: float, end_s: float) -> dict[str, float]:
    """Return the shares of the window in which some, or all, threads of a host waited for CPU, I/O or memory, in [0,
    1]. They come from the pressure stall information of the kernel.
    """
    keys = {
        f"{resource}_{extent}": f'host_pressure_seconds_total{{resource="{resource}",extent="{extent}"}}'
        for resource in ("cpu", "io", "memory")
        for extent in ("some", "full")
    }
    rates = {out: samples.track("values", key).rate(start_s, end_s) for out, key in keys.items()}
    return {out: value for out, value in rates.items() if value is not None}


def _disks(samples: Samples) -> list[str]:
    keys = {key for sample in samples.samples[-1:] for key in sample["values"]}
    return sorted(match[1] for key in keys if (match := _DISK.fullmatch(key)))


def _disk(samples: Samples, disk: str, declared: Mapping[str, Any], start_s: float, end_s: float) -> DiskUse:
    """Describe a disk of a host in the window: data rates, utilization, smallest free space, and smallest number of
    free inodes.

    Parameters
    ----------
    declared : mapping
        Entry of the disk in `run.json`, with its limits.
    """

    def rate(name: str) -> float | None:
        return samples.track("values", f'host_disk_{name}_total{{disk="{disk}"}}').rate(start_s, end_s)

    def gauge(name: str) -> list[float]:
        return samples.gauge(start_s, end_s, "values", f'host_disk_{name}{{disk="{disk}"}}')

    space, inodes, length_s = gauge("free_bytes"), gauge("free_inodes"), end_s - start_s
    use = DiskUse(
        read_bytes_per_s=rate("read_bytes"),
        write_bytes_per_s=rate("write_bytes"),
        read_operations_per_s=rate("read_operations"),
        write_operations_per_s=rate("write_operations"),
        busy_share=rate("busy_seconds"),
        queue_length=rate("queue_seconds"),
        free_bytes_least=min(space, default=None),
        free_inodes_least=min(inodes, default=None),
        size_bytes=next(reversed(gauge("size_bytes")), None),
        size_inodes=next(reversed(gauge("inodes")), None),
        bytes_full_in_s=_full_in(space, length_s),
        inodes_full_in_s=_full_in(inodes, length_s),
    )
    found = utilization(vars(use), declared)
    return replace(
        use,
        utilization=found.utilization,
        utilization_of=found.utilization_of,
        utilization_limit=found.utilization_limit,
    )


def _full_in(free: list[float], length_s: float) -> float | None:
    """Return the time until a disk is full if its use grows at the mean rate of the window; None if its use does not
    grow. [s]
    """
    used = free[0] - free[-1] if len(free) > 1 else 0.0
    return free[-1] * length_s / used if used > 0 else None


def machine(observed: Observed, measurement: Measurement, chosen: Mask) -> SharedMachine | None:
    """Describe the CPUs of this machine: the number that all hosts together may use, and their CPU use.

    Returns
    -------
    SharedMachine or None
        A host without a limit counts with all real CPUs. The CPUs of a tier on none of these hosts are empty. None if
        no host has declared sizes.
    """
    names = [name for name, about in observed.hosts.items() if about.get("provider") == "namespaces"]
    streams = [samples for name in names if (samples := observed.metrics.get(STREAM.format(name))) is not None]
    if not streams:
        return None
    start, end = span(measurement, chosen)
    used = [
        stream.track("values", "host_cpu_seconds_total").by_bin(measurement.starts, measurement.ends)
        for stream in streams
    ]
    held = [stream.track("values", "host_throttled_seconds_total").rate(start, end) for stream in streams]
    pinned = {cpu for tier in observed.tiers.values() for cpu in tier.get("cpus") or []}
    real = len(pinned) or observed.host_cpus
    virtual = sum(float(observed.hosts[name].get("cpus_virtual") or real or 0.0) for name in names)
    tiers = {
        name: ratio(observed.cpu_s(name, measurement), measurement.lengths, chosen, bin_s=measurement.bin_s).value
        for name in observed.tiers
    }
    ranked = sorted(((name, cpus) for name, cpus in tiers.items() if cpus is not None), key=lambda entry: -entry[1])
    return SharedMachine(
        cpus=real,
        cpus_virtual=virtual,
        overcommit=virtual / real if real else None,
        cpus_used=ratio(np.sum(used, axis=0), measurement.lengths, chosen, bin_s=measurement.bin_s),
        throttled_s_per_s=sum(known) if (known := [value for value in held if value is not None]) else None,
        steal=steal(observed, start, end),
        consumers=tuple(
            Consumer(name, host, cpus, tuple(sorted(pins or [])) if host in names else ())
            for name, cpus in ranked
            for host, pins in [tuple(dig(observed.tiers, name, key) for key in ("host", "cpus"))]
        ),
    )
