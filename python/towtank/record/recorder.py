"""Holds the state that all connections of a recording share: stored exchanges, pages, requests in progress."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urljoin, urlsplit

from towtank.record.archive import Archive
from towtank.record.exchange import Exchange, Headers

# Kind of resource in an HTTP Archive, by the value of the header Sec-Fetch-Dest. An empty string means that the value
# itself is the kind.
_KINDS = {
    **dict.fromkeys(("document", "iframe", "frame"), "document"),
    **dict.fromkeys(("image", "font", "script", "manifest"), ""),
    **dict.fromkeys(("audio", "video"), "media"),
    "style": "stylesheet",
    "track": "texttrack",
    "empty": "fetch",
}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass
class Recorder:
    """Collects the exchanges of a recording.

    Attributes
    ----------
    archive : Archive
        Archive of the exchanges.
    only : frozenset of str
        Hosts that are recorded; all hosts if empty.
    note : callable
        Prints a line for the user during the recording.
    own_pages : bool
        True if the browser driver begins pages; otherwise each navigation of the client begins a page.
    kinds : dict of (str, str) to str
        Kind of resource by method and URL, as reported by the browser.
    passed, untrusted, unrecorded, refused : Counter of str
        By host: connections that were forwarded unread; connections that ended because the client does not trust the
        authority; exchanges of hosts that are not recorded; requests that were refused.
    errors : dict of str to str
        By URL, the reason why the last request for the URL had no complete response.
    """

    archive: Archive
    only: frozenset[str] = frozenset()
    note: Callable[[str], None] = print
    own_pages: bool = False
    kinds: dict[tuple[str, str], str] = field(default_factory=dict)
    passed: Counter[str] = field(default_factory=Counter)
    untrusted: Counter[str] = field(default_factory=Counter)
    unrecorded: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    in_flight: set[int] = field(default_factory=set)
    errors: dict[str, str] = field(default_factory=dict)
    last_end_s: float = field(default_factory=time.monotonic)
    page: str = ""
    _redirected_to: str = ""

    def __post_init__(self) -> None:
        # All times of exchanges are measured with the monotonic clock, because the clock of the system may be adjusted.
        self._epoch = time.time() - time.monotonic()

    def records(self, host: str) -> bool:
        """Return True if exchanges with a host are recorded."""
        return not self.only or host.lower() in self.only

    def begin(self, method: str, url: str, headers: Headers) -> Exchange:
        """Return a new exchange for a request that has just arrived."""
        now = time.monotonic()
        exchange = Exchange(method, url, headers, started_at=self._epoch + now, began_s=now)
        if not self.own_pages and _navigates(exchange) and self.records(urlsplit(url).hostname or ""):
            if url != self._redirected_to:
                self.begin_page(url)
            self._redirected_to = ""
        exchange.page = self.page
        # Event streams are endless, so they do not count as requests in progress.
        if "text/event-stream" not in exchange.header("accept"):
            self.in_flight.add(id(exchange))
        return exchange

    def answered(self, exchange: Exchange) -> None:
        """Set the time at which the head of the response arrived."""
        exchange.answered_s = time.monotonic()

    def open_ended(self, exchange: Exchange) -> None:
        """Mark an exchange, such as a WebSocket, as endless, so that the browser session does not wait for its end."""
        self.in_flight.discard(id(exchange))

    def begin_page(self, title: str) -> None:
        """Begin a page. All later exchanges belong to this page."""
        started = datetime.fromtimestamp(self._epoch + time.monotonic(), UTC).isoformat(timespec="milliseconds")
        self.page = self.archive.page(title, started)

    def end(self, exchange: Exchange) -> None:
        """Store a completed exchange, if exchanges with its host are recorded."""
        exchange.ended_s = time.monotonic()
        self.in_flight.discard(id(exchange))
        self.last_end_s = exchange.ended_s
        if exchange.error:
            self.errors[exchange.url] = exchange.error
        host = urlsplit(exchange.url).hostname or ""
        if not self.records(host):
            self.unrecorded[host] += 1
            return
        exchange.kind = self.kinds.get((exchange.method, exchange.url)) or exchange.kind or _kind(exchange)
        if exchange.status in _REDIRECTS and (exchange.kind == "document" or _navigates(exchange)):
            self._redirected_to = urljoin(exchange.url, exchange.answer_header("location"))
        self.archive.add(exchange)

    def passes(self, host: str, why: str) -> None:
        """Count a connection that is forwarded unread. For the first connection to a host, print a note."""
        if host not in self.passed:
            self.note(f"{host}: passed through, not recorded: {why}")
        self.passed[host] += 1

    def distrusted(self, host: str, hint: str) -> None:
        """Count a connection that ended because the client does not trust the authority. For the first such connection
        to a host, print a note.
        """
        if host not in self.untrusted:
            self.note(f"{host}: the client ended the connection in the TLS handshake: {hint}")
        self.untrusted[host] += 1


def _navigates(exchange: Exchange) -> bool:
    """Return True if a request opens another page in a browser. Over plain HTTP, browsers omit the header
    `Sec-Fetch-Dest`; then `Upgrade-Insecure-Requests` is checked.
    """
    goes_to = exchange.header("sec-fetch-dest")
    return goes_to == "document" or (not goes_to and exchange.header("upgrade-insecure-requests") == "1")


def _kind(exchange: Exchange) -> str:
    if exchange.method == "OPTIONS" and exchange.header("access-control-request-method"):
        return "preflight"
    goes_to = exchange.header("sec-fetch-dest")
    return _KINDS.get(goes_to, "") or (goes_to if goes_to in _KINDS else "")
