"""Main figure of a report: throughput above response time, with knees and the line of the objective."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import report_synthetic as synthetic
from drawn_figures import find, texts

from towtank.report.figures import (
    answer,
)
from towtank.report.pictures import static_svg
from towtank.report.source import Results


def test_a_matrix_explains_its_own_marks() -> None:
    figure = answer.figure(synthetic.many())
    assert figure is not None
    assert "† depends on a suspect run. ✕ marks invalid runs" in figure.note
    assert not {"Whiskers", "Open", "Crosses"} & set(figure.note.split())


def with_objective(results: Results, **objective: Any) -> Results:
    study = {**results.study, "objectives": [objective]}
    return dataclasses.replace(results, manifest={**results.manifest, "study": study})


def test_the_figure_that_answers_has_response_times_below_throughput() -> None:
    figure = answer.figure(synthetic.results(verdicts={"r003": "invalid"}))
    assert figure is not None
    assert figure.title == "Throughput and mean response time against virtual users"
    shown = texts(static_svg(figure.spec or {}))
    assert {"throughput [1/s]", "ideal scaling"} <= {*shown}
    # The title of the lower axis is longer than the axis, so it has several lines.
    assert str(["mean response", "time [ms],", "logarithmic"]) in str(figure.spec)
    # The name of each configuration is shown once, for both panels. In both panels invalid runs are crosses.
    assert shown.count("search_index present") == 1
    assert shown.count("✕") == 2
    assert figure.table is not None
    (row,) = [row for row in figure.table.rows if row[:2] == ("search_index absent", "120")]
    # Without the index, the response time is R = N / X - Z = 120 / 62.5 - 1 = 0.92 s.
    assert row[3].replace("\N{NO-BREAK SPACE}", " ") == "920 [870, 970] ms"


def test_knees_are_drawn_if_a_limit_is_reached_below_the_highest_load() -> None:
    # The knee (D + Z) / D is at 101 users with the index and at 63.5 users without it. Each knee has an error of 5 %.
    knees = answer.compute(synthetic.results()).knees
    assert [(knee.configuration, round(knee.load, 1)) for knee in knees] == [
        ("search_index present", 101.0),
        ("search_index absent", 63.5),
    ]
    assert texts(static_svg(answer.draw(answer.compute(synthetic.results())))).count("knee") == 2
    assert answer.compute(synthetic.results(levels=(30, 60))).knees == []


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.5, "p95 < it"), (99.0, "p95 < it (above this axis)"), (0.0001, "p95 < it (below this axis)")],
)
def test_the_objective_is_a_line_in_its_own_quantity_or_said_to_lie_beyond(value: float, shown: str) -> None:
    results = with_objective(synthetic.results(), text="p95 < it", metric="p95", comparison="<", value=value)
    numbers = answer.compute(results)
    assert numbers.statistic == "p95"
    assert find(numbers.times, "search_index absent", 120).value == pytest.approx(0.92 * 2.2)
    assert shown in texts(static_svg(answer.draw(numbers)))


@pytest.mark.parametrize(
    "scope", [{"transaction": "view_properties"}, {"every_s": 5.0}, {"users": 60}, {"metric": "errors"}]
)
def test_an_objective_about_something_else_is_no_line(scope: dict[str, Any]) -> None:
    objective: dict[str, Any] = {"text": "x", "metric": "p95", "comparison": "<", "value": 0.5, **scope}
    numbers = answer.compute(with_objective(synthetic.results(), **objective))
    assert (numbers.statistic, numbers.objective) == ("mean", None)


def test_a_knee_of_suspect_runs_is_open() -> None:
    # The knee of a configuration depends on its runs at the lowest load, which are r001 (with the index) and r005.
    results = synthetic.results(verdicts={"r001": "suspect", "r004": "suspect"})
    knees = answer.compute(results).knees
    assert [knee.state for knee in knees] == ["suspect", "valid"]
    upper = answer.draw(answer.compute(results))["vconcat"][0]
    triangles = [layer for layer in upper["layer"] if dict(layer["mark"]).get("shape") == "triangle-up"]
    assert [(layer["mark"]["filled"], [row["state"] for row in layer["data"]["values"]]) for layer in triangles] == [
        (True, ["valid"]), (False, ["suspect"]),
    ]  # fmt: skip
