from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from towtank.analysis import EventResult
from towtank.documents import record_of
from towtank.model import PredictedBand, PredictionResult
from towtank.report import bidi, drawing, runs_over_time
from towtank.report import format as people
from towtank.report.content import events, prediction, workload
from towtank.report.document import Table
from towtank.report.figures import ground
from towtank.report.source import Results

HEBREW = "\u05d0\u05d1"
FSI, LRI, PDI = "\u2068", "\u2066", "\u2069"


def isolated(word: str) -> str:
    return f"{FSI}{word}{PDI}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        (HEBREW, isolated(HEBREW)),
        (f"a {HEBREW} b", f"a {isolated(HEBREW)} b"),
        (f"{HEBREW}-12", isolated(f"{HEBREW}-12")),
        (f"x{HEBREW}", isolated(f"x{HEBREW}")),
        (f"({HEBREW})", f"({isolated(HEBREW)})"),
        (f"({HEBREW}/{HEBREW})", f"({isolated(f'{HEBREW}/{HEBREW}')})"),
        (f"{HEBREW}- b", f"{isolated(HEBREW)}- b"),
        (f"{HEBREW} {HEBREW} c", f"{isolated(f'{HEBREW} {HEBREW}')} c"),
        (f"{HEBREW} a {HEBREW}", f"{isolated(HEBREW)} a {isolated(HEBREW)}"),
    ],
)
def test_words_from_right_to_left_are_isolated_with_their_digits(text: str, shown: str) -> None:
    assert bidi.plain(text) == shown


@pytest.mark.parametrize(
    ("word", "balanced"),
    [
        ("a", "a"),
        (f"{LRI}a", f"{LRI}a{PDI}"),
        (f"{LRI}{LRI}a{PDI}", f"{LRI}{LRI}a{PDI}{PDI}"),
        (f"a{PDI}b", "ab"),
        (f"{PDI}{LRI}a{PDI}", f"{LRI}a{PDI}"),
    ],
)
def test_isolates_within_a_word_are_closed(word: str, balanced: str) -> None:
    assert bidi._balanced(word) == balanced


PREDICTED: dict[str, Any] = {
    "from": {"nodes": "one"},
    "to": {"nodes": "four"},
    "servers_from": 1,
    "servers_to": 4,
    "service": "content",
    "fitted": {"bottleneck_demand_s": 0.04, "other_s": 0.01},
    "shared": [],
    "think_time_s": 2.0,
}
PREDICTION = PredictionResult.model_validate(PREDICTED)


def predicted(**more: Any) -> PredictionResult:
    return PredictionResult.model_validate(PREDICTED | more)


@pytest.mark.parametrize(
    ("small", "big", "time_s"),
    [
        (None, None, 0.01),
        (4, None, 0.01),
        (None, 4, 0.01),
        (4, 8, 0.01),
        (2, 0.5, 0.02),
        (1.5, 3, 0.0075),
        (3, 1.5, 0.04 / 3),
    ],
)
def test_the_time_at_the_grown_tier_follows_from_the_speed_of_its_cpus(
    small: float | None, big: float | None, time_s: float
) -> None:
    # A host of c CPUs is ceil(c) servers of the speed c / ceil(c). The demand of 40 ms is divided among four hosts.
    assert prediction._time(predicted(cpus_from=small, cpus_to=big)) == pytest.approx(time_s)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "in 4 copies instead of 1"),
        ({"servers_from": 4}, ""),
        ({"servers_from": 4, "cpus_from": 2, "cpus_to": 8}, "with 8 CPUs instead of 2"),
        ({"cpus_from": 2, "cpus_to": 8}, "in 4 copies instead of 1 and with 8 CPUs instead of 2"),
        ({"cpus_from": 2, "cpus_to": 2}, "in 4 copies instead of 1"),
        ({"cpus_from": 2, "cpus_to": None}, "in 4 copies instead of 1"),
    ],
)
def test_what_has_grown_is_said(more: dict[str, Any], text: str) -> None:
    assert prediction._growth(predicted(**more)) == text


