"""Figure of one run over time."""

from __future__ import annotations

import report_synthetic as synthetic

from towtank.report.figures import (
    timeline,
)


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
