"""Sends OTLP metrics over HTTP as the protocol requires: repeats retryable requests, and reports refusals."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from towtank.dialing import fact, next_step
from towtank.errors import Fault, TargetError
from towtank.pinned import PinnedConnection
from towtank.results.exports.format import COMMAND_LINE, Options
from towtank.workload.targets import check_targets, host_and_port

_PATH = "/v1/metrics"
_TIMEOUT_S = 30.0
# OTLP/HTTP, "Retryable Response Codes". A request that failed with another status would fail each time.
_REPEATABLE = (429, 502, 503, 504)
_PAUSES_S = (1.0, 2.0, 4.0)
_PAUSE_AT_MOST_S = 30.0
_ANSWER_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9-]+")
_VALUE = re.compile("[\t\x20-\x7e\xa0-\xff]*")

Headers = tuple[tuple[str, str], ...]


def faults(options: Options) -> list[Fault]:
    """Return the faults of the endpoint and the headers."""
    if options.endpoint is None:
        without = [Fault(COMMAND_LINE, 0, 0, "--header", "must be given together with --endpoint")]
        return without if options.headers else []
    must = "must be a header as HTTP allows it, a name of letters, digits and dashes, and a value in Latin-1"
    found = [
        Fault(COMMAND_LINE, 0, 0, "--header", f"{must}, got {f'{name}: {value}'!r} instead")
        for name, value in options.headers
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value)
    ]
    if not _is_endpoint(options.endpoint):
        must = "must be a URL as http://127.0.0.1:4318, without login and query"
        found.append(Fault(COMMAND_LINE, 0, 0, "--endpoint", f"{must}, got {options.endpoint!r} instead"))
    return found


def _is_endpoint(text: str) -> bool:
    try:
        parts = urlsplit(text)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    plain = parts.username is None and not parts.query and not parts.fragment
    return right and plain and text.isascii() and text.isprintable() and " " not in text


def address(endpoint: str) -> str:
    """Return the URL of the requests: the endpoint, and the metrics path unless the endpoint ends with it."""
    base = endpoint.rstrip("/")
    return base if base.endswith(_PATH) else base + _PATH


def place(endpoint: str, allowed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the IP addresses of the endpoint's host, in the order of the attempts.

    Raises
    ------
    StudyError
        If an address is outside loopback and private networks and is not allowed.
    TargetError
        If the host name cannot be resolved.
    """
    numbers = check_targets([endpoint], allowed, where="--endpoint", permit="--i-may-send")
    return tuple(numbers[host_and_port(endpoint)[0]])


def send(
    bodies: Iterable[bytes],
    endpoint: str,
    headers: Headers = (),
    pause: Callable[[float], None] = time.sleep,
    *,
    allowed: Iterable[str] = (),
) -> int:
    """Send every body as a request, one after the other.

    Parameters
    ----------
    bodies : iterable of bytes
        Export requests in JSON encoding.
    endpoint : str
        URL, as checked by `faults`.
    headers : tuple of (str, str), optional
        Headers of every request.
    pause : callable, optional
        Function that waits for a number of seconds before a request is repeated.
    allowed : iterable of str, optional
        Hosts outside loopback and private networks that may receive metrics.

    Returns
    -------
    int
        Number of accepted requests.

    Raises
    ------
    StudyError
        If the endpoint is outside loopback and private networks and is not allowed; nothing is sent.
    TargetError
        If the endpoint cannot be reached or refuses a request; earlier requests have been accepted.
    """
    url = urlsplit(address(endpoint))
    numbers = place(endpoint, allowed)
    sent = 0
    for body in bodies:
        try:
            _send_one(url, numbers, body, headers, pause)
        except (OSError, http.client.HTTPException) as error:
            raise TargetError(
                f"{url.geturl()} could not be reached: {fact(error)}: {next_step(error)}",
                hint=f"requests accepted before: {sent}; the file is written and can be sent again",
            ) from error
        sent += 1
    return sent


def _send_one(
    url: SplitResult, numbers: Sequence[str], body: bytes, headers: Headers, pause: Callable[[float], None]
) -> None:
    for pause_s in (*_PAUSES_S, None):
        status, after, answer = _post(url, numbers, body, headers)
        if status in _REPEATABLE and pause_s is not None:
            pause(min(_PAUSE_AT_MOST_S, float(after)) if after.isdecimal() else pause_s)
            continue
        if not 200 <= status < 300:
            raise TargetError(f"{url.geturl()} refused the metrics with status {status}{_said(answer)}")
        _refuse_losses(url, answer)
        return


def _post(url: SplitResult, numbers: Sequence[str], body: bytes, headers: Headers) -> tuple[int, str, bytes]:
    connection = PinnedConnection(url, numbers, _TIMEOUT_S)
    try:
        fields = {"Content-Type": "application/json", "User-Agent": "towtank", **dict(headers)}
        connection.request("POST", url.path, body, fields)
        response = connection.getresponse()
        return response.status, response.headers.get("Retry-After", "").strip(), response.read(_ANSWER_BYTES)
    finally:
        connection.close()


def _said(answer: bytes) -> str:
    """Render the message in a refusal for the text of an error."""
    document = _document(answer)
    text = _shown(str(document.get("message") or "") if document else answer.decode("utf-8", "replace"))
    return f": {text}" if text else ""


def _shown(text: str) -> str:
    """Render text from a receiver for a terminal: one line, shortened, without control characters."""
    return "".join(character for character in " ".join(text.split()) if character.isprintable())[:300]


def _refuse_losses(url: SplitResult, answer: bytes) -> None:
    """Raise an error if the receiver accepted the request but dropped data points."""
    partial = _document(answer).get("partialSuccess")
    if not isinstance(partial, dict):
        return
    rejected, message = (_shown(str(partial.get(key) or "")) for key in ("rejectedDataPoints", "errorMessage"))
    if rejected not in ("", "0"):
        raise TargetError(f"{url.geturl()} dropped {rejected} data points{': ' if message else ''}{message}")


def _document(answer: bytes) -> dict[str, Any]:
    try:
        document = json.loads(answer)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
