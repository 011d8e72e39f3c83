"""Parquet: the tables of every run, read back by a query over all of them."""

from __future__ import annotations

import duckdb

from towtank.analysis import compact
from towtank.results import lines
from towtank.results.folder import RunFolder


def query(text: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(text).fetchall()


def test_runs_are_read_as_one_table(towtank, results, tmp_path):
    out = tmp_path / "tables"
    answer = towtank("export", results, "--to", "parquet", "--out", out, "--run", "r002", "--run", "r004")
    assert answer.status == 0
    found = query(
        f"SELECT run, sum(ok) FROM read_parquet('{out}/*/intervals.parquet', hive_partitioning = true)"
        " WHERE of = 'transaction' GROUP BY run ORDER BY run"
    )
    told = []
    for run in ("r002", "r004"):
        segment = (results / "runs" / run / "engine" / "worker-00.0000.ndjson").read_bytes().splitlines()
        series = [one for line in segment for one in (lines.decode(line) or {}).get("series", [])]
        told.append((run, sum(one["ok"] for one in series if one["of"] == "transaction")))
    assert found == told


def test_tables_are_those_of_the_run_folder(towtank, mixed, tmp_path):
    assert towtank("export", mixed.path, "--to", "parquet", "--out", tmp_path / "tables").status == 0
    for own in compact(RunFolder(mixed.path)):
        exported = tmp_path / "tables" / "run=r001" / own.name
        columns = [row[0] for row in query(f"DESCRIBE SELECT * FROM read_parquet('{own}')")]
        listed = ", ".join(f'"{name}"' for name in columns)
        whole = query(f"SELECT {listed} FROM read_parquet('{own}', hive_partitioning = false) ORDER BY ALL")
        again = query(f"SELECT {listed} FROM read_parquet('{exported}', hive_partitioning = false) ORDER BY ALL")
        assert whole == again
        assert whole


def test_both_tables_need_a_folder(towtank, mixed, tmp_path):
    (tmp_path / "file").write_text("mine")
    answer = towtank("export", mixed.path, "--to", "parquet", "--out", tmp_path / "file")
    assert answer.status == 2
    assert "--out: must name a folder: there are 2 files to write" in answer.err
    assert (tmp_path / "file").read_text() == "mine"
