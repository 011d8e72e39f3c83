"""Reads metrics of a host of provider `namespaces` from its control group, network and disks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.errors import TargetError
from towtank.observe import ScrapeError, series_name
from towtank.system.hosts.namespaces import within_network
from towtank.system.hosts.sockets import socket_memory
from towtank.system.hosts.tcp import tcp_counters

if TYPE_CHECKING:
    from towtank.system.hosts.cgroups import ControlGroup
    from towtank.system.hosts.disks import MountedDisk
    from towtank.system.hosts.namespaces import Namespaces

_NS = 1e9
_US = 1e6
_SECTOR_BYTES = 512
_DEVICE = "eth0"
# Largest number of sockets of a host for which their memory is queried. The query takes a few µs of CPU time per
# socket. [1]
_SOCKETS_AT_MOST = 1000
# Index of each value in /sys/block/DEVICE/stat, and factor that converts the value to base units. The file contains
# sectors and milliseconds (iostats.rst in the documentation of Linux).
_DISK_FIELDS = {
    "host_disk_read_operations_total": (0, 1.0),
    "host_disk_read_bytes_total": (2, _SECTOR_BYTES),
    "host_disk_write_operations_total": (4, 1.0),
    "host_disk_write_bytes_total": (6, _SECTOR_BYTES),
    "host_disk_busy_seconds_total": (9, 0.001),
    "host_disk_queue_seconds_total": (10, 0.001),
}
_BUSY = "host_disk_busy_seconds_total"
# Index of each counter in a line of /proc/net/dev.
_NETWORK_FIELDS = {
    "host_network_receive_bytes_total": 0,
    "host_network_receive_packets_total": 1,
    "host_network_receive_drops_total": 3,
    "host_network_transmit_bytes_total": 8,
    "host_network_transmit_packets_total": 9,
    "host_network_transmit_drops_total": 11,
}


class HostScraper:
    """Scraper that reads the kernel's files about one host. Each scrape takes about 1 ms of CPU time. `cpus` is the
    number of CPUs that the host may use; None if it is not limited. [1]
    """

    source = "host"
    kind = "host"

    def __init__(
        self,
        service: str,
        group: ControlGroup,
        namespaces: Namespaces,
        disks: dict[str, MountedDisk],
        cpus: float | None,
    ) -> None:
        self.service, self._group, self._namespaces = service, group, namespaces
        self._disks, self._cpus = disks, cpus

    def scrape(self) -> dict[str, float]:
        """Read all metrics of the host once, and return them by series name."""
        try:
            values = {**self._cpu(), **self._memory(), **self._pressure(), **self._network()}
            for name, disk in self._disks.items():
                values |= self._disk(name, disk)
            values |= self._sockets() | tcp_counters(self._namespaces.pid)
            # The first tree of control groups suffices, because the group has the same processes in every tree.
            values["host_processes"] = float(len(self._group.members_files()[0].read_text().split()))
        except (OSError, ValueError) as error:
            raise ScrapeError(f"host: {error}") from error
        if self._cpus is not None:
            values["host_cpu_limit"] = self._cpus
        return values

    def close(self) -> None:
        """Do nothing, because no file or connection stays open between scrapes."""

    def _cpu(self) -> dict[str, float]:
        folders = self._group.folders
        if "cpuacct" in folders:
            used = float((folders["cpuacct"] / "cpuacct.usage").read_text()) / _NS
            user = float((folders["cpuacct"] / "cpuacct.usage_user").read_text()) / _NS
            stat = numbers(folders["cpu"] / "cpu.stat") if "cpu" in folders else {}
            throttled = stat.get("throttled_time", 0.0) / _NS
        else:
            stat = numbers(self._unified / "cpu.stat")
            used, user = stat["usage_usec"] / _US, stat["user_usec"] / _US
            throttled = stat.get("throttled_usec", 0.0) / _US
        values = {"host_cpu_seconds_total": used, "host_cpu_user_seconds_total": user}
        if "nr_periods" in stat:
            values["host_periods_total"] = stat["nr_periods"]
            values["host_throttled_periods_total"] = stat["nr_throttled"]
            values["host_throttled_seconds_total"] = throttled
        return values

    @property
    def _unified(self) -> Path:
        if self._group.unified is None:
            raise ScrapeError("host: no tree of control groups of version 2")
        return self._group.unified

    def _memory(self) -> dict[str, float]:
        old = self._group.folders.get("memory")
        if old is not None:
            stat = numbers(old / "memory.stat")
            kills = numbers(old / "memory.oom_control").get("oom_kill", 0.0)
            # Failures at both limits are added: memory, and memory with swap. If both limits are equal, the kernel
            # checks the second one first, and counts a failure only there.
            refused = sum(
                float(path.read_text())
                for path in (old / "memory.failcnt", old / "memory.memsw.failcnt")
                if path.exists()
            )
            used = float((old / "memory.usage_in_bytes").read_text())
            cache, faults = stat["total_cache"], stat.get("total_pgmajfault", 0.0)
            again = stat.get("total_workingset_refault_file", stat.get("workingset_refault_file"))
            swapped = stat.get("total_swap")
        else:
            folder = self._unified
            if not (folder / "memory.current").exists():
                return {}
            stat, events = numbers(folder / "memory.stat"), numbers(folder / "memory.events")
            kills, refused = events["oom_kill"], events["max"]
            used = float((folder / "memory.current").read_text())
            cache, faults = stat["file"], stat.get("pgmajfault", 0.0)
            again = stat.get("workingset_refault_file")
            swapped = float(text) if (text := read_text(folder / "memory.swap.current")) else None
        return {
            **({} if again is None else {"host_page_cache_refaults_total": again}),
            **({} if swapped is None else {"host_swap_bytes": swapped}),
            "host_memory_bytes": used,
            "host_memory_cache_bytes": cache,
            "host_memory_limit_hits_total": refused,
            "host_out_of_memory_kills_total": kills,
            "host_major_page_faults_total": faults,
        }

    def _pressure(self) -> dict[str, float]:
        """Return the pressure stall times of the control group [s]; empty if version 2 of control groups is not
        mounted.

        The kernel reports lines of the form `some avg10=... total=MICROSECONDS`.
        """
        values = {}
        folder = self._group.unified
        for kind in ("cpu", "io", "memory") if folder is not None else ():
            assert folder is not None
            path = folder / f"{kind}.pressure"
            for line in path.read_text().splitlines() if path.exists() else ():
                extent, rest = line.split(" ", 1)
                total = float(rest.rpartition("total=")[2]) / _US
                values[series_name("host_pressure_seconds_total", resource=kind, extent=extent)] = total
        return values

    def _network(self) -> dict[str, float]:
        for line in Path(f"/proc/{self._namespaces.pid}/net/dev").read_text().splitlines():
            name, colon, rest = line.partition(":")
            if colon and name.strip() == _DEVICE:
                fields = rest.split()
                return {key: float(fields[place]) for key, place in _NETWORK_FIELDS.items()}
        return {}

    def _sockets(self) -> dict[str, float]:
        """Return the memory of the buffers of the host's sockets.

        The result is empty if the host has more than `_SOCKETS_AT_MOST` TCP sockets, or the kernel does not report the
        memory.
        """
        lines = Path(f"/proc/{self._namespaces.pid}/net/sockstat").read_text().splitlines()
        counted = [line.split() for line in lines if line.startswith("TCP:")]
        if not counted or int(counted[0][2]) > _SOCKETS_AT_MOST:
            return {}
        try:
            return {"host_socket_memory_bytes": within_network(self._namespaces.pid, socket_memory)}
        except (OSError, TargetError):
            return {}

    def _disk(self, name: str, disk: MountedDisk) -> dict[str, float]:
        stats = [(Path("/sys/block") / Path(device).name / "stat").read_text().split() for device in disk.devices]
        space = os.statvfs(self._namespaces.outside(disk.point))
        values = {
            key: sum(float(fields[place]) for fields in stats) * unit for key, (place, unit) in _DISK_FIELDS.items()
        }
        # For a striped disk, the sum over its devices could exceed the elapsed time, so the mean is reported.
        values[_BUSY] /= len(stats)
        values |= {
            "host_disk_size_bytes": float(space.f_blocks * space.f_frsize),
            "host_disk_free_bytes": float(space.f_bavail * space.f_frsize),
            "host_disk_inodes": float(space.f_files),
            "host_disk_free_inodes": float(space.f_favail),
        }
        return {series_name(key, disk=name): value for key, value in values.items()}


def read_text(path: Path) -> str | None:
    """Return the content of a file; None if it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return None


def numbers(path: Path) -> dict[str, float]:
    """Read a file with lines `name number`, and return the numbers by name. Other lines are ignored."""
    found = {}
    for line in path.read_text().splitlines():
        name, _, number = line.partition(" ")
        try:
            found[name] = float(number)
        except ValueError:
            continue
    return found
