"""The report's sections on the model: figures by value and drawn, tables, and a line where there is no model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import report_synthetic as synthetic
from results_1 import copy_of_results_1

from towtank.report.content import capacity_model, demand_table, limits, model_trust
from towtank.report.document import Table
from towtank.report.figures import capacity_curve, utilization_by_load
from towtank.report.html import static_svg
from towtank.report.source import Results, load

# What all of them look at takes seconds to make.
pytestmark = pytest.mark.xdist_group("report_capacity")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return load(copy_of_results_1(tmp_path_factory.mktemp("capacity") / "results").path)


def tables(section: Any) -> dict[str, Table]:
    return {block.caption: block for block in section.blocks if isinstance(block, Table)}


def texts(svg: str) -> str:
    return " ".join(one.text or "" for one in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"))


def test_the_curve_has_points_bands_and_the_level_held_out(results: Results) -> None:
    numbers = capacity_curve.compute(results)
    labels = {"search_index present", "search_index absent"}
    assert {row["configuration"] for row in numbers.curve} == labels
    held = [(row["load"], row["quantity"]) for row in numbers.measured if row["held_out"]]
    assert sorted(set(held)) == [(72.0, "response_s"), (72.0, "throughput")]
    assert {row["load"] for row in numbers.predicted} == {72.0}
    assert {row["kind"] for row in numbers.knees} >= {"model"}
    assert all(row["low_95"] <= row["low_80"] <= row["median"] for row in numbers.curve)


def test_the_figures_are_drawn_with_their_units(results: Results) -> None:
    drawn = texts(static_svg(capacity_curve.draw(capacity_curve.compute(results), "users")))
    assert "throughput [1/s]" in drawn
    assert "mean response time [ms]" in drawn
    assert "search_index absent" in drawn
    used = texts(static_svg(utilization_by_load.draw(utilization_by_load.compute(results), "users")))
    assert "utilization [%]" in used
    assert "content / database" in used


def test_predicted_against_measured_stands_in_a_table(results: Results) -> None:
    section = capacity_model.build(results)
    found = tables(section)
    held = found["Held-out levels: predicted by the curve against measured"]
    assert [row[1] for row in held.rows] == ["72", "72"]
    assert all(row[4].endswith("%") and row[4][0] in "+−" for row in held.rows)
    assert "Knees: where the curve bends, by several definitions" in found


def test_demands_are_told_by_resource_and_by_transaction(results: Results) -> None:
    found = tables(demand_table.build(results))
    rows = {(row[0], row[1]) for row in found["Demands of the mean transaction by resource"].rows}
    assert ("search_index present", "content") in rows
    by_class = found["Demands by transaction: search_index absent, content"]
    assert len(by_class.rows) == 5


def test_what_it_rests_on_names_assumptions_and_other_curves(results: Results) -> None:
    found = tables(model_trust.build(results))
    assumed = " ".join(row[1] for row in found["Assumptions, and what was tested of them"].rows)
    assert "one bottleneck" in assumed
    assert any(row[1].endswith("(chosen)") for row in found["Curves that were tried"].rows)


def test_the_model_lies_in_the_results_folder(tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results").path
    found = load(folder)
    kept = json.loads((folder / "model.json").read_text("utf-8"))
    assert kept == found.model
    assert kept["schema"] == "towtank/capacity-model/1"


def test_without_a_model_a_line_says_why() -> None:
    bare = dataclasses.replace(
        synthetic.results(), model={"refused": "a curve needs 3 load levels", "configurations": []}
    )
    assert capacity_model.build(bare) is None
    assert demand_table.build(bare) is None
    assert model_trust.build(bare) is None
    told = ["".join(run.text for run in item) for item in limits.design_limits(bare)]
    assert "No capacity model was made: a curve needs 3 load levels." in told
