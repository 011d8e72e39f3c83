"""All figures of a report: their rows, labels, tables and text alternatives, for studies of any shape."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import report_synthetic as synthetic
from drawn_figures import repeated, texts

from towtank.report.content import figures, tables
from towtank.report.document import Figure, Paragraph, Table
from towtank.report.figures import (
    FIGURES,
    MAIN,
    answer,
    cpu_by_tier,
    disk,
    percentiles,
    response_time,
    scaling,
    throughput,
    transactions,
)
from towtank.report.figures.labels import short_labels
from towtank.report.pictures import static_svg
from towtank.report.source import Results


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


@pytest.mark.parametrize("module", [throughput, response_time, disk, percentiles, scaling])
def test_there_is_no_figure_of_a_single_point(module: Any) -> None:
    one = synthetic.results(levels=(60,), indices=("present",))
    assert module.figure(one) is None
    section = figures.build(one)
    texts = [run.text for block in section.blocks if isinstance(block, Paragraph) for run in block.content]
    assert "No figure of response time: it needs two points, and the only point is in the tables." in texts


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
