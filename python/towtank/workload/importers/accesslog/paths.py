"""Groups the requests of an access log by path patterns, in which identifiers are parameters.

A pattern consists of a method, the parts of a path and the names of a query. `None` represents a path part that is a
parameter. If too many patterns differ in only one path part, this part becomes a parameter. The memory for patterns and
parameter values is bounded.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from towtank.workload.importers.accesslog.lines import Hit, split_url
from towtank.workload.importers.draft import ASSET_ENDINGS

# Largest number of patterns of one log. If a log has more, patterns that differ in only one path part are merged. [1]
PATTERNS_AT_MOST = 2000
# Largest number of patterns that may differ in only one path part. If there are more, they are merged. [1]
ALIKE_AT_MOST = 20
# Number of different rows of parameter values that are kept per pattern. Further rows are only counted. [1]
ROWS_AT_MOST = 500
# Number of different static files that are counted for each page; further files are ignored. [1]
ASSETS_AT_MOST = 100
# Number of query parameters that are kept per pattern. [1]
NAMES_AT_MOST = 20
# Length at which path parts and query values are truncated. Longer texts are tokens rather than search terms, and their
# content does not matter for the load. [character]
_VALUE_AT_MOST = 500

_IDENTIFIER = re.compile(
    r"\d+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|(?=[a-fA-F]*\d)[0-9a-fA-F]{8,}|\d{4}-\d\d-\d\d"
    r"|(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[\w~-]{20,}"
)

# Matches an incomplete percent escape at the end of a truncated text.
_HALF_ESCAPE = re.compile("%[0-9A-Fa-f]?$")

Parts = tuple[str | None, ...]


@dataclass(frozen=True)
class Key:
    """Pattern of requests: method, path parts (None for a parameter), and names in the query."""

    method: str
    parts: Parts
    query: tuple[str, ...] = ()


@dataclass
class Pattern:
    """Counts of the requests that match a pattern.

    Attributes
    ----------
    line : int
        Line number of the first request.
    count, failures : int
        Number of requests, and number of requests with status 400 or above.
    not_kept : int
        Number of requests whose parameter values are not in `rows`, because `rows` had `ROWS_AT_MOST` rows already.
    response_time : float
        Sum of the response times of all requests. [s]
    rows : Counter
        Number of requests by parameter values: values of path parts, then values of the query.
    statuses : Counter
        Number of requests by status.
    assets : Counter
        Number of requests by static file, for the static files that were requested with the page.
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
        """Count one row of parameter values.

        Beyond `ROWS_AT_MOST` different rows, only the total is counted.
        """
        if row in self.rows or len(self.rows) < ROWS_AT_MOST:
            self.rows[row] += times
        else:
            self.not_kept += times

    def add_asset(self, path: str) -> None:
        """Count a static file of the page. After `ASSETS_AT_MOST` different files, new files are ignored."""
        if path in self.assets or len(self.assets) < ASSETS_AT_MOST:
            self.assets[path] += 1

    def merge(self, other: Pattern) -> None:
        """Add the counts of another pattern to this pattern. Its rows of parameter values are not added."""
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
    """Return True if a URL refers to a script, style sheet, picture or font."""
    return split_url(url).path.rpartition(".")[2].lower() in ASSET_ENDINGS


def pattern_of(method: str, url: str) -> tuple[Key, tuple[str, ...]]:
    """Return the pattern of a request and its parameter values, neither of them decoded.

    Examples
    --------
    >>> pattern_of("GET", "/orders/17?lang=en")
    (Key(method='GET', parts=('orders', None), query=('lang',)), ('17', 'en'))
    """
    split = split_url(url)
    parts: list[str | None] = []
    values: list[str] = []
    # A slash at the end of a path is kept, because the URL without the slash is a different URL.
    for part in split.path.removeprefix("/").split("/"):
        shown = _cut(part)
        made = _IDENTIFIER.fullmatch(part) is not None
        parts.append(None if made else shown)
        values += [shown] if made else []
    pairs = sorted(_pairs(split.query), key=lambda pair: pair[0])[:NAMES_AT_MOST]
    names = tuple(name for name, _ in pairs)
    return Key(method, tuple(parts), names), (*values, *(_cut(value) for _, value in pairs))


def _pairs(query: str) -> list[tuple[str, str]]:
    """Return the names and values of a query as written in the URL, without decoding."""
    parts = [part.partition("=") for part in query.split("&") if part]
    return [(name, value) for name, _, value in parts]


def _cut(value: str) -> str:
    """Truncate a value to `_VALUE_AT_MOST` characters; an incomplete percent escape at its end is removed."""
    return value if len(value) <= _VALUE_AT_MOST else _HALF_ESCAPE.sub("", value[:_VALUE_AT_MOST])


def shortened(url: str) -> bool:
    """Return True if the pattern and the parameter values do not represent the whole URL.

    This is the case for long queries, long path parts, and query names without `=`.
    """
    split = split_url(url)
    names = split.query.split("&") if split.query else []
    values = [value for _, value in _pairs(split.query)]
    long = any(len(each) > _VALUE_AT_MOST for each in [*split.path.split("/"), *values])
    return long or len(names) > NAMES_AT_MOST or any("=" not in name for name in names)


class Patterns:
    """Request patterns of an access log. Merging and discarding limit their number."""

    def __init__(self) -> None:
        self.patterns: dict[Key, Pattern] = {}
        # Patterns that result from merging. Later requests that match are assigned to these patterns.
        self.merged: set[Key] = set()
        # Number of requests whose patterns were discarded.
        self.forgotten = 0

    def add(self, hit: Hit) -> Key:
        """Count a request and return the key of its pattern."""
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
        """Return the counts of a pattern, or of the pattern into which it was merged; None if the pattern was
        discarded.
        """
        blank = ("",) * (len(key.parts) + len(key.query))
        return self.patterns.get(key) or self.patterns.get(self._general(key, blank)[0])

    def _general(self, key: Key, row: tuple[str, ...]) -> tuple[Key, tuple[str, ...]]:
        """Return the pattern into which a pattern was merged, and the parameter values of the request in this pattern.

        A pattern that was not merged is returned unchanged.
        """
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
        """Merge patterns that differ in only one path part, if more than `ALIKE_AT_MOST` patterns do so.

        Path parts are tried from the last to the first.
        """
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
        """Discard the less frequent half of the patterns, to bound memory if merging does not suffice."""
        by_count = sorted(self.patterns, key=lambda key: self.patterns[key].count, reverse=True)
        for key in by_count[PATTERNS_AT_MOST // 2 :]:
            self.forgotten += self.patterns.pop(key).count


def _with_parameter(key: Key, index: int) -> Key:
    parts = (*key.parts[:index], None, *key.parts[index + 1 :])
    return Key(key.method, parts, key.query)


def _wider_row(key: Key, row: tuple[str, ...], index: int) -> tuple[str, ...]:
    """Return the parameter values of a request, extended by the path part that becomes a parameter."""
    before = sum(part is None for part in key.parts[:index])
    return (*row[:before], key.parts[index] or "", *row[before:])
