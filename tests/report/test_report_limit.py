from __future__ import annotations

import dataclasses

import pytest
import report_synthetic as synthetic

from towtank.report.content import backlog, build_document, found_limit
from towtank.report.document import Callout, Figure, Paragraph, Table
from towtank.report.figures import limit as figure

OBJECTIVE = "p95 < 200 ms"


def plateau(level, seen, passed=True):
    text = f"{OBJECTIVE}: seen {1000 * seen:.0f} ms"
    return {
        "level": level,
        "stage": f"steady {level}",
        "passed": passed,
        "failure": None if passed else {"kind": "objective_missed", "text": text, "seen": seen, "limit": 0.2},
        "settled": True,
        "throughput_per_s": synthetic.estimate(level / 0.6),
        "response_time_s": {"mean": synthetic.estimate(seen / 2), "p95": synthetic.estimate(seen)},
        "errors_share": 0.0,
        "objective": {"text": OBJECTIVE, "metric": "p95", "seen": seen, "limit": 0.2},
    }


LIMIT = {
    "of": "users",
    "value": 128,
    "low": 120,
    "high": 140,
    "method": "tested bracket",
    "confidence": 0.95,
    "n": 3,
    "is_lower_bound": False,
    "ended": "refined",
    "failure": {"kind": "objective_missed", "text": f"{OBJECTIVE}: seen 216 ms", "seen": 0.216, "limit": 0.2},
    "binding": {"text": OBJECTIVE, "metric": "p95", "seen": 0.216, "limit": 0.2},
    "window_level": 120,
    "plateaus": [plateau(60, 0.055), plateau(120, 0.153), plateau(140, 0.304, passed=False)],
}
BACKLOG = {
    "at_start": 40,
    "at_end": 11,
    "waiting_at_start": 0,
    "waiting_at_end": 0,
    "needs": 11.4,
    "swing": 3.4,
    "excess_at_start": 18.4,
    "drained_s": 2.5,
}


@pytest.fixture
def results():
    found = synthetic.results(levels=(120,), indices=("present",))
    run = dataclasses.replace(found.runs[0], summary={**found.runs[0].summary, "limit": LIMIT, "backlog": BACKLOG})
    configuration = {**found.summary["configurations"][0], "found_limit": LIMIT}
    return dataclasses.replace(found, runs=(run,), summary={**found.summary, "configurations": [configuration]})


def words(blocks):
    texts = [block.content for block in blocks if isinstance(block, Paragraph)]
    texts += [content for block in blocks if isinstance(block, Callout) for content in block.content]
    return " ".join(run.text for content in texts for run in content)


def test_section_says_the_limit_and_what_it_rests_on(results):
    section = found_limit.build(results)
    said = words(section.blocks)
    assert "128 users [120, 140] (tested bracket, 95 % confidence within one run)" in said
    assert "Beyond it: p95 < 200 ms: seen 216 ms." in said
    assert "its plateau at 120" in said
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert [row[1:3] for row in table.rows] == [("60", "passed"), ("120", "passed"), ("140", "failed")]
    assert table.rows[2][-1] == "p95 < 200 ms: seen 304 ms"
    assert any(isinstance(block, Figure) for block in section.blocks)


def test_figure_has_the_plateaus_in_the_unit_of_the_axis(results):
    numbers = figure.compute(results, results.runs[0])
    assert numbers.title == "p95 [ms]"
    assert [(row.load, round(row.value), row.outcome) for row in numbers.rows] == [
        (60.0, 55, "passed"),
        (120.0, 153, "passed"),
        (140.0, 304, "failed"),
    ]
    assert numbers.limit == pytest.approx(200.0)
    band = figure.draw(numbers)["layer"][0]
    assert band["data"]["values"] == [{"load": 120, "end": 140}]
    assert "of which 1 failed; the limit is 128 users [120, 140]." in figure.description(numbers)


def test_a_plateau_without_an_answer_is_shown_above_all_values(results):
    text = f"{OBJECTIVE}: no request ended, and some were in flight for longer than this limit"
    silent = plateau(200, 0.0, passed=False)
    silent |= {"failure": {"kind": "objective_missed", "text": text, "seen": None, "limit": 0.2}}
    silent["objective"] = {**silent["objective"], "seen": None}
    limit = {**LIMIT, "plateaus": [*LIMIT["plateaus"], silent], "binding": silent["objective"]}
    run = dataclasses.replace(results.runs[0], summary={**results.runs[0].summary, "limit": limit})
    numbers = figure.compute(results, run)
    assert [(row.load, row.outcome) for row in numbers.rows][-1] == (200.0, "failed without a response")
    layer = figure.draw(numbers)["layer"][-1]
    assert (layer["mark"]["text"], layer["encoding"]["y"]) == ("▲", {"value": 0})
    assert "of which 2 failed" in figure.description(numbers)
    assert "Triangles at the top are plateaus" in figure.figure(results, run).note
    assert figure.figure(results, run).table.rows[-1][2:] == ("–", "failed without a response")


def test_a_plateau_that_failed_another_objective_is_not_drawn_as_one_without_a_response(results):
    other = {"text": "errors < 1 %", "metric": "errors", "seen": 0.05, "limit": 0.01}
    failed = plateau(200, 0.1, passed=False) | {"objective": other, "failure": {"kind": "errors", "text": "5 %"}}
    limit = {**LIMIT, "plateaus": [*LIMIT["plateaus"], failed]}
    run = dataclasses.replace(results.runs[0], summary={**results.runs[0].summary, "limit": limit})
    assert [row.load for row in figure.compute(results, run).rows] == [60.0, 120.0, 140.0]
    note = figure.figure(results, run).note
    assert "without a response" not in note
    assert "Triangles" not in note
    assert "Without a value of the drawn quantity: 1 failed plateau." in note


def test_without_an_objective_the_figure_shows_throughput(results):
    bare = {**LIMIT, "binding": None, "plateaus": [{**each, "objective": None} for each in LIMIT["plateaus"]]}
    run = dataclasses.replace(results.runs[0], summary={**results.runs[0].summary, "limit": bare})
    numbers = figure.compute(results, run)
    assert (numbers.title, numbers.limit) == ("throughput [1/s]", None)
    assert numbers.rows[0].value == pytest.approx(100.0)


def test_studies_without_a_search_have_no_such_section():
    found = synthetic.results()
    assert found_limit.build(found) is None
    assert "limit" not in {section.name for section in build_document(found).sections}


def test_backlog_is_told(results):
    section = backlog.build(results)
    assert "1 run of 1 began the window with significantly more" in words(section.blocks)
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert table.rows[0][1:] == ("40", "11", "11.4", "0", "0", "2.50 s")
