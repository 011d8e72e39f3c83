"""Sends OTLP metrics over HTTP, repeats requests as the protocol requires, and reports refused requests."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from towtank.dialing import next_step
from towtank.errors import Fault, TargetError
from towtank.posting import Answer, Poster
from towtank.results.exports.format import ExportOptions
from towtank.workload import check_targets, host_and_port

_PATH = "/v1/metrics"
_TIMEOUT_S = 30.0
# Status codes after which a request is repeated (OTLP/HTTP, "Retryable Response Codes"). With any other error status,
# the request would fail again.
_REPEATABLE = (429, 502, 503, 504)
_PAUSES_S = (1.0, 2.0, 4.0)
_NAME = re.compile(r"[A-Za-z0-9-]+")
_VALUE = re.compile("[\t\x20-\x7e\xa0-\xff]*")

Headers = tuple[tuple[str, str], ...]


def faults(options: ExportOptions) -> list[Fault]:
    """Return the faults of an endpoint URL and of the HTTP headers for it."""
    if options.endpoint is None:
        without = [Fault.of_option("--header", "must be given together with --endpoint")]
        return without if options.headers else []
    must = "must be a valid HTTP header: a name of letters, digits and dashes, and a value in Latin-1"
    found = [
        Fault.of_option("--header", f"{must}, got {f'{name}: {value}'!r} instead")
        for name, value in options.headers
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value)
    ]
    if not _is_endpoint(options.endpoint):
        must = "must be a URL such as http://127.0.0.1:4318, without login and query"
        found.append(Fault.of_option("--endpoint", f"{must}, got {options.endpoint!r} instead"))
    return found


def _is_endpoint(text: str) -> bool:
    try:
        parts = urlsplit(text)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    plain = parts.username is None and not parts.query and not parts.fragment
    return right and plain and text.isascii() and text.isprintable() and " " not in text


def otlp_address(endpoint: str) -> str:
    """Return the URL to which metrics are sent: the endpoint, with the path `/v1/metrics` appended unless the endpoint
    ends with this path.
    """
    base = endpoint.rstrip("/")
    return base if base.endswith(_PATH) else base + _PATH


def place(endpoint: str, allowed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the IP addresses of the endpoint's host, in the order in which connections to them are tried.

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
    """Send every body (an export request in JSON encoding) as an HTTP request, one after the other, and return the
    number of accepted requests. `faults` must have checked the endpoint. `allowed` are the hosts outside loopback and
    private networks that may receive metrics; `pause` waits for a number of seconds before a request is repeated.

    Raises
    ------
    StudyError
        If the endpoint is outside loopback and private networks and is not allowed; nothing is sent.
    TargetError
        If the endpoint cannot be reached or refuses a request. Earlier requests have been accepted by then.
    """
    url = urlsplit(otlp_address(endpoint))
    fields = {"Content-Type": "application/json", **dict(headers)}
    poster = Poster(url, place(endpoint, allowed), fields, _TIMEOUT_S)
    sent = 0
    for body in bodies:
        answer = _send_one(poster, body, pause)
        if answer.error is not None:
            raise TargetError(
                f"{url.geturl()} could not be reached: {answer.message}: {next_step(answer.error)}",
                hint=f"requests accepted before: {sent}; the file has been written and can be sent again",
            ) from answer.error
        if not answer.taken:
            raise TargetError(f"{url.geturl()} refused the metrics with {answer.message}")
        if answer.rejected:
            raise TargetError(f"{url.geturl()} accepted only part of the metrics: {answer.message}")
        sent += 1
    return sent


def _send_one(poster: Poster, body: bytes, pause: Callable[[float], None]) -> Answer:
    """Send one request, repeat it as long as the receiver responds with a status in `_REPEATABLE`, but at most three
    times, and return the last response.
    """
    answer = _post(poster, body)
    for pause_s in _PAUSES_S:
        if answer.status not in _REPEATABLE:
            break
        pause(pause_s if answer.after_s is None else answer.after_s)
        answer = _post(poster, body)
    return answer


def _post(poster: Poster, body: bytes) -> Answer:
    """Send one request over a new connection, because the receiver may close a connection between two requests."""
    answer = poster.post(body)
    poster.close()
    return answer
