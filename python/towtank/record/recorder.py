"""What all connections of a recording share: which exchanges are kept, which page they belong to, what is in flight."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urljoin, urlsplit

from towtank.record.archive import Archive
from towtank.record.exchange import Exchange, Headers

# Kinds of resources by the header Sec-Fetch-Dest, as browsers name them in their own archives.
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
    """Gathers exchanges.

    Attributes
    ----------
    archive : Archive
        Where they are kept.
    only : frozenset of str
        Hosts that are recorded; all where it is empty.
    tell : callable
        Takes a line for the user, while it records.
    own_pages : bool
        Whether pages are begun by whoever drives the browser; else a navigation of the client begins one.
    kinds : dict of (str, str) to str
        Kind of resource by method and URL, where the browser told.
    passed, untrusted, unrecorded, refused : Counter of str
        By host: connections that were passed through unread; connections that ended because the client does not
        trust the authority; exchanges of hosts that are not to be recorded; what was not relayed.
    errors : dict of str to str
        By URL: why the last request had no whole answer.
    """

    archive: Archive
    only: frozenset[str] = frozenset()
    tell: Callable[[str], None] = print
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
        # Times of exchanges come from one clock that is never set.
        self._epoch = time.time() - time.monotonic()

    def records(self, host: str) -> bool:
        """Whether exchanges with a host are kept."""
        return not self.only or host.lower() in self.only

    def begin(self, method: str, url: str, headers: Headers) -> Exchange:
        """Note that a request came."""
        now = time.monotonic()
        exchange = Exchange(method, url, headers, started_at=self._epoch + now, began_s=now)
        if not self.own_pages and _navigates(exchange) and self.records(urlsplit(url).hostname or ""):
            if url != self._redirected_to:
                self.begin_page(url)
            self._redirected_to = ""
        exchange.page = self.page
        # Streams of events have no end that could be awaited.
        if "text/event-stream" not in exchange.header("accept"):
            self.in_flight.add(id(exchange))
        return exchange

    def answered(self, exchange: Exchange) -> None:
        """Note that the head of the answer is there."""
        exchange.answered_s = time.monotonic()

    def open_ended(self, exchange: Exchange) -> None:
        """Nobody is to wait for the end of this exchange."""
        self.in_flight.discard(id(exchange))

    def begin_page(self, title: str) -> None:
        """Everything from now on belongs to another page."""
        started = datetime.fromtimestamp(self._epoch + time.monotonic(), UTC).isoformat(timespec="milliseconds")
        self.page = self.archive.page(title, started)

    def end(self, exchange: Exchange) -> None:
        """Keep an exchange that is over."""
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
        """Note a connection that is passed through unread."""
        if host not in self.passed:
            self.tell(f"{host}: passed through, not recorded: {why}")
        self.passed[host] += 1

    def distrusted(self, host: str, hint: str) -> None:
        """Note a client that did not accept a certificate of the authority."""
        if host not in self.untrusted:
            self.tell(f"{host}: the client ended the connection in the TLS handshake: {hint}")
        self.untrusted[host] += 1


def _navigates(exchange: Exchange) -> bool:
    """Whether a browser goes to another page with a request; over plain HTTP it tells less about itself."""
    goes_to = exchange.header("sec-fetch-dest")
    return goes_to == "document" or (not goes_to and exchange.header("upgrade-insecure-requests") == "1")


def _kind(exchange: Exchange) -> str:
    if exchange.method == "OPTIONS" and exchange.header("access-control-request-method"):
        return "preflight"
    goes_to = exchange.header("sec-fetch-dest")
    return _KINDS.get(goes_to, "") or (goes_to if goes_to in _KINDS else "")