@pytest.mark.parametrize(
    ("sizes", "noted"), [((1, 1), False), ((0.5, 1), True), ((2, 0.99), True), ((None, None), False)]
)
def test_a_host_of_less_than_a_cpu_is_noted(sizes: tuple[float | None, float | None], noted: bool) -> None:
    shared = {"name": "db", "demand_s": 0.01, "service_time_s": 0.01, "utilization": 0.5, "cpus_then": sizes[1]}
    table = prediction._stations(predicted(cpus_to=sizes[0], shared=[shared]))
    assert ("less than one CPU" in str(table)) is noted
    assert [str(cell) for cell in table.rows[0][:4]] == [
        "content (fitted)",
        "4",
        "40.0 ms",
        people.seconds(prediction._time(predicted(cpus_to=sizes[0]))),
    ]


def band(median: float, low: float | None, high: float | None) -> PredictedBand:
    return PredictedBand(median=median, band_95=(low, high))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, people.ABSENT),
        (band(5, None, 6), "5 [any, 6]"),
        (band(5, 4, None), "5 [4, any]"),
        (band(5, None, None), "5 [any, any]"),
        (band(5, 4, 6), "estimate"),
    ],
)
def test_an_end_of_a_band_may_be_unknown(given: PredictedBand | None, text: str) -> None:
    assert prediction._band(given, "{:g}".format, lambda _: "estimate") == text


def test_measured_points_are_those_of_the_predicted_configuration() -> None:
    points = [
        {"load": 10, "verdicts": ["valid"]},
        {"load": 20, "verdicts": ["invalid", "suspect"]},
        {"load": 30, "verdicts": ["invalid"]},
        {"load": 40},
    ]
    other = {"key": {"nodes": "one"}, "points": [{"load": 99, "verdicts": ["valid"]}]}
    here = {"key": {"nodes": "four", "index": "present"}, "points": points}
    results = Results("r", {}, {"configurations": [other, here]})
    assert list(prediction._measured(results, PREDICTION)) == [10.0, 20.0]
    results = Results("r", {}, {"configurations": [{"key": None, "points": points}, other]})
    assert prediction._measured(results, PREDICTION) == {}


def event(**more: Any) -> dict[str, Any]:
    return {"do": "kill", "on": "content", "begin_s": 4.0, "until_s": None, **more}


@pytest.mark.parametrize(
    ("given", "back", "failures"),
    [
        (event(recovery_s=2.0, disturbed=True), "2.00 s", ""),
        (event(recovery_s=0.0, disturbed=False), "undisturbed", ""),
        (event(recovery_s=None, disturbed=True, during={}), "not before the end of the stage", "none"),
        (event(during={"failed_requests": {"status_5xx": 3, "connect": 1}}), "not judged", "3 status 5xx, 1 connect"),
    ],
)
def test_an_event_has_its_recovery_and_its_failures(given: dict[str, Any], back: str, failures: str) -> None:
    found = record_of(EventResult, given)
    assert (events._back(found), events._failures(found)) == (back, failures)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (event(failed="no process"), "the event did not occur as requested: no process."),
        (event(why="it is late"), "not judged, because it is late."),
        (event(why="it is late", disturbed=False), ""),
        (event(left={"free_files": 2, "free_bytes": 4096}), "2 files and 4,096 bytes free"),
        (event(), ""),
    ],
)
def test_an_event_that_failed_or_was_not_judged_is_noted(given: dict[str, Any], text: str) -> None:
    run: Any = SimpleNamespace(run_id="r001")
    found = events._note(run, "lost", record_of(EventResult, given))
    assert text in found
    assert bool(found) is bool(text)


@pytest.mark.parametrize(
    ("stage", "length"),
    [
        ({"each_s": 0.02}, "20.0 ms per user"),
        ({"duration_s": 5}, "5 s"),
        ({"start_s": 2, "end_s": 5.5}, "3.5 s"),
        ({"start_s": 2}, people.ABSENT),
        ({"end_s": 2}, people.ABSENT),
    ],
)
def test_a_stage_has_a_length(stage: dict[str, Any], length: str) -> None:
    assert record_of(workload._Stage, stage).length == length


def placed(x: float, y: float, column: int) -> Any:
    return SimpleNamespace(x=x, y=y, column=column, height=40.0, middle=y + 20.0)


