"""The arrival rates of an open-load study are the same in its runs, in the analysis and in the tables of the report."""

from __future__ import annotations

from typing import Any

import pytest
from test_analysis_study_by_hand import made

from towtank.analysis.claims.places import in_run
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.study import describe_study
from towtank.report.content import tables
from towtank.report.figures import series
from towtank.report.source import Results, RunResult

Json = dict[str, Any]
RATES = (20, 40, 80)


def open_run(name: str, rate: int) -> Json:
    """Return a run summary of an open load; at 80 /s it uses half of its CPU."""
    run = {**made(name, 1, float(rate), cpus=rate / 160), "factors": {"rate": str(rate)}, "rate": rate}
    return {**run, "users": {"asked": None, "mean": 1.0}, "laws": {"little": None}}


def test_the_analysis_gives_the_rates_to_the_report() -> None:
    runs = [open_run(f"r{number}", rate) for number, rate in enumerate(RATES, 1)]
    study = {"name": "s", "factors": [{"name": "rate", "levels": [*map(str, RATES)], "numeric": [*RATES]}]}
    summary = describe_study({"study": {**study, "load_factor": "rate"}}, runs)
    results = Results("s", {"study": study}, summary, tuple(RunResult(run["run"], {}, run) for run in runs), ())
    points = series.throughput_of(results)
    assert [point.load for point in points] == [20.0, 40.0, 80.0]
    assert sum(getattr(block, "caption", "").startswith("Transactions") for block in tables.build(results).blocks) == 3
    assert "at 80 arrivals per second" in summary["headline"]
    assert [run.load for run in results.runs] == [20.0, 40.0, 80.0]
    assert in_run(RunSummary.read(runs[1]), "throughput", "load").value == pytest.approx(1.0)
