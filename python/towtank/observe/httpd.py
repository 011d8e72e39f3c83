"""Reads metrics of Apache httpd and its load balancers from the server's status page.

The page is described at https://httpd.apache.org/docs/2.4/mod/mod_status.html. It is requested with `?auto`, which
makes it machine-readable. It contains lines about load balancers only with `ProxyStatus On`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from towtank.observe.page import Page, PageScraper
from towtank.observe.scraper import ScrapeError, number_in, series_name
from towtank.results import MEMBER_REQUESTS

# Series name of each line of the status page, and factor that converts the line's value to base units.
_LINES = {
    "Total Accesses": ("httpd_requests_total", 1.0),
    "Total kBytes": ("httpd_sent_bytes_total", 1024.0),
    "Total Duration": ("httpd_request_seconds_total", 0.001),
    "BusyWorkers": ("httpd_workers_busy", 1.0),
    "IdleWorkers": ("httpd_workers_idle", 1.0),
    "Processes": ("httpd_processes", 1.0),
    "ConnsTotal": ("httpd_connections", 1.0),
    "ConnsAsyncKeepAlive": ("httpd_connections_kept", 1.0),
    "ConnsAsyncWriting": ("httpd_connections_writing", 1.0),
    "ConnsAsyncClosing": ("httpd_connections_closing", 1.0),
}
_MEMBER = re.compile(r"ProxyBalancer\[(\d+)\]Worker\[(\d+)\](\w+)")
# Metrics of a balancer member for which the page prints abbreviated numbers, such as `12K`, `1.5M` or `3.1G`.
_BYTES = {"Sent": "httpd_member_sent_bytes_total", "Rcvd": "httpd_member_received_bytes_total"}
_SUFFIXES = {"": 1.0, "B": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3, "T": 1024.0**4}
_SIZE = re.compile(r"\s*([\d.]+)\s*([BKMGT]?)B?\s*")


def parse(page: str, members: Mapping[str, str]) -> dict[str, float]:
    """Parse the status page of httpd, requested with `?auto`, and return its numbers by series name. `members` has the
    name of each member of a load balancer, by its address `host:port`.

    Raises
    ------
    ScrapeError
        If the page has another format.
    """
    values: dict[str, float] = {}
    found: dict[tuple[str, str], dict[str, str]] = {}
    for line in page.splitlines():
        name, colon, text = line.partition(": ")
        member = _MEMBER.fullmatch(name)
        if member is not None:
            found.setdefault((member[1], member[2]), {})[member[3]] = text
        elif colon and name in _LINES:
            key, factor = _LINES[name]
            values[key] = number_in(name, text) * factor
        elif name == "Scoreboard":
            values["httpd_workers_limit"] = float(len(text.strip()))
    if "httpd_workers_busy" not in values:
        raise ScrapeError("the status page of httpd must report BusyWorkers, got no such line")
    for row in found.values():
        values.update(_member(row, members))
    return values


def _member(row: Mapping[str, str], members: Mapping[str, str]) -> dict[str, float]:
    address = urlsplit(row.get("Name", "")).netloc
    name = members.get(address, address)
    values = {series_name(MEMBER_REQUESTS, member=name): number_in("Elected", row.get("Elected", ""))}
    if "Busy" in row:
        values[series_name("httpd_member_busy", member=name)] = number_in("Busy", row["Busy"])
    for key, out in _BYTES.items():
        if key in row:
            values[series_name(out, member=name)] = _bytes(key, row[key])
    if "Status" in row:
        values[series_name("httpd_member_ok", member=name)] = float("Ok" in row["Status"].split())
    return values


def _bytes(name: str, text: str) -> float:
    size = _SIZE.fullmatch(text)
    if size is None:
        raise ScrapeError(f"{name} must be a size such as 12K, got {text[:40]!r} instead")
    return float(size[1]) * _SUFFIXES[size[2]]


class HttpdScraper(PageScraper):
    """Scraper of httpd's status page, whose address ends with `?auto`. `members` has the name of each member of a load
    balancer, by its address `host:port`.
    """

    source = "httpd"
    kind = "httpd"

    def __init__(self, service: str, url: str, members: Mapping[str, str]) -> None:
        self.service, self._page, self._members = service, Page(url), dict(members)

    def scrape(self) -> dict[str, float]:
        """Request the status page of httpd, and return its numbers by series name."""
        return parse(self._page.get(), self._members)
