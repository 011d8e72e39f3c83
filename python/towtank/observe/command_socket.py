"""Sends one command to a service over a new connection, and reads the complete response."""

from __future__ import annotations

import socket
import time

from towtank.observe.scraper import ScrapeError

TIMEOUT_S = 1.0
_ANSWER_AT_MOST_BYTES = 8 * 1024 * 1024


def ask_once(address: str, command: str) -> str:
    """Send a command, and return the complete response, which ends when the service closes the connection. The address
    is `host:port`, or the path of a Unix socket.

    Raises
    ------
    ScrapeError
        If the complete response does not arrive within a second.
    """
    deadline = time.monotonic() + TIMEOUT_S
    parts: list[bytes] = []
    try:
        with _connected(address) as connection:
            connection.sendall(command.encode() + b"\n")
            while part := connection.recv(65536):
                parts.append(part)
                if sum(map(len, parts)) > _ANSWER_AT_MOST_BYTES or time.monotonic() > deadline:
                    raise ScrapeError(f"{address}: the response to {command!r} is too long or too late")
    except OSError as error:
        raise ScrapeError(f"{address}: {type(error).__name__}: {error}") from error
    return b"".join(parts).decode("utf-8", "replace")


def _connected(address: str) -> socket.socket:
    if not address.startswith("/"):
        host, _, port = address.rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), TIMEOUT_S)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(TIMEOUT_S)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection
