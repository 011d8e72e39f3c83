"""Scrapes a page in the Prometheus text format.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4).
"""

from __future__ import annotations

import http.client
import math
import re
import time
from urllib.parse import urlsplit

from towtank.observe.scraper import ScrapeError

TIMEOUT_S = 1.0
"""For the whole exchange: a page that takes longer would hold up the grid. [s]"""
PAGE_AT_MOST_BYTES = 8 * 1024 * 1024
"""A larger page is an error: reading it each second would itself be a load on the system."""

_LABELS = r'\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}'
_SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*({_LABELS})?[ \t]*(\S+)(?:[ \t]+-?\d+)?[ \t]*$")
_CREATED = "_created"


def parse(page: str) -> dict[str, float]:
    """Read a page into numbers by series.

    Parameters
    ----------
    page : str
        Text format 0.0.4.

    Returns
    -------
    dict of str to float
        In the order of the page. What is not finite is left out, and so are the `_created` series, which hold the
        time when another series began.

    Raises
    ------
    ScrapeError
        If a line is not in the format.

    Examples
    --------
    >>> parse('# TYPE a counter\\na_total{b="c d"} 3\\nload 0.5\\nunknown NaN\\n')
    {'a_total{b="c d"}': 3.0, 'load': 0.5}
    """
    values: dict[str, float] = {}
    for number, line in enumerate(page.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _SAMPLE.match(line.strip())
        if match is None:
            raise ScrapeError(f"line {number} must be `name{{labels}} value`, got {line[:80]!r} instead")
        name, labels, text = match.groups()
        try:
            value = float(text)
        except ValueError:
            raise ScrapeError(f"line {number}: must end in a number, got {text[:40]!r} instead") from None
        if math.isfinite(value) and not name.endswith(_CREATED):
            values[name + (labels or "")] = value
    return values


class PrometheusScraper:
    """Gets the page over one connection that is kept.

    Parameters
    ----------
    service, kind : str
        Name and kind of the service.
    url : str
        Address of the page, `http://host:port/metrics`.
    """

    source = "prometheus"

    def __init__(self, service: str, kind: str, url: str) -> None:
        self.service, self.kind, self.url = service, kind, url
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"must be an address as http://host:port/metrics, got {url!r} instead")
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        secure = parts.scheme == "https"
        connection = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = connection(parts.hostname, parts.port, timeout=TIMEOUT_S)

    def scrape(self) -> dict[str, float]:
        """Get the page and read it."""
        deadline = time.monotonic() + TIMEOUT_S
        try:
            page = self._get(deadline)
            return parse(page.decode("utf-8"))
        except ScrapeError:
            self.close()
            raise
        except (OSError, http.client.HTTPException, UnicodeDecodeError) as error:
            self.close()
            raise ScrapeError(f"{self.url}: {type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Close the connection; the next scrape opens it again."""
        self._connection.close()

    def _get(self, deadline: float) -> bytes:
        kept = self._connection.sock is not None
        try:
            return self._exchange(deadline)
        except (ConnectionError, http.client.RemoteDisconnected):
            # A server may close a kept connection at any time; only a fresh one that fails tells something.
            if not kept:
                raise
            self.close()
            return self._exchange(deadline)

    def _exchange(self, deadline: float) -> bytes:
        self._connection.request("GET", self._target, headers={"Accept": "text/plain;version=0.0.4"})
        response = self._connection.getresponse()
        if response.status != http.client.OK:
            raise ScrapeError(f"{self.url}: must answer 200, got {response.status} instead")
        expected = response.length
        parts: list[bytes] = []
        length = 0
        while part := response.read1(65536):
            parts.append(part)
            length += len(part)
            if length > PAGE_AT_MOST_BYTES:
                raise ScrapeError(f"{self.url}: must be at most {PAGE_AT_MOST_BYTES} bytes, got more")
            if time.monotonic() > deadline:
                raise ScrapeError(f"{self.url}: must come within {TIMEOUT_S} s, got {length} bytes in that time")
        response.close()  # `read1` does not see by itself that all was read; the connection stays open
        if expected is not None and length < expected:
            raise ScrapeError(f"{self.url}: must be {expected} bytes as announced, got {length} instead")
        return b"".join(parts)
