"""Writes the recorded streams of a run as tables for other tools: `intervals.parquet` and `metrics.parquet`.

All data of the tables come from the streams, so the tables can be written again at any time. Counters and gauges have
their sampled values, with times on the clock of the run.
"""

from __future__ import annotations

import errno
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from towtank.files import put
from towtank.results import observe, segments
from towtank.results.folder import RunFolder
from towtank.results.observe import ProbeStream, ServiceStream
from towtank.results.recording import RecordedInterval, RecordedSeries, Recording
from towtank.results.stream_forms import RecordedStage

if TYPE_CHECKING:
    import duckdb

INTERVALS_FILE = "intervals.parquet"
METRICS_FILE = "metrics.parquet"

Describe = Callable[[Sequence[str]], Sequence[Mapping[str, object]]]
"""Type of a function that takes encoded histograms and returns the columns of each in the table: `timed`,
`response_p50_s` and so on.
"""

_INTERVAL_COLUMNS = {
    "start_s": "DOUBLE",
    "end_s": "DOUBLE",
    "stage": "VARCHAR",
    "phase": "VARCHAR",
    "worker": "INTEGER",
    "users": "INTEGER",
    "user_s": "DOUBLE",
    "of": "VARCHAR",
    "name": "VARCHAR",
    "user_group": "VARCHAR",
    "offered": "BIGINT",
    "started": "BIGINT",
    "ok": "BIGINT",
    "failed": "BIGINT",
    "not_started": "BIGINT",
    "status_codes": "VARCHAR",
    "bytes_out": "BIGINT",
    "bytes_in": "BIGINT",
    "timed": "BIGINT",
    "response_sum_s": "DOUBLE",
    "response_p50_s": "DOUBLE",
    "response_p95_s": "DOUBLE",
    "response_p99_s": "DOUBLE",
    "response_max_s": "DOUBLE",
    "response_histogram": "VARCHAR",
}
_METRIC_COLUMNS = {"t_s": "DOUBLE", "source": "VARCHAR", "metric": "VARCHAR", "value": "DOUBLE"}


@dataclass(frozen=True)
class Records:
    """Records of a run that the tables contain: of the load threads, of the probe on this machine, and of services by
    name.
    """

    recording: Recording
    probe: ProbeStream
    services: Mapping[str, ServiceStream]

    @classmethod
    def read(cls, run: RunFolder, recording: Recording) -> Records:
        """Read the records of the probe and of the services."""
        return cls(recording, observe.read_probe(run.observe), observe.read_services(run.observe))


def write_tables(run: RunFolder, records: Records, describe: Describe) -> tuple[Path, Path]:
    """Write `intervals.parquet` and `metrics.parquet` into the folder of a run, each of them atomically."""
    paths = run.path / INTERVALS_FILE, run.path / METRICS_FILE
    write_intervals(paths[0], records.recording, describe)
    write_metrics(paths[1], records)
    return paths


def write_intervals(path: Path, recording: Recording, describe: Describe) -> None:
    """Write the table of the engine's intervals atomically."""
    _write(path, _INTERVAL_COLUMNS, _interval_rows(recording, describe))


def write_metrics(path: Path, records: Records) -> None:
    """Write the table of observed metrics atomically, with times on the clock of the run."""
    recording, probe, services = records.recording, records.probe, records.services
    origin = recording.header.monotonic_ns if recording.header else None
    if origin is None:
        origin = probe.samples[0]["t_ns"] if probe.samples else 0
    _write(path, _METRIC_COLUMNS, _metric_rows(probe, services, origin))


def _number_of(error: duckdb.IOException) -> int:
    """Return the operating system's error number, which is derived from the text of a DuckDB error."""
    return errno.ENOSPC if os.strerror(errno.ENOSPC) in str(error) else errno.EIO


