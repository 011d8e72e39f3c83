from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import report_synthetic as synthetic
from even_runs import even_script, stages_of
from results_1 import RESULTS_1
from synthetic_runs import write_run

from towtank.analysis.measurement import Measurement
from towtank.report import runs_over_time
from towtank.report.figures import heat_map, timeline
from towtank.report.pictures import static_svg
from towtank.report.runs_over_time import ROWS_PER_DECADE, Cell, Recorded
from towtank.report.source import Results, RunResult
from towtank.results import segments

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def measurement() -> Measurement:
    return Measurement(segments.read(RESULTS_1 / "runs" / "r001" / "engine"))


@pytest.fixture(scope="module")
def recorded(measurement: Measurement) -> Recorded:
    return runs_over_time.recorded(measurement)


def test_every_response_is_in_one_cell(measurement: Measurement, recorded: Recorded) -> None:
    counted = sum(cell.per_s * (cell.end_s - cell.start_s) for cell in recorded.cells)
    assert counted == pytest.approx(measurement.transactions.response.counts.sum())
    places = [(cell.start_s, cell.low_s) for cell in recorded.cells]
    assert len(places) == len(set(places))
    assert len({cell.start_s for cell in recorded.cells}) <= runs_over_time.COLUMNS_AT_MOST


def test_the_median_of_every_second_lies_in_its_cell(measurement: Measurement, recorded: Recorded) -> None:
    by_start: dict[float, list[Cell]] = defaultdict(list)
    for cell in recorded.cells:
        by_start[cell.start_s].append(cell)
    medians = dict(
        zip(measurement.starts.tolist(), measurement.transactions.response.quantile_by_bin(0.5), strict=True)
    )
    compared = 0
    for start, cells in by_start.items():
        median = medians.get(start)
        # If a stage ends inside a second, this second has two bins but only one column, so it is skipped.
        if median is None or (measurement.middles.astype(int) == int(start)).sum() != 1:
            continue
        half, below = sum(cell.per_s for cell in cells) / 2, 0.0
        for cell in sorted(cells, key=lambda cell: cell.low_s):
            below += cell.per_s
            if below >= half - 1e-9:
                # The recorded quantile is the upper edge of a histogram bucket, which is at most 0.1 % above the true
                # quantile.
                assert cell.low_s * 0.999 <= median <= cell.high_s * 1.001
                compared += 1
                break
    assert compared > 10


def test_rows_are_of_one_height_on_a_logarithmic_scale(recorded: Recorded) -> None:
    ratios = {round(cell.high_s / cell.low_s, 9) for cell in recorded.cells}
    assert ratios == {round(10 ** (1 / ROWS_PER_DECADE), 9)}


def test_a_long_run_has_columns_of_several_seconds(tmp_path: Path) -> None:
    script = even_script(stages_of(1, 1, 299), users=1, response_s=0.5, think_s=0.5, seconds=300, service_s=0.1)
    found = runs_over_time.recorded(Measurement(segments.read(write_run(tmp_path / "r001", script).engine)))
    starts = sorted({cell.start_s for cell in found.cells})
    # 300 s are shown in at most 120 columns, so each column covers three seconds.
    assert len(starts) == 100
    assert {round(cell.per_s, 6) for cell in found.cells} == {1.0}


def test_errors_have_kinds_and_transactions(tmp_path: Path) -> None:
    script = even_script(
        stages_of(2, 2, 18), users=2, response_s=0.5, think_s=0.5, seconds=20, service_s=0.1, transactions=("a", "b")
    )
    failing = [
        dataclasses.replace(exchange, failure="timeout" if exchange.transaction == 0 else "status")
        if 5 < exchange.end <= 8
        else exchange
        for exchange in script.exchanges
    ]
    run = write_run(tmp_path / "r001", dataclasses.replace(script, exchanges=failing))
    measurement = Measurement(segments.read(run.engine))
    found = runs_over_time.recorded(measurement)
    assert set(found.errors_by_kind) == {"timeout", "status"}
    assert set(found.errors_by_transaction) == {"a", "b"}
    # Each of two users completes one transaction per second. For three seconds all fail, so six transactions fail.
    for rates in (found.errors_by_kind, found.errors_by_transaction):
        assert sum(rate or 0.0 for values in rates.values() for rate in values) == pytest.approx(6.0)
        assert all(len(values) == measurement.bins for values in rates.values())
    assert found.errors_by_kind["timeout"] == found.errors_by_transaction["a"]


