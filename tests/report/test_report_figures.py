from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import report_synthetic as synthetic

from towtank.analysis import LoadPoint, RunSummary
from towtank.report.content import figures, tables
from towtank.report.document import Figure, Paragraph, Table
from towtank.report.figures import (
    FIGURES,
    MAIN,
    answer,
    cpu_by_tier,
    disk,
    panel,
    percentiles,
    residuals,
    response_time,
    scaling,
    series,
    throughput,
    timeline,
    transactions,
)
from towtank.report.figures.labels import short_labels
from towtank.report.pictures import static_svg
from towtank.report.source import Results


def find(points: list[series.Point], configuration: str, load: float) -> series.Point:
    """Return the only point of a configuration at the given load."""
    (point,) = [p for p in points if p.configuration == configuration and p.load == load]
    return point


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


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


def test_scaling_is_relative_to_the_lowest_level() -> None:
    numbers = scaling.compute(synthetic.results())
    assert find(numbers.points, "search_index present", 30).value == pytest.approx(1.0)
    # Throughput is 90 / 30 = 3 times that of 30 users at 90 users, and 100 / 29.70 = 3.367 times at 120 users. This is
    # 3.367 / 4 of ideal scaling.
    assert find(numbers.points, "search_index present", 90).value == pytest.approx(3.0)
    top = find(numbers.points, "search_index present", 120)
    assert top.value == pytest.approx(100 / (30 / 1.010))
    assert scaling.efficiency(numbers, top) == pytest.approx(top.value / 4)


def test_scaling_has_the_lowest_level_that_counts_in_all_configurations_as_its_base() -> None:
    # At 30 users, the configuration with the index has no valid run, so 60 users are the base of the scaling.
    numbers = scaling.compute(synthetic.results(verdicts={"r001": "invalid"}))
    assert numbers.common == 60
    for label in ("search_index present", "search_index absent"):
        assert numbers.base[label] == pytest.approx(60)
        assert find(numbers.points, label, 60).value == pytest.approx(1.0)
    figure = scaling.figure(synthetic.results(verdicts={"r001": "invalid"}))
    assert figure is not None
    assert "divided by the value of the same configuration at 60, the lowest common level." in figure.note


def test_lines_of_ideal_scaling_begin_at_the_origin_and_are_1_at_their_base() -> None:
    numbers = scaling.compute(synthetic.results())
    (rows,) = [
        layer["data"]["values"]
        for layer in scaling.draw(numbers)["layer"]  # type: ignore[attr-defined]
        if layer["encoding"].get("detail", {}).get("field") == "slope"
    ]
    bases = {base for base in numbers.base.values() if base > 0}
    assert {(row["load"], row["value"], row["slope"]) for row in rows} == {
        point for base in bases for point in ((0.0, 0.0, 1 / base), (120, 120 / base, 1 / base))
    }


def test_scaling_needs_a_level_that_counts_in_all_configurations() -> None:
    verdicts = dict.fromkeys(("r001", "r002", "r007", "r008"), "invalid")
    assert scaling.figure(synthetic.results(verdicts=verdicts)) is None


def test_scaling_needs_a_level_above_its_base() -> None:
    """If only the highest level is valid in both configurations, no figure of the scaling is drawn.

    This level would be the base of the scaling, so each line would be a single point at a scaling of 1.
    """
    verdicts = dict.fromkeys(("r001", "r002", "r003"), "invalid")
    assert scaling.compute(synthetic.results(verdicts=verdicts)).common == synthetic.LEVELS[-1]
    assert scaling.figure(synthetic.results(verdicts=verdicts)) is None


