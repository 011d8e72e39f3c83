"""Reads access logs, plain or compressed: common and combined format, optionally with response times at the end.

common     host ident user [time] "request" status bytes
combined   common "referer" "agent"
+ %D       ... microseconds, a whole number (Apache)
+ request_time   ... seconds, a decimal number (nginx)
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import SplitResult, urlsplit

from towtank.errors import StudyError
from towtank.workload.importers.accounting import Fate, Key
from towtank.workload.importers.draft import ImportNotes
from towtank.workload.importers.textfile import require_file

# Longest line that an access log may have. Servers refuse longer request lines, so a longer line comes from an attack,
# or the file is no access log. [byte]
_LINE_AT_MOST = 65536
# Largest share of unreadable lines in an access log; a file with a larger share is not accepted. [ratio]
_UNREADABLE_AT_MOST = 0.5

_LINE = re.compile(
    r"(?:(?P<vhost>\S+:\d+) (?=\S+ \S+ \S+ \[))?(?P<host>\S+) \S+ (?P<user>.*?) \[(?P<time>[^\[\]]+)\] "
    r'"(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d{3}|-) (?P<bytes>\d+|-)'
    r'(?: "(?:[^"\\]|\\.)*" "(?P<agent>(?:[^"\\]|\\.)*)")?(?P<rest>.*)'
)
_TIME = re.compile(r"(\d{2})/(\w{3})/(\d{4}):(\d{2}):(\d{2}):(\d{2})(?:[.,]\d+)? ([+-])(\d{2})(\d{2})")
_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
# Matches the characters to which the error handler "surrogateescape" decodes octets that are not valid UTF-8.
_OCTET = re.compile("[\udc80-\udcff]")
_ESCAPED = re.compile(rf"\\(x[0-9A-Fa-f]{{2}}|.)|{_OCTET.pattern}")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}
# Treatment of each field of a log line. A field is converted, reported in a note, or ignored as harmless.
FIELDS: dict[str, Key] = {
    "vhost": Key(Fate.NOTED, "is not kept: all requests go to one target"),
    "host": Key(Fate.CARRIED, "sessions, which are identified by host and agent"),
    "user": Key(Fate.NOTED, "is not kept: a log has no passwords, so requests are sent without a login"),
    "time": Key(Fate.CARRIED, "think times, arrivals"),
    "request": Key(Fate.CARRIED, "method, path and query"),
    "status": Key(Fate.CARRIED, "check of the status; pages whose requests mostly failed are left out"),
    "bytes": Key(Fate.HARMLESS, "size of a response, which depends on the server"),
    "agent": Key(Fate.CARRIED, "sessions; requests of robots are left out; the header is not sent"),
    "rest": Key(Fate.NOTED, "fields after the agent, except a response time at the end, are not read"),
}
# Response times at the end of a line. The number of digits is limited, because longer numbers are time stamps (`$msec`
# of nginx).
_SECONDS = re.compile(r"\d{1,6}\.\d+")
_MICROSECONDS = re.compile(r"\d{1,12}")


@dataclass(frozen=True)
class Hit:
    """One request in an access log, with its line number from 1.

    `time` is logged [s since 1970]: the end of the request if `ends`, as in logs with nginx's `request_time`, otherwise
    the start. The response time [s] is None if not logged; `bytes` is the size of the response body, or 0. [byte]
    """

    number: int
    client: str
    agent: str
    time: int
    method: str
    url: str
    status: int
    response_time: float | None = None
    ends: bool = False
    bytes: int = 0

    @property
    def start(self) -> float:
        """Time at which the logged request was sent. [s since 1970]"""
        return self.time - (self.response_time or 0.0) if self.ends else float(self.time)

    @property
    def end(self) -> float:
        """Time at which the response was complete; if the response time is unknown, the logged time. [s since 1970]"""
        return float(self.time) if self.ends else self.time + (self.response_time or 0.0)


def read_access_log(path: Path, notes: ImportNotes) -> Iterator[Hit]:
    """Yield the requests of an access log line by line. Unreadable lines become notes.

    Raises
    ------
    StudyError
        If the file cannot be read, or if most of its lines are unreadable.
    """
    require_file(path)
    read = unreadable = first_bad = 0
    try:
        with _open(path) as stream:
            number = 0
            for number, raw in _numbered(stream):
                if not raw.strip():
                    continue
                read += 1
                hit = _hit(number, raw.decode("utf-8", "surrogateescape").rstrip("\r\n"), notes)
                if isinstance(hit, Hit):
                    yield hit
                elif hit:
                    unreadable += 1
                    first_bad = first_bad or number
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StudyError.at(path, f"must be a file that can be read, got: {reason}") from None
    if read == 0:
        raise StudyError.at(path, "must not be empty", line=1, column=1)
    if unreadable > _UNREADABLE_AT_MOST * read:
        message = (
            f"must be an access log in common or combined format, got {unreadable} of {read} lines in another format"
        )
        raise StudyError.at(path, message, line=first_bad, column=1)


def is_access_log(path: Path) -> bool:
    """Return True if the first non-empty line of a file has the form of an access log."""
    try:
        with _open(path) as stream:
            for _, raw in _numbered(stream):
                if raw.strip():
                    return _LINE.fullmatch(raw.decode("utf-8", "replace").rstrip("\r\n")) is not None
    except EOFError:
        return False
    return False


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as stream:
        compressed = stream.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path, "rb")) if compressed else path.open("rb")


def _numbered(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of an access log with their line numbers; lines that are too long are truncated."""
    number = 0
    while raw := stream.readline(_LINE_AT_MOST):
        number += 1
        yield number, raw
        while raw and not raw.endswith(b"\n"):
            raw = stream.readline(_LINE_AT_MOST)


