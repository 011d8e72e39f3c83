from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from scipy import stats
from synthetic_runs import encode_histogram

from towtank.analysis.audit.arrivals import _pooled
from towtank.analysis.checks.network import RETRANSMITS_SHARE, Counted, retransmitted
from towtank.analysis.demand import demands, regression
from towtank.analysis.doubts import DoubtLevel
from towtank.analysis.drive import times_ms
from towtank.analysis.generator import _of_envelope, _open_files, cores_of, most_connections
from towtank.analysis.load import failed_by_kind
from towtank.analysis.run.summary import _sending_cpus
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics import goodness, histograms
from towtank.analysis.statistics.estimates import NO_ESTIMATE, Estimate
from towtank.analysis.timed_histograms import TimedHistograms
from towtank.analysis.unfinished import _drain
from towtank.analysis.windows.stretch import stretch_of, stretches
from towtank.results import EngineForm, RecordedStage
from towtank.results.manifests import OpenFilesForm


def test_seconds_are_pooled_until_five_arrivals_are_expected() -> None:
    """At two arrivals per second, six are expected in a group of three seconds. Seconds that do not fill a group are
    added to the last group.
    """
    counts, expected = _pooled(np.arange(1.0, 12.0), np.full(11, 2.0))
    assert list(expected) == [6, 6, 10]
    assert list(counts) == [6, 15, 45]


def test_equal_statistics_count_on_both_sides() -> None:
    """With one random value in two equally likely cells, both outcomes have the same statistic, so the p-value is 1."""
    assert goodness._drawn(1.0, 1, np.array([0.5, 0.5])) == (1.0, 1.0)


def test_times_of_a_drive_are_milliseconds() -> None:
    merged = histograms.decode(encode_histogram([2e6] * 98 + [10e6, 40e6]))
    timed: Any = SimpleNamespace(merged=lambda chosen: merged)
    found = times_ms(timed, np.array([0.1, 0.146]), np.array([True, True]))
    assert found["mean"] == pytest.approx(2.46)
    assert found["min"] == pytest.approx(2.0, rel=2e-3)
    assert found["max"] == pytest.approx(40.0, rel=2e-3)
    nothing: Any = SimpleNamespace(merged=lambda chosen: None)
    assert set(times_ms(nothing, np.zeros(1), np.array([True])).values()) == {None}


@pytest.mark.parametrize(
    ("events", "cpus"),
    [
        ([], None),
        ([{"k": "begun", "cpu_s": 1.0, "seconds": 2.0}], None),
        ([{"k": "sent", "cpu_s": 0.5, "seconds": 0}], None),
        ([{"k": "sent", "cpu_s": None, "seconds": 10}], None),
        ([{"k": "sent", "cpu_s": 0.5, "seconds": 0.5}], 1.0),
        ([{"k": "sent", "cpu_s": 0.5, "seconds": 10}], 0.05),
    ],
)
def test_sending_takes_its_cpu_time_over_its_seconds(events: list[dict[str, Any]], cpus: float | None) -> None:
    assert _sending_cpus(events) == cpus


def test_the_drain_is_the_last_stage_if_it_follows_the_window() -> None:
    stages = [
        RecordedStage(name="steady", start_s=0.0),
        RecordedStage(name="ramp_down", start_s=10.0),
        RecordedStage(name="drain", start_s=12.0),
    ]
    measurement: Any = SimpleNamespace(stages=stages, stage=np.array([0, 0, 1, 2, 2]))
    ends: Any = SimpleNamespace(planned_end_s=12.0)
    assert list(_drain(measurement, ends)) == [False, False, False, True, True]  # type: ignore[arg-type]
    assert _drain(measurement, SimpleNamespace(planned_end_s=10.0)) is None  # type: ignore[arg-type]
    measurement.stages = stages[:2]
    assert _drain(measurement, ends) is None


def test_failures_are_counted_in_the_bins_chosen() -> None:
    counts = {"timeout": np.array([1, 2, 4]), "closed": np.array([0, 0, 8])}
    column: Any = SimpleNamespace(failed_by_kind=counts)
    assert failed_by_kind(column, np.array([True, True, False])) == {"timeout": 3}
    assert failed_by_kind(column, np.array([False, True, True])) == {"closed": 8, "timeout": 6}


def test_the_demand_of_many_runs_is_the_slope_of_least_squares() -> None:
    """The demand is the slope of CPU use over throughput. Its interval equals that of SciPy's linear regression."""
    stream = np.random.default_rng(8)
    rates = [10.0, 20, 30, 40, 50, 60]
    used = [0.05 + 0.01 * rate + 0.01 * stream.standard_normal() for rate in rates]
    intercept, found = regression(rates, used)
    expected = stats.linregress(rates, used)
    assert intercept == pytest.approx(expected.intercept)
    assert found.value == pytest.approx(expected.slope)
    half = stats.t.ppf(0.975, 4) * expected.stderr
    assert (found.low, found.high) == (pytest.approx(expected.slope - half), pytest.approx(expected.slope + half))
    assert regression([10.0, 20.0], [0.1, 0.3]) == (pytest.approx(-0.1), Estimate(pytest.approx(0.02), n=2))
    assert regression([10.0, 10.0, 10.0], [0.1, 0.2, 0.3]) == (0.0, NO_ESTIMATE)