@pytest.mark.parametrize("make", [answer.figure, scaling.figure, response_time.figure, percentiles.figure, disk.figure])
def test_the_numbers_of_a_figure_have_no_value_of_an_invalid_run(make: Callable[[Results], Figure | None]) -> None:
    figure = make(synthetic.results(verdicts={"r003": "invalid"}))
    assert figure is not None
    assert figure.table is not None
    cells = [row for row in figure.table.rows if "invalid" in row]
    stated = [cell for row in cells for cell in row if re.search(r"\d (?:ms|s|/s|KiB/s|%)$|\]", cell)]
    ideal = ["89.1 /s"] if make is answer.figure else []
    assert [cell for cell in stated if cell not in ideal] == []
    # A cross marks the invalid run in every figure except the figure of percentiles, which omits invalid runs.
    assert bool(cells) == (make is not percentiles.figure)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (throughput.figure, "search_index present: 100 [95, 105] /s at 120 virtual users"),
        (response_time.figure, "mean with search_index present: 200 [190, 210] ms at 120 virtual users"),
    ],
)
def test_a_point_alone_is_named_once_in_text_alternatives(make: Callable[[Results], Figure | None], said: str) -> None:
    figure = make(synthetic.results(verdicts=dict.fromkeys(("r001", "r002", "r003"), "invalid")))
    assert figure is not None
    assert said in figure.description.replace("\N{NO-BREAK SPACE}", " ")


def test_scaling_has_the_intervals_of_ratios() -> None:
    # Two throughputs with errors of 5 % give their ratio an error of about sqrt(2) x 5 %. The point at the base load
    # has no interval.
    numbers = scaling.compute(synthetic.results())
    top = find(numbers.points, "search_index present", 120)
    assert top.low is not None
    assert top.high is not None
    assert (top.high - top.low) / 2 / top.value == pytest.approx(0.05 * 2**0.5, rel=0.06)
    assert find(numbers.points, "search_index present", 30).low is None


def test_response_time_has_mean_and_p95() -> None:
    numbers = response_time.compute(synthetic.results())
    # Without the index, 120 users with a think time Z of 1 s have R = N / X - Z = 120 / 62.5 - 1 = 0.92 s.
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
    assert disk.disks_total("read_bytes_per_s", RunSummary.read(summary)).value == 3.5
    assert disk.disks_total("write_bytes_per_s", RunSummary.read(summary)).value is None


def test_cpu_splits_a_tier_into_its_parts_and_the_rest() -> None:
    numbers = cpu_by_tier.compute(synthetic.results())
    at_top = {s.part: s.cpus for s in numbers.slices if s.configuration == "search_index absent" and s.load == 120}
    # The tier uses its only CPU fully. The database uses 60 % of this CPU.
    assert at_top == {"content: database": pytest.approx(0.6), "content: rest": pytest.approx(0.4)}
    assert numbers.capacity == 1


def test_a_tier_with_a_limit_of_its_own_is_not_drawn_below_the_cpus_of_the_whole_system() -> None:
    results = with_cpus(synthetic.results(), 0.5)
    for configuration in results.summary["configurations"]:
        for point in configuration["points"]:
            point["tiers"]["content"]["utilization"] = 0.81
    assert cpu_by_tier.compute(results).capacity is None
    figure = cpu_by_tier.figure(results)
    assert figure is not None
    assert "content may use 0.500 CPUs and used at most 81.0 % of them." in figure.note
    assert "of the system" not in " ".join(texts(static_svg(figure.spec or {})))
    assert cpu_by_tier.compute(with_cpus(synthetic.results(), 1.0)).capacity == 1


def test_long_labels_of_configurations_are_not_cut_in_the_figure_of_cpu() -> None:
    labels = ["rows base, query probe, database postgresql", "rows tenfold, query probe, database postgresql"]
    slices = [cpu_by_tier.Slice(label, 30.0, "database", 1.0, None, "valid") for label in labels]
    spec: Any = cpu_by_tier.draw(cpu_by_tier.Numbers(slices, None, "users", [], [30.0]))
    (bars,) = spec["layer"]
    assert bars["encoding"]["y"]["axis"]["labelLimit"] == 7 * len(labels[1])
    assert set(labels) <= set(texts(static_svg(spec)))


