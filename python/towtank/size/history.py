"""A history of the load from a CSV file, and the line through its logarithms."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import numpy as np

from towtank.analysis.statistics import looks_independent
from towtank.errors import Fault, StudyError
from towtank.model.fitting.observations import Floats
from towtank.units import shown
from towtank.yamlfile import did_you_mean

_PARTS = {"none": 1, "weekly": 7, "yearly": 12}
_CYCLE_D = {"none": 1, "weekly": 7, "yearly": 366}
ROWS_AT_MOST = 100_000
# Below this many points nothing is said about neighbours.
_SERIES = 30


@dataclass(frozen=True)
class History:
    """Days with their loads, and the line through the logarithms.

    Attributes
    ----------
    days : tuple of date
        Ascending.
    loads : ndarray of shape (n_days,)
        > 0.
    season : str
        `none`, `weekly` or `yearly`.
    """

    days: tuple[date, ...]
    loads: Floats
    season: str
    _rows: Floats = field(init=False, repr=False)
    _inverse: Floats = field(init=False, repr=False)
    parameters: Floats = field(init=False, repr=False)
    notes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        rows = self._design(self.days)
        inverse = np.linalg.pinv(rows.T @ rows)
        parameters = inverse @ rows.T @ np.log(self.loads)
        residuals = np.log(self.loads) - rows @ parameters
        notes: tuple[str, ...] = ()
        if len(residuals) >= _SERIES and not looks_independent(residuals):
            notes = ("the loads of neighbouring days resemble each other: the interval is too narrow",)
        for name, value in (("_rows", rows), ("_inverse", inverse), ("parameters", parameters), ("notes", notes)):
            object.__setattr__(self, name, value)

    def _design(self, days: Sequence[date]) -> Floats:
        """Time from the first day, and one column for each part of the season."""
        times = np.array([(day - self.days[0]).days for day in days], dtype=float)
        parts = _PARTS[self.season]
        place = [0 if parts == 1 else day.weekday() if parts == 7 else day.month - 1 for day in days]
        return np.column_stack([times, np.eye(parts)[place]])

    @property
    def slope(self) -> float:
        """Growth of the logarithm. [1/d]"""
        return float(self.parameters[0])

    @property
    def cycle_d(self) -> int:
        """Length of the season. [d]"""
        return _CYCLE_D[self.season]

    @property
    def freedom(self) -> int:
        """Degrees of freedom. [1]"""
        return int(len(self.days) - self._rows.shape[1])

    def level(self, days: Sequence[date]) -> Floats:
        """Logarithm of the expected load."""
        return np.asarray(self._design(days) @ self.parameters, dtype=float)

    def deviation(self, days: Sequence[date]) -> Floats:
        """Standard deviation of the logarithm of the load of a further day."""
        residuals = np.log(self.loads) - self._rows @ self.parameters
        scale = float(residuals @ residuals) / self.freedom
        rows = self._design(days)
        # Loads on a perfect line leave no residual; what is less than a double can tell is nothing.
        spread = scale * (1 + np.einsum("ij,jk,ik->i", rows, self._inverse, rows))
        return np.asarray(np.sqrt(np.maximum(spread, 1e-24)), dtype=float)


def read_history(path: Path, date_column: str, load_column: str, season: str) -> History:
    """Read a history.

    Raises
    ------
    StudyError
        With every fault, at its line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = list(csv.reader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StudyError.at(path, f"must be a CSV file that can be read, got: {reason}") from None
    head = [one.strip() for one in lines[0]] if lines else []
    faults = [_missing(path, name, head) for name in dict.fromkeys((date_column, load_column)) if name not in head]
    if faults:
        raise StudyError(faults)
    found: dict[date, float] = {}
    for number, line in enumerate(lines[1:], start=2):
        if any(cell.strip() for cell in line):
            _read_line((path, number), (date_column, load_column), dict(zip(head, line, strict=False)), found, faults)
    needed = _PARTS[season] + 3
    if not faults and not needed <= len(found) <= ROWS_AT_MOST:
        what = f"from {needed} to {ROWS_AT_MOST} days for a season {season!r}"
        faults.append(Fault(str(path), 0, 0, "", f"must have {what}, got {len(found)} instead"))
    if not faults and season == "yearly" and len({day.month for day in found}) < 12:
        faults.append(Fault(str(path), 0, 0, "", "must have days of all twelve months for a season 'yearly'"))
    if not faults and season == "weekly" and len({day.weekday() for day in found}) < 7:
        faults.append(Fault(str(path), 0, 0, "", "must have all seven days of a week for a season 'weekly'"))
    if faults:
        raise StudyError(faults)
    days = sorted(found)
    return History(tuple(days), np.array([found[day] for day in days]), season)


def _missing(path: Path, name: str, head: list[str]) -> Fault:
    near = did_you_mean(name, head)
    known = ", ".join(head) or "none"
    return Fault(str(path), 1, 1, "", f"must have the column {name!r}, got the columns {known} instead{near}")


def _read_line(
    at: tuple[Path, int], names: tuple[str, str], cells: dict[str, str], found: dict[date, float], faults: list[Fault]
) -> None:
    """Read one line; adds the day, or what is wrong with it."""
    texts = [cells.get(name, "").strip() for name in names]

    def tell(column: int, message: str) -> None:
        faults.append(Fault(str(at[0]), at[1], 0, names[column], message))

    day = None
    try:
        day = date.fromisoformat(texts[0])
    except ValueError:
        tell(0, f"must be a date as 2026-01-31, got {shown(texts[0])} instead")
    try:
        load = float(texts[1])
    except ValueError:
        load = math.nan
    if not 0 < load < math.inf:
        tell(1, f"must be a number above 0, got {shown(texts[1])} instead")
    elif day in found:
        tell(0, f"must come once, got {texts[0]} again")
    elif day is not None:
        found[day] = load
