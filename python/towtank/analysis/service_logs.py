"""Collects errors and warnings that a service logged for the first time under load.

Similar lines are grouped and counted. The result has a bounded size and contains no secrets.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from towtank.files import open_regular
from towtank.log_lines import ERROR_LEVEL, Line, folded_line, shown, troubles
from towtank.results import RunFolder

GROUPS_AT_MOST = 20
"""Largest number of groups of similar log lines that are reported for each service. [1]"""
HEAD_BYTES = 4 * 1024 * 1024
"""Number of bytes of a log that are read at the start of the load. [byte]

The middle of the log is skipped if the log grew by more than `HEAD_BYTES` + `TAIL_BYTES` under load.
"""
TAIL_BYTES = 1024 * 1024
"""Number of bytes of a log that are read at the end of the load. [byte]

Of the section that was logged before the load, this number of bytes is read at its start and at its end.
"""
_LINE_BYTES = 4096  # The rest of a longer line is ignored. [byte]
# While a log is read, at most this number of different lines is remembered. Further lines are counted, but not grouped.
_FORMS_AT_MOST = 2000


@dataclass(frozen=True)
class Span:
    """Section of a log, as byte offsets from the start of the log. `end` is exclusive."""

    begin: int
    end: int

    @property
    def length(self) -> int:
        """Length of the section. [byte]"""
        return max(0, self.end - self.begin)

    def ends(self, head: int, tail: int) -> list[Span]:
        """Return the section unchanged if it has at most `head` + `tail` bytes; otherwise its first `head` bytes and
        its last `tail` bytes. Return no section if it is empty.
        """
        if self.length <= head + tail:
            return [self] if self.length else []
        return [Span(self.begin, self.begin + head), Span(self.end - tail, self.end)]


@dataclass
class _Group:
    """Log lines that differ only in numbers, times and addresses: the first line and its offset in the log [byte],
    their severity (error or warning), and their number. [1]
    """

    text: str
    level: str
    first: int
    count: int = 0

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Sort key: errors before warnings, then frequent groups before rare groups."""
        return self.level != ERROR_LEVEL, -self.count, self.first


@dataclass
class _Found:
    """Errors and warnings that were first logged under load, in groups of similar lines. To save memory, the number of
    groups is limited.
    """

    known: frozenset[str]
    groups: dict[str, _Group] = field(default_factory=dict)
    lines: int = 0
    _forms: dict[str, str] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        form = folded_line(line.text)
        if form in self.known:
            return
        self.lines += 1
        key = self._forms.get(form)
        if key is None:
            if len(self._forms) >= _FORMS_AT_MOST:
                return
            text = shown(line.text)
            key = self._forms[form] = folded_line(text)
            self.groups.setdefault(key, _Group(text, line.level, line.offset))
        self.groups[key].count += 1


def logs_written(run: RunFolder, tiers: Iterable[str]) -> dict[str, Span] | None:
    """Return the section of each log that was written under load; None if the start of the load was not recorded."""
    begin = end = None
    for event in run.events():
        if event.get("k") == "engine_started":
            begin, end = event.get("log_bytes"), None
        elif event.get("k") == "engine_ended":
            end = event.get("log_bytes")
    if not isinstance(begin, dict):
        return None
    found = {}
    for tier in tiers:
        path = run.logs / f"{tier}.log"
        if path.is_file():
            size = path.stat().st_size
            stop = end.get(tier, 0) if isinstance(end, dict) else size
            found[tier] = Span(min(int(begin.get(tier, 0)), size), min(int(stop), size))
    return found


@dataclass(frozen=True)
class LogGroup:
    """Lines of a log that are equal apart from numbers: the first line, its time [s], and the number of lines [1]."""

    text: str
    count: int
    level: str
    first_s: float | None = None


@dataclass(frozen=True)
class ServiceLog:
    """Errors and warnings that a service logged for the first time under load, and the size of its log. [byte]"""

    bytes: int = 0
    unread_bytes: int = 0
    lines: int = 0
    groups: tuple[LogGroup, ...] = ()
    groups_left_out: int = 0


def service_logs(run: RunFolder, tiers: Iterable[str], origin_ns: int) -> dict[str, ServiceLog | None] | None:
    """Return the errors and warnings that each service logged for the first time under load.

    Parameters
    ----------
    run : RunFolder
    tiers : iterable of str
        Names of the tiers, which are the processes of the services.
    origin_ns : int
        Monotonic time of the start of the run. [ns]

    Returns
    -------
    dict or None
        Errors and warnings by tier; None for a tier without a log. The whole result is None if the start of the load
        was not recorded.
    """
    tiers = list(tiers)
    spans = logs_written(run, tiers)
    if spans is None:
        return None
    growth = _growth(run)
    return {
        tier: _of_log(run.logs / f"{tier}.log", spans[tier], growth.get(tier, []), origin_ns) if tier in spans else None
        for tier in tiers
    }


def _growth(run: RunFolder) -> dict[str, list[Any]]:
    """Return the length of each log [byte] at several times [ns] of the run; empty if it was not recorded."""
    ended = [event for event in run.events() if event.get("k") == "engine_ended"]
    looks = ended[-1].get("log_growth") if ended else None
    return looks if isinstance(looks, dict) else {}


def _of_log(path: Path, span: Span, looks: list[Any], origin_ns: int) -> ServiceLog | None:
    try:
        with open_regular(path) as stream:
            before = Span(0, span.begin).ends(TAIL_BYTES, TAIL_BYTES)
            found = _Found(frozenset(folded_line(line.text) for line in troubles(_lines(stream, before))))
            parts = span.ends(HEAD_BYTES, TAIL_BYTES)
            for line in troubles(_lines(stream, parts)):
                found.add(line)
    except OSError:
        return None
    groups = sorted(found.groups.values(), key=lambda group: group.rank)
    return ServiceLog(
        span.length,
        span.length - sum(part.length for part in parts),
        found.lines,
        tuple(_dated(group, looks, origin_ns) for group in groups[:GROUPS_AT_MOST]),
        max(0, len(groups) - GROUPS_AT_MOST),
    )


def _dated(group: _Group, looks: list[Any], origin_ns: int) -> LogGroup:
    place = bisect_left([size for _, size in looks], group.first)
    first_s = max(0.0, round((looks[place][0] - origin_ns) / 1e9, 3)) if place < len(looks) else None
    return LogGroup(group.text, group.count, group.level, first_s)


def _lines(stream: IO[bytes], spans: list[Span]) -> Iterator[tuple[int, bytes]]:
    """Yield each line that begins in one of the sections of a log, with the offset of its end. [byte]"""
    for span in spans:
        at = span.begin
        stream.seek(max(0, at - 1))
        whole = at == 0 or stream.read(1) == b"\n"
        while at < span.end:
            raw = stream.readline(min(_LINE_BYTES, span.end - at))
            if not raw:
                break
            at += len(raw)
            if whole:
                yield at, raw
            whole = raw.endswith(b"\n")
