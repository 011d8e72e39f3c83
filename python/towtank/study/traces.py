"""Reads traces: CSV files with times and arrival rates that an open load follows."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from towtank import units
from towtank.errors import Fault
from towtank.spelling import did_you_mean
from towtank.study.model import Trace

ROWS_AT_MOST = 1_000_000
"""Largest number of rows of a trace. The engine keeps all rows in memory.

With one row per second, this is a trace of eleven days.
"""
# Largest number of faults reported for one file.
_FAULTS_AT_MOST = 20
# Largest arrival rate [1/s], latest time [s], and longest field [characters] that is read from a trace.
_RATE_AT_MOST = 1e8
_SECONDS_AT_MOST = 1e7
_FIELD_AT_MOST = 1024


@dataclass(frozen=True)
class RateCurve:
    """Arrival rate over time, linear between its knots: at least two pairs of time since the start [s] and rate [1/s];
    the first time is 0.
    """

    knots: tuple[tuple[float, float], ...]

    @property
    def length_s(self) -> float:
        """Duration of the trace, which is the time of its last knot. [s]"""
        return self.knots[-1][0]

    @property
    def arrivals(self) -> float:
        """Expected number of arrivals: the integral of the rate. [1]"""
        pairs = zip(self.knots, self.knots[1:], strict=False)
        return math.fsum((end - start) * (before + after) / 2 for (start, before), (end, after) in pairs)

    @property
    def mean_rate(self) -> float:
        """Mean arrival rate: arrivals divided by duration. [1/s]"""
        return self.arrivals / self.length_s


class _Rows:
    """Reads the rows of one trace file and collects their faults."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.faults: list[Fault] = []

    def fault(self, line: int, where: str, message: str) -> None:
        self.faults.append(Fault(self.name, line, 1, where, message))

    def number(self, line: int, column: str, text: str, most: float) -> float | None:
        """Read a number in a row of the trace file; if it is invalid, return None and collect a fault."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= most or "_" in text:
            must_be = f"must be a number from 0 to {most:g} in its unit"
            self.fault(line, column, f"{must_be}, got {units.shown(text)} instead")
            return None
        return value


def read_trace(path: Path, trace: Trace) -> tuple[RateCurve | None, list[Fault]]:
    """Read the CSV file of a trace. Return its rates, or None if the file has faults, and the faults with their lines
    in the file.
    """
    rows = _Rows(str(path))
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            knots = list(_knots(rows, csv.reader(stream, strict=True), trace))
    except UnicodeDecodeError:
        return None, [Fault(rows.name, 0, 0, "", "must be a CSV file in UTF-8, got other bytes instead")]
    except OSError as error:
        return None, [Fault(rows.name, 0, 0, "", f"must be a CSV file that can be read: {error.strerror or error}")]
    except csv.Error as error:
        return None, [*rows.faults, Fault(rows.name, 0, 0, "", f"must be a CSV file: {error}")]
    if not rows.faults and len(knots) < 2:
        rows.fault(1, "", f"must have at least two rows below the names of columns, got {len(knots)} instead")
    if not rows.faults and not any(rate for _, rate in knots):
        rows.fault(1, trace.rate, "must have at least one rate above 0, got only 0 instead")
    if rows.faults:
        return None, rows.faults
    start = knots[0][0]
    return RateCurve(tuple((at - start, rate) for at, rate in knots)), []


def _knots(rows: _Rows, reader: Iterator[list[str]], trace: Trace) -> Iterator[tuple[float, float]]:
    """Yield each valid row as a pair of time [s] and arrival rate [1/s]; collect the faults of the other rows."""
    places = _columns(rows, next(reader, []), trace)
    if places is None:
        return
    second = float(units.DURATION_UNITS[trace.time_unit]) * trace.stretch
    per_second = float(units.RATE_UNITS[trace.rate_unit]) * trace.scale
    before = -math.inf
    for line, row in enumerate(reader, start=2):
        if not row:
            continue
        if line > ROWS_AT_MOST + 1:
            rows.fault(line, "", f"must have at most {ROWS_AT_MOST:,} rows, got more instead")
        if len(rows.faults) >= _FAULTS_AT_MOST:
            return
        if len(row) <= max(places):
            rows.fault(
                line,
                "",
                f"must have {max(places) + 1} or more fields for {trace.time} and {trace.rate}, got {len(row)} instead",
            )
            continue
        texts = [row[place].strip()[:_FIELD_AT_MOST] for place in places]
        at = rows.number(line, trace.time, texts[0], _SECONDS_AT_MOST / second)
        rate = rows.number(line, trace.rate, texts[1], _RATE_AT_MOST / per_second)
        if at is not None and at <= before:
            rows.fault(line, trace.time, f"must be later than the time of the previous row, got {texts[0]} instead")
        elif at is not None and rate is not None:
            before = at
            yield at * second, rate * per_second


def _columns(rows: _Rows, names: list[str], trace: Trace) -> list[int] | None:
    """Return the indices of the time and rate columns; None if a column is missing or ambiguous."""
    names = [name.strip() for name in names]
    places = []
    for key, wanted in (("time", trace.time), ("rate", trace.rate)):
        if names.count(wanted) == 1:
            places.append(names.index(wanted))
            continue
        got = "two of that name" if wanted in names else f"the columns {', '.join(names) or 'none'}"
        near = "" if wanted in names else did_you_mean(wanted, names)
        rows.fault(1, "", f"must have one column {wanted!r} (trace.{key}), got {got} instead{near}")
    return places if len(places) == 2 else None
