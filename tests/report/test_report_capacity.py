from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import report_synthetic as synthetic
from results_1 import copy_of_results_1

from towtank.estimates import FEW_DIGITS
from towtank.model import CapacityModel
from towtank.report.content import capacity_model, demand_table, limits, model_trust
from towtank.report.document import Table
from towtank.report.figures import FIGURES, MAIN, capacity_curve, residuals, utilization_by_load
from towtank.report.pictures import static_svg
from towtank.report.source import Results, load_results

# The document is created once for all tests of this file, because its creation takes seconds.
pytestmark = [pytest.mark.waits, pytest.mark.xdist_group("report_capacity")]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return load_results(copy_of_results_1(tmp_path_factory.mktemp("capacity") / "results").path)


def tables(section: Any) -> dict[str, Table]:
    return {block.caption: block for block in section.blocks if isinstance(block, Table)}


def texts(svg: str) -> str:
    return " ".join(
        element.text or "" for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    )


def test_the_curve_has_points_bands_and_the_level_held_out(results: Results) -> None:
    numbers = capacity_curve.compute(results)
    labels = {"search_index present", "search_index absent"}
    assert {row.configuration for row in numbers.curve} == labels
    held = [(row.load, row.quantity) for row in numbers.measured if row.held_out]
    assert sorted(set(held)) == [(72.0, "response_s"), (72.0, "throughput")]
    assert {row.load for row in numbers.predicted} == {72.0}
    assert {row.kind for row in numbers.knees} >= {"model"}
    assert all(row.low_95 <= row.low_80 <= row.fitted for row in numbers.curve)
    # The throughput of a closed curve approaches the capacity limit from below. Curve and limit are from the same fit.
    limits = {each.label: each.limit_throughput for each in results.capacity.configurations}
    tops = [row for row in numbers.curve if row.quantity == "throughput" and row.load == 90]
    assert len(tops) == len(limits) == 2
    assert all(row.fitted <= (limits[row.configuration] or 0.0) for row in tops)


_LABEL = re.compile(r'aria-label="(?![^"]*(?:-axis|egend) titled)([^"]*)"')
_DIGITS = re.compile(r"(?<![\w#.,])[\d,]*\.\d+")


def test_text_alternatives_have_few_digits_and_exact_loads(results: Results) -> None:
    """Numbers in text alternatives of figures have few digits. Only the limits of axes, which the drawing states, may
    have more.
    """
    many = synthetic.results((30, 60, 1234))
    makers = [capacity_curve.figure, utilization_by_load.figure, residuals.figure, *(make for _, make in FIGURES)]
    figures = [make(results) for make in makers] + [make(many) for _, make in (MAIN, *FIGURES)]
    labels = [label for figure in figures if figure for label in _LABEL.findall(static_svg(figure.spec or {}))]
    assert len(labels) > 500
    assert any(label.startswith("virtual users, logarithmic: 1,234;") for label in labels)
    numbers = [number for label in labels if "-axis for" not in label for number in _DIGITS.findall(label)]
    long = [number for number in numbers if len(re.sub(r"[,.]", "", number).lstrip("0")) > FEW_DIGITS]
    assert numbers and not long, [label for label in labels if any(number in label for number in long)][:3]


def test_the_figures_are_drawn_with_their_units(results: Results) -> None:
    drawn = texts(static_svg(capacity_curve.draw(capacity_curve.compute(results), "users")))
    assert "throughput [1/s]" in drawn
    assert "mean response time [ms]" in drawn
    assert "search_index absent" in drawn
    used = texts(static_svg(utilization_by_load.draw(utilization_by_load.compute(results), "users")))
    assert "utilization [%]" in used
    assert "content / database" in used


def test_names_of_knees_do_not_cover_each_other(results: Results) -> None:
    drawn = ElementTree.fromstring(static_svg(capacity_curve.draw(capacity_curve.compute(results), "users")))
    every = drawn.iter("{http://www.w3.org/2000/svg}text")
    names = [text for text in every if text.text in ("objective", "(D + Z) / D_max")]
    places = [tuple(map(float, re.findall(r"[\d.]+", text.get("transform", ""))[:2])) for text in names]
    # Letters at a font size of 10 px are about 5 px wide and 12 px high.
    near = [
        (first, second)
        for number, first in enumerate(places)
        for second in places[number + 1 :]
        if abs(first[0] - second[0]) < 5 * 12 and abs(first[1] - second[1]) < 12
    ]
    assert len(names) == 3
    assert near == []