def _write(path: Path, columns: dict[str, str], rows: Iterator[Mapping[str, object]]) -> None:
    import duckdb  # noqa: PLC0415 - heavy, and a table is written once

    table: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        for name in columns:
            table[name].append(row.get(name))
    # DuckDB reads a dictionary of arrays as a table. The casts give the columns the right types even if the table is
    # empty.
    arrays = {name: _array(table[name], kind) for name, kind in columns.items()}
    casts = ", ".join(f'CAST("{name}" AS {kind}) AS "{name}"' for name, kind in columns.items())

    def copy(temporary: Path) -> None:
        try:
            # DuckDB accepts only file names in UTF-8. The file is therefore passed as the path of an open descriptor,
            # which is always ASCII.
            with temporary.open("r+b") as stream:
                connection.execute(
                    f"COPY (SELECT {casts} FROM recorded) TO '/proc/self/fd/{stream.fileno()}' "
                    "(FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
                )
        except duckdb.IOException as error:
            raise OSError(_number_of(error), str(error), str(path)) from error

    # A cursor is a separate connection. When it is closed, the tables registered with it are removed.
    with _database().cursor() as connection:
        connection.register("recorded", arrays)
        put(path, copy)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return the database in memory that all calls share. It is opened only once per process, because opening it takes
    longer than writing the tables of a run.
    """
    import duckdb  # noqa: PLC0415

    return duckdb.connect(config={"threads": 1})


def _array(values: list[Any], kind: str) -> np.ndarray[Any, Any]:
    if kind == "VARCHAR":
        return np.array(values, dtype=object)
    if any(value is None for value in values):
        masked = np.ma.masked_invalid([np.nan if value is None else float(value) for value in values])
        return np.asarray(masked.filled(np.nan))
    return np.array(values, dtype=float if kind == "DOUBLE" else np.int64)


def _interval_rows(recording: Recording, describe: Describe) -> Iterator[Mapping[str, object]]:
    known = {of: list(segments.names_of(recording, of)) for of in ("transaction", "page", "step")}
    groups = recording.header.groups if recording.header else []
    stages = segments.stages_of(recording)
    for interval in recording.intervals:
        stage = segments.stage_of(stages, interval.stage)
        described = iter(describe([series.response for series in interval.series if series.response]))
        for series in interval.series:
            yield {
                **_place(interval, stage),
                **_counts(series),
                "name": _item(known.get(series.of, []), series.number),
                "user_group": None if series.group is None else _item(groups, series.group),
                **(next(described) if series.response else {}),
            }


def _item(names: list[str], number: int) -> str:
    return names[number] if 0 <= number < len(names) else str(number)


def _place(interval: RecordedInterval, stage: RecordedStage) -> Mapping[str, object]:
    return {
        "start_s": interval.start_s,
        "end_s": interval.end_s,
        "stage": stage.name,
        "phase": stage.phase,
        "worker": interval.worker,
        "users": interval.users,
        "user_s": interval.user_s,
    }


def _counts(series: RecordedSeries) -> Mapping[str, object]:
    return {
        "of": series.of,
        "offered": series.offered,
        "started": series.started,
        "ok": series.ok,
        "failed": sum(series.failed.values()),
        "not_started": sum(series.not_started.values()),
        "status_codes": None if series.status_codes is None else _codes(series.status_codes),
        "bytes_out": series.bytes_out,
        "bytes_in": series.bytes_in,
        "timed": 0,
        "response_sum_s": series.response_sum_s,
        "response_histogram": series.response,
    }


def _codes(counts: dict[int, int]) -> str:
    """Render counts by status code as text, such as `200=5 302=1`."""
    return " ".join(f"{code}={count}" for code, count in sorted(counts.items()))


def _metric_rows(
    probe: ProbeStream, services: Mapping[str, ServiceStream], origin_ns: int
) -> Iterator[Mapping[str, object]]:
    for sample in probe.samples:
        at = (sample["t_ns"] - origin_ns) / 1e9
        for metric, value in _leaves(sample):
            yield {"t_s": at, "source": "probe", "metric": metric, "value": value}
    for name, stream in services.items():
        for sample in stream.samples:
            at = (sample["t_ns"] - origin_ns) / 1e9
            for metric, value in _leaves(sample["values"]):
                yield {"t_s": at, "source": name, "metric": metric, "value": value}


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield all numbers of a sample, each with its dotted path such as `memory.bytes`."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if path or key not in ("k", "t_ns", "wall_ns"):
                yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from _leaves(value, f"{path}.{number}")
    elif isinstance(tree, int | float):
        yield path, float(tree)
