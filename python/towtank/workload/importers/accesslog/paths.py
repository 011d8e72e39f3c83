"""Patterns of paths in an access log: identifiers become parameters, with the values seen; memory is bounded.

A pattern is a method, the parts of a path and the names of a query; `None` stands for a part that is a parameter. If
too many patterns differ in one part only, that part becomes a parameter.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from towtank.workload.importers.accesslog.lines import Hit
from towtank.workload.importers.draft import ASSET_ENDINGS

# Number of separate patterns; above it, and at the end, patterns that differ in one part only are merged. [1]
PATTERNS_AT_MOST = 2000
# Number of patterns that differ in one part only, from which they become one pattern with a parameter. [1]
ALIKE_AT_MOST = 20
# Different rows of values kept per pattern; later rows are counted, not kept. [1]
ROWS_AT_MOST = 500
# Different static files kept per page. [1]
ASSETS_AT_MOST = 100
# Names of a query that are kept. [1]
NAMES_AT_MOST = 20
# Parts of paths and values of queries longer than this are cut: they are tokens, not search terms. [character]
_VALUE_AT_MOST = 500

_IDENTIFIER = re.compile(
    r"\d+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|(?=[a-fA-F]*\d)[0-9a-fA-F]{8,}|\d{4}-\d\d-\d\d"
    r"|(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[\w~-]{20,}"
)

# An escape that a cut has left without its digits.
_HALF_ESCAPE = re.compile("%[0-9A-Fa-f]?$")

Parts = tuple[str | None, ...]


@dataclass(frozen=True)
class Key:
    """A pattern."""

    method: str
    parts: Parts
    query: tuple[str, ...] = ()


@dataclass
class Pattern:
    """Counts of a pattern.

    Attributes
    ----------
    count, failures : int
        Requests, and those of them with status 400 or above.
    rows : Counter
        Values of its parameters: parts of the path, then values of the query.
    not_kept : int
        Requests whose row came after `ROWS_AT_MOST` others.
    line : int
        Line of its first request.
    statuses : Counter
        Number of requests by status.
    assets : Counter
        Static files asked for with it.
    """

    line: int
    count: int = 0
    failures: int = 0
    not_kept: int = 0
    response_time: float = 0.0
    rows: Counter[tuple[str, ...]] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    assets: Counter[str] = field(default_factory=Counter)

    def add_row(self, row: tuple[str, ...], times: int = 1) -> None:
        """Count a row of values; beyond `ROWS_AT_MOST` rows, only its number is kept."""
        if row in self.rows or len(self.rows) < ROWS_AT_MOST:
            self.rows[row] += times
        else:
            self.not_kept += times

    def add_asset(self, path: str) -> None:
        """Count a static file of the page; beyond `ASSETS_AT_MOST` files, new ones are ignored."""
        if path in self.assets or len(self.assets) < ASSETS_AT_MOST:
            self.assets[path] += 1

    def merge(self, other: Pattern) -> None:
        """Add the counts of another pattern, without its rows."""
        self.line = min(self.line, other.line)
        self.count += other.count
        self.failures += other.failures
        self.not_kept += other.not_kept
        self.response_time += other.response_time
        self.statuses += other.statuses
        for path, times in other.assets.items():
            if path in self.assets or len(self.assets) < ASSETS_AT_MOST:
                self.assets[path] += times


def is_asset(url: str) -> bool:
    """Return True if a URL is that of a script, style, picture or font."""
    return urlsplit(url).path.rpartition(".")[2].lower() in ASSET_ENDINGS


def pattern_of(method: str, url: str) -> tuple[Key, tuple[str, ...]]:
    """Return the pattern of a request, and the values of its parameters, both as the log has them.

    Examples
    --------
    >>> pattern_of("GET", "/orders/17?lang=en")
    (Key(method='GET', parts=('orders', None), query=('lang',)), ('17', 'en'))
    """
    split = urlsplit(url)
    parts: list[str | None] = []
    values: list[str] = []
    # A slash at the end is part of the address: without it servers answer with a redirect.
    for part in split.path.removeprefix("/").split("/"):
        shown = _cut(part)
        made = _IDENTIFIER.fullmatch(part) is not None
        parts.append(None if made else shown)
        values += [shown] if made else []
    pairs = sorted(_pairs(split.query), key=lambda pair: pair[0])[:NAMES_AT_MOST]
    names = tuple(name for name, _ in pairs)
    return Key(method, tuple(parts), names), (*values, *(_cut(value) for _, value in pairs))


def _pairs(query: str) -> list[tuple[str, str]]:
    """Return names and values of a query as they are written."""
    parts = [part.partition("=") for part in query.split("&") if part]
    return [(name, value) for name, _, value in parts]


def _cut(value: str) -> str:
    """Return a value at most as long as values are kept, without a half of an escape at its end."""
    return value if len(value) <= _VALUE_AT_MOST else _HALF_ESCAPE.sub("", value[:_VALUE_AT_MOST])


def shortened(url: str) -> bool:
    """Return True if a pattern does not keep all of a URL: long query, long parts, a name without `=`."""
    split = urlsplit(url)
    names = split.query.split("&") if split.query else []
    values = [value for _, value in _pairs(split.query)]
    long = any(len(each) > _VALUE_AT_MOST for each in [*split.path.split("/"), *values])
    return long or len(names) > NAMES_AT_MOST or any("=" not in name for name in names)


class Patterns:
    """All patterns of a log, bounded in number."""

    def __init__(self) -> None:
        self.patterns: dict[Key, Pattern] = {}
        # Merged patterns by the original ones, so that later requests find the merged pattern.
        self.merged: set[Key] = set()
        # Number of requests of patterns that were forgotten.
        self.forgotten = 0

    def add(self, hit: Hit) -> Key:
        """Count a request; return its pattern."""
        key, row = self._general(*pattern_of(hit.method, hit.url))
        pattern = self.patterns.get(key)
        if pattern is None:
            pattern = self.patterns[key] = Pattern(hit.number)
        pattern.count += 1
        pattern.statuses[hit.status] += 1
        pattern.response_time += hit.response_time or 0.0
        if hit.status < 400:
            pattern.add_row(row)
        else:
            pattern.failures += 1
        if len(self.patterns) > PATTERNS_AT_MOST:
            self.collapse()
            if len(self.patterns) > PATTERNS_AT_MOST // 2:
                self._forget()
        return key

    def find(self, key: Key) -> Pattern | None:
        """Return the pattern of a key, or the pattern that it was merged into; None if it was forgotten."""
        blank = ("",) * (len(key.parts) + len(key.query))
        return self.patterns.get(key) or self.patterns.get(self._general(key, blank)[0])

    def _general(self, key: Key, row: tuple[str, ...]) -> tuple[Key, tuple[str, ...]]:
        """Return the merged pattern that a pattern belongs to, with its row."""
        for _ in key.parts:
            for index, part in enumerate(key.parts):
                wider = _with_parameter(key, index)
                if part is not None and wider in self.merged:
                    row = _wider_row(key, row, index)
                    key = wider
                    break
            else:
                break
        return key, row

    def collapse(self) -> None:
        """Merge patterns that differ in one part only, if there are many of them; the last part first."""
        longest = max((len(key.parts) for key in self.patterns), default=0)
        for back in range(1, longest + 1):
            alike: dict[Key, list[Key]] = {}
            for key in self.patterns:
                index = len(key.parts) - back
                if index >= 0 and key.parts[index] is not None:
                    alike.setdefault(_with_parameter(key, index), []).append(key)
            for wider, keys in alike.items():
                if len(keys) > ALIKE_AT_MOST:
                    self._merge(wider, keys, len(wider.parts) - back)

    def _merge(self, wider: Key, keys: list[Key], index: int) -> None:
        whole = self.patterns.setdefault(wider, Pattern(self.patterns[keys[0]].line))
        self.merged.add(wider)
        for key in keys:
            pattern = self.patterns.pop(key)
            whole.merge(pattern)
            for row, times in pattern.rows.items():
                whole.add_row(_wider_row(key, row, index), times)

    def _forget(self) -> None:
        """Forget the rarest half of the patterns if merging does not help, to bound memory."""
        by_count = sorted(self.patterns, key=lambda key: self.patterns[key].count, reverse=True)
        for key in by_count[PATTERNS_AT_MOST // 2 :]:
            self.forgotten += self.patterns.pop(key).count


def _with_parameter(key: Key, index: int) -> Key:
    parts = (*key.parts[:index], None, *key.parts[index + 1 :])
    return Key(key.method, parts, key.query)


def _wider_row(key: Key, row: tuple[str, ...], index: int) -> tuple[str, ...]:
    """Return the row with the part that becomes a parameter inserted at its position."""
    before = sum(part is None for part in key.parts[:index])
    return (*row[:before], key.parts[index] or "", *row[before:])
