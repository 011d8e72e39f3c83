"""Tables of results for data frame libraries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SHOWN_ROWS = 20


@dataclass(frozen=True, repr=False)
class Frame:
    """Table of results. Each column contains numbers or text, with None for missing values.

    A frame has the Arrow PyCapsule interface, so `polars.DataFrame(frame)`, `pyarrow.table(frame)` and
    `duckdb.from_arrow(frame)` accept it, with nulls for missing values. `pandas.DataFrame(frame)` needs no Arrow. Its
    missing numbers are NaN, which `convert_dtypes()` converts to nulls.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns. The unit ends the name: `throughput_per_s` [1/s], `p95_s` [s]; ratios are in [0, 1].

    Examples
    --------
    >>> frame = Frame.of({"users": [1, 2], "p95_s": [0.1, None]})
    >>> frame.columns, len(frame), frame["users"], list(frame)[1]
    (('users', 'p95_s'), 2, (1, 2), {'users': 2, 'p95_s': None})
    """

    columns: tuple[str, ...]
    _values: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]]) -> Frame:
        return cls(tuple(columns), tuple(tuple(map(_plain, column)) for column in columns.values()))

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Frame:
        """Make a frame from rows; the value of a column that a row lacks is None."""
        names = dict.fromkeys(name for row in rows for name in row)
        return cls.of({name: [row.get(name) for row in rows] for name in names})

    def __len__(self) -> int:
        return len(self._values[0]) if self._values else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dict of values by column."""
        for row in zip(*self._values, strict=True):
            yield dict(zip(self.columns, row, strict=True))

    def __getitem__(self, column: str) -> tuple[Any, ...]:
        if column not in self.columns:
            raise KeyError(f"no column {column!r}; there are {', '.join(self.columns)}")
        return self._values[self.columns.index(column)]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a dict of lists: the values of each column, by column name."""
        return {name: list(values) for name, values in zip(self.columns, self._values, strict=True)}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as an Arrow stream: numbers as 64-bit floats or integers, everything else as text."""
        import duckdb  # noqa: PLC0415 - slow to import

        # The database connection must exist while the stream is read. The stream refers to the relation, and the
        # relation to the connection, so both stay alive.
        connection = duckdb.connect(config={"threads": 1})
        connection.register("frame", {name: _array(self[name]) for name in self.columns})
        casts = ", ".join(f"{_quoted(name)}::{_kind(self[name])} AS {_quoted(name)}" for name in self.columns)
        relation: Any = connection.sql(f"SELECT {casts} FROM frame")
        return relation.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Frame of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        from towtank.api.notebook import table  # noqa: PLC0415 - only for notebooks

        rows = [[row[name] for name in self.columns] for row, _ in zip(self, range(_SHOWN_ROWS), strict=False)]
        more = len(self) - len(rows)
        return table(self.columns, rows, note=f"and {more} more rows" if more > 0 else "")


def _plain(value: Any) -> Any:
    """Convert a value to a plain number, text or None, which every data frame library reads; NaN becomes None."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    return str(value)


def _kind(column: Sequence[Any]) -> str:
    """Return the DuckDB type of a column: text if its values have several types, DOUBLE if it has only missing
    values.
    """
    kinds = {type(value) for value in column if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds <= {int, float}:
        return "BIGINT" if kinds == {int} else "DOUBLE"
    return "VARCHAR"


def _array(column: Sequence[Any]) -> Any:
    """Convert a column to an array that DuckDB reads; missing values are masked."""
    import numpy as np  # noqa: PLC0415 - slow to import

    kind, missing = _kind(column), [value is None for value in column]
    if kind == "VARCHAR":
        return np.array([None if value is None else str(value) for value in column], dtype=object)
    number = {"DOUBLE": float, "BIGINT": np.int64, "BOOLEAN": bool}[kind]
    return np.ma.masked_array(np.array([0 if value is None else value for value in column], dtype=number), mask=missing)


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
