"""Chooses free TCP ports for services, and checks that the ports in a system file are free."""

from __future__ import annotations

import errno
import secrets
import socket
from contextlib import suppress
from pathlib import Path

from towtank.errors import TargetError

_LISTEN = "0A"  # Code of the state "listening" in /proc/net/tcp.
# Range of ports to choose from, above the ports of well-known services and below those that Linux assigns to outgoing
# connections.
_FIRST, _END = 20_000, 32_768
# Largest number of reserved ports. Each needs an open file, and a process may often have only 1,024 open files. [1]
_HELD_AT_MOST = 64
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


class HeldPorts:
    """Consecutive free TCP ports, reserved by bound sockets so that no other process receives one of them.

    Parameters
    ----------
    host : str
        Address on which a service will listen.
    count : int
        Number of ports, at least 1. Only the first 64 of them are reserved. [1]

    Raises
    ------
    TargetError
        If no range of `count` ports is free.

    Notes
    -----
    A reserved port is bound with SO_REUSEADDR, and does not listen. A server can listen on it if it sets the same
    option, as servers do in order to restart on a port with old connections. Without the option, the port cannot be
    bound. The range begins at a random port, so that two processes that search at the same time rarely try the same
    ports.
    """

    def __init__(self, host: str, count: int) -> None:
        self._sockets: list[socket.socket] = []
        rows = max(0, _END - _FIRST - count + 1)
        begin = secrets.randbelow(rows) if rows else 0
        for row in range(rows):
            self.first = _FIRST + (begin + row) % rows
            if all(self._hold(host, port) for port in range(self.first, self.first + count)):
                return
            self.release()
        raise TargetError(f"no {count} consecutive ports are free from {_FIRST} to {_END - 1} on {host}")

    def _hold(self, host: str, port: int) -> bool:
        held = socket.socket()
        try:
            # Without SO_REUSEADDR, binding fails if another process has bound the port.
            held.bind((host, port))
        except OSError:
            held.close()
            return False
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if len(self._sockets) < _HELD_AT_MOST:
            self._sockets.append(held)
        else:
            held.close()
        return True

    def release(self) -> None:
        """Release the reserved ports. A server that already listens on one of them continues to do so."""
        for held in self._sockets:
            held.close()
        self._sockets.clear()


def free_ports(host: str, count: int) -> int:
    """Return the first of `count` consecutive TCP ports on which no process listens, as `HeldPorts` chooses them."""
    held = HeldPorts(host, count)
    held.release()
    return held.first


def require_free(host: str, port: int, owner: str) -> None:
    """Raise an error if another process listens on a port. The name of the service is for the message.

    Raises
    ------
    TargetError
        If another process listens on the port. The message names the process if it is visible.
    """
    with socket.socket() as probe:
        # Without SO_REUSEADDR, closed connections of an earlier server would prevent binding the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise TargetError(_refusal(error, host, port, owner), hint=_hint(error)) from error


def _refusal(error: OSError, host: str, port: int, owner: str) -> str:
    if error.errno != errno.EADDRINUSE:
        return f"{owner}: cannot listen on {host}:{port}: {error.strerror}"
    who = listener(port)
    return f"{owner}: port {port} on {host} is already in use" + (f" by {who}" if who else "")


def _hint(error: OSError) -> str | None:
    if error.errno != errno.EADDRINUSE:
        return None
    return "stop this process, set another port for the service, or omit the port so that a free port is chosen"


def listener(port: int) -> str | None:
    """Describe the process that listens on a port, as `python3 (pid 123)`; None if it is not visible."""
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
    except OSError:  # The process belongs to another user, or has just ended.
        return False


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