def test_cpu_of_a_tier_without_parts_stays_whole() -> None:
    results = synthetic.results()
    for configuration in results.summary["configurations"]:
        for point in configuration["points"]:
            del point["tiers"]["content"]["parts"]
    assert {part_of_cpu.part for part_of_cpu in cpu_by_tier.compute(results).slices} == {"content"}


def test_cpu_part_above_its_tier_leaves_no_negative_rest() -> None:
    results = synthetic.results(levels=(30,))
    point = results.summary["configurations"][0]["points"][0]
    point["tiers"]["content"]["parts"]["database"]["cpus_used"] = synthetic.estimate(2.0)
    assert min(part_of_cpu.cpus for part_of_cpu in cpu_by_tier.compute(results).slices) == 0.0


def test_transactions_compare_at_the_lowest_and_highest_common_load() -> None:
    numbers = transactions.compute(synthetic.results(verdicts={"r004": "invalid"}))
    assert numbers.loads == [30, 90]  # The level of 120 users is valid only without the index.
    # Transactions are listed by response time, the longest first.
    assert numbers.transactions[0] == "open_all_searches"


def test_transactions_means_by_value() -> None:
    numbers = transactions.compute(synthetic.results())
    (entry,) = [
        e for e in numbers.at(120) if e.transaction == "open_all_searches" and "absent" in e.point.configuration
    ]
    assert entry.point.value == pytest.approx(0.92 * 2 * 4)


@pytest.mark.parametrize(("levels", "logarithmic"), [((30,), False), ((90,), True)])
def test_transactions_use_a_logarithmic_scale_only_when_they_must(levels: tuple[int, ...], logarithmic: bool) -> None:
    # The scale is logarithmic if the longest mean is more than 60 times the shortest. The ratio is 128 ms / 5 ms = 26
    # at 30 users, and 3.52 s / 5 ms = 704 at 90 users.
    assert transactions.compute(synthetic.results(levels=levels)).logarithmic is logarithmic


def test_transactions_at_both_loads_have_one_unit_and_one_scale() -> None:
    numbers = transactions.compute(synthetic.results())
    panels: Any = transactions.draw(numbers)["hconcat"]
    axes = [panel_at_load["layer"][0]["encoding"]["x"] for panel_at_load in panels]
    assert len(axes) == 2
    assert axes[0]["title"] == axes[1]["title"]
    assert axes[0]["scale"] == axes[1]["scale"]


def with_low(low: float) -> Results:
    """Return the synthetic study. The interval of one transaction's mean response time has the given lower end. [s]"""
    results = synthetic.results()
    point = results.summary["configurations"][0]["points"][0]
    mean = point["transactions"]["view_properties"]["mean_s"]
    point["transactions"]["view_properties"]["mean_s"] = {**mean, "low": low}
    return results


@pytest.mark.parametrize(("low", "arrows", "shortest_ms"), [(0.0001, 0, 0.1), (0.0, 1, 1.0)])
def test_no_interval_of_a_transaction_is_cut_without_a_sign(low: float, arrows: int, shortest_ms: float) -> None:
    # An interval that begins at 0.1 ms is drawn completely, so the scale begins at 0.1 ms. A logarithmic scale has no
    # place for an interval that begins at 0: it is cut at 1 ms, and an arrow marks this.
    results = with_low(low)
    numbers = transactions.compute(results)
    spec: Any = transactions.draw(numbers)
    low_end, _ = spec["hconcat"][0]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low_end == pytest.approx(shortest_ms / 1e3)
    assert texts(static_svg(spec)).count("◂") == arrows
    figure = transactions.figure(results)
    assert figure is not None
    assert ("Arrows mark intervals" in figure.note) == bool(arrows)


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


def at(load: float, value: float, state: str = "valid", half: float = 0.0) -> series.Point:
    return series.Point("a", load, value, value - half, value + half, state, (f"r{load:g}",))


