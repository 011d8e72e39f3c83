"""Reads points from a CSV file of any tool. Reports every fault with its line and column."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from towtank.errors import Fault, StudyError
from towtank.model.fitting.observations import Floats, Observations, observations
from towtank.spelling import did_you_mean
from towtank.units import duration, shown

LOAD_NAMES = ("users", "concurrency", "load", "threads", "clients", "processors", "n")
THROUGHPUT_NAMES = ("throughput", "throughput_per_s", "x", "tps", "rate")
MOST_ROWS = 100_000
"""Highest number of rows of a CSV file. A longer file must first be aggregated to one row for each measurement. [1]"""


@dataclass(frozen=True)
class PointColumns:
    """Names of the columns of a CSV file. None means that the column is missing, or that its name is to be guessed.

    Attributes
    ----------
    response : str or None
        Mean response time. [s]
    error : str or None
        Standard error of the throughput. [1/s]
    busy : str or None
        Busy servers of the bottleneck. [1]
    think : str or None
        Think time such as `2 s` that applies to all rows, or the name of a column with think times. [s]
    """

    load: str | None = None
    throughput: str | None = None
    response: str | None = None
    error: str | None = None
    think: str | None = None
    busy: str | None = None


@dataclass
class _Reader:
    """Rows of a CSV file, with the faults found so far."""

    file: str
    header: list[str] = field(default_factory=list)
    rows: list[tuple[int, list[str], list[int]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def fault(self, line: int, column: int, where: str, message: str) -> None:
        self.faults.append(Fault(self.file, line, column, where, message))

    def refuse(self) -> None:
        if self.faults:
            raise StudyError(self.faults)


def read_points(path: Path, columns: PointColumns) -> Observations:
    """Read the points of a CSV file.

    The file has a header line, and is separated by commas, semicolons or tabs. Blank lines and lines that begin with
    `#` are skipped.

    Raises
    ------
    StudyError
        If the file is invalid; contains every fault.
    """
    reader = _read(path)
    reader.refuse()
    places = _places(reader, columns)
    reader.refuse()
    values = {role: _numbers(reader, place, role) for role, place in places.items()}
    reader.refuse()
    think = values.get("think")
    if think is None and columns.think is not None:
        think = np.full(len(reader.rows), duration(columns.think))
    return observations(
        values["load"],
        values["throughput"],
        error=values.get("error"),
        response=values.get("response"),
        think=think,
        busy=values.get("busy"),
        names=tuple(f"line {line}" for line, _, _ in reader.rows),
    )


def _read(path: Path) -> _Reader:
    reader = _Reader(str(path))
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StudyError.at(
            path, f"must be a CSV file in UTF-8, got an invalid byte at position {error.start}"
        ) from None
    except OSError as error:
        raise StudyError.at(path, f"must be a CSV file that can be read, got {error.strerror}") from None
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    lines = [(number, line) for number, line in lines if not line.lstrip().startswith("#")]
    if len(lines) < 2:
        reader.fault(1, 1, "", f"must have a header line and at least one row, got {len(lines)} lines instead")
        return reader
    if len(lines) - 1 > MOST_ROWS:
        reader.fault(1, 1, "", f"must have at most {MOST_ROWS} rows, one for each measurement, got {len(lines) - 1}")
        return reader
    separator = max(",;\t", key=lines[0][1].count)
    if (header := _cells(reader, lines[0][0], lines[0][1], separator)) is None:
        return reader
    reader.header = [cell.strip() for cell in header]
    for number, line in lines[1:]:
        _add(reader, number, line, separator)
    twice = {name for name in reader.header if reader.header.count(name) > 1}
    for name in sorted(twice):
        reader.fault(lines[0][0], 1, name, "must be the name of one column, got it more than once")
    return reader


def _cells(reader: _Reader, number: int, line: str, separator: str) -> list[str] | None:
    """Return the cells of a line in a CSV file; None if a cell is too long."""
    try:
        return next(iter(csv.reader(io.StringIO(line), delimiter=separator)))
    except csv.Error:
        most = csv.field_size_limit()
        reader.fault(number, 1, "", f"must have cells of at most {most:,} characters, got a line of {len(line):,}")
        return None


def _add(reader: _Reader, number: int, line: str, separator: str) -> None:
    cells = _cells(reader, number, line, separator)
    if cells is None:
        return
    if len(cells) != len(reader.header):
        reader.fault(number, 1, "", f"must have {len(reader.header)} cells as the header has, got {len(cells)} instead")
        return
    # If a cell is quoted, the positions of the cells in the line are unknown. Faults then refer to column 1.
    starts = [1] * len(cells)
    if '"' not in line:
        for place in range(1, len(cells)):
            starts[place] = starts[place - 1] + len(cells[place - 1]) + 1
    reader.rows.append((number, cells, starts))


def _places(reader: _Reader, columns: PointColumns) -> dict[str, int]:
    found: dict[str, int] = {}
    for role, option, given, known in (
        ("load", "--x", columns.load, LOAD_NAMES),
        ("throughput", "--y", columns.throughput, THROUGHPUT_NAMES),
        ("response", "--response", columns.response, ()),
        ("error", "--error", columns.error, ()),
        ("busy", "--busy", columns.busy, ()),
    ):
        place = _place(reader, role, option, given, known)
        if place is not None:
            found[role] = place
    if columns.think in reader.header:
        found["think"] = reader.header.index(str(columns.think))
    elif columns.think is not None:
        try:
            duration(columns.think)
        except ValueError as error:
            message = f"must be a column of the file or {str(error).removeprefix('must be ')}"
            reader.fault(0, 0, "--think", message)
    return found


def _place(reader: _Reader, role: str, option: str, given: str | None, known: tuple[str, ...]) -> int | None:
    header = reader.header
    if given is not None:
        if given in header:
            return header.index(given)
        near = did_you_mean(given, header)
        reader.fault(1, 1, option, f"must be one of {', '.join(header)}, got {given!r} instead{near}")
        return None
    if not known:
        return None
    named = [place for place, name in enumerate(header) if name.lower() in known]
    if len(named) == 1:
        return named[0]
    if len(header) == 2:
        return 0 if role == "load" else 1
    reader.fault(1, 1, option, f"must name the column of the {role}, one of {', '.join(header)}, got none")
    return None


def _numbers(reader: _Reader, place: int, role: str) -> Floats:
    """Return a column of a CSV file as numbers. Standard errors and think times must be at least 0, and all other
    numbers must be above 0.
    """
    least = 0.0 if role in ("error", "think") else None
    values = []
    for line, cells, starts in reader.rows:
        text = cells[place].strip()
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        wrong = not math.isfinite(value) or (value <= 0 if least is None else value < least)
        if wrong or "_" in text:
            must = "a number above 0" if least is None else "a number, at least 0"
            got = shown(text) if text else "an empty cell"
            reader.fault(line, starts[place], reader.header[place], f"must be {must}, got {got} instead")
        values.append(value)
    return np.array(values)
