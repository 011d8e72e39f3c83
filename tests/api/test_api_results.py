"""`towtank.open` returns the results of a study as typed records with units and intervals."""

from __future__ import annotations

import json
import shutil
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from results_1 import RESULTS_1

import towtank
from towtank.errors import ReportError, StudyError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "results-1"
    shutil.copytree(RESULTS_1, path)
    return path


@pytest.fixture(scope="module")
def results(folder: Path) -> towtank.Results:
    return towtank.open(folder)


def test_points_are_those_of_the_summary(results: towtank.Results) -> None:
    summary = results.summary
    of_summary = [point for each in summary["configurations"] for point in each["points"]]
    assert len(results.points) == len(of_summary) == 8
    for point, expected in zip(results.points, of_summary, strict=True):
        throughput, p95 = point.throughput_per_s, point.response_time_s.p95
        assert throughput is not None and p95 is not None
        assert (throughput, throughput.unit) == (expected["throughput_per_s"]["value"], "1/s")
        assert (throughput.low, throughput.high) == tuple(expected["throughput_per_s"][end] for end in ("low", "high"))
        assert (p95, p95.unit) == (expected["response_time_s"]["p95"]["value"], "s")
        assert point.load == expected["users"]
        assert point.tiers["content"].utilization == expected["tiers"]["content"]["utilization"]
        mean = point.transactions["download"].response_time_s.mean
        assert mean is not None and mean == expected["transactions"]["download"]["mean_s"]["value"]
    assert results.configurations == ("search_index present", "search_index absent")
    assert results.points[0].factors == {"search_index": "present"}


def test_runs_have_their_verdicts_with_doubts(results: towtank.Results) -> None:
    assert [run.name for run in results.runs] == [f"r{number:03}" for number in range(1, 9)]
    first = results.runs[0]
    assert (first.load, first.status, first.errors) == (48, "complete", 0)
    assert first.verdict.level == "suspect"
    assert first.verdict.doubts[0].kind == "too_few_samples"
    assert first.verdict.doubts[0].hint
    assert first.throughput_per_s is not None
    assert first.summary["throughput_per_s"]["value"] == first.throughput_per_s
    frame = first.frame()
    assert frame.columns[:3] == ("t_s", "users", "throughput_per_s")
    assert len(frame) == 29


def test_the_verdict_of_the_study(results: towtank.Results) -> None:
    assert str(results.verdict) == "suspect"
    assert results.valid
    assert results.title.startswith("Users of a content server")
    assert results.headline == results.summary["headline"]
    assert results.observations


def test_objectives_have_value_interval_and_verdict(results: towtank.Results) -> None:
    met, missed = results.objectives
    assert (met.met, missed.met) == (True, False)
    assert results.missed == (missed,)
    assert missed.seen is not None and missed.limit is not None
    assert (missed.seen, missed.seen.unit) == (pytest.approx(1.897922559), "s")
    assert (missed.limit, missed.limit.unit) == (1.0, "s")
    assert str(missed) == (
        "p95 of open_all_searches < 1 s (search_index absent): missed, 1.9 s at users 72, search_index absent; "
        "the measurement is suspect"
    )


def test_the_value_of_an_objective_has_the_interval_of_its_point(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "results"
    shutil.copytree(folder, copied)
    manifest = json.loads((copied / "study.json").read_text("utf-8"))
    manifest["study"]["objectives"] = [{"text": "mean < 1 ms", "metric": "mean", "comparison": "<", "value": 0.001}]
    (copied / "study.json").write_text(json.dumps(manifest), "utf-8")
    results = towtank.open(copied)
    slowest = max(point.response_time_s.mean or 0.0 for point in results.points)
    seen = max(objective.seen or 0.0 for objective in results.missed)
    assert isinstance(slowest, towtank.Quantity) and isinstance(seen, towtank.Quantity)
    assert seen == slowest
    assert seen.interval == slowest.interval is not None


def test_configurations_are_compared_at_equal_load(results: towtank.Results) -> None:
    found = results.compare("search_index", metric="throughput_per_s")
    assert [each.load for each in found] == [12, 24, 48, 72]
    assert (found[0].base, found[0].other) == ("present", "absent")
    assert found[0].ratio is not None and found[0].ratio.low == pytest.approx(0.726, abs=1e-3)
    assert len(results.compare()) == 28


def test_unknown_names_of_a_comparison_are_refused_together(results: towtank.Results) -> None:
    """An empty comparison would look like a study without differences."""
    with pytest.raises(StudyError) as refused:
        results.compare("serch_index", metric="throughput")
    factor, metric = refused.value.faults
    assert (factor.file, factor.where, metric.where) == ("Results.compare()", "factor", "metric")
    assert factor.message.startswith("must be a factor of the study other than the load (search_index)")
    assert factor.message.endswith("got 'serch_index' instead, did you mean 'search_index'?")
    assert "throughput_per_s" in metric.message


def test_the_table_has_a_row_for_each_point(results: towtank.Results) -> None:
    frame = results.frame()
    assert len(frame) == 8
    assert frame["search_index"][0] == "present"
    p95 = results.points[0].response_time_s.p95
    assert p95 is not None
    row = next(iter(frame))
    assert (row["p95_s"], row["p95_s_low"], row["p95_s_high"]) == (float(p95), p95.low, p95.high)
    assert row["p99_s_low"] is None
    assert results.table() == frame


def test_results_cannot_be_changed(results: towtank.Results) -> None:
    with pytest.raises(FrozenInstanceError):
        results.folder = Path("elsewhere")  # type: ignore[misc]
    with pytest.raises(TypeError):
        results.points[0].transactions["new"] = None  # type: ignore[index]
    results.summary["verdict"]["level"] = "invalid"
    assert results.verdict.level == "suspect"


def test_a_folder_without_results_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(StudyError, match="must be"):
        towtank.open(tmp_path)
    with pytest.raises(StudyError, match="got the folder of a run"):
        towtank.open(folder / "runs" / "r001")


def test_notebooks_show_answer_verdict_figure_and_table(results: towtank.Results) -> None:
    shown = results._repr_html_()
    assert "throughput reaches" in shown
    assert "verdict: <strong>suspect</strong>" in shown
    assert 'alt="' in shown and "data:image/svg+xml;base64," in shown
    assert "75 [59, 127] ms" in shown
    assert "<script" not in shown


@pytest.mark.waits
def test_the_report_is_written(folder: Path, results: towtank.Results, tmp_path: Path) -> None:
    path = results.report(tmp_path / "report.html")
    assert "<html" in path.read_text("utf-8")
    with pytest.raises(ReportError):
        results.report(tmp_path / "report.html" / "report.html")


def test_a_part_that_cannot_be_made_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from towtank.analysis import narrative  # noqa: PLC0415 - the analysis is loaded by the results

    def fails(summary: object) -> str:
        raise RuntimeError("no words")

    # Without a stored summary, `narrative.answers` must be called.
    (folder / "study-summary.json").unlink(missing_ok=True)
    monkeypatch.setattr(narrative, "answers", fails)
    monkeypatch.setattr("towtank.containment.keep_fault", lambda *arguments: None)
    results = towtank.open(folder)
    assert results.messages == ("conclusion: this part could not be made: RuntimeError: no words",)
    assert len(results.points) == 8
    assert "none of them allows a conclusion" in results.headline
