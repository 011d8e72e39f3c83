"""Checks if a server responds, by opening a connection or by sending one HTTP request."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Mapping

from towtank.dialing import addresses_of, connect_first, fact

_TIMEOUT_S = 2.0


def split_address(address: str) -> tuple[str, int]:
    """Split `host:port`, `[v6]:port` or `host` into host and port, by default 80."""
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        return host, int(rest[1:]) if rest.startswith(":") else 80
    host, colon, port = address.rpartition(":")
    return (host, int(port)) if colon else (address, 80)


def refuses_connection(address: str, timeout_s: float = _TIMEOUT_S) -> str | None:
    """Open and close a TCP connection to an address.

    Return None if an IP address of the host name accepts the connection; otherwise the reason why none does.
    """
    host, port = split_address(address)
    try:
        connect_first(addresses_of(host, port), port, timeout_s)[0].close()
    except (OSError, UnicodeError) as error:
        return f"{address}: {fact(error)}"
    return None


def refuses_unix(address: str, timeout_s: float = _TIMEOUT_S) -> str | None:
    """Open and close a connection to a Unix socket `unix:/path`.

    Return None if the connection succeeds; otherwise the reason why it fails.
    """
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(timeout_s)
        try:
            client.connect(address.removeprefix("unix:"))
        except OSError as error:
            return f"{address}: {fact(error)}"
    return None


def refuses_http(
    address: str,
    path: str,
    timeout_s: float = _TIMEOUT_S,
    headers: Mapping[str, str] | None = None,
    wanted: int | None = None,
) -> str | None:
    """Request a page by HTTP.

    Return None if the response has the status `wanted`, or, by default, a status from 200 to 299; otherwise the reason
    why it does not.
    """
    host, port = split_address(address)
    connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers=dict(headers or {}))
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"http://{address}{path}: {fact(error)}"
    finally:
        connection.close()
    is_right = 200 <= status < 300 if wanted is None else status == wanted
    return None if is_right else f"http://{address}{path} responds with status {status}"