@pytest.mark.parametrize(("loads", "demand"), [((5, 5), None), ((5, 10), 0.02)])
def test_repetitions_of_one_load_give_no_demand(loads: tuple[float, float], demand: float | None) -> None:
    """Throughputs of repetitions differ by chance, so a line through them has a random slope, which may be negative."""
    measured = [(load, rate, used) for load, (rate, used) in zip(loads, [(10.0, 0.1), (20.0, 0.3)], strict=True)]
    runs = [
        {
            "factors": {"users": load},
            "verdict": {"level": "valid"},
            "throughput_per_s": Estimate(rate, n=1).document(),
            "tiers": {"web": {"cpus_used": Estimate(used, n=1).document()}},
        }
        for load, rate, used in measured
    ]
    found = demands(list(map(RunSummary.read, runs)), lambda run: float(run.factors["users"]))["web"]
    assert found.d_s.value == (None if demand is None else pytest.approx(demand))
    assert found.intercept_cpus == (None if demand is None else pytest.approx(-0.1))
    assert found.points == 2


@pytest.mark.parametrize(
    ("again", "needless", "asked", "level"),
    [
        (10.0, None, False, None),
        (11.0, None, False, DoubtLevel.SUSPECT),
        (11.0, None, True, DoubtLevel.NOTE),
        (30.0, 19.0, False, DoubtLevel.SUSPECT),
        (30.0, 20.0, False, DoubtLevel.NOTE),
    ],
)
def test_segments_sent_again_are_a_share_of_the_requests(
    again: float, needless: float | None, asked: bool, level: DoubtLevel | None
) -> None:
    """The limit is one retransmission per 1,000 requests, which makes 10 for 10,000 requests. A retransmitted segment
    that the peer already had does not count as lost.
    """
    assert RETRANSMITS_SHARE == 0.001
    counts = {"retransmits": again, "needless_retransmits": needless}
    found = list(retransmitted([Counted("here", counts)], 10_000.0, asked=asked))
    assert [(doubt.level, doubt.seen, doubt.limit) for doubt in found] == (
        [] if level is None else [(level, again / 10_000, 0.001)]
    )


def test_what_the_generator_may_use() -> None:
    manifest = {"generator_limits": {"open_files": 1000}, "envelope": {"rate_per_core_per_s": 5000.0}}
    three = EngineForm(open_files=OpenFilesForm(tables=3))
    assert _open_files(three, manifest) == 3000
    assert _open_files(EngineForm(), manifest) == 1000
    assert _open_files(three, {}) is None
    assert _of_envelope(2500.0, 2, manifest) == (10_000.0, 0.25)
    assert _of_envelope(None, 2, manifest) == (None, None)
    assert [
        cores_of(engine, 4) for engine in (EngineForm(cores=2, threads=8), EngineForm(threads=8), EngineForm(), None)
    ] == [2, 8, 4, 4]
    assert cores_of(None, None) == 1


def test_connections_of_all_threads_count_together() -> None:
    intervals = [
        SimpleNamespace(worker=worker, connections=count) for worker, count in ((0, 5), (1, 3), (0, 9), (1, 1))
    ]
    measurement: Any = SimpleNamespace(recording=SimpleNamespace(intervals=intervals))
    assert most_connections(measurement) == 12


def stage(name: str, start_s: float, end_s: float, phase: str = "steady", **amounts: Any) -> RecordedStage:
    return RecordedStage(name=name, start_s=start_s, end_s=end_s, phase=phase, **amounts)


def test_steady_stages_of_one_load_that_follow_one_another_are_a_stretch() -> None:
    stages = [
        stage("ramp", 0, 5, "ramp_up", users=10),
        stage("a", 5, 15, users=10),
        stage("b", 15, 20, users=10),
        stage("c", 20, 30, users=20),
        # There is a gap of 1 s before this stage, so the same load starts a new stretch.
        stage("d", 31, 40, users=20),
        stage("e", 40, 50, rates_by_group=[0.1, 0.2]),
    ]
    found = stretches(stages)
    assert [(stretch.stages, stretch.start_s, stretch.end_s) for stretch in found] == [
        (("a", "b"), 5, 20),
        (("c",), 20, 30),
        (("d",), 31, 40),
        (("e",), 40, 50),
    ]
    assert [(stretch.users, stretch.rate, stretch.of) for stretch in found] == [
        (10, None, 4), (20, None, 4), (20, None, 4), (None, 0.3, 4),
    ]  # fmt: skip
    assert all(stretch.of > 1 for stretch in found)
    alone = stretch_of(stages, 2)
    assert (alone.stages, alone.start_s, alone.end_s, alone.of) == (("b",), 15, 20, 4)
    # `of` is the number of stretches with constant load. It is 1 even if the run has no stage of constant load.
    assert stretch_of(stages[:1], 0).of == 1
    assert stretches(stages[:3])[0].of == 1


def test_histograms_of_another_layout_or_damaged_are_counted_and_left_out() -> None:
    """Responses take 1 and 3 ms in the first second, and 5 ms in the third second. Histograms that are damaged or have
    another bucket layout are counted and left out.
    """
    coarse = HdrHistogram(1_000, 3_600_000_000_000, 2)
    coarse.record_value(7_000_000)
    encoded = [
        (0, encode_histogram([1e6, 3e6])),
        (1, coarse.encode().decode()),
        (1, "rubbish"),
        (2, encode_histogram([5e6])),
    ]
    timed = TimedHistograms(3, encoded)  # type: ignore[arg-type]
    assert timed.bad == 2
    assert list(timed.counts) == [2, 0, 1]
    assert timed.quantile_by_bin(0.5) == [pytest.approx(0.001, rel=2e-3), None, pytest.approx(0.005, rel=2e-3)]
    merged = timed.merged(np.array([True, True, True]))
    assert merged is not None
    assert (merged.total, merged.maximum_s) == (3, pytest.approx(0.005, rel=2e-3))
    assert timed.merged(np.array([False, True, False])) is None
    index = int(merged.indices[0])
    assert list(timed.below(index)) == [1, 0, 0]
