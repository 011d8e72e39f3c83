"""Defines the content of a result file: its requests as arrays, or its summary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from towtank.arrays import Counts, Floats, Mask

# Start times below this limit are in seconds since 1970, which reach the limit in the year 5138. A larger number is in
# a finer unit: milliseconds since 1970 exceeded the limit in 1973. [s]
_SECONDS_BELOW = 1e11
_UNITS = (("milliseconds", 1e14), ("microseconds", 1e17), ("nanoseconds", math.inf))


@dataclass(frozen=True)
class Requests:
    """Requests of a result file, sorted by start time.

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
        """Return the requests that a mask selects; the start times stay relative to the first request of the file."""
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
    """Counts of the rows of a result file that contain no usable request, by reason [1], and the line number of the
    first one, counted from 1; None if there is none or it is unknown.
    """

    by_reason: dict[str, int] = field(default_factory=dict)
    first_line: int | None = None

    @property
    def rows(self) -> int:
        """Number of unused rows. [1]"""
        return sum(self.by_reason.values())

    def add(self, reason: str, line: int | None) -> None:
        """Count an unused row; record the line of the first unused row."""
        self.by_reason[reason] = self.by_reason.get(reason, 0) + 1
        if self.first_line is None:
            self.first_line = line


class BadRowError(ValueError):
    """Raised if a row of a result file contains no usable request; the message states the reason."""


class Collector:
    """Collects the requests of a result file, and counts the unusable rows."""

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
        if not (math.isfinite(start_s) and math.isfinite(elapsed_s)):
            raise BadRowError("a time is not a finite number")
        if elapsed_s < 0:
            raise BadRowError("a response time is negative")
        self._starts.append(start_s)
        self._elapsed.append(elapsed_s)
        self._ok.append(ok)
        self._codes.append(self._names.setdefault(name, len(self._names)))

    def keep(self, kept: Sequence[bool]) -> None:
        """Remove the requests whose element in the mask `kept` is False."""
        for values in (self._starts, self._elapsed, self._ok, self._codes):
            values[:] = [value for value, is_kept in zip(values, kept, strict=True) if is_kept]  # type: ignore[misc]

    def take(self, other: Collector) -> None:
        """Move all requests of another collector to this collector, which must be empty."""
        self._starts, self._elapsed, self._ok = other._starts, other._elapsed, other._ok
        self._codes, self._names = other._codes, other._names

    def wrong_unit(self) -> str:
        """Return the unit that most start times seem to have; empty if it is the second."""
        starts = np.abs(np.asarray(self._starts, dtype=float))
        # The median is used, because a few wrong times do not indicate another unit.
        usual_s = float(np.quantile(starts, 0.5, method="lower")) if len(starts) else 0.0
        return "" if usual_s < _SECONDS_BELOW else next(unit for unit, below in _UNITS if usual_s < below)

    def requests(self) -> Requests:
        """Return the collected requests, sorted by start time; start times are relative to the first start."""
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
    """Return the value of a row's field as text; empty if the field is missing."""
    value = row.get(name)
    return "" if value is None else str(value)


def mapping_of(row: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return the JSON object in a field; empty if the field is missing or contains no object."""
    value = row.get(name)
    return value if isinstance(value, Mapping) else {}


def number_of(row: Mapping[str, object], name: str) -> float:
    """Return the number in a row's field.

    Raises
    ------
    BadRowError
        If the value is missing or not a number.
    """
    return number(row.get(name), name)


def number(text: object, what: str) -> float:
    """Convert the value of a field to a number; `what` names the field in error messages.

    Raises
    ------
    BadRowError
        If the value is missing or not a number.
    """
    try:
        return float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise BadRowError(f"{what} is not a number" if text not in (None, "") else f"{what} is missing") from None
