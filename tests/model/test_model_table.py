from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from towtank.errors import StudyError
from towtank.model.fitting.table import PointColumns, read_points


def faults_of(path: Path, columns: PointColumns | None = None) -> list[str]:
    with pytest.raises(StudyError) as caught:
        read_points(path, columns or PointColumns())
    return [str(fault).removeprefix(str(path)) for fault in caught.value.faults]


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_known_columns_are_found_and_rows_sorted(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "note,Users,Throughput\nb,20,190\n# a comment\n\na,10,100\n")
    points = read_points(path, PointColumns())
    assert points.load.tolist() == [10.0, 20.0]
    assert points.throughput.tolist() == [100.0, 190.0]
    assert points.names == ("line 5", "line 2")
    assert points.error is None


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_and_all_columns(tmp_path: Path, separator: str) -> None:
    rows = [["n", "x", "r", "s", "z"], ["10", "5", "0.5", "0.1", "1.5"], ["20", "9", "0.6", "0.2", "1.5"]]
    path = written(tmp_path / "a.csv", "\ufeff" + "\n".join(separator.join(row) for row in rows))
    points = read_points(path, PointColumns("n", "x", "r", "s", "z"))
    assert points.response is not None
    assert points.error is not None
    assert points.response.tolist() == [0.5, 0.6]
    assert points.error.tolist() == [0.1, 0.2]
    assert points.think_s().tolist() == [1.5, 1.5]


def test_a_think_time_for_all_rows(tmp_path: Path) -> None:
    points = read_points(written(tmp_path / "a.csv", "n,x\n1,5\n2,9\n"), PointColumns(think="250 ms"))
    assert points.think_s() == pytest.approx(np.array([0.25, 0.25]))


def test_every_bad_cell_is_reported_with_its_place(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "users,throughput\n10,fast\n,20\n-5,nan\n30,40\n40,1_000\n")
    assert faults_of(path) == [
        ":2:4: throughput: must be a number above 0, got 'fast' instead",
        ":3:1: users: must be a number above 0, got an empty cell instead",
        ":4:1: users: must be a number above 0, got '-5' instead",
        ":4:4: throughput: must be a number above 0, got 'nan' instead",
        ":6:4: throughput: must be a number above 0, got '1_000' instead",
    ]


def test_rows_of_another_length(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "users,throughput\n10,20,30\n10\n")
    assert faults_of(path) == [
        ":2:1: must have 2 cells as the header has, got 3 instead",
        ":3:1: must have 2 cells as the header has, got 1 instead",
    ]


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "users,throughput,p95\n1,2,3\n")
    found = faults_of(path, PointColumns("user", "tput", think="5 apples"))
    assert len(found) == 3
    assert any(
        fault.startswith(":1:1: --x: must be one of users, throughput, p95, got 'user' instead") for fault in found
    )
    assert any("--y" in fault for fault in found)
    assert any("--think: must be a column of the file or a duration" in fault for fault in found)
    three = written(tmp_path / "b.csv", "a,b,c\n1,2,3\n")
    assert [fault.split(": ")[1] for fault in faults_of(three)] == ["--x", "--y"]


def test_files_that_hold_no_table(tmp_path: Path) -> None:
    assert "must have a header line" in faults_of(written(tmp_path / "a.csv", "users,throughput\n"))[0]
    assert "must have a header line" in faults_of(written(tmp_path / "b.csv", ""))[0]
    assert "more than once" in faults_of(written(tmp_path / "c.csv", "n,n\n1,2\n"))[0]
    binary = tmp_path / "d.csv"
    binary.write_bytes(b"users\xff\xfe,x\n1,2\n")
    assert "must be a CSV file in UTF-8" in faults_of(binary)[0]
    assert "must be a CSV file that can be read" in faults_of(tmp_path)[0]


def test_a_cell_that_no_reader_takes_is_a_fault_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    for text, line in ((f"{'x' * 200_000},throughput\n1,2\n", 1), (f"users,throughput\n1,2\n{'9' * 200_000},2\n", 3)):
        path.write_text(text)
        with pytest.raises(StudyError, match=rf":{line}:1: must have cells of at most 131,072 characters"):
            read_points(path, PointColumns())


def test_a_table_may_have_errors_and_think_times_of_zero_but_no_load_or_rate_of_zero(tmp_path: Path) -> None:
    columns = PointColumns("n", "x", "r", "s", "z")
    points = read_points(written(tmp_path / "a.csv", "n,x,r,s,z\n10,5,0.5,0,0\n20,9,0.6,0.2,1\n"), columns)
    assert points.error is not None
    assert (points.error.tolist(), points.think_s().tolist()) == ([0.0, 0.2], [0.0, 1.0])
    assert faults_of(written(tmp_path / "b.csv", "n,x,r,s,z\n0,0,0,-0.1,-1\n20,inf,0.6,0.2,inf\n"), columns) == [
        ":2:1: n: must be a number above 0, got '0' instead",
        ":2:3: x: must be a number above 0, got '0' instead",
        ":2:5: r: must be a number above 0, got '0' instead",
        ":2:7: s: must be a number, at least 0, got '-0.1' instead",
        ":2:12: z: must be a number, at least 0, got '-1' instead",
        ":3:4: x: must be a number above 0, got 'inf' instead",
        ":3:16: z: must be a number, at least 0, got 'inf' instead",
    ]
