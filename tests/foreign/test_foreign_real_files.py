"""Files that other tools have written: counts and percentiles agree with those that the tools report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import towtank

DATA = Path(__file__).parents[1] / "data" / "foreign"


@pytest.mark.parametrize("name", ["vegeta.json.gz", "vegeta.csv.gz"])
def test_vegeta_counts_and_times_the_same(name: str) -> None:
    report = json.loads((DATA / "vegeta-report.json").read_text())
    found = towtank.judge(DATA / name)
    assert (found.requests, found.errors) == (report["requests"], 0)
    times = found.response_time_ms
    assert float(times.mean) == pytest.approx(report["latencies"]["mean"] / 1e6, rel=1e-6)
    # vegeta computes its rate over the time from the first to the last start; the throughput is over the time until the
    # last request ends. So they differ slightly.
    assert float(found.throughput_per_s) == pytest.approx(report["rate"], rel=2e-3)
    # vegeta takes percentiles from a digest, which approximates the times. So they differ slightly.
    for key, value in (("50th", times.p50), ("90th", times.p90), ("95th", times.p95), ("99th", times.p99)):
        assert float(value) == pytest.approx(report["latencies"][key] / 1e6, rel=0.03)


def test_the_percentile_plot_of_vegeta() -> None:
    report = json.loads((DATA / "vegeta-report.json").read_text())
    found = towtank.judge(DATA / "vegeta-hdrplot.txt")
    assert (found.requests, found.errors, found.verdict) == (report["requests"], None, "suspect")
    assert float(found.response_time_ms.p95) == pytest.approx(report["latencies"]["95th"] / 1e6, rel=0.01)
    assert found.response_time_ms.p95.interval is None


def test_hey_was_asked_for_2000_requests_by_four_workers() -> None:
    found = towtank.judge(DATA / "hey.csv.gz")
    assert (found.form, found.requests, found.errors) == ("hey CSV", 2000, 0)
    # Each of the four workers sends at most 50 requests/s, so there are at most 200 /s.
    assert float(found.throughput_per_s) <= 200
