"""Disks of a host: a file as a loop device with a file system of its own, seen by that host only."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from towtank.errors import TargetError
from towtank.system.host_model import Disk
from towtank.system.hosts.cgroups import ControlGroup
from towtank.system.hosts.cleaning import remember_throttled
from towtank.system.hosts.namespaces import Namespaces
from towtank.system.hosts.site import Site

# Nothing is left for the kernel to set up in the background while a load is measured.
_EXT_AT_ONCE = "lazy_itable_init=0,lazy_journal_init=0"
_LIMITS = ("read_rate", "write_rate", "read_operations", "write_operations")
_FORMAT_WITHIN_S = 300.0


def make_command(disk: Disk, image: Path) -> list[str]:
    """The command that puts the file system on the image."""
    if not disk.file_system.startswith("ext"):
        return [f"mkfs.{disk.file_system}", "-q", "-f", str(image)]
    journal = [] if disk.journal else ["-O", "^has_journal"]
    inodes = [] if disk.inodes is None else ["-N", str(disk.inodes)]
    return [f"mkfs.{disk.file_system}", "-q", "-F", *journal, *inodes, "-E", _EXT_AT_ONCE, str(image)]


@dataclass
class MountedDisk:
    """A disk that is mounted on its host.

    Attributes
    ----------
    disk : Disk
        What was asked for.
    device : str
        `/dev/loopN`.
    point : Path
        Where the host sees it.
    """

    disk: Disk
    device: str
    point: Path

    @property
    def number(self) -> str:
        """Number of the device, as control groups and `/proc/diskstats` have it."""
        number = Path(self.device).stat().st_rdev
        return f"{os.major(number)}:{os.minor(number)}"

    @property
    def direct(self) -> bool:
        """Whether it bypasses the page cache of the machine below it, so that pages are cached once."""
        return _word(Path("/sys/block") / Path(self.device).name / "loop/dio") == "1"

    def throttle(self, group: ControlGroup, folder: Path) -> None:
        """Put its limits in force for its host; `folder` remembers them."""
        if self.disk.throttled:
            remember_throttled(folder, self.number)
            group.throttle(self.number, {name: getattr(self.disk, name) for name in _LIMITS})

    def facts(self) -> dict[str, Any]:
        """For the run's manifest."""
        form = self.disk.model_dump(mode="json", exclude_none=True)
        return {**form, "device": self.device, "direct": self.direct, "mounted_at": str(self.point)}


def mount_disk(site: Site, namespaces: Namespaces, host: str, name: str, disk: Disk) -> MountedDisk:
    """Make a disk and mount it in the host.

    Raises
    ------
    TargetError
        If there is no room for it, or the kernel refuses.
    """
    image = site.images / f"{host}-{name}.img"
    free = shutil.disk_usage(site.images).free
    if free < disk.size:
        raise TargetError(
            f"host {host}: disk {name} of {disk.size} bytes does not fit: {free} bytes are free in {site.images.parent}"
        )
    with image.open("wb") as stream:
        stream.truncate(disk.size)
    site.run(make_command(disk, image), limit_s=_FORMAT_WITHIN_S)
    device = _attach(site, image)
    point = site.folder / host / "disks" / name
    point.mkdir(parents=True)
    options = ["-o", ",".join(disk.mount_options)] if disk.mount_options else []
    site.run(namespaces.enter(["mount", "-t", disk.file_system, *options, device, str(point)]))
    # Any user may make folders on it, as in a temporary folder.
    namespaces.outside(point).chmod(0o1777)
    return MountedDisk(disk, device, point)


def _attach(site: Site, image: Path) -> str:
    """Make a device of an image, past the page cache of the machine where its file system lets it."""
    attach = ["losetup", "--find", "--show", str(image)]
    try:
        return site.run([*attach, "--direct-io=on"]).strip()
    except TargetError:
        # Some versions attach before they find that direct I/O does not work.
        for line in site.run(["losetup", "--noheadings", "--output", "NAME", "--associated", str(image)]).split():
            site.run(["losetup", "--detach", line])
        return site.run(attach).strip()


def _word(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
