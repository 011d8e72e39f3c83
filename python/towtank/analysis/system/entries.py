"""Types of the entries of a run summary that describe tiers, hosts and machines. Each attribute is a key of the entry,
as `docs/reference/summary.md` describes. Values that were not recorded are None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towtank.analysis.statistics.estimates import NO_ESTIMATE, Estimate
from towtank.documents import Sparse, document_of, document_without_none

Number = int | float
Rates = Mapping[str, float | None]
"""Rates [1/s] or [byte/s] and counts [1] by name."""


@dataclass(frozen=True)
class BusyTask(Sparse):
    """Busiest process or thread of a tier: its name and CPU use [1], and shares of time in [0, 1]. Only threads have
    `waits`.
    """

    name: str
    pid: int
    cpus: float
    most: float
    share_of_time_full: float
    waits: float | None = None


@dataclass(frozen=True)
class Busiest:
    """Busiest process and busiest thread of a tier; None if there are fewer than three samples."""

    process: BusyTask | None = None
    thread: BusyTask | None = None


@dataclass(frozen=True)
class LimitUse:
    """Largest use of a resource that the kernel limits, and the limit. `known` is True if both were observed. [1]"""

    most: float | None = None
    limit: float | None = None
    known: bool = False


@dataclass(frozen=True)
class PortUse:
    """Local ports for the destination that needs most of them (`towards`), and the limit for one destination. [1]"""

    most: float | None = None
    limit: float | None = None
    towards: str | None = None
    known: bool = False


@dataclass(frozen=True)
class TierLimits:
    """Use of the resources that the kernel limits: open files of the fullest process, processes and threads of the
    user, processes and threads of the control group, and local ports.
    """

    open_files: LimitUse = field(default_factory=LimitUse)
    threads: LimitUse = field(default_factory=LimitUse)
    control_group: LimitUse = field(default_factory=LimitUse)
    ports: PortUse = field(default_factory=PortUse)


@dataclass(frozen=True)
class PartUse:
    """CPUs that a part (embedded component) of a tier used [1], and its CPU time per transaction [s]."""

    cpus_used: Estimate
    cpu_demand_s: Estimate
    how: str


@dataclass(frozen=True)
class TierUse:
    """Resource use of a tier in the window of a run."""

    kind: str | None = None
    host: str | None = None
    cpus_used: Estimate = NO_ESTIMATE
    cpus_allotted: Number | None = None
    cpu_control_group: str | None = None
    cpu_user: float | None = None
    cpu_system: float | None = None
    utilization: float | None = None
    cpu_demand_s: Estimate = NO_ESTIMATE
    memory_bytes: float | None = None
    memory_how: str | None = None
    resident_sets_bytes: float | None = None
    disk_read_bytes_per_s: float | None = None
    disk_write_bytes_per_s: float | None = None
    major_faults_per_s: float | None = None
    run_queue_wait_s_per_s: float | None = None
    busiest: Busiest = field(default_factory=Busiest)
    parts: dict[str, PartUse] = field(default_factory=dict)
    limits: TierLimits = field(default_factory=TierLimits)


@dataclass(frozen=True)
class Pace:
    """CPU time of a fixed amount of work: median, 10th and 90th percentile [s], and the share by which the 90th
    percentile exceeds the 10th [1].
    """

    median_s: float | None = None
    fast_s: float = 0.0
    slow_s: float = 0.0
    spread: float = 0.0
    samples: int = 0


@dataclass(frozen=True)
class MachineUse:
    """Resource use of a machine with a probe in the window of a run."""

    cpus: int | None = None
    cpus_used: Estimate = NO_ESTIMATE
    disks: dict[str, DiskUse] = field(default_factory=dict)
    networks: dict[str, dict[str, float]] = field(default_factory=dict)
    tcp: Rates = field(default_factory=dict)
    tcp_memory_bytes: float | None = None
    throttled: dict[str, float] = field(default_factory=dict)
    pressure: dict[str, float] = field(default_factory=dict)
    steal: float | None = None
    pace: Pace | None = None
    rested_page_s: float | None = None
    foreign_share: float | None = None
    context_switches_per_s: float | None = None
    memory_available_bytes: float | None = None


@dataclass(frozen=True)
class DiskUse:
    """Use of a disk of a host: rates, utilization, and the smallest free space and number of free inodes.

    Only disks of machines with a probe have `stacked`, which is True if another disk counts the same bytes, too. They
    have no other key without a value.
    """

    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    read_operations_per_s: float | None = None
    write_operations_per_s: float | None = None
    busy_share: float | None = None
    queue_length: float | None = None
    utilization: float | None = None
    utilization_of: str | None = None
    utilization_limit: float | None = None
    free_bytes_least: float | None = None
    free_inodes_least: float | None = None
    size_bytes: float | None = None
    size_inodes: float | None = None
    bytes_full_in_s: float | None = None
    inodes_full_in_s: float | None = None
    stacked: bool | None = None

    def document(self) -> dict[str, object]:
        if self.stacked is not None:
            return document_without_none(self)
        return {key: value for key, value in document_of(self).items() if key != "stacked"}


@dataclass(frozen=True)
class HostUse:
    """Resource use of a host with sizes of its own, or of another machine with a probe (`networks` is then known)."""

    tiers: tuple[str, ...] = ()
    cpus_virtual: Number | None = None
    cpus_allotted: Number | None = None
    cpus_used: Estimate = NO_ESTIMATE
    utilization: float | None = None
    throttled_share: float | None = None
    throttled_s_per_s: float | None = None
    page_cache_refaults_per_s: float | None = None
    major_faults_per_s: float | None = None
    receive_bytes_per_s: float | None = None
    transmit_bytes_per_s: float | None = None
    receive_packets_per_s: float | None = None
    transmit_packets_per_s: float | None = None
    link_bytes_per_s: float | None = None
    out_of_memory_kills: float | None = None
    receive_drops: float | None = None
    transmit_drops: float | None = None
    tcp: Rates = field(default_factory=dict)
    memory_bytes: float | None = None
    memory_cache_bytes: float | None = None
    swap_bytes: float | None = None
    socket_memory_bytes: float | None = None
    pressure: dict[str, float] = field(default_factory=dict)
    steal: float | None = None
    pace: Pace | None = None
    rested_page_s: float | None = None
    throttled: dict[str, float] = field(default_factory=dict)
    disks: dict[str, DiskUse] = field(default_factory=dict)
    networks: dict[str, dict[str, float]] | None = None

    def document(self) -> dict[str, object]:
        """Return the host as a JSON object, without the keys that only the other kind of host has."""
        return {key: value for key, value in document_of(self).items() if key not in self._unknown}

    @property
    def _unknown(self) -> tuple[str, ...]:
        return ("steal", "pace", "rested_page_s", "throttled", "networks") if self.networks is None else _OF_SIZED_HOSTS


_OF_SIZED_HOSTS = (
    *("throttled_share", "throttled_s_per_s", "page_cache_refaults_per_s", "major_faults_per_s"),
    *("receive_bytes_per_s", "transmit_bytes_per_s", "receive_packets_per_s", "transmit_packets_per_s"),
    *("link_bytes_per_s", "out_of_memory_kills", "receive_drops", "transmit_drops"),
    *("memory_bytes", "memory_cache_bytes", "swap_bytes"),
)


@dataclass(frozen=True)
class Consumer:
    """CPU use of a tier, and the real CPUs to which it is pinned. [1] In a damaged summary, the CPU use may be None."""

    tier: str
    host: str | None
    cpus_used: float | None
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True)
class SharedMachine:
    """CPUs of this machine that hosts with sizes of their own share. `overcommit` is the number of virtual CPUs per
    real CPU, and `consumers` are the tiers in descending order of CPU use.
    """

    cpus: int | None
    cpus_virtual: float
    overcommit: float | None
    cpus_used: Estimate
    throttled_s_per_s: float | None
    steal: float | None
    consumers: tuple[Consumer, ...]


@dataclass(frozen=True)
class Unattributed:
    """Resource use of a machine that neither a tier, nor the generator, nor an observer caused.

    `interrupts_cpus_used` is the part of `cpus_used` that interrupts used, on kernels that count it separately.
    """

    cpus_used: Estimate
    interrupts_cpus_used: float | None = None
    cpus: int | None = None
    memory_bytes: float | None = None
    disk_read_bytes_per_s: float | None = None
    disk_write_bytes_per_s: float | None = None


@dataclass(frozen=True)
class OtherPrograms:
    """CPU use of programs on this machine other than generator and target, without interrupts. It includes the targets
    at the addresses `not_found`.
    """

    cpus_used: Estimate
    cpus: int | None = None
    not_found: tuple[str, ...] = ()


@dataclass(frozen=True)
class Metric(Sparse):
    """Metric that a service reported: rate of a counter [1/s], or mean and maximum of a gauge."""

    kind: str = ""
    per_s: float | None = None
    mean: float | None = None
    max: float | None = None


NO_METRIC = Metric()
"""Metric that was not recorded."""


@dataclass(frozen=True)
class Gap:
    """Time in a run without samples of a probe.

    Attributes
    ----------
    host : str
        Name of the machine; `this_machine` for the machine that runs Towtank.
    start_s, end_s : float
        Start and end of the gap, in run time. [s]
    """

    host: str
    start_s: float
    end_s: float

    def within_s(self, start_s: float, end_s: float) -> float:
        """Return the time for which the gap overlaps the time from `start_s` to `end_s`. [s]"""
        return max(0.0, min(self.end_s, end_s) - max(self.start_s, start_s))


@dataclass(frozen=True)
class Observation:
    """CPU use that observing the run caused [1], the delays of samples [s], and the longest time without a sample [s].

    `sending_cpus_used` are the CPUs that were used to send results during the run; None if nothing was sent. [1]
    """

    cpus_used: float | None = None
    sending_cpus_used: float | None = None
    samples: int = 0
    late_max_s: float | None = None
    scrape_s_mean: float | None = None
    scrape_failures: int = 0
    longest_gap_s: float | None = None
    gaps: tuple[Gap, ...] = ()
