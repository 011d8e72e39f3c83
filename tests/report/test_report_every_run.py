"""Every run has a timeline in the report, invalid runs first. After twelve timelines, the others are in a folded
section.
"""

from __future__ import annotations

import dataclasses
from typing import Any
from xml.etree import ElementTree

import report_synthetic as synthetic

from towtank.report.content import figures
from towtank.report.document import Figure
from towtank.report.figures import every_run
from towtank.report.source import Results

SVG = "{http://www.w3.org/2000/svg}"


def drawn(results: Results) -> list[Figure]:
    blocks = figures.build(results).blocks
    return [block for block in blocks if isinstance(block, Figure) and block.name.startswith(every_run.NAME)]


def titles(figure: Figure) -> list[str]:
    texts = ElementTree.fromstring(figure.svg or "").iter(f"{SVG}text")
    return [str(text.text) for text in texts if text.get("font-weight") == "bold"]


def with_timeline(run: str, **changes: Any) -> Results:
    results = synthetic.results()
    runs = []
    for each in results.runs:
        timeline = {**each.summary["timeline"], **(changes if each.run_id == run else {})}
        runs.append(dataclasses.replace(each, summary={**each.summary, "timeline": timeline}))
    return dataclasses.replace(results, runs=tuple(runs))


def timed_run(results: Results, run: str) -> every_run.TimedRun:
    return next(each for each in every_run.compute(results) if each.run.run_id == run)


def test_runs_that_do_not_count_come_first() -> None:
    results = synthetic.results(verdicts={"r002": "suspect", "r006": "invalid", "r004": "suspect"}, missing=("r007",))
    (figure,) = drawn(results)
    first = ["r006: invalid", "r002: suspect", "r004: suspect"]
    assert titles(figure) == [*first, *(f"r{number:03d}: valid" for number in (1, 3, 5, 8))]
    assert figure.table is not None
    assert [row[0] for row in figure.table.rows] == [title[:4] for title in titles(figure)]
    assert not figure.is_detail


def test_a_run_that_was_not_judged_has_a_timeline_too() -> None:
    results = synthetic.results()
    run = results.runs[2]
    unjudged = dataclasses.replace(run, summary={key: run.summary[key] for key in ("timeline", "factors")})
    results = dataclasses.replace(results, runs=(*results.runs[:2], unjudged, *results.runs[3:]))
    assert titles(drawn(results)[0])[0] == "r003: not judged"


def test_twelve_runs_stand_in_the_body_and_the_others_are_folded() -> None:
    results = synthetic.many()
    found = drawn(results)
    assert [figure.is_detail for figure in found] == [False] + [True] * 5
    assert [len(titles(figure)) for figure in found] == [12] * 6
    assert len({title for figure in found for title in titles(figure)}) == len(results.runs) == 72
    assert titles(found[0])[0].endswith(": invalid")
    assert len({figure.name for figure in found}) == 6


def test_a_single_run_has_its_large_timeline_only() -> None:
    assert drawn(synthetic.results(levels=(30,), indices=("present",))) == []


def test_a_long_run_has_few_points_that_are_means() -> None:
    seconds = [float(second) for second in range(1, 601)]
    found = timed_run(with_timeline("r001", t_s=seconds, throughput_per_s=seconds, response_mean_s=[0.1] * 600,
                                 errors_per_s=[0.0] * 7 + [2.0] + [0.0] * 592, stages=[]), "r001")  # fmt: skip
    assert len(found.times) == len(found.rates) == len(found.failed) == every_run.POINTS_AT_MOST
    assert found.rates[:2] == [3.0, 8.0]
    assert found.failed[:3] == [False, True, False]
    assert found.end_s == 600.0


def test_a_gap_divides_the_line_and_failures_are_marked() -> None:
    rates: list[float | None] = [10.0] * 40
    rates[20] = None
    results = with_timeline("r001", throughput_per_s=rates, errors_per_s=[0.0] * 39 + [1.0], stages=[])
    shown = ElementTree.fromstring(every_run.draw([timed_run(results, "r001")], "title"))
    lines = [line.get("points", "").split() for line in shown.iter(f"{SVG}polyline")]
    assert [len(points) for points in lines[:2]] == [20, 19]
    (marks,) = [path for path in shown.iter(f"{SVG}path") if path.get("stroke-width") == "4"]
    assert marks.get("d", "").count("M") == 1


def test_the_rates_of_leaving_users_do_not_set_the_scale() -> None:
    stages = [{"name": "steady", "phase": "steady", "start_s": 0.0, "end_s": 35.0},
              {"name": "ramp_down", "phase": "ramp_down", "start_s": 35.0, "end_s": 40.0}]  # fmt: skip
    results = with_timeline("r001", throughput_per_s=[10.0] * 35 + [900.0] * 5, stages=stages)
    found = timed_run(results, "r001")
    assert (max(rate for rate in found.rates if rate is not None), found.end_s) == (10.0, 35.0)
    assert len(found.times) == len(found.rates) == len(found.responses) == len(found.failed) == 35


def test_a_line_lies_in_its_plot_and_has_the_shape_of_its_numbers() -> None:
    found = timed_run(synthetic.results(), "r001")
    shown = ElementTree.fromstring(every_run.draw([found], "title"))
    rates, times = ([tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
                    for line in shown.iter(f"{SVG}polyline"))  # fmt: skip
    assert max(y for _, y in rates) <= 34 + 46 <= min(y for _, y in times)
    highest = max(range(len(rates)), key=lambda number: found.rates[number] or 0.0)
    assert min(rates, key=lambda point: point[1]) == rates[highest]
    texts = [text.text for text in shown.iter(f"{SVG}text")]
    assert "search_index present, 30 users" in texts
