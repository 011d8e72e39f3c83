"""Reads metrics of HAProxy by sending `show info` and `show stat` to its command socket.

The lines and columns of the responses are described at https://docs.haproxy.org/2.6/management.html, section 9.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping

from towtank.observe.command_socket import ask_once
from towtank.observe.scraper import ScrapeError, number_in, series_name
from towtank.results import MEMBER_REQUESTS

# Series name of each line of `show info`, and factor that converts the line's value to base units.
_INFO = {
    "CurrConns": ("haproxy_connections", 1.0),
    "Maxconn": ("haproxy_connections_limit", 1.0),
    "CumConns": ("haproxy_connections_total", 1.0),
    "CumReq": ("haproxy_requests_total", 1.0),
    "Idle_pct": ("haproxy_idle_ratio", 0.01),
    "Run_queue": ("haproxy_run_queue", 1.0),
    "PoolUsed_bytes": ("haproxy_pool_used_bytes", 1.0),
}
# Series name of each column of `show stat`, for rows of a frontend, of a server (member) and of a backend.
_FRONTEND = {"scur": "haproxy_frontend_sessions", "ereq": "haproxy_frontend_bad_requests_total"}
_MEMBER = {
    "stot": MEMBER_REQUESTS,
    "scur": "haproxy_member_sessions",
    "qcur": "haproxy_member_queue",
    "bin": "haproxy_member_sent_bytes_total",
    "bout": "haproxy_member_received_bytes_total",
    "econ": "haproxy_member_connect_errors_total",
    "eresp": "haproxy_member_response_errors_total",
    "wretr": "haproxy_member_retries_total",
    "wredis": "haproxy_member_redispatches_total",
    "connect": "haproxy_member_connections_opened_total",
    "reuse": "haproxy_member_connections_reused_total",
}
_BACKEND = {"qcur": "haproxy_queue"}
_CLASSES = ("2xx", "3xx", "4xx", "5xx")


def parse_info(text: str) -> dict[str, float]:
    """Parse the response to `show info`, which consists of lines `name: value`.

    Raises
    ------
    ScrapeError
        If the response has another format.
    """
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if "CurrConns" not in fields:
        raise ScrapeError(f"`show info` must report CurrConns, got {text[:80]!r} instead")
    return {name: number_in(key, fields[key]) * factor for key, (name, factor) in _INFO.items() if key in fields}


def parse_stat(text: str) -> dict[str, float]:
    """Parse the response to `show stat`, a CSV table whose first line begins with `#` and names the columns.

    Raises
    ------
    ScrapeError
        If the response has another format.
    """
    try:
        rows = list(csv.DictReader(text.lstrip("# ").splitlines()))
    # The CSV reader raises this error if a field is larger than its default limit of 128 KiB.
    except csv.Error as error:
        raise ScrapeError(f"the response to `show stat` must be a CSV table, got {error}") from None
    if not rows or "svname" not in rows[0]:
        raise ScrapeError(f"`show stat` must be a table with svname, got {text[:80]!r} instead")
    values: dict[str, float] = {}
    for row in rows:
        if row["svname"] == "FRONTEND":
            values.update(_columns(row, _FRONTEND))
            values.update(_answers(row))
        elif row["svname"] == "BACKEND":
            values.update(_columns(row, _BACKEND))
        else:
            values.update(_columns(row, _MEMBER, row["svname"]))
    return values


def _columns(row: Mapping[str, str], columns: Mapping[str, str], member: str | None = None) -> dict[str, float]:
    labels = {} if member is None else {"member": member}
    return {series_name(name, **labels): number_in(key, row[key]) for key, name in columns.items() if row.get(key)}


def _answers(row: Mapping[str, str]) -> dict[str, float]:
    """Return the number of HTTP responses by class of the status code, such as 2xx."""
    answers = {each: row.get(f"hrsp_{each}") for each in _CLASSES}
    return {
        series_name("haproxy_answers_total", status=each): number_in(each, value)
        for each, value in answers.items()
        if value
    }


class HaproxyScraper:
    """Scraper that reads HAProxy's counters through the command socket, whose address is a path or `host:port`."""

    source = "haproxy"
    kind = "haproxy"

    def __init__(self, service: str, address: str) -> None:
        self.service, self._address = service, address

    def scrape(self) -> dict[str, float]:
        """Send both commands to HAProxy, and return its counters by series name."""
        return {**parse_info(ask_once(self._address, "show info")), **parse_stat(ask_once(self._address, "show stat"))}

    def close(self) -> None:
        """Do nothing, because each command opens and closes a connection of its own."""