def test_times_far_apart_have_a_logarithmic_axis_that_says_so() -> None:
    axis = panel.time_axis("mean [ms]", [at(1, 2.0), at(2, 70.0)])
    assert axis["title"] == "mean [ms], logarithmic"
    assert axis["scale"] == {"type": "log", "domain": [1.0, 100.0], "clamp": True}
    assert axis["axis"]["values"] == [1, 2, 5, 10, 20, 50, 100]
    assert panel.time_axis("mean [ms]", [at(1, 2.0), at(2, 50.0)])["title"] == "mean [ms]"


def test_runs_that_do_not_count_set_no_scale() -> None:
    axis = panel.time_axis("mean [ms]", [at(1, 2.0), at(2, 10.0, half=2.0), at(3, 9000.0, "invalid")])
    assert axis["scale"]["domainMax"] == pytest.approx(12.0 * 1.04)
    # All points are invalid. They are drawn as crosses, so the scale must include them.
    assert panel.time_axis("mean [ms]", [at(3, 9000.0, "invalid")])["scale"]["domainMax"] > 9000


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


def repeated() -> Results:
    """Return the synthetic study with two runs at 120 users with the index: 90 and 110 transactions per second."""
    results = synthetic.results()
    first = next(run for run in results.runs if run.run_id == "r004")
    second = dataclasses.replace(first, run_id="r009", summary={**first.summary, "run": "r009"})
    runs = []
    for run, rate in ((first, 90.0), (second, 110.0)):
        runs.append(dataclasses.replace(run, summary={**run.summary, "throughput_per_s": synthetic.estimate(rate)}))
    point = results.summary["configurations"][0]["points"][3]
    point.update(runs=["r004", "r009"], verdicts=["valid", "valid"])
    return dataclasses.replace(results, runs=tuple(run for run in results.runs if run is not first) + tuple(runs))


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


def with_cpus(results: Results, cpus: float) -> Results:
    for configuration in results.summary["configurations"]:
        for point in configuration["points"]:
            point["tiers"]["content"]["cpus_allotted"] = cpus
    return results


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
    numbers = throughput.compute(dataclasses.replace(results, model=model))
    assert numbers.highest["search_index present"] == 97.0
    assert numbers.exceeded == []


@pytest.mark.parametrize(("cpus", "drawn"), [(1.0, 100.0), (0.7, None)])
def test_a_bound_that_measurements_exceed_is_not_drawn_and_has_its_reason(cpus: float, drawn: float | None) -> None:
    # The measured throughput at 120 users is 100 [95, 105] /s. The limit of the model, 90 /s, is below the whole
    # interval, so it is not drawn. With 0.7 CPUs, the bound of the demands, 0.7 / 10 ms = 70 /s, is not drawn either.
    results = with_cpus(synthetic.results(), cpus)
    model = {"configurations": [{"label": "search_index present", "refused": None, "limit_throughput": 90.0}]}
    results = dataclasses.replace(results, model=model)
    figure = throughput.figure(results)
    assert figure is not None
    assert throughput.compute(results).highest.get("search_index present") == (drawn and pytest.approx(drawn))
    assert (
        "search_index present: the limit of the capacity model, 90.0 /s, is not drawn, because 100 [95, 105] /s was "
        "measured at 120"
    ) in figure.note.replace("\N{NO-BREAK SPACE}", " ")


def test_a_short_axis_labels_powers_of_ten_only() -> None:
    points = [at(1, 20.0), at(2, 2000.0)]
    assert panel.time_axis("mean [ms]", points, 115)["axis"]["values"] == [10.0, 100.0, 1000.0, 10000.0]
    assert 50.0 in panel.time_axis("mean [ms]", points)["axis"]["values"]


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


def test_percentiles_are_those_of_the_points_that_count() -> None:
    numbers = percentiles.compute(synthetic.results(verdicts={"r003": "invalid"}))
    assert find(numbers.points["p99"], "search_index absent", 120).value == pytest.approx(0.92 * 3.5)
    assert [point.load for point in numbers.points["p50"] if point.configuration == "search_index present"] == [
        30,
        60,
        120,
    ]


