"""Connects by HTTP to an IP address that was resolved and checked before the request."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Sequence
from urllib.parse import SplitResult

from towtank.dialing import connect_first


class PinnedConnection(http.client.HTTPConnection):
    """HTTP connection to one of the given IP addresses of the host of an `http` or `https` URL, in the order of the
    attempts; the host name is not resolved again.

    The Host header and the certificate check use the host of the URL. `timeout_s` limits connecting, and each send and
    receive. [s]
    """

    def __init__(self, url: SplitResult, addresses: Sequence[str], timeout_s: float) -> None:
        self._context = ssl.create_default_context() if url.scheme == "https" else None
        super().__init__(str(url.hostname), url.port or (443 if self._context else 80), timeout=timeout_s)
        self._addresses, self._limit_s = tuple(addresses), timeout_s
        # Default port of the scheme, which `http.client` omits from the Host header.
        self.default_port = 443 if self._context else 80

    def connect(self) -> None:
        """Connect to the first address that accepts the connection."""
        plain, _ = connect_first(self._addresses, self.port, self._limit_s)
        plain.settimeout(self._limit_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._context.wrap_socket(plain, server_hostname=self.host) if self._context else plain