@pytest.mark.parametrize(
    ("start", "end", "path"),
    [
        (placed(0, 0, 0), placed(0, 100, 0), "M{half},40 L{half},100"),
        (placed(0, 100, 0), placed(0, 0, 0), "M{half},100 L{half},40"),
        (placed(0, 0, 0), placed(400, 100, 1), "M{width},20 L{bend},20 L{bend},120 L400,120"),
        (placed(400, 100, 1), placed(0, 0, 0), "M400,120 L{bend},120 L{bend},20 L{width},20"),
    ],
)
def test_an_arrow_runs_from_edge_to_edge(start: Any, end: Any, path: str) -> None:
    svg = ElementTree.Element("svg")
    drawing._arrow(svg, start, end)
    width = drawing._BOX_WIDTH
    shown = path.format(half=f"{width / 2:g}", width=f"{width:g}", bend=f"{(width + 400) / 2:g}")
    assert svg[0].get("d") == shown
    tip = shown.rpartition("L")[2]
    assert str(svg[1].get("points")).split()[0] == tip


def test_the_head_of_an_arrow_lies_behind_its_tip() -> None:
    svg = ElementTree.Element("svg")
    drawing._arrow(svg, placed(0, 0, 0), placed(0, 100, 0))
    half = drawing._BOX_WIDTH / 2
    points = {tuple(map(float, point.split(","))) for point in str(svg[1].get("points")).split()}
    assert points == {(half, 100.0), (half - 4.5, 91.0), (half + 4.5, 91.0)}


@pytest.mark.parametrize(("words", "shown"), [("abcd", "abcd"), ("abcde", "abc…"), ("a\x07", "a�")])
def test_a_text_that_is_too_long_for_its_box_is_cut(words: str, shown: str) -> None:
    svg = ElementTree.Element("svg")
    drawing._text(svg, 0, 0, words, width=4 * drawing._LETTER + 0.01, style={})
    assert svg[0].text == shown


def test_events_without_an_end_are_lines_in_rows() -> None:
    given: Any = SimpleNamespace(events=[EventResult(**event()), EventResult(**event(begin_s=6.0, until_s=9.0))])
    layers = ground._events(given, {}, names=False)
    spans = layers[0]["data"]["values"]
    assert [(span["t"], span["end"], span["row"]) for span in spans] == [(4.0, 4.0, 4), (6.0, 9.0, 17)]
    assert ground._events(SimpleNamespace(events=[]), {}, names=True) == []  # type: ignore[arg-type]


def test_each_set_of_events_is_shown_by_its_run_with_the_highest_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(name: str, load: float | None, *names: str) -> Any:
        return SimpleNamespace(run_id=name, load=load, verdict="valid", summary={"events": {key: {} for key in names}})

    runs = [run("r1", 5, "lost"), run("r2", 9, "lost"), run("r3", None, "cut"), run("r4", 7, "cut"), run("r5", 99)]
    monkeypatch.setattr(runs_over_time, "has_timeline", lambda _run: True)
    results: Any = SimpleNamespace(measured=runs)
    monkeypatch.setattr(runs_over_time, "choose", lambda _results: runs[4])
    assert [found.run_id for found in runs_over_time.with_events(results)] == ["r2", "r4"]
    monkeypatch.setattr(runs_over_time, "choose", lambda _results: runs[1])
    assert [found.run_id for found in runs_over_time.with_events(results)] == ["r4"]
    monkeypatch.setattr(runs_over_time, "has_timeline", lambda found: found is not runs[3])
    assert runs_over_time.with_events(results) == []


def test_a_table_of_a_prediction_has_a_row_for_each_load() -> None:
    rows = [{"load": 10, "throughput": band(5, 4, 6), "response_s": None}, {"load": 20}]
    point = {"load": 10, "verdicts": ["valid"], "throughput_per_s": {"value": 7, "low": 6.5, "high": 7.5}}
    configuration = {"key": {"nodes": "four"}, "points": [point]}
    results = Results("r", {}, {"load_factor": "users", "configurations": [configuration]})
    table = prediction._table(results, predicted(rows=rows))
    assert isinstance(table, Table)
    assert [str(row[0]) for row in table.rows] == ["10", "20"]
    assert [str(row[3]) for row in table.rows] == ["above", people.ABSENT]
