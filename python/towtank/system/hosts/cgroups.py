"""Creates, limits and removes the control group of a host, in version 1 and version 2 of control groups.

Version 1 has one tree for each controller, version 2 has a single tree for all controllers. If both are mounted, the
controllers of version 1 are used. An additional group in the tree of version 2 then reports pressure, and is used to
kill remaining processes.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EAGAIN, EINVAL
from pathlib import Path

from towtank.errors import TargetError

V1_CONTROLLERS = ("cpu", "cpuacct", "memory", "cpuset", "blkio")
_V2_CONTROLLERS = ("cpu", "memory", "cpuset", "io")
# Constants that convert CPU weights of version 1 (2 to 262,144, default 1024) to weights of version 2 (1 to 10,000,
# default 100), with the formula of OCI runtimes. A system file thus has the same effect under both versions.
_LEAST_SHARES, _SHARES_SPAN, _WEIGHT_SPAN = 2, 262_142, 9_999
_PERIOD_DEFAULT_S = 0.1
# Longest wait for the removal of an empty control group. The kernel first reaps the group's zombies, which takes about
# 2 s. [s]
_REMOVED_WITHIN_S = 10.0
_POLL_S = 0.02
# Names of the speed limits of a disk: key in the system file, name in version 1, and name in version 2.
_THROTTLES = {
    "read_rate": ("read_bps", "rbps"),
    "write_rate": ("write_bps", "wbps"),
    "read_operations": ("read_iops", "riops"),
    "write_operations": ("write_iops", "wiops"),
}


@dataclass(frozen=True)
class Trees:
    """Mounted trees of control groups, in which groups of hosts can be created.

    Attributes
    ----------
    controllers : dict
        Folder of this process's group in the tree of each controller of version 1, by name of the controller. Groups
        of hosts are created below this folder.
    roots : dict
        Root folder of the tree of each controller of version 1.
    unified : Path or None
        Root folder of the tree of version 2; None if it is not mounted.
    unified_controllers : tuple of str
        Controllers available in the tree of version 2.
    """

    controllers: dict[str, Path] = field(default_factory=dict)
    roots: dict[str, Path] = field(default_factory=dict)
    unified: Path | None = None
    unified_controllers: tuple[str, ...] = ()

    @property
    def version(self) -> int | None:
        """Version of control groups, 1 or 2, that provides the controllers; None if no controllers are available."""
        if self.controllers:
            return 1
        return 2 if self.unified_controllers else None

    def has(self, controller: str) -> bool:
        """Return True if a controller is available. The name is that of version 2; `io` is `blkio` in version 1."""
        if self.version == 2:
            return controller in self.unified_controllers
        return {"io": "blkio"}.get(controller, controller) in self.controllers


def find_trees(proc: Path = Path("/proc/self")) -> Trees:
    """Find the mounted trees of control groups, and the group of this process in each tree."""
    own = {}
    for line in _read(proc / "cgroup").splitlines():
        _, names, path = line.split(":", 2)
        own.update(dict.fromkeys(names.split(","), path))
    controllers: dict[str, Path] = {}
    roots: dict[str, Path] = {}
    unified = None
    for line in _read(proc / "mounts").splitlines():
        _, point, kind, options = line.split()[:4]
        if kind == "cgroup2" and unified is None:
            unified = Path(point)
        if kind == "cgroup":
            for name in set(options.split(",")) & set(V1_CONTROLLERS):
                roots.setdefault(name, Path(point))
                controllers.setdefault(name, Path(point + own.get(name, "/").rstrip("/")))
    offered = _read(unified / "cgroup.controllers").split() if unified else []
    return Trees(controllers, roots, unified, tuple(name for name in _V2_CONTROLLERS if name in offered))


class ControlGroup:
    """Control group of one host, with a folder in each tree: `PREFIX/HOST` below the group of this process."""

    def __init__(self, trees: Trees, name: str) -> None:
        self._trees, self.name = trees, name
        self.folders = {controller: path / name for controller, path in trees.controllers.items()}
        self.unified = None if trees.unified is None else trees.unified / name

    def create(self) -> None:
        """Create the control group in every tree.

        Raises
        ------
        TargetError
            If the kernel refuses to create it.
        """
        try:
            for folder in self._all():
                folder.mkdir(parents=True, exist_ok=True)
            if "cpuset" in self.folders:
                self._fill_cpuset(self.folders["cpuset"])
            if self.unified is not None and self._trees.version == 2:
                self._enable(self.unified)
        except OSError as error:
            raise TargetError(f"cannot make the control group {self.name}: {error}") from error

    def _all(self) -> list[Path]:
        return [*self.folders.values(), *([self.unified] if self.unified is not None else [])]

    def _fill_cpuset(self, folder: Path) -> None:
        """Copy the sets of CPUs and memory nodes from each parent to its child group in the tree of version 1.

        A new group has empty sets, and accepts no processes until they are filled.
        """
        root = self._trees.roots["cpuset"]
        for level in [
            *reversed([parent for parent in folder.parents if parent.is_relative_to(root) and parent != root]),
            folder,
        ]:
            for name in ("cpuset.cpus", "cpuset.mems"):
                if not _read(level / name).strip():
                    (level / name).write_text(_read(level.parent / name))

    def _enable(self, folder: Path) -> None:
        """Enable the controllers of version 2 in each group from the root to the parent of the host's group."""
        wanted = " ".join(f"+{name}" for name in self._trees.unified_controllers)
        root = self._trees.unified
        assert root is not None
        for level in reversed([parent for parent in folder.parents if parent.is_relative_to(root)]):
            missing = set(self._trees.unified_controllers) - set(_read(level / "cgroup.subtree_control").split())
            if missing:
                (level / "cgroup.subtree_control").write_text(wanted)

    def members_files(self) -> list[Path]:
        """Return the files to which a process id must be written in order to move the process into the group."""
        return [folder / "cgroup.procs" for folder in self._all()]

    def limit_cpu(self, cpus: float, period_s: float = _PERIOD_DEFAULT_S) -> None:
        """Limit the CPU time of the group to that of `cpus` CPUs, in each period of `period_s`. [CPUs], [s]"""
        period, quota = round(period_s * 1e6), round(cpus * period_s * 1e6)
        if self._trees.version == 1:
            # The kernel checks period and quota together at each write. Therefore the old quota is removed first.
            self._set("cpu", "cpu.cfs_quota_us", "-1")
            self._set("cpu", "cpu.cfs_period_us", str(period))
            self._set("cpu", "cpu.cfs_quota_us", str(quota))
        else:
            self._set("cpu", "cpu.max", f"{quota} {period}")

    def weigh(self, shares: int) -> None:
        """Set the CPU weight of the group relative to other groups. `shares` is on the scale of version 1."""
        if self._trees.version == 1:
            self._set("cpu", "cpu.shares", str(shares))
        else:
            self._set("cpu", "cpu.weight", str(1 + (shares - _LEAST_SHARES) * _WEIGHT_SPAN // _SHARES_SPAN))

    def pin(self, cpus: Iterable[int]) -> None:
        """Restrict the processes of the group to the given CPUs."""
        self._set("cpuset", "cpuset.cpus", ",".join(map(str, sorted(cpus))))

    def limit_memory(self, size_bytes: int, swap_bytes: int = 0) -> None:
        """Limit the memory of the group, including its page cache, to `size_bytes`, and its swap space to `swap_bytes`.
        [byte]

        Raises
        ------
        TargetError
            If the kernel refuses. A kernel that does not count swap refuses any swap limit except 0.
        """
        total = str(size_bytes + swap_bytes)
        version_1 = self._trees.version == 1
        self._set("memory", "memory.limit_in_bytes" if version_1 else "memory.max", str(size_bytes))
        try:
            if version_1:
                self._set("memory", "memory.memsw.limit_in_bytes", total)
            else:
                self._set("memory", "memory.swap.max", str(swap_bytes))
        except TargetError:
            if swap_bytes:
                raise

    def drop_page_cache(self) -> int:
        """Evict the page cache of the group, and return the size of the remaining page cache. [byte]

        Raises
        ------
        TargetError
            If the kernel cannot evict the page cache of a group (version 2 before Linux 5.19), or refuses to.
        """
        if self._trees.version == 1:
            self._set("memory", "memory.force_empty", "0")
            return self._cached("total_cache")
        if missing := self.reclaim_lacking():
            raise TargetError(missing)
        assert self.unified is not None
        # Files in a tmpfs count as page cache, but cannot be evicted, because they have no copy on a disk.
        wanted = self._cached("file") - self._cached("shmem")
        if wanted > 0:
            _reclaim(self.unified / "memory.reclaim", wanted)
        return self._cached("file")

    def reclaim_lacking(self) -> str | None:
        """Return the reason why the page cache of the group cannot be evicted; None if it can be evicted."""
        if not self._trees.has("memory"):
            return "no memory controller"
        if self._trees.version == 1 or (self.unified is not None and (self.unified / "memory.reclaim").exists()):
            return None
        return "the kernel has no `memory.reclaim`, which Linux 5.19 introduced"

    def _cached(self, key: str) -> int:
        """Return the value of a key in the file `memory.stat` of the group; 0 if the key is missing. [byte]"""
        folder = self.folders["memory"] if self._trees.version == 1 else self.unified
        assert folder is not None
        lines = dict(line.split(" ", 1) for line in _read(folder / "memory.stat").splitlines() if " " in line)
        return int(lines.get(key, 0))

    def throttle(self, device: str, limits: dict[str, float | None]) -> None:
        """Limit the speed of reads and writes by the group on a device with number `MAJOR:MINOR`.

        The keys of `limits` are those of a disk in the system file; the value None means no limit.

        Notes
        -----
        In version 1, the kernel counts delayed writes as those of the root group. Therefore write limits are set for
        the root group as well.
        """
        if self._trees.version == 1:
            for name, limit in limits.items():
                if limit is not None:
                    file = f"blkio.throttle.{_THROTTLES[name][0]}_device"
                    self._set("blkio", file, f"{device} {round(limit)}")
                    if name.startswith("write"):
                        _write(self._trees.roots["blkio"] / file, f"{device} {round(limit)}")
        else:
            given = " ".join(f"{_THROTTLES[name][1]}={round(limit)}" for name, limit in limits.items() if limit)
            self._set("io", "io.max", f"{device} {given}")

    def _set(self, controller: str, file: str, text: str) -> None:
        folder = self.folders.get({"io": "blkio"}.get(controller, controller)) if self.folders else self.unified
        if folder is None:
            raise TargetError(f"the controller {controller} of control groups is not available")
        _write(folder / file, text)

    def members(self) -> list[int]:
        return sorted({pid for folder in self._all() for pid in members(folder)})

    def kill(self) -> None:
        """Kill all processes of the group."""
        for folder in self._all():
            kill(folder)

    def remove(self) -> None:
        """Remove the group, and its parent folder if it is then empty."""
        for folder in self._all():
            remove(folder)
            with suppress(OSError):
                folder.parent.rmdir()


def members(folder: Path) -> list[int]:
    """Return the ids of the processes in a control group and its descendants."""
    found: set[int] = set()
    for level in _below(folder):
        with suppress(OSError):
            found.update(map(int, (level / "cgroup.procs").read_text().split()))
    return sorted(found)


def kill(folder: Path) -> None:
    """Kill all processes in a control group and its descendants."""
    for level in _below(folder):
        with suppress(OSError):
            (level / "cgroup.kill").write_text("1")
    for pid in members(folder):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def remove(folder: Path, within_s: float = _REMOVED_WITHIN_S) -> bool:
    """Remove a control group and its descendants. Return True if the group no longer exists after `within_s`."""
    deadline = time.monotonic() + within_s
    while folder.exists():
        for level in _below(folder):
            with suppress(OSError):
                level.rmdir()
        if not folder.exists():
            break
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def unthrottle(device: str, trees: Trees) -> None:
    """Remove the speed limits of a device from the root group of version 1, which outlives the host's group."""
    root = trees.roots.get("blkio")
    if root is not None:
        for old, _ in _THROTTLES.values():
            with suppress(OSError):
                (root / f"blkio.throttle.{old}_device").write_text(f"{device} 0")


def throttled_devices(trees: Trees) -> set[str]:
    """Return the devices, as `MAJOR:MINOR`, for which the root group of version 1 has speed limits."""
    root = trees.roots.get("blkio")
    if root is None:
        return set()
    texts = [_read(root / f"blkio.throttle.{old}_device") for old, _ in _THROTTLES.values()]
    return {line.split()[0] for text in texts for line in text.splitlines() if re.match(r"\d+:\d+ ", line)}


def _below(folder: Path) -> list[Path]:
    """Return the folders of a control group and its descendants, children before parents."""
    return [Path(path) for path, _, _ in os.walk(folder, topdown=False)]


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise TargetError(f"the kernel refuses {text!r} in {path}: {error.strerror}") from error


def _reclaim(file: Path, size_bytes: int) -> None:
    """Ask the kernel to reclaim memory of a group, without swapping if the kernel supports this (since Linux 6.12)."""
    for option in (" swappiness=0", ""):
        try:
            file.write_text(f"{size_bytes}{option}")
        except OSError as error:
            if error.errno == EINVAL and option:
                continue
            # EAGAIN means that the kernel reclaimed less than requested, for example because pages are in use.
            if error.errno != EAGAIN:
                raise TargetError(f"the kernel refuses {size_bytes} in {file}: {error.strerror}") from error
        return


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
