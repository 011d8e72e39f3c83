"""Files that other tools have written: counts and percentiles agree with those that the tools report."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

import towtank
from towtank.foreign import Foreign, read_foreign

DATA = Path(__file__).parents[1] / "data" / "foreign"
REPORTED = json.loads((DATA / "reported.json").read_text())


@pytest.mark.parametrize("name", ["vegeta.json.gz", "vegeta.csv.gz"])
def test_vegeta_counts_and_times_the_same(name: str) -> None:
    report = json.loads((DATA / "vegeta-report.json").read_text())
    found = towtank.judge(DATA / name)
    assert (found.requests, found.errors) == (report["requests"], 0)
    times = found.response_time_ms
    assert float(times.mean) == pytest.approx(report["latencies"]["mean"] / 1e6, rel=1e-6)
    # vegeta computes its rate until the last start, Towtank its throughput until the end of the last request. So they
    # differ slightly.
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


def test_the_text_of_an_hdrhistogram_is_that_of_its_values(tmp_path: Path) -> None:
    """The library hdrhistogram prints the same text as wrk2. No package registry offers wrk2 itself."""
    times_ns = np.round(np.random.default_rng(4).lognormal(15, 0.8, 5000)).astype(int)
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in times_ns.tolist():
        histogram.record_value(value)
    path = tmp_path / "histogram.txt"
    with path.open("wb") as file:
        histogram.output_percentile_distribution(file, 1e6)
    found = towtank.judge(path)
    assert (found.form, found.requests, found.errors) == ("HdrHistogram percentiles (wrk2)", 5000, None)
    times = found.response_time_ms
    # Buckets of three significant digits are at most 0.1 % wide. Of the values above a percentile, at most 10 % lie
    # between two rows of the text.
    assert float(times.mean) == pytest.approx(times_ns.mean() / 1e6, rel=1e-3)
    for share in (50, 90, 95, 99):
        rest = 1 - share / 100
        low, high = np.quantile(times_ns, [1 - 1.1 * rest, 1 - 0.9 * rest]) / 1e6
        assert 0.999 * low <= float(getattr(times, f"p{share}")) <= 1.001 * high


@pytest.mark.parametrize("name", REPORTED)
def test_figures_of_files_are_those_that_their_tools_report(name: str) -> None:
    reported, judged = REPORTED[name], towtank.judge(DATA / name)
    assert (judged.requests, judged.errors) == (reported["requests"], reported["errors"])
    found = read_foreign(DATA / name)
    assert (found.not_sent, found.skipped.rows, found.cut) == (reported.get("not_sent", 0), 0, "")
    times = judged.response_time_ms
    mean_ms, is_whole = float(times.mean), True
    if name == "k6.csv.gz":
        # k6 writes times in whole seconds. So this file has five different start times, of which the window contains
        # three.
        assert found.requests is not None
        mean_ms, is_whole = 1e3 * float(found.requests.elapsed_s.mean()), False
    # JMeter's log rounds to whole milliseconds.
    if "mean_ms" in reported:
        assert mean_ms == pytest.approx(reported["mean_ms"], rel=1e-4, abs=0.5 * name.startswith("jmeter.xml"))
    # The tools divide by the time until the last response or until the planned end. Towtank divides by the time until
    # the last start.
    if "per_s" in reported:
        assert float(judged.throughput_per_s) == pytest.approx(reported["per_s"], rel=0.02 if is_whole else 0.06)
    for share in (50, 90, 95, 99):
        if f"p{share}_ms" in reported:
            low, high = around(found, share / 100)
            assert low - 1e-3 <= reported[f"p{share}_ms"] <= high + 1e-3
            if is_whole:
                assert low - 1e-3 <= float(getattr(times, f"p{share}")) <= high + 1e-3


def around(found: Foreign, share: float) -> tuple[float, float]:
    """Return the two neighbouring times of the file between which its percentile lies by any definition. [ms]

    For a summary, both are the percentile of the file.
    """
    if found.requests is None:
        assert found.summary is not None
        value = 1e3 * found.summary.percentiles_s[f"p{round(100 * share)}"]
        return value, value
    ordered = 1e3 * np.sort(found.requests.elapsed_s)
    place = share * len(ordered)
    return float(ordered[max(0, math.floor(place) - 1)]), float(ordered[min(len(ordered) - 1, math.ceil(place))])
