"""Reads the throughput of past results from the output of `towtank history --json`, as loads by day."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

from towtank.digging import dig
from towtank.errors import Fault, StudyError

SUFFIX = ".json"
_SCHEMA = "towtank/history/1"


def measured_loads(path: Path) -> dict[date, float]:
    """Return the throughput of each day with results; the mean if a day has several results. [1/s]

    Raises
    ------
    StudyError
        If the file is not an output of `towtank history --json`, or has not exactly one series of the throughput over
        all transactions.
    """
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not JSON"
        raise StudyError.at(path, f"must be an output of `towtank history --json`, got: {reason}") from None
    if dig(document, "schema") != _SCHEMA:
        raise StudyError.at(path, f"must be an output of `towtank history --json` with the schema {_SCHEMA!r}")
    series = dig(document, "series")
    found = [each for each in series if _is_throughput(each)] if isinstance(series, list) else []
    if len(found) != 1:
        names = "; ".join(", ".join(str(dig(each, key)) for key in ("study", "cell", "machine")) for each in found)
        message = f"must have one series of the throughput over all transactions, got {len(found)}"
        raise StudyError(
            [Fault(str(path), 0, 0, "series", message + (f": {names}" if names else ""))],
            hint="give `towtank history` the results of one study with one load on one machine",
        )
    loads = defaultdict[date, list[float]](list)
    for day, load in _points(path, found[0]):
        loads[day].append(load)
    return {day: sum(values) / len(values) for day, values in loads.items()}


def _is_throughput(series: object) -> bool:
    return dig(series, "metric") == "throughput" and dig(series, "transaction") is None


def _points(path: Path, series: object) -> Iterator[tuple[date, float]]:
    points = dig(series, "points")
    for number, point in enumerate(points if isinstance(points, list) else ()):
        value, started = dig(point, "value"), dig(point, "started")
        try:
            day, load = datetime.fromisoformat(str(started)).date(), float(str(value))
        except ValueError:
            load = math.nan
        if not 0 < load < math.inf:
            message = "must have the start of a result and a throughput above 0"
            raise StudyError.at(path, message, where=f"series.points[{number}]")
        yield day, load