def changed(run: RunResult, **parts: Any) -> RunResult:
    """Return a run, with some parts of its summary replaced."""
    summary = json.loads(json.dumps(run.summary))
    for name, part in parts.items():
        summary[name] = {**summary.get(name, {}), **part}
    return dataclasses.replace(run, summary=summary)


def one_run(verdict: str = "valid", **parts: Any) -> Results:
    """Return a study with a single run, with some parts of the run's summary replaced."""
    base = synthetic.results(levels=(30,), indices=("present",), verdicts={"r001": verdict})
    return dataclasses.replace(base, runs=(changed(base.runs[0], **parts),))


def tracks(results: Results) -> dict[str, timeline.Track]:
    return {track.title: track for track in timeline.of_run(results, results.runs[0]).tracks}


def test_a_tier_with_a_limit_is_drawn_as_utilization() -> None:
    content = {"content": {**synthetic.tiers(30, "present")["content"], "cpus_allotted": 0.5}}
    found = tracks(one_run(tiers=content))
    assert "CPUs used" not in found
    assert found["utilization"].limit == 100.0
    used = one_run().runs[0].summary["timeline"]["tiers_cpus_used"]["content"]
    assert found["utilization"].lines[0].values == pytest.approx([200 * value for value in used])


OTHERS = {
    "timeline": {"not_attributed_cpus_used": {"this_machine": [0.02] * 40}},
    "not_attributed": {"this_machine": {"cpus_used": synthetic.estimate(0.02), "cpus": 2}},
}


def test_other_programs_are_drawn_if_the_run_does_not_count() -> None:
    assert "other programs" not in tracks(one_run(**OTHERS))
    found = tracks(one_run("invalid", **OTHERS))["other programs"]
    assert found.lines == [timeline.Line("this machine", pytest.approx([1.0] * 40))]
    assert found.limit == pytest.approx(5.0)


def test_other_programs_are_drawn_above_the_limit_of_the_study() -> None:
    results = one_run(**OTHERS)
    study = {**results.study, "limits": {"not_attributed": 0.005}}
    strict = dataclasses.replace(results, manifest={**results.manifest, "study": study})
    assert tracks(strict)["other programs"].limit == pytest.approx(0.5)


def test_errors_beyond_five_lines_are_summed() -> None:
    rates = {f"kind_{number}": [float(number)] * 40 for number in range(7)}
    results = one_run()
    recorded = Recorded(errors_by_kind=rates, errors_by_transaction={"a": [1.0] * 40})
    found = tracks(dataclasses.replace(results, recorded={"r001": recorded}))
    lines = found["errors by kind"].lines
    assert [line.name for line in lines] == ["kind 0", "kind 1", "kind 2", "kind 3", "3 others"]
    assert lines[-1].values == [15.0] * 40
    assert "errors" not in found


def test_the_heat_map_is_drawn_under_stages_and_window() -> None:
    results = synthetic.results()
    figure = heat_map.figure(results)
    assert figure is not None
    drawn = ElementTree.fromstring(static_svg(figure.spec or {}))
    shown = {element.text for element in drawn.iter(f"{SVG}text")}
    assert {"steady", "median", "95th percentile", "responses per second"} <= shown
    assert "response time [ms], logarithmic" in shown
    assert figure.table is not None
    assert len(figure.table.rows) == len(results.recorded["r004"].cells)


def test_without_recordings_the_report_says_why_the_heat_map_is_missing() -> None:
    results = dataclasses.replace(synthetic.results(), recorded={})
    assert heat_map.figure(results) is None


def test_recordings_are_read_of_the_runs_that_are_drawn() -> None:
    results = synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"})
    assert [run.run_id for run in runs_over_time.drawn(results)] == ["r004", "r003", "r002"]
    assert set(results.recorded) == {"r004", "r003", "r002"}
