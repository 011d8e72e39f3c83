"""Compares the storage requests of services in a window with the requests that reach file servers and disks.

Caches of the content server, of a mount and of the kernel answer some requests, which then reach no server or disk.
Disks also receive writes for the journals and metadata of file systems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.statistics.estimates import BINOMIAL, CONFIDENCE, NO_ESTIMATE, Estimate
from towtank.analysis.system.hosts import STREAM
from towtank.analysis.system.rates import Samples
from towtank.analysis.system.tiers import Observed, ratio, span
from towtank.distributions import binomial_interval

_Keys = list[tuple[Samples, str]]
# Patterns of the metrics with which a content server counts its storage requests.
_ASKED = {
    "read_bytes_per_s": re.compile(r'content_server_storage_bytes_total\{direction="read"\}'),
    "write_bytes_per_s": re.compile(r'content_server_storage_bytes_total\{direction="write"\}'),
    "calls_per_s": re.compile(r"content_server_storage_calls_total\{.*"),
}
_REACHED = {
    "read_bytes_per_s": re.compile(r"host_disk_read_bytes_total\{.*"),
    "write_bytes_per_s": re.compile(r"host_disk_write_bytes_total\{.*"),
    "read_operations_per_s": re.compile(r"host_disk_read_operations_total\{.*"),
    "write_operations_per_s": re.compile(r"host_disk_write_operations_total\{.*"),
}
_MOUNT_READS = "glusterfs_read_bytes_total"
_SERVER_CALLS = r"glusterfs_server_calls_total\{.*"
_SERVER = re.compile(r'glusterfs_server_calls_total\{server="([^"]+)",call="([^"]+)"\}')


@dataclass(frozen=True)
class FileServer:
    """Requests of a mount to a file server [1/s], and its share in the reads from all servers, in [0, 1]."""

    calls_per_s: Estimate
    read_share: Estimate


@dataclass(frozen=True)
class Mount:
    """Requests of a network mount, and the use of its cache."""

    read_bytes_per_s: Estimate = NO_ESTIMATE
    write_bytes_per_s: Estimate = NO_ESTIMATE
    calls_per_s: Estimate = NO_ESTIMATE
    server_calls_per_s: Estimate = NO_ESTIMATE
    cache_limit_bytes: float | None = None
    cache_bytes: float | None = None
    cache_files: float | None = None
    servers: dict[str, FileServer] = field(default_factory=dict)


@dataclass(frozen=True)
class Storage:
    """Entry `storage` of a run summary: rates of the requests that services made, and of those that reached disks."""

    asked: dict[str, Estimate] = field(default_factory=dict)
    mounts: dict[str, Mount] = field(default_factory=dict)
    reached: dict[str, Estimate] = field(default_factory=dict)


def storage(observed: Observed, measurement: Measurement, chosen: Mask) -> Storage | None:
    """Describe the storage requests of services, the requests that reach disks, and each network mount between services
    and disks. Return None if no service reports storage requests.
    """
    hosts = [observed.metrics[key] for name in observed.hosts if (key := STREAM.format(name)) in observed.metrics]
    servers = list(observed.metrics.values())
    asked = _rates(_ASKED, servers, measurement, chosen)
    mounts = {
        name: _mount(samples, measurement, chosen)
        for name, samples in observed.metrics.items()
        if _find([samples], re.compile(_MOUNT_READS))
    }
    if not mounts and all(rate.value is None for rate in asked.values()):
        return None
    return Storage(asked, mounts, _rates(_REACHED, hosts, measurement, chosen))


def _mount(samples: Samples, measurement: Measurement, chosen: Mask) -> Mount:
    start, end = span(measurement, chosen)
    reads: dict[str, _Keys] = {}
    calls: dict[str, _Keys] = {}
    for _, key in _find([samples], re.compile(_SERVER_CALLS)):
        if match := _SERVER.fullmatch(key):
            calls.setdefault(match[1], []).append((samples, key))
            reads.setdefault(match[1], []).extend([(samples, key)] if match[2] == "read" else [])
    together = _sum([series for keys in reads.values() for series in keys], measurement)

    def rate(pattern: str) -> Estimate:
        return _rate(_find([samples], re.compile(pattern)), measurement, chosen)

    def mean(name: str) -> float | None:
        return samples.mean_gauge(start, end, "values", f"glusterfs_cache_{name}")

    servers = {
        name: FileServer(
            _rate(keys, measurement, chosen),
            _share(_sum(reads[name], measurement), together, chosen, measurement.bin_s),
        )
        for name, keys in sorted(calls.items())
    }
    return Mount(
        read_bytes_per_s=rate(_MOUNT_READS),
        write_bytes_per_s=rate("glusterfs_written_bytes_total"),
        calls_per_s=rate(r"glusterfs_calls_total\{.*"),
        server_calls_per_s=rate(_SERVER_CALLS),
        cache_limit_bytes=mean("limit_bytes"),
        cache_bytes=mean("bytes"),
        cache_files=mean("files"),
        servers=servers,
    )


def _rates(
    wanted: Mapping[str, re.Pattern[str]], streams: Iterable[Samples], measurement: Measurement, chosen: Mask
) -> dict[str, Estimate]:
    """Return, for each name in `wanted`, the total rate in the window of all counters whose names match the pattern,
    with an interval. [1/s]
    """
    every = list(streams)
    return {name: _rate(_find(every, pattern), measurement, chosen) for name, pattern in wanted.items()}


def _find(streams: Iterable[Samples], pattern: re.Pattern[str]) -> _Keys:
    """Return all series whose key matches a pattern, each with its stream."""
    found: _Keys = []
    for samples in streams:
        names = {key for sample in samples.samples for key in sample["values"]}
        found += [(samples, key) for key in sorted(names) if pattern.fullmatch(key)]
    return found


def _sum(keys: _Keys, measurement: Measurement) -> Floats | None:
    """Return the sum of the growth of several series in each bin; None if there is no series. Before its first sample,
    a series counts as zero.
    """
    if not keys:
        return None
    bins = [samples.track("values", key).by_bin(measurement.starts, measurement.ends) for samples, key in keys]
    whole = np.sum(np.nan_to_num(bins), axis=0)
    return np.where(np.any(np.isfinite(bins), axis=0), whole, np.nan)


def _rate(keys: _Keys, measurement: Measurement, chosen: Mask) -> Estimate:
    together = _sum(keys, measurement)
    return NO_ESTIMATE if together is None else ratio(together, measurement.lengths, chosen, bin_s=measurement.bin_s)


def _share(part: Floats | None, together: Floats | None, chosen: Mask, bin_s: float) -> Estimate:
    """Return the share of one file server in the reads from all servers, with an interval. It has no value if nothing
    was read.

    If one server served every read or none, the intervals have equal values and cannot show an error. The interval is
    then the exact (Clopper-Pearson) interval of the counted reads, see `binomial_interval`, which assumes that the
    reads choose their server independently.
    """
    if together is None or not np.nansum(together[chosen]) > 0:
        return NO_ESTIMATE
    served = np.zeros_like(together) if part is None else part
    seen, reads = (round(float(np.nansum(counts[chosen]))) for counts in (served, together))
    if reads and seen in (0, reads):
        low, high = binomial_interval(seen, reads, CONFIDENCE)
        return Estimate(seen / reads, low, high, BINOMIAL, reads)
    return ratio(served, together, chosen, bin_s=bin_s)
