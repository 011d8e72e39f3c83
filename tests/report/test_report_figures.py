"""Figures: the numbers by value, the pictures by drawing them."""

from __future__ import annotations

import dataclasses
from typing import Any
from xml.etree import ElementTree

import pytest
import report_synthetic as synthetic

from towtank.report.figures import (
    FIGURES,
    cpu_by_tier,
    disk,
    response_time,
    scaling,
    series,
    throughput,
    timeline,
    transactions,
)
from towtank.report.html import static_svg
from towtank.report.source import Results


def find(points: list[series.Point], configuration: str, load: float) -> series.Point:
    """The one point of a configuration at a load."""
    (point,) = [p for p in points if p.configuration == configuration and p.load == load]
    return point


def texts(svg: str) -> list[str]:
    """All texts in a picture."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_throughput_gathers_points_and_the_ideal_slope() -> None:
    numbers = throughput.compute(synthetic.results())
    # Asymptotic bounds of the synthetic system: 30 / 1.010 = 29.70 and 1 / 0.010 = 100 transactions a second.
    assert find(numbers.points, "search_index present", 30).value == pytest.approx(30 / 1.010)
    assert find(numbers.points, "search_index present", 120).value == pytest.approx(100.0)
    assert numbers.ideal["search_index absent"] == pytest.approx(1 / 1.016)


def test_throughput_keeps_the_interval() -> None:
    point = find(throughput.compute(synthetic.results()).points, "search_index present", 120)
    assert (point.low, point.high) == (pytest.approx(95.0), pytest.approx(105.0))


def test_scaling_is_relative_to_the_lowest_level() -> None:
    numbers = scaling.compute(synthetic.results())
    assert find(numbers.points, "search_index present", 30).value == pytest.approx(1.0)
    # Present is linear to 90 users, so three times the lowest level; 100 /s is 100 / 29.70 = 3.367 times.
    assert find(numbers.points, "search_index present", 90).value == pytest.approx(3.0)
    top = find(numbers.points, "search_index present", 120)
    assert top.value == pytest.approx(100 / (30 / 1.010))
    assert scaling.efficiency(numbers, top) == pytest.approx(top.value / 4)


def test_scaling_starts_at_the_lowest_level_that_counts() -> None:
    numbers = scaling.compute(synthetic.results(verdicts={"r001": "invalid"}))
    assert numbers.base["search_index present"] == 60
    assert find(numbers.points, "search_index present", 60).value == pytest.approx(1.0)


def test_response_time_has_mean_and_p95() -> None:
    numbers = response_time.compute(synthetic.results())
    # R = N / X - Z: 120 / 62.5 - 1 = 0.92 s without the index.
    assert find(numbers.points["mean"], "search_index absent", 120).value == pytest.approx(0.92)
    assert find(numbers.points["p95"], "search_index absent", 120).value == pytest.approx(0.92 * 2.2)
    assert numbers.unit == "s"


def test_disk_gathers_reads_and_writes() -> None:
    numbers = disk.compute(synthetic.results())
    assert find(numbers.points["read"], "search_index present", 60).value == 60_000
    assert find(numbers.points["write"], "search_index present", 60).value == 1_800_000
    assert numbers.unit == "MiB"


def test_disk_of_an_invalid_run_sums_its_disks() -> None:
    summary = {"host": {"disks": {"a": {"read_bytes_per_s": 1.0}, "b": {"read_bytes_per_s": 2.5}}}}
    assert disk.disks_total("read_bytes_per_s", summary) == {"value": 3.5}
    assert disk.disks_total("write_bytes_per_s", summary) is None


def test_cpu_splits_a_tier_into_its_parts_and_the_rest() -> None:
    numbers = cpu_by_tier.compute(synthetic.results())
    at_top = {s.part: s.cpus for s in numbers.slices if s.configuration == "search_index absent" and s.load == 120}
    # The tier uses its one CPU whole, 60 % of it in the database.
    assert at_top == {"content: database": pytest.approx(0.6), "content: rest": pytest.approx(0.4)}
    assert numbers.capacity == 1


def test_cpu_of_a_tier_without_parts_stays_whole() -> None:
    results = synthetic.results()
    for configuration in results.summary["configurations"]:
        for point in configuration["points"]:
            del point["tiers"]["content"]["parts"]
    assert {one.part for one in cpu_by_tier.compute(results).slices} == {"content"}


def test_cpu_part_above_its_tier_leaves_no_negative_rest() -> None:
    results = synthetic.results(levels=(30,))
    point = results.summary["configurations"][0]["points"][0]
    point["tiers"]["content"]["parts"]["database"]["cpus_used"] = synthetic.estimate(2.0)
    assert min(one.cpus for one in cpu_by_tier.compute(results).slices) == 0.0


def test_transactions_compare_at_the_lowest_and_highest_common_load() -> None:
    numbers = transactions.compute(synthetic.results(verdicts={"r004": "invalid"}))
    assert numbers.loads == [30, 90]  # 120 counts without the index only
    assert numbers.transactions[0] == "open_all_searches"  # the longest first


def test_transactions_means_by_value() -> None:
    numbers = transactions.compute(synthetic.results())
    (entry,) = [
        e for e in numbers.at(120) if e.transaction == "open_all_searches" and "absent" in e.point.configuration
    ]
    assert entry.point.value == pytest.approx(0.92 * 2 * 4)


@pytest.mark.parametrize(("levels", "logarithmic"), [((30,), False), ((90,), True)])
def test_transactions_use_a_logarithmic_scale_only_when_they_must(levels: tuple[int, ...], logarithmic: bool) -> None:
    # At 30 users 128 ms to 5 ms is 26 times; at 90 users 3.52 s to 5 ms is 704 times.
    assert transactions.compute(synthetic.results(levels=levels)).logarithmic is logarithmic


def test_timeline_shows_the_valid_run_of_highest_load() -> None:
    numbers = timeline.compute(synthetic.results(verdicts={"r004": "suspect"}))
    assert numbers is not None
    assert numbers.run.run_id == "r008"
    assert numbers.window == (15.0, 35.0)
    assert [track.title for track in numbers.tracks] == [
        "virtual users",
        "throughput",
        "response time",
        "CPUs used",
        "disk",
    ]


def test_timeline_shows_errors_only_when_there_are_any() -> None:
    results = synthetic.results(levels=(30,), indices=("present",))
    results.runs[0].summary["timeline"]["errors_per_s"][20] = 2.0
    numbers = timeline.compute(results)
    assert numbers is not None
    assert numbers.tracks[-1].title == "errors"


def test_timeline_draws_a_gap_where_nothing_was_recorded() -> None:
    results = synthetic.results(levels=(30,), indices=("present",))
    results.runs[0].summary["timeline"]["throughput_per_s"][10] = None
    numbers = timeline.compute(results)
    assert numbers is not None
    assert "–" in [row[2] for row in timeline._table(numbers).rows]


def test_suspect_and_invalid_runs_are_told_apart() -> None:
    points = throughput.compute(synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"})).points
    states = {point.runs[0]: point.state for point in points if point.configuration == "search_index present"}
    assert states == {"r001": "valid", "r002": "suspect", "r003": "invalid", "r004": "valid"}


def test_invalid_runs_have_no_place_in_lines() -> None:
    spec = throughput.draw(throughput.compute(synthetic.results(verdicts={"r003": "invalid"})))
    lines: list[Any] = [layer for layer in spec["layer"] if layer["mark"]["type"] == "line" and "transform" in layer]  # type: ignore[attr-defined]
    assert [layer["transform"] for layer in lines] == [[{"filter": "!(datum.state === 'invalid')"}]]


def test_point_is_as_weak_as_the_weakest_run_in_it() -> None:
    assert series.point_state({"verdicts": ["valid", "valid"]}) == "valid"
    assert series.point_state({"verdicts": ["valid", "suspect"]}) == "suspect"
    assert series.point_state({"verdicts": ["valid", "invalid"]}) == "valid"  # the invalid one is not in the estimate
    assert series.point_state({"verdicts": ["invalid"]}) == "invalid"
    assert series.point_state({}) == "invalid"


SHAPES = {
    "full": synthetic.results(),
    "marked": synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}, missing=("r007",)),
    "one level": synthetic.results(levels=(30,)),
    "no second factor": synthetic.results(indices=("present",)),
    "one run": synthetic.results(levels=(30,), indices=("present",)),
    "all suspect": synthetic.results(verdicts={f"r{n:03d}": "suspect" for n in range(1, 9)}),
    "none valid": synthetic.results(verdicts={f"r{n:03d}": "invalid" for n in range(1, 9)}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_figure_draws_what_it_can(shape: str) -> None:
    for _, make in FIGURES:
        figure = make(SHAPES[shape])
        if figure is None:
            continue
        svg = static_svg(figure.spec or {})
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert figure.description.endswith(".")
        assert figure.table is not None
        assert figure.table.rows


def test_full_study_has_every_figure() -> None:
    assert all(make(SHAPES["full"]) is not None for _, make in FIGURES)


def test_vega_lite_accepts_every_specification_without_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    import vl_convert  # noqa: PLC0415

    for _, make in FIGURES:
        figure = make(SHAPES["full"])
        assert figure is not None
        vl_convert.vegalite_to_vega(figure.spec, vl_version="6.4", show_warnings=True)
    assert "WARN" not in capfd.readouterr().err


def test_drawn_texts_name_axes_with_units_and_configurations() -> None:
    spec = throughput.draw(throughput.compute(SHAPES["full"]))
    shown = texts(static_svg(spec))
    assert {
        "throughput [1/s]",
        "virtual users",
        "search_index present",
        "search_index absent",
        "ideal scaling",
    } <= {*shown}


def test_names_of_factors_and_tiers_come_from_the_data() -> None:
    results = renamed(synthetic.results())
    page = " ".join(
        text
        for _, make in FIGURES
        for figure in [make(results)]
        if figure is not None
        for text in (figure.title, figure.description, figure.note, *texts(static_svg(figure.spec or {})))
    )
    assert "pool large" in page
    assert "gateway" in page
    assert not {"search_index", "content", "SQLite"} & {*page.replace(",", " ").replace(":", " ").split()}


def renamed(results: Results) -> Results:
    """The same study with another second factor and another tier."""
    import json  # noqa: PLC0415

    def swap(document: Any) -> Any:
        words = json.dumps(document)
        for old, new in (
            ("search_index", "pool"),
            ("present", "large"),
            ("absent", "small"),
            ("content", "gateway"),
            ("SQLite", "the store"),
        ):
            words = words.replace(old, new)
        return json.loads(words)

    runs = tuple(dataclasses.replace(r, manifest=swap(r.manifest), summary=swap(r.summary)) for r in results.runs)
    return dataclasses.replace(results, manifest=swap(results.manifest), summary=swap(results.summary), runs=runs)


def at_one_load(verdicts: dict[str, str] | None = None) -> Results:
    """Two configurations at one load; their runs are r001 and r002."""
    return synthetic.results(levels=(60,), verdicts=verdicts)


@pytest.mark.parametrize("module", [throughput, response_time, disk, cpu_by_tier])
def test_at_one_load_configurations_are_rows_in_their_order(module: Any) -> None:
    # The first is invalid: what nothing rests on keeps its place.
    figure = module.figure(at_one_load({"r001": "invalid"} if module is not cpu_by_tier else None))
    assert "configuration, at 60 virtual users" in figure.title
    drawn = [text for text in texts(static_svg(figure.spec)) if text.startswith("search_index")]
    assert drawn == ["search_index present", "search_index absent"]


def test_one_configuration_at_one_load_stands_over_its_load() -> None:
    figure = throughput.figure(synthetic.results(levels=(60,), indices=("present",)))
    assert figure is not None
    assert figure.title == "Throughput against virtual users"
