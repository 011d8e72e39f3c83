"""Posts metrics to a receiver over a persistent connection, and interprets the responses."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult

from towtank.dialing import fact
from towtank.pinned import PinnedConnection

# Status codes after which a request may be repeated, according to OTLP/HTTP ("Retryable Response Codes") and
# Prometheus remote write ("senders MUST retry on 5xx, MAY on 429").
_REPEATABLE = (429, 500, 502, 503, 504)
_ANSWER_BYTES = 1 << 16
_WAIT_AT_MOST_S = 30.0


@dataclass(frozen=True)
class Answer:
    """Result of a request to a receiver, with the number of data points that it rejected from an accepted request. [1]

    `again` is True if the request may be repeated, after the delay that the receiver requested [s]. The message is the
    reason for a failure or for rejected data points; otherwise it is empty. `status` is None if the receiver did not
    answer.
    """

    taken: bool
    rejected: int = 0
    again: bool = False
    after_s: float | None = None
    message: str = ""
    status: int | None = None
    error: Exception | None = field(default=None, compare=False)


class Poster:
    """Posts bodies to a receiver over one persistent connection, with the same headers, to one of the IP addresses of
    the host of an `http` or `https` URL, in the order of the attempts. `timeout_s` limits connecting, and each send and
    receive. [s]
    """

    def __init__(
        self, url: SplitResult, addresses: Sequence[str], headers: Mapping[str, str], timeout_s: float
    ) -> None:
        self._headers = {"User-Agent": "towtank", **headers}
        self._path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        self._connection = PinnedConnection(url, addresses, timeout_s)

    def post(self, content: bytes) -> Answer:
        """Send one request body; return the receiver's answer, or an answer that describes the failure of the
        connection.
        """
        try:
            self._connection.request("POST", self._path, content, self._headers)
            response = self._connection.getresponse()
            text = response.read(_ANSWER_BYTES)
            # After an answer with unread bytes, the connection cannot be used again.
            if not response.isclosed():
                self.close()
            return _judged(response.status, response.headers.get("Retry-After", "").strip(), text)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            return Answer(False, again=True, message=fact(error), error=error)

    def close(self) -> None:
        """Close the connection to the receiver; the next body is sent over a new connection."""
        with suppress(OSError):
            self._connection.close()

    def abort(self) -> None:
        """Abort a request that runs in another thread, by closing its socket."""
        open_socket = self._connection.sock
        if open_socket is not None:
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)


def _judged(status: int, after: str, text: bytes) -> Answer:
    if 200 <= status < 300:
        rejected, message = _losses(text)
        return Answer(True, rejected, message=message, status=status)
    said = _shown(_document(text).get("message") or text.decode("utf-8", "replace"))
    message = f"status {status}" + (f": {said}" if said else "")
    wait_s = min(_WAIT_AT_MOST_S, float(after)) if after.isdecimal() else None
    return Answer(False, again=status in _REPEATABLE, after_s=wait_s, message=message, status=status)


def _losses(text: bytes) -> tuple[int, str]:
    """Return the number of data points that an OTLP receiver dropped from an accepted request, and a message."""
    partial = _document(text).get("partialSuccess")
    if not isinstance(partial, Mapping):
        return 0, ""
    rejected = str(partial.get("rejectedDataPoints") or "0")
    count = int(rejected) if rejected.isdecimal() else 0
    return count, f"{count} data points dropped: {_shown(partial.get('errorMessage') or '')}" if count else ""


def _document(text: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _shown(text: Any) -> str:
    """Make text of another program safe for a terminal: one line, shortened, without control characters."""
    return "".join(character for character in " ".join(str(text).split()) if character.isprintable())[:300]
