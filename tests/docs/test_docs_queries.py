"""Queries that guides show for other programs give rows when they are asked of what the guide writes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
from pages import page
from results_1 import RESULTS_1


def test_the_query_of_exported_tables_gives_rows(tmp_path: Path) -> None:
    (block,) = (block for block in page("docs/guides/export.md").blocks if block.first.startswith("$ duckdb"))
    query = re.findall(r'-c "(.*)"', block.text, re.DOTALL)[0]
    results = tmp_path / "results"
    shutil.copytree(RESULTS_1, results)
    command = [sys.executable, "-m", "towtank", "export", str(results), "--to", "parquet", "--out", "exports"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = duckdb.sql(query.replace("'exports/", f"'{tmp_path}/exports/")).fetchall()
    assert {run for run, _, _ in rows} == {f"r{number:03}" for number in range(1, 9)}
    assert all(count > 0 for _, _, count in rows)
