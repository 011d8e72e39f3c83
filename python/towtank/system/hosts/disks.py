"""Creates the disks of a host from image files on this machine, and mounts them in the namespace of the host."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from towtank.errors import TargetError
from towtank.system.host_model import Disk
from towtank.system.hosts.cgroups import ControlGroup
from towtank.system.hosts.cleaning import remember_throttled
from towtank.system.hosts.namespaces import Namespaces
from towtank.system.hosts.site import Site

# Options by which `mkfs` initialises the whole file system. Otherwise the kernel would do so later, during a
# measurement.
_EXT_AT_ONCE = "lazy_itable_init=0,lazy_journal_init=0"
_LIMITS = ("read_rate", "write_rate", "read_operations", "write_operations")
_FORMAT_WITHIN_S = 300.0


def make_command(disk: Disk, places: Sequence[Path | str]) -> list[str]:
    """Return the command that creates the file system of a disk, on one image or on all devices of a striped disk."""
    named = [str(place) for place in places]
    if not disk.file_system.startswith("ext"):
        # Only btrfs can be striped without md or device mapper, which some kernels lack.
        striped = ["-d", "raid0", "-m", "raid0"] if len(named) > 1 else []
        return [f"mkfs.{disk.file_system}", "-q", "-f", *striped, *named]
    journal = [] if disk.journal else ["-O", "^has_journal"]
    inodes = [] if disk.inodes is None else ["-N", str(disk.inodes)]
    return [f"mkfs.{disk.file_system}", "-q", "-F", *journal, *inodes, "-E", _EXT_AT_ONCE, *named]


@dataclass
class MountedDisk:
    """Disk that is mounted on a host, with its loop devices, one for each image, and its mount point as the host sees
    it.

    `room_bytes` and `room_files` are the free space on the new disk: bytes that ordinary users can write, and number of
    files that can be created, which is 0 if the file system has no limit for it. [byte], [1]
    """

    disk: Disk
    devices: list[str]
    point: Path
    room_bytes: int
    room_files: int

    @property
    def numbers(self) -> list[str]:
        """Numbers `MAJOR:MINOR` of the devices, as used by control groups and `/proc/diskstats`."""
        found = [Path(device).stat().st_rdev for device in self.devices]
        return [f"{os.major(number)}:{os.minor(number)}" for number in found]

    @property
    def direct(self) -> bool:
        """True if the loop devices bypass this machine's page cache, so that pages are not cached twice."""
        return all(_word(Path("/sys/block") / Path(device).name / "loop/dio") == "1" for device in self.devices)

    def throttle(self, group: ControlGroup, folder: Path) -> None:
        """Apply the speed limits of the disk to the control group of its host; record the device numbers in
        `folder`.
        """
        if self.disk.throttled:
            for number in self.numbers:
                remember_throttled(folder, number)
                group.throttle(number, {name: getattr(self.disk, name) for name in _LIMITS})

    def facts(self) -> dict[str, object]:
        """Return the properties of the disk for the manifest of the run."""
        form = self.disk.model_dump(mode="json", exclude_none=True)
        devices = {"device": self.devices[0], "devices": self.devices}
        room = {"room_bytes": self.room_bytes, "room_files": self.room_files}
        return {**form, **devices, **room, "direct": self.direct, "mounted_at": str(self.point)}


def mount_disk(site: Site, namespaces: Namespaces, host: str, name: str, disk: Disk) -> MountedDisk:
    """Create a disk of the system file, and mount it on its host.

    Raises
    ------
    TargetError
        If this machine has too little free space, or a command fails.
    """
    images = _images(site, host, name, disk)
    if len(images) == 1:
        site.run(make_command(disk, images), limit_s=_FORMAT_WITHIN_S)
    devices = [_attach(site, image) for image in images]
    if len(images) > 1:
        site.run(make_command(disk, devices), limit_s=_FORMAT_WITHIN_S)
    point = site.folder / host / "disks" / name
    point.mkdir(parents=True)
    # A striped file system is mounted by its first device. The other devices are given as mount options.
    given = [*disk.mount_options, *(f"device={device}" for device in devices[1:])]
    options = ["-o", ",".join(given)] if given else []
    site.run(namespaces.enter(["mount", "-t", disk.file_system, *options, devices[0], str(point)]))
    # All users can write to the root folder of the disk, as in a temporary folder.
    outside = namespaces.outside(point)
    outside.chmod(0o1777)
    room = os.statvfs(outside)
    return MountedDisk(disk, devices, point, room.f_bavail * room.f_frsize, room.f_favail)


def _images(site: Site, host: str, name: str, disk: Disk) -> list[Path]:
    """Create the sparse image files of a disk, which share its size equally.

    Raises
    ------
    TargetError
        If this machine has too little free space.
    """
    free = shutil.disk_usage(site.images).free
    if free < disk.size:
        place = site.images.parent
        raise TargetError(
            f"host {host}: disk {name} of {disk.size} bytes does not fit: {free} bytes are free in {place}"
        )
    images = []
    for number in range(disk.images):
        image = site.images / f"{host}-{name}{f'-{number + 1}' if disk.images > 1 else ''}.img"
        with image.open("wb") as stream:
            stream.truncate(disk.size // disk.images)
        images.append(image)
    return images


def _attach(site: Site, image: Path) -> str:
    """Attach an image as a loop device, and return the path of the device.

    The loop device bypasses the page cache of this machine if the file system that contains the image supports this.
    """
    attach = ["losetup", "--find", "--show", str(image)]
    try:
        return site.run([*attach, "--direct-io=on"]).strip()
    except TargetError:
        # Some versions of losetup leave the image attached if direct I/O is impossible. It is detached before the
        # second attempt, which does without direct I/O.
        for line in site.run(["losetup", "--noheadings", "--output", "NAME", "--associated", str(image)]).split():
            site.run(["losetup", "--detach", line])
        return site.run(attach).strip()


def _word(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
