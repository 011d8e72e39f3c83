"""The model document of a report is reproducible. If no model was fitted, it states the reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from results_1 import RESULTS_1, copy_of_results_1

from towtank.model.fitting.capacity import capacity_document
from towtank.results.kept import finite

# The document that these tests share takes seconds to create, so they run in one process.
pytestmark = [pytest.mark.waits, pytest.mark.xdist_group("model_capacity")]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return capacity_document(RESULTS_1)


def test_both_configurations_have_a_curve_with_bands_and_their_bottleneck(document: dict[str, Any]) -> None:
    assert document["schema"] == "towtank/capacity-model/1"
    assert document["refused"] is None
    for configuration, demand in zip(document["configurations"], (0.0178, 0.0295), strict=True):
        # The true demands of the configurations are the means of the demands in write_results_1, weighted with the
        # transaction mix that is given there.
        assert configuration["refused"] is None
        low, high = configuration["confidence_interval"]["bottleneck_demand_s"]
        assert low < demand < high
        assert configuration["bottleneck_sentence"].startswith("the resource with the highest utilization is content")
        loads = [row["load"] for row in configuration["grid"]]
        assert loads == sorted(set(loads))
        assert {12.0, 24.0, 48.0, 72.0} <= set(loads)
        for row in configuration["grid"]:
            rate = row["throughput"]
            assert rate["band_95"][0] <= rate["band_80"][0] <= rate["median"] <= rate["band_80"][1]


def test_the_held_out_level_has_bands_that_hold_it(document: dict[str, Any]) -> None:
    found = [
        row
        for configuration in document["configurations"]
        for row in (configuration["held_out"] or {}).get("points", ())
    ]
    assert found
    for row in found:
        assert row["load"] == 72.0
        assert row["within_95"]
        assert row["throughput_band_95"][0] < row["measured_throughput"] < row["throughput_band_95"][1]
        assert abs(row["error"]) < 0.05


def test_the_utilization_law_holds_along_the_curve(document: dict[str, Any]) -> None:
    for configuration in document["configurations"]:
        content = configuration["utilization"]["content"]
        at = {row["load"]: row["median"] for row in content["curve"]}
        for row in content["measured"]:
            # The utilization of the fitted curve agrees with the measured utilization except for noise.
            assert at[row["load"]] == pytest.approx(row["utilization"], rel=0.12)
        # The database, a part of the tier, is reported too. Its utilization is below that of the tier.
        part = {row["load"]: row["median"] for row in configuration["utilization"]["content / database"]["curve"]}
        assert all(part[load] <= whole + 1e-9 for load, whole in at.items() if load >= 12)


def test_the_same_results_give_the_same_document(document: dict[str, Any]) -> None:
    again = capacity_document(RESULTS_1)
    assert json.dumps(finite(again), sort_keys=True) == json.dumps(finite(document), sort_keys=True)


def test_two_levels_have_no_model(tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results")
    for run in folder.runs():
        if json.loads((run.path / "run.json").read_text("utf-8"))["users"] > 24:
            shutil.rmtree(run.path)
    found = capacity_document(folder.path)
    assert found["refused"] == "a curve needs 3 load levels or more, got 2"


def test_no_results_are_reported_in_a_line_that_does_not_say_where_they_lie(tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results")
    for run in folder.runs():
        shutil.rmtree(run.path)
    found = capacity_document(folder.path)
    assert found["configurations"] == []
    assert found["refused"] == "no run can be modelled"
