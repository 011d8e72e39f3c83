"""The query in one guide must return rows, and the log line in another guide must be importable."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from pages import page
from results_1 import RESULTS_1

pytestmark = pytest.mark.waits


def test_the_query_of_exported_tables_gives_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = (block for block in page("docs/guides/export.md").blocks if block.first.startswith("$ duckdb"))
    query = re.findall(r'-c "(.*)"', block.text, re.DOTALL)[0]
    results = tmp_path / "results"
    shutil.copytree(RESULTS_1, results)
    command = [sys.executable, "-m", "towtank", "export", str(results), "--to", "parquet", "--out", "exports"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(tmp_path)
    rows = duckdb.sql(query).fetchall()
    assert {run for run, _, _ in rows} == {f"r{number:03}" for number in range(1, 9)}
    assert all(count > 0 for _, _, count in rows)


def test_the_line_of_a_log_is_imported_with_its_time(tmp_path: Path) -> None:
    (block,) = (block for block in page("docs/guides/import.md").blocks if block.first.startswith("10.0.0.7"))
    log = tmp_path / "access.log"
    log.write_text(block.text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "towtank", "import", "accesslog", str(log), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert "get: /items/" in document["workload"]
    # The last number of the log line is the response time: 12,000 µs.
    assert document["findings"]["sessions"]["duration_mean_s"] == pytest.approx(0.012, rel=1e-4)
