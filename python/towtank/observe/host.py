"""Collects properties of a host, such as CPU model and memory size, to be stored with every result."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import resource
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from towtank.documents import document_without_none
from towtank.version import __version__

_KIB = 1024
_Limit = TypeVar("_Limit", int, float)
# Memory sizes are rounded to a multiple of this number before hosts are compared, because the kernel reserves a few
# pages more or less at each start. [byte]
_MEMORY_STEP_BYTES = 64 * 1024 * 1024
# Properties that must be equal for hosts whose results may be compared. Versions of programs may differ.
_FINGERPRINT = (
    "architecture",
    "kernel",
    "cpu_model",
    "cpus",
    "cpus_usable",
    "cpu_limit",
    "memory_limit_bytes",
    "clock_source",
    "governor",
    "virtualisation",
)


@dataclass(frozen=True, kw_only=True)
class HostFacts:
    """Properties of a host; those that the host does not report are None.

    Attributes
    ----------
    name, kernel, architecture, cpu_model : str
        Host name, release of the kernel, instruction set, and name of the CPU model.
    cpus, cpus_usable : int
        CPUs that are online, and CPUs that this process may use. [1]
    memory_bytes : int
        Memory that the kernel manages. [byte]
    cgroup_version : int
        Version of control groups; 1 if both versions are mounted and version 1 has the CPU controller.
    cpu_limit, memory_limit_bytes : float, int
        Limits of the control group of this process and its ancestors; None if no limit exists. [CPUs, byte]
    clock_source, governor : str
        Source of the kernel's clock, and governor of the CPU frequency.
    open_files_limit, open_files_limit_hard : int
        Limits of open files; None if there is no limit. [1]
    virtualisation : str
        Description of the virtual machine or container.
    python, towtank : str
        Versions.

    Examples
    --------
    >>> small = HostFacts(cpus=2, memory_bytes=4 << 30, python="3.11")
    >>> small.fingerprint == HostFacts(cpus=2, memory_bytes=(4 << 30) + 4096, python="3.13").fingerprint
    True
    >>> small.fingerprint == HostFacts(cpus=4, memory_bytes=4 << 30).fingerprint
    False
    """

    name: str | None = None
    kernel: str | None = None
    architecture: str | None = None
    cpu_model: str | None = None
    cpus: int | None = None
    cpus_usable: int = 1
    memory_bytes: int | None = None
    cgroup_version: int | None = None
    cpu_limit: float | None = None
    memory_limit_bytes: int | None = None
    clock_source: str | None = None
    governor: str | None = None
    open_files_limit: int | None = None
    open_files_limit_hard: int | None = None
    virtualisation: str | None = None
    python: str | None = None
    towtank: str | None = None

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that are equal for hosts whose results may be compared."""
        known = document_without_none(self)
        chosen = {name: known[name] for name in _FINGERPRINT if name in known}
        if self.memory_bytes is not None:
            chosen["memory_steps"] = round(self.memory_bytes / _MEMORY_STEP_BYTES)
        return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:16]

    def document(self) -> dict[str, object]:
        """Return the known properties as JSON for manifests."""
        return {**document_without_none(self), "fingerprint": self.fingerprint}


