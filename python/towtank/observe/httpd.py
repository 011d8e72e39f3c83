"""What Apache httpd tells on its status page: workers by state, requests, and the members of its balancers.

The page: https://httpd.apache.org/docs/2.4/mod/mod_status.html, machine-readable with `?auto`; the lines of balancers
come with `ProxyStatus On`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from towtank.observe.page import Page
from towtank.observe.scraper import ScrapeError, series
from towtank.results.observe import MEMBER_REQUESTS

# Line of the page: name of the series, and what a unit of it is worth.
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
# Of a member: sizes come as `12K`, `1.5M` or `3.1G`.
_BYTES = {"Sent": "httpd_member_sent_bytes_total", "Rcvd": "httpd_member_received_bytes_total"}
_SUFFIXES = {"": 1.0, "B": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3, "T": 1024.0**4}
_SIZE = re.compile(r"\s*([\d.]+)\s*([BKMGT]?)B?\s*")


def parse(page: str, members: Mapping[str, str]) -> dict[str, float]:
    """Read a status page into numbers by series.

    Parameters
    ----------
    page : str
        What `?auto` gives.
    members : mapping of str to str
        Name of each member by its address `host:port`.

    Raises
    ------
    ScrapeError
        If it is no such page.
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
            values[key] = _number(name, text) * factor
        elif name == "Scoreboard":
            values["httpd_workers_limit"] = float(len(text.strip()))
    if "httpd_workers_busy" not in values:
        raise ScrapeError("must be a status page of httpd with BusyWorkers, got none")
    for told in found.values():
        values.update(_member(told, members))
    return values


def _member(told: Mapping[str, str], members: Mapping[str, str]) -> dict[str, float]:
    address = urlsplit(told.get("Name", "")).netloc
    name = members.get(address, address)
    values = {series(MEMBER_REQUESTS, member=name): _number("Elected", told.get("Elected", ""))}
    if "Busy" in told:
        values[series("httpd_member_busy", member=name)] = _number("Busy", told["Busy"])
    for key, out in _BYTES.items():
        if key in told:
            values[series(out, member=name)] = _bytes(key, told[key])
    if "Status" in told:
        values[series("httpd_member_ok", member=name)] = float("Ok" in told["Status"].split())
    return values


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ScrapeError(f"{name} must be a number, got {text[:40]!r} instead") from None


def _bytes(name: str, text: str) -> float:
    size = _SIZE.fullmatch(text)
    if size is None:
        raise ScrapeError(f"{name} must be a size as 12K, got {text[:40]!r} instead")
    return float(size[1]) * _SUFFIXES[size[2]]


class HttpdScraper:
    """Gets the status page.

    Parameters
    ----------
    service : str
        Name of the service.
    url : str
        Address of the page, with `?auto`.
    members : mapping of str to str
        Name of each member by its address.
    """

    source = "httpd"
    kind = "httpd"

    def __init__(self, service: str, url: str, members: Mapping[str, str]) -> None:
        self.service, self._page, self._members = service, Page(url), dict(members)

    def scrape(self) -> dict[str, float]:
        """Get the page and read it."""
        return parse(self._page.get(), self._members)

    def close(self) -> None:
        """Close the connection; the next scrape opens it again."""
        self._page.close()
