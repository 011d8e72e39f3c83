"""Reads metrics of requests, connections and the heap from Jetty's statistics servlet.

The names are those of `org.eclipse.jetty.server.handler.StatisticsHandler` and `ConnectionStatistics` of Jetty 9.4.
"""

from __future__ import annotations

from towtank.observe.page import Page, PageScraper
from towtank.observe.scraper import ScrapeError, number_in, series_name

# Series name of each line of the statistics page, and factor that converts the line's value to base units. The page
# reports times in whole milliseconds.
_FIELDS = {
    "requests": ("jetty_requests_total", 1.0),
    "requestsActive": ("jetty_requests_active", 1.0),
    "requestsTimeTotal": ("jetty_request_seconds_total", 1e-3),
    "connections": ("jetty_connections_total", 1.0),
    "connectionsOpen": ("jetty_connections", 1.0),
    "bytesIn": ("jetty_received_bytes_total", 1.0),
    "bytesOut": ("jetty_sent_bytes_total", 1.0),
    "heapMemoryUsage": ("jvm_heap_used_bytes", 1.0),
    "nonHeapMemoryUsage": ("jvm_non_heap_used_bytes", 1.0),
}
_CLASSES = ("2xx", "3xx", "4xx", "5xx")


def parse(text: str) -> dict[str, float]:
    """Parse Jetty's statistics page, which consists of lines `name: value`, and return its numbers by series name.

    Raises
    ------
    ScrapeError
        If the page has another format.
    """
    lines = [line.strip().partition(": ") for line in text.splitlines()]
    # Lines without a value are headings of sections.
    fields = {name: value for name, _, value in lines if value}
    if "requestsActive" not in fields:
        raise ScrapeError(f"the statistics page must report requestsActive, got {text[:80]!r} instead")
    values = {name: number_in(key, fields[key]) * factor for key, (name, factor) in _FIELDS.items() if key in fields}
    answers = {each: fields[f"responses{each}"] for each in _CLASSES if f"responses{each}" in fields}
    return values | {
        series_name("jetty_answers_total", status=each): number_in(each, value) for each, value in answers.items()
    }


class JettyScraper(PageScraper):
    """Scraper of Jetty's statistics page. `kind` is the kind of the service that runs in this Jetty."""

    source = "jetty"

    def __init__(self, service: str, kind: str, url: str) -> None:
        self.service, self.kind, self._page = service, kind, Page(url)

    def scrape(self) -> dict[str, float]:
        """Request Jetty's statistics page, and return its numbers by series name."""
        return parse(self._page.get())
