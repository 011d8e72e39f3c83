"""Data frame libraries read tables of results without a conversion by the user."""

from __future__ import annotations

import duckdb
import pandas
import pytest

from towtank import Frame, Quantity

FRAME = Frame.of(
    {
        "users": [1, None, 3],
        "p95_s": [Quantity(0.1, "s"), None, 2],
        "verdict": ["valid", None, "suspect"],
        "met": [True, None, False],
        "nothing": [None, None, None],
        'odd "name"': [1, 2, 3],
    }
)
ROWS = [
    (1, 0.1, "valid", True, None, 1),
    (None, None, None, None, None, 2),
    (3, 2.0, "suspect", False, None, 3),
]


def test_arrow_readers_take_it_with_its_types_and_gaps() -> None:
    stream = FRAME  # DuckDB finds the table by the name of this variable, and reads it with `__arrow_c_stream__`
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT * FROM stream")
        kinds = [str(kind) for kind in relation.types]
        assert relation.columns == list(FRAME.columns)
        assert relation.fetchall() == ROWS
    assert stream is FRAME
    assert kinds == ["BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "DOUBLE", "BIGINT"]


def test_an_empty_table_is_taken_too() -> None:
    empty = Frame.of({"users": []})
    with duckdb.connect() as connection:
        assert connection.sql("SELECT * FROM empty").fetchall() == []
    assert len(empty) == 0 and list(empty) == []


def test_pandas_takes_it() -> None:
    for frame in (pandas.DataFrame(FRAME), pandas.DataFrame(FRAME.to_dict())):
        assert list(frame.columns) == list(FRAME.columns)
        assert frame["p95_s"].tolist()[::2] == [0.1, 2.0]
        assert frame["p95_s"].isna().tolist() == [False, True, False]
        assert frame['odd "name"'].dtype == "int64"


def test_intervals_that_do_not_exist_are_nulls() -> None:
    """Columns have a numeric type, with nulls instead of NaN."""
    nan = float("nan")
    frame = Frame.of({"p95_s": [0.1, 0.2], "p95_s_low": [None, 0.1], "p99_s_low": [None, None], "x": [nan, 1.0]})
    assert frame["x"] == (None, 1.0)
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT * FROM frame")
        assert [str(kind) for kind in relation.types] == ["DOUBLE"] * 4
        assert relation.fetchall() == [(0.1, None, None, None), (0.2, 0.1, None, 1.0)]
        assert connection.sql("SELECT count(*) FROM frame WHERE isnan(p95_s_low) OR isnan(x)").fetchall() == [(0,)]
    table = pandas.DataFrame(frame).convert_dtypes()
    assert [table[name][0] is pandas.NA for name in ("p95_s", "p95_s_low", "x")] == [False, True, True]
    assert str(table["p95_s_low"].dtype) == "Float64"


def test_rows_and_columns() -> None:
    assert len(FRAME) == 3
    assert next(iter(FRAME))["verdict"] == "valid"
    assert FRAME["users"] == (1, None, 3)
    assert Frame.of_rows([{"a": 1}, {"a": 2, "b": "x"}]).to_dict() == {"a": [1, 2], "b": [None, "x"]}
    with pytest.raises(KeyError, match="users, p95_s"):
        FRAME["latency"]


def test_notebooks_show_its_first_rows() -> None:
    shown = Frame.of({"users <b>": list(range(30))})._repr_html_()
    assert "users &lt;b&gt;" in shown
    assert shown.count("<tr>") == 21
    assert "and 10 more rows" in shown