def test_every_level_of_a_fit_stands_in_a_table(results: Results) -> None:
    found = tables(capacity_model.build(results))["Fitted curve and measured values by level"]
    modelled = [configuration for configuration in results.capacity.configurations if configuration.curve]
    wanted = [row for configuration in modelled for row in configuration.points if row.fitted_throughput]
    assert len(found.rows) == len(wanted) > 0
    assert {row[5] for row in found.rows} <= {"yes", "no", "no error known"}
    # The predicted throughputs have intervals, and so have the response times that are stated.
    assert all("[" in row[3] for row in found.rows)
    assert all("[" in row[7] for row in found.rows if row[7] != "–")
    assert any("[" in row[7] for row in found.rows)
    low, high = wanted[0].fitted_throughput_band_95
    assert low is not None and high is not None and wanted[0].fitted_throughput is not None
    assert low < wanted[0].fitted_throughput < high


def test_predicted_against_measured_stands_in_a_table(results: Results) -> None:
    section = capacity_model.build(results)
    found = tables(section)
    held = found["Held-out levels: prediction of the curve and measurement"]
    assert [row[1] for row in held.rows] == ["72", "72"]
    assert all(row[4].endswith("] %") for row in held.rows)
    assert "Knees of the curve by several definitions" in found


def test_demands_are_told_by_resource_and_by_transaction(results: Results) -> None:
    found = tables(demand_table.build(results))
    rows = {(row[0], row[1]): row for row in found["Demands of the mean transaction by resource"].rows}
    # The fitted service demand and the fitted background load have intervals.
    assert all("[" in cell for cell in rows["search_index present", "content"][3:5])
    by_class = found["Demands by transaction: search_index absent, content"]
    assert len(by_class.rows) == 5


def test_what_it_rests_on_names_assumptions_and_other_curves(results: Results) -> None:
    found = tables(model_trust.build(results))
    assumed = " ".join(row[1] for row in found["Assumptions and their tests"].rows)
    assert "one bottleneck" in assumed
    tried = found["Compared curves"].rows
    assert any(row[1].endswith("(chosen)") for row in tried)
    linear = next(row for row in tried if row[1] == "linear")
    # The half width of the interval is 10 % or more, so the value and both ends of the interval are printed in whole
    # per cent.
    assert re.fullmatch(r"\+\d\d \[−?\d+,\s\d\d\] %", linear[4])


def test_the_error_at_the_level_held_out_has_the_digits_that_its_band_supports(results: Results) -> None:
    section = model_trust.build(results)
    assert section is not None
    said = re.findall(r"held-out error of the throughput \S+ \[[^]]+\] %", str(section))
    modelled = [configuration for configuration in results.capacity.configurations if configuration.curve]
    assert len(said) == sum(configuration.held_out is not None for configuration in modelled) > 0


def test_the_model_lies_in_the_results_folder(tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results").path
    found = load_results(folder)
    kept = json.loads((folder / "model.json").read_text("utf-8"))
    assert set(kept.pop("made_from")) == {"files", "code", "content"}
    assert CapacityModel.model_validate(kept) == found.model
    assert kept["schema"] == "towtank/capacity-model/1"


def test_without_a_model_a_line_says_why() -> None:
    bare = dataclasses.replace(
        synthetic.results(), model=CapacityModel(refused="a curve needs 3 load levels", configurations=())
    )
    assert capacity_model.build(bare) is None
    assert demand_table.build(bare) is None
    assert model_trust.build(bare) is None
    modelled = ["".join(run.text for run in item) for item in limits.design_limits(bare)]
    assert "There is no capacity model: a curve needs 3 load levels." in modelled


def test_points_of_suspect_runs_are_open_in_the_figures_of_the_model(results: Results) -> None:
    suspects = {run.run_id for run in results.in_state("suspect")}
    assert suspects
    states = {
        (configuration.label, point.load): "suspect" if point.name in suspects else "valid"
        for configuration in results.capacity.configurations
        for point in configuration.points
    }
    for rows in (capacity_curve.compute(results).measured, utilization_by_load.compute(results).measured):
        assert {row.state for row in rows} == {"valid", "suspect"}
        assert all(row.state == states[row.configuration, row.load] for row in rows)
    for figure in (capacity_curve.figure(results), utilization_by_load.figure(results)):
        assert figure is not None
        assert "Open symbols depend on a suspect run." in figure.note
