"""Describes the hosts of a system in the window, and their total use of the real machine.

The module reads the streams `host-NAME` and the sizes of the hosts in `run.json`. A host without declared sizes has no
stream; its resource use is known only from its tiers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.system.limited_disks import BUSY_SHARE, utilization
from towtank.analysis.system.rates import Samples
from towtank.analysis.system.tiers import TCP_COUNTS, Observed, host, ratio, span, steal
from towtank.digging import dig
from towtank.units import data_rate

STREAM = "host-{}"
_RATES = {
    "throttled_s_per_s": "host_throttled_seconds_total",
    "page_cache_refaults_per_s": "host_page_cache_refaults_total",
    "major_faults_per_s": "host_major_page_faults_total",
    "receive_bytes_per_s": "host_network_receive_bytes_total",
    "transmit_bytes_per_s": "host_network_transmit_bytes_total",
    "receive_packets_per_s": "host_network_receive_packets_total",
    "transmit_packets_per_s": "host_network_transmit_packets_total",
}
_COUNTS = {
    "out_of_memory_kills": "host_out_of_memory_kills_total",
    "receive_drops": "host_network_receive_drops_total",
    "transmit_drops": "host_network_transmit_drops_total",
}
_DISK_RATES = {
    "read_bytes_per_s": "host_disk_read_bytes_total",
    "write_bytes_per_s": "host_disk_write_bytes_total",
    "read_operations_per_s": "host_disk_read_operations_total",
    "write_operations_per_s": "host_disk_write_operations_total",
    BUSY_SHARE: "host_disk_busy_seconds_total",
    "queue_length": "host_disk_queue_seconds_total",
}
_DISK_LEAST = {"free_bytes": "host_disk_free_bytes", "free_inodes": "host_disk_free_inodes"}
_DISK_SIZES = {"bytes": "host_disk_size_bytes", "inodes": "host_disk_inodes"}
_DISK = re.compile(r'host_disk_size_bytes\{disk="([^"]+)"\}')


def hosts(observed: Observed, measurement: Measurement, chosen: Mask) -> dict[str, Any]:
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


def _host(observed: Observed, name: str, samples: Samples, measurement: Measurement, chosen: Mask) -> dict[str, Any]:
    start, end = span(measurement, chosen)
    declared = dig(observed.hosts, name, "disks") or {}
    track = samples.track("values", "host_cpu_seconds_total")
    used = ratio(
        track.by_bin(measurement.starts, measurement.ends), measurement.lengths, chosen, bin_s=measurement.bin_s
    )
    tiers = [tier for tier, about in observed.tiers.items() if about.get("host") == name]
    allotted = max((cpus for tier in tiers if (cpus := observed.allotted(tier, start, end)) is not None), default=None)
    rates = {out: samples.track("values", key).rate(start, end) for out, key in _RATES.items()}
    counts = {out: samples.track("values", key).growth(start, end) for out, key in _COUNTS.items()}
    tcp = {out: samples.track("values", f"host_{key}").growth(start, end) for out, key in TCP_COUNTS.items()}
    return {
        "tiers": tiers,
        "cpus_virtual": observed.hosts[name].get("cpus_virtual"),
        "cpus_allotted": allotted,
        "cpus_used": used.document(),
        "utilization": used.value / allotted if used.value is not None and allotted else None,
        "throttled_share": _throttled_share(samples, start, end),
        **rates,
        "link_bytes_per_s": _link_rate(dig(observed.hosts[name], "sizes", "network", "rate")),
        **counts,
        "tcp": tcp,
        "memory_bytes": _mean(samples.gauge(start, end, "values", "host_memory_bytes")),
        "memory_cache_bytes": _mean(samples.gauge(start, end, "values", "host_memory_cache_bytes")),
        "swap_bytes": _mean(samples.gauge(start, end, "values", "host_swap_bytes")),
        "socket_memory_bytes": _mean(samples.gauge(start, end, "values", "host_socket_memory_bytes")),
        "pressure": _pressure(samples, start, end),
        "disks": {disk: _disk(samples, disk, declared.get(disk) or {}, start, end) for disk in _disks(samples)},
    }


def _machine_of_its_own(observed: Observed, name: str, measurement: Measurement, chosen: Mask) -> dict[str, Any]:
    """Describe a host that is a separate machine in the window, from the records of the probe on the host."""
    whole = host(observed.remote[name], measurement, chosen)
    used, cpus = whole["cpus_used"]["value"], whole["cpus"]
    return {
        "tiers": [tier for tier, about in observed.tiers.items() if about.get("host") == name],
        "cpus_virtual": None,
        "cpus_allotted": cpus,
        "cpus_used": whole["cpus_used"],
        "utilization": used / cpus if used is not None and cpus else None,
        "tcp": whole["tcp"],
        "socket_memory_bytes": whole["tcp_memory_bytes"],
        "pressure": whole["pressure"],
        "steal": whole["steal"],
        "pace": whole["pace"],
        "throttled": whole["throttled"],
        "disks": whole["disks"],
        "networks": whole["networks"],
    }


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


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


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


def _disk(samples: Samples, disk: str, declared: Mapping[str, Any], start_s: float, end_s: float) -> dict[str, Any]:
    """Describe a disk of a host in the window: data rates, utilization, smallest free space, and smallest number of
    free inodes.

    Parameters
    ----------
    declared : mapping
        Entry of the disk in `run.json`, with its limits.
    """
    label = f'{{disk="{disk}"}}'
    rates = {out: samples.track("values", key + label).rate(start_s, end_s) for out, key in _DISK_RATES.items()}
    least = {out: samples.gauge(start_s, end_s, "values", key + label) for out, key in _DISK_LEAST.items()}
    return {
        **rates,
        **asdict(utilization(rates, declared)),
        **{f"{out}_least": min(values) if values else None for out, values in least.items()},
        **{f"size_{what}": _last(samples, start_s, end_s, key + label) for what, key in _DISK_SIZES.items()},
        **{f"{what}_full_in_s": _full_in(least[f"free_{what}"], end_s - start_s) for what in _DISK_SIZES},
    }


def _last(samples: Samples, start_s: float, end_s: float, key: str) -> float | None:
    values = samples.gauge(start_s, end_s, "values", key)
    return values[-1] if values else None


def _full_in(free: list[float], length_s: float) -> float | None:
    """Return the time until a disk is full if its use grows at the mean rate of the window; None if its use does not
    grow. [s]
    """
    used = free[0] - free[-1] if len(free) > 1 else 0.0
    return free[-1] * length_s / used if used > 0 else None


def machine(observed: Observed, measurement: Measurement, chosen: Mask) -> dict[str, Any] | None:
    """Describe the CPUs of this machine: the number that all hosts together may use, and their CPU use.

    Returns
    -------
    dict or None
        `cpus`: real CPUs that hosts may use; `cpus_virtual`: sum of the virtual CPUs of all hosts, where a host without
        a limit counts with all real CPUs; `overcommit`: virtual CPUs divided by real CPUs; `cpus_used`: CPUs that all
        hosts together used; `throttled_s_per_s`: throttled time of all hosts per second; `steal`: share of the CPU time
        that the hypervisor of this machine gave to other guests; `consumers`: tiers in descending order of CPU use. The
        entry of a tier on one of these hosts contains the numbers of the real CPUs to which the tier is pinned; for any
        other tier they are empty. None if no host has declared sizes.
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
    return {
        "cpus": real,
        "cpus_virtual": virtual,
        "overcommit": virtual / real if real else None,
        "cpus_used": ratio(np.sum(used, axis=0), measurement.lengths, chosen, bin_s=measurement.bin_s).document(),
        "throttled_s_per_s": sum(known) if (known := [value for value in held if value is not None]) else None,
        "steal": steal(observed, start, end),
        "consumers": [
            {"tier": name, "host": host, "cpus_used": cpus, "cpus": sorted(pins or []) if host in names else []}
            for name, cpus in ranked
            for host, pins in [tuple(dig(observed.tiers, name, key) for key in ("host", "cpus"))]
        ],
    }
