"""Figure of throughput against load: points, single runs, marks of doubtful runs, and bounds."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import report_synthetic as synthetic
from drawn_figures import find, repeated, texts, with_cpus

from towtank.analysis import LoadPoint
from towtank.model import CapacityModel
from towtank.report.figures import (
    throughput,
)
from towtank.report.pictures import static_svg


def test_throughput_gathers_points_and_the_ideal_slope() -> None:
    numbers = throughput.compute(synthetic.results())
    # By its asymptotic bounds, the synthetic system has a throughput of 30 / 1.010 s = 29.70 /s at 30 users, and of 1 /
    # 0.010 s = 100 /s at 120 users.
    assert find(numbers.points, "search_index present", 30).value == pytest.approx(30 / 1.010)
    assert find(numbers.points, "search_index present", 120).value == pytest.approx(100.0)
    assert numbers.ideal["search_index absent"] == pytest.approx(1 / 1.016)


def test_a_configuration_with_one_level_that_counts_has_no_ideal() -> None:
    invalid = {f"r{number:03d}": "invalid" for number in range(2, len(synthetic.LEVELS) + 1)}
    numbers = throughput.compute(synthetic.results(verdicts=invalid))
    assert list(numbers.ideal) == ["search_index absent"]


def test_throughput_keeps_the_interval() -> None:
    point = find(throughput.compute(synthetic.results()).points, "search_index present", 120)
    assert (point.low, point.high) == (pytest.approx(95.0), pytest.approx(105.0))


def test_suspect_and_invalid_runs_are_told_apart() -> None:
    points = throughput.compute(synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"})).points
    states = {point.runs[0]: point.state for point in points if point.configuration == "search_index present"}
    assert states == {"r001": "valid", "r002": "suspect", "r003": "invalid", "r004": "valid"}


def test_invalid_runs_have_no_place_in_lines() -> None:
    spec = throughput.draw(throughput.compute(synthetic.results(verdicts={"r003": "invalid"})))
    lines: list[Any] = [layer for layer in spec["layer"] if layer["mark"]["type"] == "line" and "transform" in layer]  # type: ignore[attr-defined]
    assert [layer["transform"] for layer in lines] == [[{"filter": "!(datum.state === 'invalid')"}]]


def test_a_cross_tells_its_configuration_without_colour() -> None:
    spec: Any = throughput.draw(throughput.compute(synthetic.results(verdicts={"r003": "invalid"})))
    crossed = [layer for layer in spec["layer"] if layer.get("transform") == [{"filter": "datum.state === 'invalid'"}]]
    assert [layer["mark"]["type"] for layer in crossed] == ["point", "text"]
    assert "shape" in crossed[0]["encoding"]


def test_point_is_as_weak_as_the_weakest_run_in_it() -> None:
    assert LoadPoint.model_validate({"verdicts": ["valid", "valid"]}).state == "valid"
    assert LoadPoint.model_validate({"verdicts": ["valid", "suspect"]}).state == "suspect"
    # One of the runs is invalid; the estimate is from the valid run only.
    assert LoadPoint.model_validate({"verdicts": ["valid", "invalid"]}).state == "valid"
    assert LoadPoint.model_validate({"verdicts": ["invalid"]}).state == "invalid"
    assert LoadPoint().state == "invalid"


def test_every_run_stands_beside_the_point_that_combines_several() -> None:
    numbers = throughput.compute(repeated())
    assert [(run.load, run.value, run.runs) for run in numbers.runs] == [
        (120.0, 90.0, ("r004",)),
        (120.0, 110.0, ("r009",)),
    ]
    assert throughput.compute(synthetic.results()).runs == []
    figure = throughput.figure(repeated())
    assert figure is not None
    assert "Small symbols to the right of a point are its single runs." in figure.note


def test_the_bound_of_the_demands_is_the_highest_throughput() -> None:
    # One CPU processes at most 1 / 0.010 = 100 or 1 / 0.016 = 62.5 transactions per second.
    numbers = throughput.compute(with_cpus(synthetic.results(), 1.0))
    assert numbers.highest == {
        "search_index present": pytest.approx(100.0),
        "search_index absent": pytest.approx(62.5),
    }
    assert texts(static_svg(throughput.draw(numbers))).count("1 / D_max") == 2


def test_a_bound_far_above_the_measurement_is_not_drawn() -> None:
    numbers = throughput.compute(with_cpus(synthetic.results(), 4.0))
    assert "1 / D_max" not in texts(static_svg(throughput.draw(numbers)))


def test_the_bound_of_the_model_replaces_that_of_the_demands() -> None:
    results = with_cpus(synthetic.results(), 1.0)
    model = {"configurations": [{"label": "search_index present", "refused": None, "limit_throughput": 97.0}]}
    numbers = throughput.compute(dataclasses.replace(results, model=CapacityModel.model_validate(model)))
    assert numbers.highest["search_index present"] == 97.0
    assert numbers.exceeded == []


@pytest.mark.parametrize(("cpus", "drawn"), [(1.0, 100.0), (0.7, None)])
def test_a_bound_that_measurements_exceed_is_not_drawn_and_has_its_reason(cpus: float, drawn: float | None) -> None:
    # The measured throughput at 120 users is 100 [95, 105] /s. The limit of the model, 90 /s, is below the whole
    # interval, so it is not drawn. With 0.7 CPUs, the bound of the demands, 0.7 / 10 ms = 70 /s, is not drawn either.
    results = with_cpus(synthetic.results(), cpus)
    model = {"configurations": [{"label": "search_index present", "refused": None, "limit_throughput": 90.0}]}
    results = dataclasses.replace(results, model=CapacityModel.model_validate(model))
    figure = throughput.figure(results)
    assert figure is not None
    assert throughput.compute(results).highest.get("search_index present") == (drawn and pytest.approx(drawn))
    assert (
        "search_index present: the limit of the capacity model, 90.0 /s, is not drawn, because 100 [95, 105] /s was "
        "measured at 120"
    ) in figure.note.replace("\N{NO-BREAK SPACE}", " ")


def test_several_runs_at_one_load_stand_over_it_beside_their_mean() -> None:
    results = repeated()
    (configuration,) = results.summary["configurations"][:1]
    configuration["points"] = configuration["points"][3:]
    one = dataclasses.replace(results, summary={**results.summary, "configurations": [configuration]})
    figure = throughput.figure(one)
    assert figure is not None
    assert figure.title == "Throughput against virtual users"