def modelled(*levels: tuple[float, float, float]) -> Results:
    """Return a study with a fitted curve of one configuration. The standard error of each measured throughput is 1 /s.

    Each level has a load, a measured throughput and a fitted throughput.
    """
    points = [
        {
            "name": f"r{number:03d}",
            "load": load,
            "throughput": measured,
            "fitted_throughput": fitted,
            "standard_error": 1.0,
            "response_s": None,
            "think_s": None,
        }
        for number, (load, measured, fitted) in enumerate(levels)
    ]
    network = {"refused": None, "levels": [{"load": 10.0, "throughput": 10.0, "fitted_throughput": 11.0}]}
    configuration = {"label": "a", "refused": None, "points": points, "network": network}
    return dataclasses.replace(synthetic.results(), model={"configurations": [configuration]})


def test_residuals_are_relative_to_the_measurement() -> None:
    found = residuals.compute(modelled((10, 10.0, 10.5), (40, 50.0, 40.0)))
    assert [(each.model, each.load, each.is_beyond) for each in found] == [
        ("curve", 10, False),
        ("curve", 40, True),
        ("network", 10.0, False),
    ]
    assert [each.share for each in found] == pytest.approx([0.05, -0.2, 0.1])
    assert [each.error for each in found] == pytest.approx([0.2, 0.04, 0.2])


def test_residuals_are_drawn_around_zero() -> None:
    figure = residuals.figure(modelled((10, 10.0, 10.5), (40, 50.0, 40.0)))
    assert figure is not None
    assert "1 of 3 residuals exceed" in figure.description
    assert {"curve", "network"} <= {*texts(static_svg(figure.spec or {}))}
    assert residuals.figure(synthetic.results()) is None


@pytest.fixture(scope="module")
def many() -> Results:
    return synthetic.many()


def test_many_configurations_are_rows_of_a_matrix_without_what_they_share(many: Results) -> None:
    shown = texts(static_svg(throughput.draw(throughput.compute(many))))
    assert "memory 1 GB, pool 8, index present" in shown
    assert not [text for text in shown if "disk fast" in text or text.endswith("…")]
    assert shown.count("✕") == 1
    assert len([text for text in shown if text.endswith("†")]) == len(synthetic.MANY_LEVELS)


def test_twelve_transactions_that_differ_most_are_drawn(many: Results) -> None:
    numbers = transactions.compute(many)
    # In this study, only every fifth transaction differs between the configurations, by a factor of up to two. So the
    # drawn transactions must be among these.
    assert len(numbers.drawn) == transactions.DRAWN_AT_MOST
    assert {int(name.split("_")[1]) % 5 for name in numbers.drawn} == {0}
    figure = transactions.figure(many)
    assert figure is not None
    assert "48 further transactions" in figure.note
    assert figure.table is not None
    assert {row[0] for row in figure.table.rows} == set(numbers.drawn)


def test_labels_that_differ_in_length_stay_whole() -> None:
    assert short_labels(["a 1, b 2", "a 1"]) == {"a 1, b 2": "a 1, b 2", "a 1": "a 1"}
    assert short_labels(["a 1"]) == {"a 1": "a 1"}


