"""The throughput of past results, as `towtank history --json` writes it, is the history of a load."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from towtank import yamlfile
from towtank.analysis.history import History as Results
from towtank.analysis.history import Key, Point, Series
from towtank.errors import StudyError
from towtank.sizing.history import read_history
from towtank.sizing.reading import check_sizing

BEGAN = datetime(2026, 1, 1, 18, tzinfo=UTC)


def series(values: list[float], *, metric: str = "throughput", transaction: str = "", cell: str = "") -> Series:
    points = (Point(BEGAN + timedelta(days=day), "r", value, 3) for day, value in enumerate(values))
    return Series(Key("shop", cell, metric, transaction, "2 CPUs"), tuple(points))


def written(folder: Path, *found: Series) -> Path:
    path = folder / "history.json"
    path.write_text(json.dumps(Results(found, 1, ()).document()), "utf-8")
    return path


def test_the_growth_is_that_of_the_same_loads_in_a_csv_file(tmp_path: Path) -> None:
    values = [100 * 1.002**day * (1.05 if day % 3 else 0.95) for day in range(60)]
    others = (series([1.0] * 60, metric="response_time_mean"), series(values, transaction="look"))
    found = read_history(written(tmp_path, *others, series(values)), "date", "users", "none")
    table = tmp_path / "history.csv"
    days = [(BEGAN + timedelta(days=day)).date() for day in range(60)]
    lines = (f"{day},{value!r}" for day, value in zip(days, values, strict=True))
    table.write_text("date,users\n" + "\n".join(lines), "utf-8")
    same = read_history(table, "date", "users", "none")
    assert found.days == same.days
    assert found.slope == same.slope
    assert found.notes[1:] == same.notes
    assert found.notes[0].startswith("the loads are throughputs of load tests")


def test_results_of_one_day_are_one_load(tmp_path: Path) -> None:
    first = series([10.0, 20.0, 30.0, 40.0, 50.0])
    again = Point(BEGAN + timedelta(hours=1), "again", 30.0, 3)
    found = read_history(written(tmp_path, Series(first.key, (*first.points, again))), "", "", "none")
    assert list(found.loads) == [20.0, 20.0, 30.0, 40.0, 50.0]


def test_a_file_of_several_series_is_refused_with_their_names(tmp_path: Path) -> None:
    path = written(tmp_path, series([1.0], cell="5 users"), series([1.0], cell="9 users"))
    with pytest.raises(
        StudyError, match=r"must have one series .* got 2: shop, 5 users, 2 CPUs; shop, 9 users, 2 CPUs"
    ):
        read_history(path, "", "", "none")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "got: it is not JSON"),
        ("[]", "with the schema 'towtank/history/1'"),
        ('{"schema": "towtank/history/1"}', "must have one series of the throughput over all transactions, got 0"),
        (
            '{"schema": "towtank/history/1", "series": [{"metric": "throughput", "points": [{"value": -1}]}]}',
            "must have the start of a result and a throughput above 0",
        ),
    ],
)
def test_a_file_that_is_no_history_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "history.json"
    path.write_text(text)
    with pytest.raises(StudyError) as refused:
        read_history(path, "", "", "none")
    assert message in str(refused.value)


def test_names_of_columns_are_refused_beside_a_history_of_results(tmp_path: Path) -> None:
    history = "load:\n  history: {csv: %s, date: day, load: rate}\n  horizon: 1 year\n"
    path = tmp_path / "sizing.yaml"
    path.write_text("schema: towtank/sizing/1\n" + history % "history.json")
    faults = check_sizing(yamlfile.load(path))
    assert [(fault.line, fault.where) for fault in faults if "has no columns" in fault.message] == [
        (3, "load.history.date"),
        (3, "load.history.load"),
    ]
    path.write_text("schema: towtank/sizing/1\n" + history % "history.csv")
    assert not any("has no columns" in fault.message for fault in check_sizing(yamlfile.load(path)))


def test_a_history_that_is_too_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="must have from 4 to"):
        read_history(written(tmp_path, series([1.0, 2.0])), "", "", "none")