def _hit(number: int, text: str, notes: ImportNotes) -> Hit | bool:
    """Parse a log line into a request. Return True if the line is unreadable, and False if it contains no request.

    Octets of the request that are not valid UTF-8 stay in percent-encoded form; in other fields, U+FFFD replaces them.
    """
    match = _LINE.fullmatch(text)
    time = _time(match.group("time")) if match is not None else None
    if match is None or time is None:
        column = (match.start("time") if match is not None else 0) + 1
        notes.add((number, column), "line", "is not in common or combined format")
        return True
    parts = _ESCAPED.sub(_percent, match.group("request")).split()
    if len(parts) not in {2, 3} or not _is_request(parts[1]):
        notes.add((number, match.start("request") + 1), "request", "left out: it requests no path over HTTP")
        return False
    response_time, ends = _response_time(match.group("rest"))
    _note_fields(number, match, notes, timed=response_time is not None)
    status = int(match.group("status")) if match.group("status") != "-" else 0
    client, agent = (_OCTET.sub("\N{REPLACEMENT CHARACTER}", match.group(name) or "") for name in ("host", "agent"))
    size = int(match.group("bytes")) if match.group("bytes") != "-" else 0
    method = parts[0].upper()
    return Hit(number, client, agent, time, method, parts[1], status, response_time, ends, size)


def _is_request(url: str) -> bool:
    """Return True if the URL of a request is a path or an http or https URL."""
    try:
        split_url(url)
    except ValueError:
        return False
    return url.startswith(("/", "http://", "https://"))


def split_url(url: str) -> SplitResult:
    """Split the URL of a request. A URL that begins with two slashes is a path without a host (RFC 9112, 3.2.1).

    Examples
    --------
    >>> split_url("//admin/x?y").path
    '//admin/x'
    """
    return urlsplit(f"http://path{url}" if url.startswith("/") else url)


def _percent(found: re.Match[str]) -> str:
    """Return the percent-encoded form of a character that the server escaped with a backslash, or of a raw octet."""
    code = found.group(1) or found.group()
    octets = bytes.fromhex(code[1:]) if len(code) == 3 else _CONTROLS.get(code, code).encode("utf-8", "surrogateescape")
    return "".join(f"%{octet:02X}" for octet in octets)


def _note_fields(number: int, match: re.Match[str], notes: ImportNotes, *, timed: bool) -> None:
    """Add notes for the fields of a log line that a workload cannot represent."""
    for field, key in FIELDS.items():
        value = match.group(field) if field in match.re.groupindex else None
        if key.fate is not Fate.NOTED or value in {None, "", "-"}:
            continue
        said = [text for text in match.group("rest").split() if text.strip('"') not in {"", "-"}]
        if field != "rest" or len(said) > timed:
            notes.add((number, match.start(field) + 1), f"field {field}", key.why)


# Most adjacent log lines have the same time, so that caching saves most conversions.
@lru_cache(maxsize=1024)
def _time(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None or match.group(2) not in _MONTHS:
        return None
    day, month, year, hour, minute, second, sign, hours, minutes = match.groups()
    try:
        at = datetime(int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError:
        return None
    offset = int(hours) * 3600 + int(minutes) * 60
    return int(at.timestamp()) - (offset if sign == "+" else -offset)


def _response_time(rest: str) -> tuple[float | None, bool]:
    """Return the response time at the end of a log line [s], or None, and True if the logged time is the end of the
    request.

    Integers are microseconds (Apache), decimal numbers are seconds (nginx).
    """
    last = rest.rsplit(None, 1)[-1].strip('"') if rest.strip() else ""
    if _SECONDS.fullmatch(last):
        return float(last), True
    if _MICROSECONDS.fullmatch(last):
        return int(last) / 1e6, False
    return None, False
