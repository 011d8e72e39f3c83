"""Tests in temporary namespaces if this machine has the capabilities that hosts need, such as a virtual network."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from towtank.errors import TargetError
from towtank.system.host_model import Link
from towtank.system.hosts import cgroups, timeslice
from towtank.system.hosts.cleaning import IMAGES
from towtank.system.hosts.links import OFFLOADS, disciplines, turn_off
from towtank.system.hosts.namespaces import Namespaces, within_network
from towtank.system.hosts.prefix import new_prefix

_WITHIN_S = 20.0
_IMAGE_BYTES = 8 * 2**20
_SHAPED = {"tbf": ("p", {"rate": "1 MB/s"}), "netem": ("q", {"delay": "1 ms"})}
PROGRAMS = {
    "ip": ("ip", "iproute2"),
    "tc": ("tc", "iproute2"),
    "mkfs.ext4": ("mkfs.ext4", "e2fsprogs"),
    "mkfs.ext3": ("mkfs.ext3", "e2fsprogs"),
    "mkfs.ext2": ("mkfs.ext2", "e2fsprogs"),
    "mkfs.xfs": ("mkfs.xfs", "xfsprogs"),
    "mkfs.btrfs": ("mkfs.btrfs", "btrfs-progs"),
}
"""Program that each capability needs, and Debian package that contains the program."""


@dataclass(frozen=True)
class Capability:
    """Ability of this machine that hosts may need, such as network delay in the kernel.

    `lacking` is the reason why it is not available, or None; `install` is the command that installs the missing
    program, if any; `remark` is the feature of hosts that needs the capability.
    """

    name: str
    lacking: str | None
    remark: str
    install: str | None = None

    @property
    def there(self) -> bool:
        return self.lacking is None


@cache
def probe() -> dict[str, Capability]:
    """Test all capabilities of this machine once; later calls return the same results."""
    if os.geteuid() != 0:
        return {name: Capability(name, "needs root", remark) for name, remark in REMARKS.items()}
    found = {name: _program(name) for name in PROGRAMS}
    lacking = dict(_kernel(found))
    tried = {name: Capability(name, why, REMARKS[name]) for name, why in lacking.items()}
    return {name: (found | tried)[name] for name in REMARKS}


REMARKS = {
    "namespaces": "hosts of provider namespaces",
    "bridge": "the virtual network of hosts",
    "ip": "the virtual network of hosts",
    "tc": "rate limits of networks",
    "tbf": "rate limits of networks",
    "netem": "network delay and loss in the kernel instead of a relay of Towtank",
    "tap": "network delay and loss by a relay of Towtank, and hosts joined by link tun",
    "macvlan": "hosts joined by link macvlan",
    "offloads": "networks whose packets never exceed the MTU",
    "cgroup": "limits of hosts",
    "cgroup cpu": "CPU limits and weights of hosts",
    "cgroup cpuset": "hosts pinned to CPUs",
    "cgroup memory": "memory limits of hosts",
    "cgroup swap": "hosts that swap",
    "cgroup page cache": "hosts whose load begins with an empty page cache",
    "cgroup io": "disk rates of hosts",
    "timeslice": "time slices of hosts",
    "loop": "disks of hosts",
    **{name: f"disks of hosts as {name.removeprefix('mkfs.')}" for name in PROGRAMS if name.startswith("mkfs.")},
}
"""Feature of hosts that needs each capability."""


def _program(name: str) -> Capability:
    program, package = PROGRAMS[name]
    lacking = None if shutil.which(program) else f"{program} is not installed"
    return Capability(name, lacking, REMARKS[name], None if lacking is None else f"apt-get install {package}")


def _kernel(programs: dict[str, Capability]) -> Iterator[tuple[str, str | None]]:
    namespaces = Namespaces(("net", "mnt", "uts"), dict(os.environ))
    try:
        why = _tried(lambda: namespaces.start("hostname towtank && mount -t tmpfs tmpfs /dev/shm"))
        yield "namespaces", why
        unusable = why or programs["ip"].lacking
        if unusable is None:
            yield from _network(namespaces, programs)
            yield "loop", _tried(lambda: _disk(namespaces))
        else:
            for name in ("bridge", "tbf", "netem", "tap", "macvlan", "offloads", "loop"):
                yield name, unusable
    finally:
        namespaces.end()
    yield from _control_groups()
    yield "timeslice", timeslice.lacking()


def _network(namespaces: Namespaces, programs: dict[str, Capability]) -> Iterator[tuple[str, str | None]]:
    lines = "link add name b type bridge\nlink add name p type veth peer name q\nlink set p master b up"
    yield "bridge", _tried(lambda: _said(namespaces.enter(["ip", "-batch", "-"]), lines))
    for name, (device, wanted) in _SHAPED.items():
        (line,) = disciplines(device, Link.model_validate(wanted), netem=True)
        yield name, programs["tc"].lacking or _tried(partial(_said, namespaces.enter(["tc", *line.split()])))
    yield "tap", _tried(lambda: _said(namespaces.enter(["ip", "tuntap", "add", "t", "mode", "tap"])))
    macvlan = "link add name m link q type macvlan mode bridge"
    yield "macvlan", _tried(lambda: _said(namespaces.enter(["ip", *macvlan.split()])))
    yield "offloads", _tried(lambda: within_network(namespaces.pid, lambda: turn_off("q", OFFLOADS)))


def _disk(namespaces: Namespaces) -> None:
    """Create, mount and remove a small disk. Without `mkfs.ext2`, only create and remove a loop device."""
    with _image() as image:
        device = _said(["losetup", "--find", "--show", str(image)]).strip()
        try:
            if shutil.which("mkfs.ext2"):
                _said(["mkfs.ext2", "-q", "-F", device])
                _said(namespaces.enter(["mount", "-t", "ext2", device, "/dev/shm"]))
                _said(namespaces.enter(["umount", "/dev/shm"]))
        finally:
            # Another process may have detached the device, and the number of the device may now belong to another
            # image. Therefore only devices of this image are detached.
            for own in _said(["losetup", "--noheadings", "--output", "NAME", "--associated", str(image)]).split():
                _said(["losetup", "--detach", own])


@contextmanager
def _image() -> Iterator[Path]:
    """Create a disk image in a temporary folder; if it is left behind, `towtank doctor --clean` removes it."""
    folder = IMAGES / _prefix()
    folder.mkdir()
    try:
        image = folder / "tried.img"
        with image.open("wb") as stream:
            stream.truncate(_IMAGE_BYTES)
        yield image
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _prefix() -> str:
    return new_prefix()


def _control_groups() -> Iterator[tuple[str, str | None]]:
    trees = cgroups.find_trees()
    group = cgroups.ControlGroup(trees, f"{_prefix()}/tried")
    why = "no tree of control groups with controllers is mounted" if trees.version is None else _tried(group.create)
    yield "cgroup", why
    uses: dict[str, Callable[[], None]] = {
        "cpu": lambda: group.limit_cpu(0.5),
        "cpuset": lambda: group.pin([min(os.sched_getaffinity(0))]),
        "memory": lambda: group.limit_memory(2**26),
    }
    for name, use in uses.items():
        absent = None if trees.has(name) else f"no {name} controller"
        yield f"cgroup {name}", why or absent or _tried(use)
    yield "cgroup swap", why or no_swap() or _tried(lambda: group.limit_memory(2**26, 2**26))
    yield "cgroup page cache", why or group.reclaim_lacking()
    yield "cgroup io", why or (None if trees.has("io") else "no io (blkio) controller") or _io_lacking(trees)
    if why is None:
        group.remove()


def no_swap(swaps: Path = Path("/proc/swaps")) -> str | None:
    """Return the reason why hosts cannot swap; None if this machine has swap space."""
    return None if swap_bytes(swaps) else "this machine has no swap space (`swapon --show` lists none)"


def swap_bytes(swaps: Path = Path("/proc/swaps")) -> int:
    """Return the size of the swap space of this machine, including the part in use; 0 if there is none. [byte]

    Notes
    -----
    The first line of the file is a header; the third column is the size in KiB (proc(5)).
    """
    try:
        areas = [line.split() for line in swaps.read_text().splitlines()[1:]]
    except OSError:
        return 0
    return 1024 * sum(int(area[2]) for area in areas)


def _io_lacking(trees: cgroups.Trees) -> str | None:
    """Return the reason why disk speed limits cannot be set; None if they can be set.

    In control groups of version 1, this requires write access to the root group.
    """
    if trees.version == 2:
        return None
    file = trees.roots["blkio"] / "blkio.throttle.write_bps_device"
    return None if os.access(file, os.W_OK) else f"{file} cannot be written"


def _tried(work: Callable[[], object]) -> str | None:
    """Call a function; return its error message, or None if it succeeds."""
    try:
        work()
    except (OSError, TargetError) as error:
        return str(error)
    return None


def _said(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=_WITHIN_S)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise TargetError(said[-1] if said else f"{command[0]} ended with status {done.returncode}")
    return done.stdout