SHAPES = {
    "many": synthetic.many(),
    "repeated": repeated(),
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
    for _, make in (MAIN, *FIGURES):
        figure = make(SHAPES[shape])
        if figure is None:
            continue
        svg = static_svg(figure.spec or {})
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert figure.description.endswith(".")
        assert figure.table is not None
        assert figure.table.rows


def test_full_study_has_every_figure() -> None:
    assert all(make(SHAPES["full"]) is not None for _, make in (MAIN, *FIGURES))


def test_vega_lite_accepts_every_specification_without_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    import vl_convert  # noqa: PLC0415

    for _, make in (MAIN, *FIGURES):
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
    """Return the same study with new names for the second factor and the tier."""
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
    """Return a study of two configurations at one load, with the runs r001 and r002."""
    return synthetic.results(levels=(60,), verdicts=verdicts)


@pytest.mark.parametrize("module", [throughput, response_time, disk, cpu_by_tier])
def test_at_one_load_configurations_are_rows_in_their_order(module: Any) -> None:
    # The first run is invalid, so its configuration has no valid run. It still has its row in the figure.
    figure = module.figure(at_one_load({"r001": "invalid"} if module is not cpu_by_tier else None))
    assert "configuration, at 60 virtual users" in figure.title
    drawn = [text for text in texts(static_svg(figure.spec)) if re.search("search_index|present|absent", text)]
    # The axis has the name of the factor, and each row the level.
    rows = ["search_index present", "search_index absent"] if module is cpu_by_tier else ["present", "absent"]
    assert [text for text in drawn if text != "search_index"] == rows
    assert ("search_index" in drawn) == (module is not cpu_by_tier)


def test_rows_far_apart_have_a_logarithmic_axis_that_says_so() -> None:
    near = throughput.figure(at_one_load())
    assert near is not None
    assert "logarithmic" not in str(near.spec)
    results = at_one_load()
    first, second = results.summary["configurations"]
    (point,) = first["points"]
    points = [{**point, "throughput_per_s": synthetic.estimate(2000.0)}]
    summary = {**results.summary, "configurations": [{**first, "points": points}, second]}
    far = throughput.figure(dataclasses.replace(results, summary=summary))
    assert far is not None
    assert "throughput [1/s], logarithmic" in str(far.spec)


def test_rows_are_explained_by_their_symbols_and_not_by_the_marks_of_a_matrix() -> None:
    figure = throughput.figure(at_one_load({"r001": "suspect"}))
    assert figure is not None
    assert "Open symbols" in figure.note
    assert "†" not in figure.note
    assert "Small symbols" not in figure.note


def test_one_user_is_singular() -> None:
    figure = throughput.figure(synthetic.results(levels=(1,)))
    assert figure is not None
    assert figure.title.endswith("at 1 virtual user")


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


@pytest.mark.parametrize("module", [throughput, response_time, disk, percentiles, scaling])
def test_there_is_no_figure_of_a_single_point(module: Any) -> None:
    one = synthetic.results(levels=(60,), indices=("present",))
    assert module.figure(one) is None
    section = figures.build(one)
    texts = [run.text for block in section.blocks if isinstance(block, Paragraph) for run in block.content]
    assert "No figure of response time: it needs two points, and the only point is in the tables." in texts


def test_several_runs_at_one_load_stand_over_it_beside_their_mean() -> None:
    results = repeated()
    (configuration,) = results.summary["configurations"][:1]
    configuration["points"] = configuration["points"][3:]
    one = dataclasses.replace(results, summary={**results.summary, "configurations": [configuration]})
    figure = throughput.figure(one)
    assert figure is not None
    assert figure.title == "Throughput against virtual users"


def at_rates(results: Results) -> Results:
    """Return the same study with arrival rates instead of users."""
    configurations = [
        {
            **configuration,
            "points": [
                {"rate" if key == "users" else key: value for key, value in point.items()}
                for point in configuration["points"]
            ],
        }
        for configuration in results.summary["configurations"]
    ]
    return dataclasses.replace(
        results, summary={**results.summary, "load_factor": "rate", "configurations": configurations}
    )


def test_points_of_arrival_rates_stand_at_their_rates() -> None:
    results = at_rates(synthetic.results())
    levels = sorted(synthetic.LEVELS)
    for points in (
        throughput.compute(results).points,
        scaling.compute(results).points,
        response_time.compute(results).points["p95"],
        percentiles.compute(results).points["p99"],
    ):
        assert sorted({point.load for point in points}) == levels
    assert cpu_by_tier.compute(results).loads == levels
    assert transactions.compute(results).loads == [levels[0], levels[-1]]
    found = [block for block in tables.build(results).blocks if isinstance(block, Table)]
    assert [row[1] for row in found[0].rows[:4]] == [str(level) for level in levels]
    assert f"Transactions at {levels[-1]} arrival rate [1/s]" in [table.caption for table in found]
