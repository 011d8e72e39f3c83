"""TCP ports of services: chosen by the system, or fixed and then checked before anything is started."""

from __future__ import annotations

import errno
import socket
from contextlib import suppress
from pathlib import Path

from towtank.errors import TargetError

_LISTEN = "0A"  # state of a listening socket in /proc/net/tcp
# Above the ports of known services, below those that Linux gives to outgoing connections.
_ROW_FIRST, _ROW_END = 20_000, 32_768
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def free_port(host: str = "127.0.0.1") -> int:
    """Ask the operating system for a TCP port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
    return port


def free_ports(host: str, count: int) -> int:
    """First of so many TCP ports in a row that nothing listens on.

    Parameters
    ----------
    host : str
        The address that a service is to listen on.
    count : int
        Ports, at least 1. [1]

    Raises
    ------
    TargetError
        If there are none.

    Notes
    -----
    Several are looked for below the ports of outgoing connections, each of which may take one of them at any time.
    """
    if count == 1:
        return free_port(host)
    for first in range(_ROW_FIRST, _ROW_END - count + 1, count):
        if all(_is_free(host, port) for port in range(first, first + count)):
            return first
    raise TargetError(f"{count} ports in a row are not free from {_ROW_FIRST} to {_ROW_END - 1} on {host}")


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def require_free(host: str, port: int, owner: str) -> None:
    """Refuse a fixed port that something else listens on already.

    Parameters
    ----------
    host, port
        The address that a service is to listen on.
    owner : str
        Name of that service, for the message.

    Raises
    ------
    TargetError
        If the port is taken; names the process where it can be found.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # old connections do not block a new server
        try:
            probe.bind((host, port))
        except OSError as error:
            raise TargetError(_refusal(error, host, port, owner), hint=_hint(error)) from error


def _refusal(error: OSError, host: str, port: int, owner: str) -> str:
    if error.errno != errno.EADDRINUSE:
        return f"{owner}: cannot listen on {host}:{port}: {error.strerror}"
    who = listener(port)
    return f"{owner}: port {port} on {host} is taken" + (f" by {who}" if who else "")


def _hint(error: OSError) -> str | None:
    if error.errno != errno.EADDRINUSE:
        return None
    return "stop that process, give the service another port, or leave the port out to have a free one chosen"


def listener(port: int) -> str | None:
    """Name the process that listens on a port, as `python3 (pid 123)`; None where it cannot be found."""
    inodes = _listening_inodes(port)
    if not inodes:
        return None
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and _holds(process, inodes):
            with suppress(OSError):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return None


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in _TABLES:
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(fields[9])
    return inodes


def _holds(process: Path, inodes: set[str]) -> bool:
    wanted = {f"socket:[{inode}]" for inode in inodes}
    try:
        return any(_target(link) in wanted for link in (process / "fd").iterdir())
    except OSError:  # another user's process, or one that just ended
        return False


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
