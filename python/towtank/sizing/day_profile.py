"""Reads the shape of a load over a day from a CSV file: intervals, each with its share of the highest load."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from towtank.errors import Fault, StudyError
from towtank.sizing.csv_columns import read_rows
from towtank.sizing.sizing_file import ProfileFile
from towtank.units import shown

DAY_S = 86_400.0
"""Length of a day. [s]"""
INTERVALS_AT_MOST = 288
"""Largest number of intervals of a day; 288 have a length of five minutes. [1]"""
_TIME = re.compile(r"(\d{1,2}):(\d{2})")


@dataclass(frozen=True)
class DayInterval:
    """Interval of a day, and its load.

    Attributes
    ----------
    begin_s, end_s : float
        Begin and end since midnight; `end_s` may lie after midnight. [s]
    share : float
        Load, relative to the interval with the highest load, in [0, 1]. [ratio]
    """

    begin_s: float
    end_s: float
    share: float

    @property
    def length_s(self) -> float:
        """Length of the interval. [s]"""
        return self.end_s - self.begin_s

    @property
    def label(self) -> str:
        """Begin and end of the interval as times of day, such as `08:30 to 09:00`."""
        return f"{_clock(self.begin_s)} to {_clock(self.end_s)}"


def _clock(time_s: float) -> str:
    minutes = round(time_s / 60)
    return f"{minutes // 60 % 24 if minutes != 24 * 60 else 24:02d}:{minutes % 60:02d}"


def read_profile(folder: Path, asked: ProfileFile) -> tuple[DayInterval, ...]:
    """Read the shape of a load over a day from a CSV file.

    Each row begins an interval, which ends at the next row. The last interval ends when the first interval of the next
    day begins, or when it is as long as the interval before it, whichever is earlier.

    The path in `asked` is relative to `folder`.

    Raises
    ------
    StudyError
        If the file is invalid; contains every fault with its line.
    """
    path = folder / asked.csv
    names = (asked.time, asked.load)
    found: dict[float, float] = {}
    faults: list[Fault] = []
    for number, cells in read_rows(path, names):
        _read_row(_Row(path, number, names, cells), found, faults)
    if not faults and not 2 <= len(found) <= INTERVALS_AT_MOST:
        faults.append(Fault(str(path), 0, 0, "", f"must have 2 to {INTERVALS_AT_MOST} intervals, got {len(found)}"))
    if not faults and max(found.values()) <= 0:
        faults.append(Fault(str(path), 0, 0, asked.load, "must have a load above 0 in an interval, got none"))
    if faults:
        raise StudyError(faults)
    return _intervals(found)


def _intervals(loads: dict[float, float]) -> tuple[DayInterval, ...]:
    begins = list(loads)
    last = min(2 * begins[-1] - begins[-2], begins[0] + DAY_S)
    highest = max(loads.values())
    ends = [*begins[1:], last]
    return tuple(DayInterval(begin, end, loads[begin] / highest) for begin, end in zip(begins, ends, strict=True))


@dataclass(frozen=True)
class _Row:
    """Row of the CSV file: its position, the names of the columns for time and load, and the cells by column."""

    path: Path
    number: int
    names: tuple[str, str]
    cells: dict[str, str]

    def fault(self, column: str, message: str) -> Fault:
        return Fault(str(self.path), self.number, list(self.cells).index(column) + 1, column, message)


def _read_row(row: _Row, found: dict[float, float], faults: list[Fault]) -> None:
    """Read the time and the load of a row into `found`, or append the faults of the row to `faults`."""
    (time_name, load_name), begin = row.names, None
    if len(missing := [name for name in row.names if name not in row.cells]) > 0:
        faults.append(Fault(str(row.path), row.number, 0, missing[0], "must have a cell for this column, got none"))
        return
    match = _TIME.fullmatch(row.cells[time_name])
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        got = shown(row.cells[time_name])
        faults.append(row.fault(time_name, f"must be a time of day from 00:00 to 23:59, got {got} instead"))
    else:
        begin = int(match[1]) * 3600.0 + int(match[2]) * 60.0
        if found and begin <= max(found):
            before = _clock(max(found))
            message = f"must be later than the interval before it, {before}, got {row.cells[time_name]} instead"
            faults.append(row.fault(time_name, message))
            begin = None
    try:
        load = float(row.cells[load_name])
    except ValueError:
        load = math.nan
    if not 0 <= load < math.inf:
        faults.append(
            row.fault(load_name, f"must be a number of at least 0, got {shown(row.cells[load_name])} instead")
        )
    elif begin is not None:
        found[begin] = load
