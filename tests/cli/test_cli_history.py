"""Output of `towtank history` as text and JSON, and its rate of falsely reported changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from in_process import towtank as run
from results_1 import RESULTS_1

from towtank.analysis import history_of
from towtank.analysis.history import Key, Point, Series
from towtank.analysis.statistics.permuted import permuted_steps

DAY_NS = 86_400 * 10**9


def copies(folder: Path, count: int) -> None:
    """Write results folders for successive days, each with a copy of the same recorded run."""
    manifest = json.loads((RESULTS_1 / "study.json").read_text())
    runs = sorted(path.name for path in (RESULTS_1 / "runs").iterdir())
    (first,) = [row for row in manifest["design"] if row["run"] == runs[0]]
    for number in range(count):
        result = folder / "main" / f"day-{number:02d}"
        shutil.copytree(RESULTS_1 / "runs" / runs[0], result / "runs" / runs[0])
        started = manifest["started_wall_ns"] + (count - number) * DAY_NS
        (result / "study.json").write_text(json.dumps({**manifest, "design": [first], "started_wall_ns": started}))


def test_a_history_is_in_order_of_time_and_by_study_load_metric_and_machine(tmp_path: Path) -> None:
    copies(tmp_path, 2)
    shutil.copytree(tmp_path / "main" / "day-00", tmp_path / "copy")
    manifest = tmp_path / "main" / "day-01" / "study.json"
    document = json.loads(run("history", tmp_path, "--json").stdout)
    assert (document["schema"], document["folders"], document["searched"]) == ("towtank/history/1", 3, 0)
    assert document["left_out"] == [f"{tmp_path / 'main' / 'day-00'}: copy of {tmp_path / 'copy'}"]
    (throughput,) = [each for each in document["series"] if each["metric"] == "throughput"]
    assert [Path(point["folder"]).name for point in throughput["points"]] == ["day-01", "copy"]
    assert throughput["points"][0]["value"] == throughput["points"][1]["value"]
    assert (throughput["searched"], throughput["changes"], throughput["machine"]) == (False, [], "2, 8589934592")
    moved = json.loads(manifest.read_text())
    moved["host"]["cpus"] = 4
    manifest.write_text(json.dumps(moved))
    again = run("history", tmp_path)
    assert again.returncode == 0
    assert "results of 2 machines are not compared with each other" in again.stdout
    assert "have fewer than 10 results and were not searched" in again.stdout
    assert {len(series.points) for series in history_of([tmp_path]).series} == {1}


def test_faults_of_the_folders_are_reported_at_once(tmp_path: Path) -> None:
    done = run("history", tmp_path / "a", tmp_path / "b")
    assert done.returncode == 2
    assert done.stderr.count("must be a folder with results folders") == 2
    assert "got none" in run("history", tmp_path).stderr


def series_of(values: np.ndarray) -> Series:
    points = (Point(np.datetime64(day, "D").astype("O"), "", float(value), 3) for day, value in enumerate(values))
    return Series(Key("study", "", "throughput", "", "machine"), tuple(points))


def test_a_change_is_found_where_it_is() -> None:
    values = 100 * np.exp(np.random.default_rng(1).normal(0, 0.02, 24))
    values[15:] *= 1.2
    (step,) = series_of(values).steps
    assert step.index == 15
    assert np.exp(step.after - step.before) == pytest.approx(1.2, rel=0.03)
    assert step.p_value == pytest.approx(1 / 5000)
    assert not series_of(values).is_correlated


def test_two_changes_are_found_and_an_excursion_of_two_is_none() -> None:
    values = np.random.default_rng(2).normal(0, 0.02, 45)
    values[15:] += 0.2
    values[30:] -= 0.3
    assert [step.index for step in permuted_steps(values)] == [15, 30]
    short = np.random.default_rng(2).normal(0, 0.02, 30)
    short[14:16] += 0.05
    assert permuted_steps(short) == []


def test_the_p_value_is_the_share_of_all_orders_of_few_values() -> None:
    """Five values of 0 come before five values of 1. Of all 252 orders, only this order and its reverse have so large a
    difference.
    """
    (step,) = permuted_steps(np.repeat([0.0, 1.0], 5), level=0.05)
    assert step.p_value == pytest.approx(2 / 252, abs=4 * (2 / 252 / 5000) ** 0.5)


@pytest.mark.parametrize("values", [np.zeros(20), np.full(20, 0.1), np.arange(9.0), np.zeros(0)])
def test_nothing_is_found_if_nothing_can_be_distinguished(values: np.ndarray) -> None:
    assert permuted_steps(values) == []


def test_series_without_a_change_seldom_have_one() -> None:
    rng = np.random.default_rng(3)
    found = sum(bool(permuted_steps(rng.lognormal(0, 1, 12))) for _ in range(200))
    # At a false-alarm rate of 1 %, more than 6 of 200 series have a change with a probability of only 0.4 %.
    assert found <= 6


def test_neighbouring_results_that_resemble_each_other_are_stated() -> None:
    walk = np.cumsum(np.random.default_rng(5).normal(0, 0.02, 60))
    assert series_of(np.exp(np.sin(np.arange(60) / 2) / 10 + walk / 100)).is_correlated