def host_facts(root: Path = Path("/")) -> HostFacts:
    """Describe the host on which this process runs. `root` contains `proc` and `sys`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    version, cpu_limit, memory_limit_bytes = cgroup_limits(root)
    return HostFacts(
        name=_line(root / "proc/sys/kernel/hostname"),
        kernel=_line(root / "proc/sys/kernel/osrelease"),
        architecture=platform.machine(),
        cpu_model=cpu_model(root),
        cpus=os.cpu_count(),
        cpus_usable=len(os.sched_getaffinity(0)),
        memory_bytes=memory_bytes(root),
        cgroup_version=version,
        cpu_limit=cpu_limit,
        memory_limit_bytes=memory_limit_bytes,
        clock_source=_line(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governor=_line(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        open_files_limit=None if soft == resource.RLIM_INFINITY else soft,
        open_files_limit_hard=None if hard == resource.RLIM_INFINITY else hard,
        virtualisation=virtualisation(root),
        python=platform.python_version(),
        towtank=__version__,
    )


def cpu_model(root: Path = Path("/")) -> str | None:
    """Return the model name of the first CPU. Return None if the kernel does not report it, as on ARM."""
    match = re.search(r"^model name\s*:\s*(.+)$", _text(root / "proc/cpuinfo") or "", re.MULTILINE)
    return match[1].strip() if match else None


def memory_bytes(root: Path = Path("/")) -> int | None:
    """Return the size of the memory that the kernel manages. [byte]"""
    match = re.search(r"^MemTotal:\s+(\d+) kB$", _text(root / "proc/meminfo") or "", re.MULTILINE)
    return int(match[1]) * _KIB if match else None


def cgroup_limits(root: Path = Path("/")) -> tuple[int | None, float | None, int | None]:
    """Return the version of control groups, and the limits that the control group of this process and its ancestors
    set: of CPUs [CPUs] and of memory [byte], as in `HostFacts`.
    """
    mounts = [_mount(line) for line in (_text(root / "proc/self/mountinfo") or "").splitlines()]
    membership = [line.split(":", 2) for line in (_text(root / "proc/self/cgroup") or "").splitlines()]
    v1 = [mount for mount in mounts if mount and mount[2] == "cgroup"]
    v2 = [mount for mount in mounts if mount and mount[2] == "cgroup2"]
    if any("cpu" in mount[3] for mount in v1):
        memory = (folder / "memory.limit_in_bytes" for folder in _folders(root, v1, membership, "memory"))
        cpu = map(_cpu_limit_v1, _folders(root, v1, membership, "cpu"))
        return 1, _least(cpu), _least(map(_memory_limit, memory))
    folders = _folders(root, v2, membership, "")
    memory = (folder / "memory.max" for folder in folders)
    return 2 if v2 else None, _least(map(_cpu_limit_v2, folders)), _least(map(_memory_limit, memory))


def virtualisation(root: Path = Path("/")) -> str | None:
    """Describe the virtual machine or container in which this host runs; None on bare metal."""
    hints = []
    if "hypervisor" in (_text(root / "proc/cpuinfo") or "").split():
        product = _line(root / "sys/class/dmi/id/product_name")
        hints.append(f"virtual machine ({product})" if product else "virtual machine")
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        hints.append("container")
    return ", ".join(hints) or None


def _mount(line: str) -> tuple[str, str, str, list[str]] | None:
    """Parse a line of mountinfo; return root, mount point, file system and options, or None for an invalid line."""
    before, _, after = line.partition(" - ")
    left, right = before.split(), after.split()
    return (left[3], left[4], right[0], right[2].split(",")) if len(left) > 4 and len(right) > 2 else None


def _folders(
    root: Path, mounts: list[tuple[str, str, str, list[str]]], membership: list[list[str]], controller: str
) -> list[Path]:
    """Return the folder of this process's control group, followed by the folders of its mounted ancestors."""
    for mount_root, point, _, options in mounts:
        if controller and controller not in options:
            continue
        for entry in membership:
            ours = len(entry) == 3 and controller in entry[1].split(",")
            if ours and Path(entry[2]).is_relative_to(mount_root):
                top = root / point.lstrip("/")
                below = Path(entry[2]).relative_to(mount_root)
                return [top / below, *(top / parent for parent in below.parents)]
    return []


def _least(limits: Iterable[_Limit | None]) -> _Limit | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _cpu_limit_v1(folder: Path) -> float | None:
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota / period if quota and period and quota > 0 else None


def _cpu_limit_v2(folder: Path) -> float | None:
    quota, _, period = (_line(folder / "cpu.max") or "max").partition(" ")
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None


def _memory_limit(path: Path) -> int | None:
    """Return the memory limit of a control group, or None if it has no limit. [byte]

    Without a limit, the file contains a number near 2^63 (version 1) or the word `max` (version 2).
    """
    limit = _number(path)
    return limit if limit is not None and limit < 1 << 60 else None


def _number(path: Path) -> int | None:
    try:
        return int(_line(path) or "")
    except ValueError:
        return None


def _line(path: Path) -> str | None:
    text = _text(path)
    return text.strip() or None if text is not None else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return None
