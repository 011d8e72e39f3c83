"""Reads metrics of nginx from its status page, and counts the requests of each upstream server (member) in a log.

The status page is described at https://nginx.org/en/docs/http/ngx_http_stub_status_module.html.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from towtank.observe.page import Page, PageScraper
from towtank.observe.scraper import ScrapeError, series_name
from towtank.results import MEMBER_REQUESTS

_PAGE = re.compile(
    r"Active connections: (\d+)\s+server accepts handled requests\s+(\d+) (\d+) (\d+)\s+"
    r"Reading: (\d+) Writing: (\d+) Waiting: (\d+)\s*"
)
_NAMES = (
    "nginx_connections",
    "nginx_connections_accepted_total",
    "nginx_connections_handled_total",
    "nginx_requests_total",
    "nginx_connections_reading",
    "nginx_connections_writing",
    "nginx_connections_waiting",
)
_OTHER = "other"
_CHUNK_BYTES = 1 << 20


def parse(page: str) -> dict[str, float]:
    """Parse the status page of nginx, and return its numbers by series name.

    Raises
    ------
    ScrapeError
        If the page has another format.
    """
    found = _PAGE.fullmatch(page)
    if found is None:
        raise ScrapeError(f"must be a page of stub_status, got {page[:80]!r} instead")
    return {name: float(number) for name, number in zip(_NAMES, found.groups(), strict=True)}


class MembersLog:
    """Counts the requests of each upstream server (member) from new lines of a log.

    Each line contains the number of the member, from 0, or `-` if the request went to several members or to none.
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._path, self._names = path, list(names)
        self._read_bytes = 0
        self._rest = b""
        self._counts: dict[bytes, int] = {}

    def counts(self) -> dict[str, float]:
        """Return the number of requests by upstream server (member), since the start of the log.

        Raises
        ------
        ScrapeError
            If the log cannot be read.
        """
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._read_bytes)
                while chunk := stream.read(_CHUNK_BYTES):
                    self._take(chunk)
        except OSError as error:
            raise ScrapeError(f"{self._path.name}: {error.strerror}") from error
        known = {str(number).encode(): name for number, name in enumerate(self._names)}
        values = {
            series_name(MEMBER_REQUESTS, member=name): float(self._counts.get(key, 0)) for key, name in known.items()
        }
        other = sum(count for key, count in self._counts.items() if key not in known)
        return {**values, series_name("nginx_member_requests_unclear_total", member=_OTHER): float(other)}

    def _take(self, chunk: bytes) -> None:
        self._read_bytes += len(chunk)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in set(lines):
            self._counts[line] = self._counts.get(line, 0) + lines.count(line)


class NginxScraper(PageScraper):
    """Scraper of nginx's status page, and of the log that contains the upstream server (member) of each request.

    The log is None for a server of files, which has no upstream servers. The members are in the order of their numbers
    in the log.
    """

    source = "nginx"
    kind = "nginx"

    def __init__(self, service: str, url: str, log: Path | None = None, members: Sequence[str] = ()) -> None:
        self.service, self._page = service, Page(url)
        self._log = None if log is None else MembersLog(log, members)

    def scrape(self) -> dict[str, float]:
        """Request the status page of nginx and read the new lines of the log; return the numbers by series name."""
        values = parse(self._page.get())
        return values if self._log is None else {**values, **self._log.counts()}
