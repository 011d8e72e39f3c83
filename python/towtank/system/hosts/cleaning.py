"""Finds and removes the objects that a system left behind in the kernel and on disk, by the name prefix of the system.

The functions are used when a system is stopped, by the janitor after Towtank was killed, and by
`towtank doctor --clean` after the janitor was killed as well. They never touch objects without the prefix.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from towtank.system.hosts import cgroups
from towtank.system.hosts.prefix import PREFIX
from towtank.system.identity import has_ended, identity, is_own_folder, noted_identity
from towtank.system.scratch import sweep_scratch

MARK = "TOWTANK_HOSTS"
"""Environment variable with the prefix of a system; every process on the hosts of the system has it."""
JANITOR = "towtank.system.hosts.janitor"
OWNER = "owner"
IMAGES = Path("/var/tmp")
"""Folder of disk images, which may be large. The usual temporary folder may be in memory."""
_DIE_WITHIN_S = 5.0
_POLL_S = 0.02


def folders(prefix: str) -> list[Path]:
    """Return the folders in which a system may have left files."""
    return [Path(tempfile.gettempdir()) / prefix, IMAGES / prefix]


def prefixes() -> list[str]:
    """Return the prefixes of all systems, running or ended, that have objects in the kernel or on disk."""
    places = (Path(tempfile.gettempdir()), IMAGES)
    found = {path.name for place in places for path in place.glob("towtank-*") if is_own_folder(path)}
    found |= {path.name for path in Path("/sys/class/net").glob("towtank-*")}
    found |= {folder.name for folder in _groups("towtank-*")}
    found |= {match[0] for text in _backing_files().values() if (match := PREFIX.search(text))}
    found |= {
        value.decode("utf-8", "replace") for _, variables in _environments() if (value := _mark(variables)) is not None
    }
    return sorted(name for name in found if PREFIX.fullmatch(name))


def is_owned(prefix: str) -> bool:
    """Return True if the process that runs a system, or the janitor of the system, is alive."""
    owner = noted_identity(folders(prefix)[0] / OWNER)
    if owner is not None and not has_ended(owner):
        return True
    wanted = [JANITOR.encode(), prefix.encode()]
    return any(set(wanted) <= set(_bytes(process / "cmdline").split(b"\0")) for process in _processes())


def leftovers(prefix: str) -> list[str]:
    """Describe every object that a system left behind in the kernel and on disk, one line for each object."""
    trees = cgroups.find_trees()
    return [
        *(f"process {pid}" for pid in processes(prefix)),
        *(f"network device {name}" for name in _links(prefix)),
        *(f"mount {point}" for point in _mounts(prefix)),
        *(f"loop device {device}" for device in _loops(prefix)),
        *(f"limits of device {device}" for device in _throttled(prefix) & cgroups.throttled_devices(trees)),
        *(f"control group {folder}" for folder in _groups(prefix)),
        *(f"folder {folder}" for folder in folders(prefix) if is_own_folder(folder)),
    ]


def clean(prefix: str) -> list[str]:
    """Remove every object that a system left behind; return one line for each object that could not be removed."""
    _end_processes(prefix)
    for name in _links(prefix):
        _run("ip", "link", "delete", name)
    for point in reversed(_mounts(prefix)):
        _run("umount", "--lazy", point)
    _detach(prefix)
    for folder in _groups(prefix):
        cgroups.kill(folder)
        cgroups.remove(folder)
    for folder in filter(is_own_folder, reversed(folders(prefix))):
        shutil.rmtree(folder, ignore_errors=True)
    return leftovers(prefix)


def clean_dead() -> tuple[list[str], list[str]]:
    """Remove all objects of systems whose owner (the process that runs the system) and janitor have ended.

    Returns
    -------
    cleaned : list of str
        Prefixes of the systems that were cleaned up.
    left : list of str
        Objects that could not be removed, one line for each.
    """
    cleaned, left = [], []
    for prefix in prefixes():
        if not is_owned(prefix):
            rest = clean(prefix)
            left += [f"{prefix}: {line}" for line in rest]
            cleaned.append(prefix)
    sweep_scratch()
    return cleaned, left


def processes(prefix: str) -> list[int]:
    """Return the ids of the processes that run on the hosts of a system, except this process."""
    marked = {pid for pid, variables in _environments() if _mark(variables) == prefix.encode()}
    inside = {pid for folder in _groups(prefix) for pid in cgroups.members(folder)}
    return sorted(marked | inside - {os.getpid()})


def remember_throttled(folder: Path, device: str) -> None:
    """Record the number of a device before its speed limits are set.

    The limits remain if the device is removed; `clean` then finds them by the recorded number.
    """
    with (folder / "throttled").open("a") as stream:
        stream.write(f"{device}\n")


def _throttled(prefix: str) -> set[str]:
    folder = folders(prefix)[0]
    text = _bytes(folder / "throttled").decode() if is_own_folder(folder) else ""
    return {line for line in text.splitlines() if re.fullmatch(r"\d+:\d+", line)}


def _detach(prefix: str) -> None:
    """Remove the speed limits of the devices of a system, and detach the loop devices of the system."""
    trees = cgroups.find_trees()
    loops = _loops(prefix)
    numbers = {f"{os.major(number)}:{os.minor(number)}" for name in loops if (number := _number(name))}
    # A recorded number may now belong to a loop device of another program, whose limits must stay.
    taken = {_bytes(Path("/sys/block") / name / "dev").decode().strip() for name in _backing_files()}
    for device in numbers | (_throttled(prefix) - taken):
        cgroups.unthrottle(device, trees)
    for name in loops:
        _run("losetup", "--detach", f"/dev/{name}")


def _number(name: str) -> int:
    try:
        return Path(f"/dev/{name}").stat().st_rdev
    except OSError:
        return 0


def _end_processes(prefix: str) -> None:
    deadline = time.monotonic() + _DIE_WITHIN_S
    while (found := processes(prefix)) and time.monotonic() < deadline:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_S)


def _run(*command: str) -> None:
    with suppress(OSError):
        subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True)


def _links(prefix: str) -> list[str]:
    return sorted(path.name for path in Path("/sys/class/net").glob(prefix))


def _mounts(prefix: str) -> list[str]:
    lines = _bytes(Path("/proc/self/mountinfo")).decode("utf-8", "replace").splitlines()
    points = [line.split()[4] for line in lines if len(line.split()) > 4]
    return [point for point in points if f"/{prefix}/" in f"{point}/"]


def _loops(prefix: str) -> list[str]:
    return sorted(name for name, text in _backing_files().items() if f"/{prefix}/" in text)


def _backing_files() -> dict[str, str]:
    found = {}
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        found[path.parents[1].name] = _bytes(path).decode("utf-8", "replace").strip()
    return found


def _groups(pattern: str) -> list[Path]:
    """Return the control groups of all trees whose names match a pattern."""
    trees = cgroups.find_trees()
    roots = {*trees.roots.values(), *([trees.unified] if trees.unified else [])}
    found = []
    for root in sorted(roots):
        for path, names, _ in os.walk(root):
            hits = [name for name in names if Path(name).match(pattern)]
            found += [Path(path) / name for name in hits]
            names[:] = [name for name in names if name not in hits]
    return found


def _processes() -> Iterable[Path]:
    return (path for path in Path("/proc").iterdir() if path.name.isdigit())


def _environments() -> Iterable[tuple[int, list[bytes]]]:
    for process in _processes():
        pid = int(process.name)
        if pid != os.getpid() and identity(pid) is not None:
            yield pid, _bytes(process / "environ").split(b"\0")


def _mark(variables: list[bytes]) -> bytes | None:
    start = f"{MARK}=".encode()
    return next((variable[len(start) :] for variable in variables if variable.startswith(start)), None)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
