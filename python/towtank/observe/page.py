"""Requests a page repeatedly over one persistent HTTP connection."""

from __future__ import annotations

import http.client
import io
import socket
import time
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from towtank.observe.scraper import ScrapeError
from towtank.observe.timely import TimelyStream
from towtank.secrets import basic_authorization, redacted_text

TIMEOUT_S = 1.0
"""Time limit for a request and its complete response. A longer wait would delay the scrapes of other services. [s]"""
PAGE_AT_MOST_BYTES = 8 * 1024 * 1024
"""Size of the largest page that is accepted. Reading a larger page every second would load the system. [byte]"""


class _TimelyAnswer(http.client.HTTPResponse):
    """HTTP response whose header and body must arrive before a deadline."""

    def __init__(self, connection: socket.socket, *arguments: Any, deadline: float, **more: Any) -> None:
        super().__init__(connection, *arguments, **more)
        self.fp.close()
        self.fp = io.BufferedReader(TimelyStream(connection, deadline))


class Page:
    """Web page with metrics that is requested repeatedly. A user name and password in the address are sent as Basic
    authorization. `accept` is the requested media type.
    """

    def __init__(self, url: str, accept: str = "text/plain") -> None:
        self.url = redacted_text(url)
        parts = urlsplit(url)
        self._headers = {"Accept": accept, **basic_authorization(parts)}
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"must be an address such as http://host:port/metrics, got {self.url!r} instead")
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        secure = parts.scheme == "https"
        connection = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = connection(parts.hostname, parts.port, timeout=TIMEOUT_S)

    def get(self) -> str:
        """Request the page from its server, and return the text of the page.

        Raises
        ------
        ScrapeError
            If the page does not arrive in time, or is not UTF-8 text. The next call then opens a new connection.
        """
        try:
            return self._get(time.monotonic() + TIMEOUT_S).decode("utf-8")
        except ScrapeError:
            self.close()
            raise
        except (OSError, http.client.HTTPException, UnicodeDecodeError) as error:
            self.close()
            raise ScrapeError(f"{self.url}: {type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Close the connection to the server; the next call of `get` opens it again."""
        self._connection.close()

    def _get(self, deadline: float) -> bytes:
        kept = self._connection.sock is not None
        try:
            return self._exchange(deadline)
        except (ConnectionError, http.client.RemoteDisconnected):
            # A server may close an idle connection at any time. The request is repeated if it failed on such a
            # connection.
            if not kept:
                raise
            self.close()
            return self._exchange(deadline)

    def _exchange(self, deadline: float) -> bytes:
        if self._connection.sock is not None:
            self._connection.sock.settimeout(TIMEOUT_S)
        self._connection.request("GET", self._target, headers=self._headers)
        self._connection.response_class = partial(_TimelyAnswer, deadline=deadline)  # type: ignore[assignment]
        response = self._connection.getresponse()
        if response.status != http.client.OK:
            raise ScrapeError(f"{self.url}: must respond with status 200, got {response.status} instead")
        expected = response.length
        parts: list[bytes] = []
        length = 0
        while part := response.read1(65536):
            parts.append(part)
            length += len(part)
            if length > PAGE_AT_MOST_BYTES:
                raise ScrapeError(f"{self.url}: must be at most {PAGE_AT_MOST_BYTES} bytes, got more")
            if time.monotonic() > deadline:
                raise ScrapeError(f"{self.url}: must arrive within {TIMEOUT_S} s, got only {length} bytes in that time")
        # `read1` leaves the response open at the end of the body. An open response blocks the connection.
        response.close()
        if expected is not None and length < expected:
            raise ScrapeError(f"{self.url}: must be {expected} bytes as announced, got {length} instead")
        return b"".join(parts)


class PageScraper:
    """Base class of the scrapers that read one page."""

    _page: Page

    def close(self) -> None:
        """Close the connection to the server; the next scrape opens it again."""
        self._page.close()
