from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from towtank.analysis import compact, read_run
from towtank.results import lines
from towtank.results.folder import RunFolder

pytestmark = pytest.mark.waits


def query(text: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(text).fetchall()


def named(path: Path) -> str:
    """Return the path of a file as DuckDB needs it: in UTF-8, whatever the locale is."""
    return os.fsencode(path).decode()


def test_runs_are_read_as_one_table(towtank, results, tmp_path):
    out = tmp_path / "tables"
    answer = towtank("export", results, "--to", "parquet", "--out", out, "--run", "r002", "--run", "r004")
    assert answer.status == 0
    found = query(
        f"SELECT run, sum(ok) FROM read_parquet('{named(out)}/*/intervals.parquet', hive_partitioning = true)"
        " WHERE of = 'transaction' GROUP BY run ORDER BY run"
    )
    result = []
    for run in ("r002", "r004"):
        segment = (results / "runs" / run / "engine" / "worker-00.0000.ndjson").read_bytes().splitlines()
        series = [entry for line in segment for entry in (lines.decode(line) or {}).get("series", [])]
        result.append((run, sum(entry["ok"] for entry in series if entry["of"] == "transaction")))
    assert found == result


def test_tables_are_those_of_the_run_folder(towtank, mixed, tmp_path):
    assert towtank("export", mixed.path, "--to", "parquet", "--out", tmp_path / "tables").status == 0
    run = RunFolder(mixed.path)
    for own in compact(run, read_run(run).records):
        exported = tmp_path / "tables" / "run=r001" / own.name
        columns = [row[0] for row in query(f"DESCRIBE SELECT * FROM read_parquet('{named(own)}')")]
        listed = ", ".join(f'"{name}"' for name in columns)
        whole = query(f"SELECT {listed} FROM read_parquet('{named(own)}', hive_partitioning = false) ORDER BY ALL")
        again = query(f"SELECT {listed} FROM read_parquet('{named(exported)}', hive_partitioning = false) ORDER BY ALL")
        assert whole == again
        assert whole


def test_a_locale_does_not_change_the_name_of_the_folder(results, tmp_path):
    """The folder must have exactly the given name, although Python cannot decode its last letter in the locale C."""
    out = os.fsencode(tmp_path) + "/tables ä".encode()
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "towtank", "export", results, "--to", "parquet", "--out", out, "--run", "r002"],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in sorted(Path(os.fsdecode(out), "run=r002").iterdir())] == [
        "intervals.parquet",
        "metrics.parquet",
    ]


def test_both_tables_need_a_folder(towtank, mixed, tmp_path):
    (tmp_path / "file").write_text("mine")
    answer = towtank("export", mixed.path, "--to", "parquet", "--out", tmp_path / "file")
    assert answer.status == 2
    assert "--out: must name a folder: there are 2 files to write" in answer.err
    assert (tmp_path / "file").read_text() == "mine"
