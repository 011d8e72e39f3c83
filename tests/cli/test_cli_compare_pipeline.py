"""Steps of `docs/guides/compare-in-ci.md`: the result of a pull request is compared with a stored baseline.

The tests use stored recordings and run no system. `test_integration_compare_pipeline.py` also runs the system.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from in_process import towtank as run
from results_1 import RESULTS_1, copy_of_results_1
from synthetic_runs import MONOTONIC_NS, SECOND

from towtank.results import ResultsFolder, lines


def disturb(results: ResultsFolder) -> None:
    """Change the recordings of all runs so that another program seems to use 35 % of one of the two CPUs."""
    for folder in results.runs():
        path = folder.observe / "probe.ndjson"
        documents = list(lines.read(path))
        for document in documents:
            if document["k"] == "sample":
                at_s = (document["t_ns"] - MONOTONIC_NS) / SECOND
                document["cpus"][0]["busy_s_total"] += 0.35 * (at_s + 10)
        path.write_bytes(b"".join(map(lines.encode, documents)))


def test_a_regression_no_regression_and_a_disturbed_run_have_the_statuses_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main, now = (shutil.copytree(RESULTS_1, tmp_path / name) for name in ("main", "now"))
    disturbed = copy_of_results_1(tmp_path / "disturbed")
    disturb(disturbed)
    with_index, without = ":search_index present", ":search_index absent"
    assert run("compare", f"{main}{with_index}", "--baseline", "main", "--keep").returncode == 0
    baseline = ("--baseline", "main")
    regression = run("compare", f"{now}{without}", *baseline)
    assert (regression.returncode, regression.stderr) == (7, "")
    assert regression.stdout.startswith("B is worse: ")
    equal = run("compare", f"{now}{with_index}", *baseline)
    assert (equal.returncode, equal.stderr) == (0, "")
    assert "worse" not in equal.stdout
    # The disturbed runs contain the regression, too, but runs that other programs disturbed decide nothing.
    unknown = run("compare", f"{disturbed.path}{without}", *baseline)
    assert (unknown.returncode, unknown.stderr) == (4, "")
    assert unknown.stdout.startswith("not valid: ")
    assert "other programs used" in unknown.stdout
    document = json.loads(run("compare", f"{disturbed.path}{without}", *baseline, "--json").stdout)
    assert (document["valid"], document["b"]["runs"], document["b"]["left_out"]) == (False, 0, 4)
