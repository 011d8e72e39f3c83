"""Holds the requests of a result file as arrays, or the summary if the file has no individual requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Upper limit of start times that are taken as seconds since 1970; seconds stay below it until the year 5138. A
# larger number is in a finer unit, since milliseconds have exceeded the limit since 1973. [s]
_SECONDS_BELOW = 1e11
_UNITS = (("milliseconds", 1e14), ("microseconds", 1e17), ("nanoseconds", math.inf))


@dataclass(frozen=True)
class Requests:
    """Requests of a result file, in the order of their starts.

    Attributes
    ----------
    start_s : ndarray of shape (n_requests,)
        Start times, relative to the first start. [s]
    elapsed_s : ndarray of shape (n_requests,)
        Response times, >= 0. [s]
    ok : ndarray of bool of shape (n_requests,)
        Whether the request succeeded.
    transaction : ndarray of int of shape (n_requests,)
        Index of the transaction in `names`.
    names : tuple of str
        Names of the transactions.
    """

    start_s: Floats
    elapsed_s: Floats
    ok: Mask
    transaction: Counts
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def end_s(self) -> Floats:
        """End time of each request, relative to the start of the first request. [s]"""
        return np.asarray(self.start_s + self.elapsed_s)

    def chosen(self, mask: Mask) -> Requests:
        """Return the requests that a mask selects; their start times remain unchanged."""
        return Requests(self.start_s[mask], self.elapsed_s[mask], self.ok[mask], self.transaction[mask], self.names)


@dataclass(frozen=True)
class Summary:
    """Summary figures of a result file without individual requests; None for figures that the file does not contain.

    Attributes
    ----------
    requests, errors : int or None
        Number of requests, and number of failed requests. [1]
    length_s : float or None
        Length of the measurement. [s]
    throughput_per_s : float or None
        Rate of successful requests. [1/s]
    mean_s : float or None
        Mean response time. [s]
    percentiles_s : dict
        Response times by name of the percentile, such as `p95`. [s]
    """

    requests: int | None
    errors: int | None
    length_s: float | None
    throughput_per_s: float | None
    mean_s: float | None
    percentiles_s: Mapping[str, float]


@dataclass
class Skipped:
    """Rows of a result file that were not used, by reason.

    Attributes
    ----------
    by_reason : dict
        Number of rows by reason. [1]
    first_line : int or None
        Line of the first row that was left out, from 1.
    """

    by_reason: dict[str, int] = field(default_factory=dict)
    first_line: int | None = None

    @property
    def rows(self) -> int:
        """Number of all rows that were not used. [1]"""
        return sum(self.by_reason.values())

    def add(self, reason: str, line: int | None) -> None:
        """Count one unused row under its reason; if it is the first unused row, record its line."""
        self.by_reason[reason] = self.by_reason.get(reason, 0) + 1
        if self.first_line is None:
            self.first_line = line


class BadRowError(ValueError):
    """Raised if a row of a result file contains no usable request; its message is the reason."""


class Collector:
    """Collects the requests of a file, and counts the rows that cannot be used."""

    def __init__(self) -> None:
        self.skipped = Skipped()
        self._starts: list[float] = []
        self._elapsed: list[float] = []
        self._ok: list[bool] = []
        self._codes: list[int] = []
        self._names: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start_s: float, elapsed_s: float, ok: bool, name: str = "") -> None:
        """Add a request to the collected requests.

        Raises
        ------
        BadRowError
            If a time is not finite, or the response time is negative.
        """
        if not (math.isfinite(start_s) and math.isfinite(elapsed_s)):
            raise BadRowError("a time is not a finite number")
        if elapsed_s < 0:
            raise BadRowError("a response time is negative")
        self._starts.append(start_s)
        self._elapsed.append(elapsed_s)
        self._ok.append(ok)
        self._codes.append(self._names.setdefault(name, len(self._names)))

    def keep(self, kept: Sequence[bool]) -> None:
        """Keep only the requests whose element in the mask `kept` is True; their order stays the same."""
        for values in (self._starts, self._elapsed, self._ok, self._codes):
            values[:] = [value for value, is_kept in zip(values, kept, strict=True) if is_kept]  # type: ignore[misc]

    def take(self, other: Collector) -> None:
        """Move all requests of another collector to this collector, which must be empty."""
        self._starts, self._elapsed, self._ok = other._starts, other._elapsed, other._ok
        self._codes, self._names = other._codes, other._names

    def wrong_unit(self) -> str:
        """Return the unit in which most start times seem to be given; empty if they are in seconds."""
        starts = np.abs(np.asarray(self._starts, dtype=float))
        # The median of the start times is tested, because a few wrong times do not indicate another unit.
        usual_s = float(np.quantile(starts, 0.5, method="lower")) if len(starts) else 0.0
        return "" if usual_s < _SECONDS_BELOW else next(unit for unit, below in _UNITS if usual_s < below)

    def requests(self) -> Requests:
        """Return all collected requests in the order of their starts; start times are relative to the first start."""
        starts = np.asarray(self._starts, dtype=float)
        order = np.argsort(starts, kind="stable")
        starts = starts[order] - (starts.min() if len(starts) else 0.0)
        return Requests(
            starts,
            np.asarray(self._elapsed, dtype=float)[order],
            np.asarray(self._ok, dtype=bool)[order],
            np.asarray(self._codes, dtype=np.int64)[order],
            tuple(self._names),
        )


def text_of(row: Mapping[str, object], name: str) -> str:
    """Return the text that a row contains under a name; empty if the name is missing."""
    value = row.get(name)
    return "" if value is None else str(value)


def mapping_of(row: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return the object that a document contains under a name; empty if the name is missing or its value is no
    object.
    """
    value = row.get(name)
    return value if isinstance(value, Mapping) else {}


def number_of(row: Mapping[str, object], name: str) -> float:
    """Return the number that a row contains under a name.

    Raises
    ------
    BadRowError
        If the value is missing or not a number.
    """
    return number(row.get(name), name)


def number(text: object, what: str) -> float:
    """Convert a value from a row to a number.

    Raises
    ------
    BadRowError
        If the value is missing or not a number.
    """
    try:
        return float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise BadRowError(f"{what} is not a number" if text not in (None, "") else f"{what} is missing") from None
