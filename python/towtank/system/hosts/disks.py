"""Creates the disks of a host from image files, which are attached as loop devices. The file systems on them are
visible only to the host.
"""

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

# Options of `mkfs` that initialise the whole file system at once. Otherwise the kernel would initialise it in the
# background during a measurement.
_EXT_AT_ONCE = "lazy_itable_init=0,lazy_journal_init=0"
_LIMITS = ("read_rate", "write_rate", "read_operations", "write_operations")
_FORMAT_WITHIN_S = 300.0


def make_command(disk: Disk, places: Sequence[Path | str]) -> list[str]:
    """Return the command that creates the file system on the image of a disk, or on all devices of a striped disk."""
    named = [str(place) for place in places]
    if not disk.file_system.startswith("ext"):
        # A striped disk needs btrfs: other file systems can be striped only by md or device mapper, which some kernels
        # lack.
        striped = ["-d", "raid0", "-m", "raid0"] if len(named) > 1 else []
        return [f"mkfs.{disk.file_system}", "-q", "-f", *striped, *named]
    journal = [] if disk.journal else ["-O", "^has_journal"]
    inodes = [] if disk.inodes is None else ["-N", str(disk.inodes)]
    return [f"mkfs.{disk.file_system}", "-q", "-F", *journal, *inodes, "-E", _EXT_AT_ONCE, *named]


@dataclass
class MountedDisk:
    """Disk that is mounted on a host.

    Attributes
    ----------
    disk : Disk
        Part of the system file that describes the disk.
    devices : list of str
        Loop devices `/dev/loopN`, one for each image.
    point : Path
        Mount point, as the host sees it.
    room_bytes, room_files : int
        Space on the new disk: bytes that ordinary users can write, and number of files; 0 files if the file system has
        no fixed number. [byte], [1]
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
        """True if the loop devices bypass this machine's page cache. Otherwise pages would be cached twice, for the
        disk and for its image.
        """
        return all(_word(Path("/sys/block") / Path(device).name / "loop/dio") == "1" for device in self.devices)

    def throttle(self, group: ControlGroup, folder: Path) -> None:
        """Apply the speed limits of the disk to the control group of its host. The device numbers are recorded in
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
    """Create a disk that a system file describes, and mount it on its host.

    Raises
    ------
    TargetError
        If this machine has too little free space, or the kernel refuses.
    """
    images = _images(site, host, name, disk)
    if len(images) == 1:
        site.run(make_command(disk, images), limit_s=_FORMAT_WITHIN_S)
    devices = [_attach(site, image) for image in images]
    if len(images) > 1:
        site.run(make_command(disk, devices), limit_s=_FORMAT_WITHIN_S)
    point = site.folder / host / "disks" / name
    point.mkdir(parents=True)
    # A striped file system is mounted by its first device; the mount options name the other devices.
    given = [*disk.mount_options, *(f"device={device}" for device in devices[1:])]
    options = ["-o", ",".join(given)] if given else []
    site.run(namespaces.enter(["mount", "-t", disk.file_system, *options, devices[0], str(point)]))
    # All users can write to the root folder of the disk, as to a temporary folder.
    outside = namespaces.outside(point)
    outside.chmod(0o1777)
    room = os.statvfs(outside)
    return MountedDisk(disk, devices, point, room.f_bavail * room.f_frsize, room.f_favail)


def _images(site: Site, host: str, name: str, disk: Disk) -> list[Path]:
    """Create the sparse image files of a disk, each with an equal part of its size.

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
    """Attach an image as a loop device, and return the device.

    The device bypasses the page cache of the machine if the file system of the image supports this.
    """
    attach = ["losetup", "--find", "--show", str(image)]
    try:
        return site.run([*attach, "--direct-io=on"]).strip()
    except TargetError:
        # Some versions of losetup attach the image before they detect that direct I/O is impossible. Such a device is
        # detached before the second attempt, without direct I/O.
        for line in site.run(["losetup", "--noheadings", "--output", "NAME", "--associated", str(image)]).split():
            site.run(["losetup", "--detach", line])
        return site.run(attach).strip()


def _word(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
