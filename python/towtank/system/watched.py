"""Finds running processes of this machine by process id, pid file, port, systemd unit, container, or command line."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from towtank.errors import TargetError
from towtank.files import NotAFileError, open_regular
from towtank.system.bounded_search import matching
from towtank.system.hosts.local import execute
from towtank.system.listeners import is_descendant, parent, port_root
from towtank.system.watched_model import Watched

_PROC = Path("/proc")
_ENGINES = ("docker", "podman")
_ASKED_WITHIN_S = 5.0
# Optional prefix in the name of a container's control group, which is followed by the id or name of the container.
_MADE = r"(?:docker-|libpod-|cri-containerd-|crio-|lxc\.payload\.|machine-|systemd-nspawn@)?"
# Pattern of container ids, which have 64 digits, and which container engines shorten to 12 digits.
_ID = re.compile(r"[0-9a-f]{12,64}")

# Largest size of a pid file. A process id has at most 10 digits. [byte]
_PID_FILE_BYTES = 64
_LINE_BYTES = 4096
# Largest number of processes that a pattern may match. A wrong pattern such as `a` matches half of all processes. [1]
_MOST_ROOTS = 20


def roots_of(watched: Watched, base: Path = Path(), proc: Path = _PROC) -> list[int]:
    """Return the ids of the processes that match a description, without descendants of other matching processes. A
    relative `pid_file` refers to `base`.

    Returns
    -------
    list of int
        Process ids in ascending order, without this process, its ancestors and its descendants, because these
        belong to the load generator.

    Raises
    ------
    TargetError
        If no process matches, or too many processes match.
    """
    found = _found(watched, base, proc)
    here = os.getpid()
    others = {pid for pid in found if not is_descendant(here, [pid], proc) and not is_descendant(pid, [here], proc)}
    if found and not others:
        raise TargetError(f"{watched}: must not be this process or a process that started it")
    roots = sorted(pid for pid in others if not _is_below_another(pid, others, proc))
    if not roots:
        raise TargetError(f"{watched}: no matching process runs on this machine, or this user cannot see it")
    if watched.command is not None and len(roots) > _MOST_ROOTS:
        names = ", ".join(f"{pid} {_name(pid, proc)!r}" for pid in roots[:_MOST_ROOTS])
        message = f"must match at most {_MOST_ROOTS} processes, not counting their children, got {len(roots)}"
        raise TargetError(f"{watched}: {message}: {names} and {len(roots) - _MOST_ROOTS} more")
    return roots


def _is_below_another(pid: int, others: set[int], proc: Path) -> bool:
    above = parent(pid, proc)
    return above is not None and is_descendant(above, others, proc)


def _found(watched: Watched, base: Path, proc: Path) -> set[int]:
    if watched.pid is not None:
        return _living(watched, watched.pid, proc)
    if watched.pid_file is not None:
        return _of_file(watched, base / watched.pid_file, proc)
    if watched.port is not None:
        root = port_root(watched.port, proc)
        return set() if root is None else {root}
    if watched.unit is not None:
        unit = watched.unit if "." in watched.unit else f"{watched.unit}.service"
        return _in_groups(re.escape(unit), proc)
    if watched.container is not None:
        return _of_container(watched.container, proc)
    return _of_command(watched, proc)


def _living(watched: Watched, pid: int, proc: Path) -> set[int]:
    if parent(pid, proc) is None and not (proc / str(pid) / "stat").exists():
        raise TargetError(f"{watched}: no process has the id {pid}")
    return {pid}


def _of_file(watched: Watched, path: Path, proc: Path) -> set[int]:
    """Return the process id that is the first word of a pid file.

    Error messages do not contain text from the file, because the user may have named a file with secrets by mistake.
    """
    try:
        with open_regular(path) as stream:
            head = stream.read(_PID_FILE_BYTES + 1)
    except NotAFileError as error:
        raise TargetError(f"{watched}: the file {error.strerror}") from None
    except OSError as error:
        raise TargetError(f"{watched}: the file cannot be read: {error.strerror}") from None
    except ValueError as error:  # The file name contains a NUL.
        raise TargetError(f"{watched}: the file cannot be read: {error}") from None
    words = head.split()
    if len(head) > _PID_FILE_BYTES or not words or not re.fullmatch(rb"[1-9][0-9]{0,9}", words[0]):
        message = f"the file must begin with a process id and have at most {_PID_FILE_BYTES} bytes"
        raise TargetError(f"{watched}: {message}, got other content instead")
    return _living(watched, int(words[0]), proc)


def _of_command(watched: Watched, proc: Path) -> set[int]:
    """Return the ids of the processes whose command line matches a pattern."""
    lines = {pid: line for pid in _pids(proc) if (line := _command_line(pid, proc))}
    try:
        return set(matching(watched.command or "", lines))
    except TimeoutError as error:
        raise TargetError(f"{watched}: {error}") from None


def _of_container(name: str, proc: Path) -> set[int]:
    """Return the processes of a container, found by its control group or, failing that, by a container engine."""
    digits = "[0-9a-f]*" if _ID.fullmatch(name) else ""
    in_group = _in_groups(rf"{_MADE}{re.escape(name)}{digits}(?:\.scope|\.service)?", proc)
    return in_group or {pid for engine in _ENGINES if (pid := _asked(engine, name)) is not None}


def _asked(engine: str, name: str) -> int | None:
    """Ask a container engine for the id of a container's first process; return None if it knows no such container."""
    if shutil.which(engine) is None:
        return None
    with suppress(TargetError):
        answer = execute([engine, "inspect", "--format", "{{.State.Pid}}", "--", name], _ASKED_WITHIN_S)
        if answer.status == 0 and re.fullmatch(r"[1-9][0-9]*", answer.output.strip()):
            return int(answer.output)
    return None


def _in_groups(pattern: str, proc: Path) -> set[int]:
    """Return the ids of the processes in control groups whose path has a component that matches a pattern."""
    wanted = re.compile(pattern)
    return {pid for pid in _pids(proc) if any(wanted.fullmatch(part) for part in _group_parts(pid, proc))}


def _group_parts(pid: int, proc: Path) -> Iterable[str]:
    with suppress(OSError):
        lines = (proc / str(pid) / "cgroup").read_text("utf-8", "replace").splitlines()
        return {part for line in lines for part in line.split(":", 2)[-1].split("/") if part}
    return ()


def _pids(proc: Path) -> list[int]:
    return [int(entry.name) for entry in os.scandir(proc) if entry.name.isdigit()]


def _command_line(pid: int, proc: Path) -> str:
    """Return the first 4,096 bytes of the command line of a process. Bytes that are not valid text are replaced."""
    with suppress(OSError), (proc / str(pid) / "cmdline").open("rb") as stream:
        return stream.read(_LINE_BYTES).decode("utf-8", "replace").rstrip("\0").replace("\0", " ")
    return ""


def _name(pid: int, proc: Path) -> str:
    with suppress(OSError):
        return (proc / str(pid) / "comm").read_text("utf-8", "replace").strip()
    return "?"
