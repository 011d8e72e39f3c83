from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import scipy
from known_requests import Known, lognormal, queue, write_csv

from towtank.analysis.judgement import Judged, judge_file
from towtank.analysis.judgement.figures import of_requests
from towtank.analysis.judgement.observations import observations_of
from towtank.analysis.judgement.omission import omission_of
from towtank.analysis.statistics.nominal import ratio_of_long
from towtank.foreign import Requests


def judged(folder: Path, requests: Requests) -> Judged:
    return judge_file(write_csv(folder / "requests.csv", requests))


def kinds(found: Judged) -> dict[str, str]:
    return {str(doubt.kind): str(doubt.level) for doubt in found.doubts}


def changed(known: Known, **arrays: np.ndarray) -> Requests:
    values = known.requests
    parts = {"start_s": values.start_s, "elapsed_s": values.elapsed_s, "ok": values.ok, **arrays}
    return Requests(parts["start_s"], parts["elapsed_s"], parts["ok"], values.transaction, values.names)


@pytest.mark.parametrize("make", [queue, lognormal], ids=["queue", "lognormal"])
def test_intervals_of_long_files_hold_the_truth(make, tmp_path: Path) -> None:
    rng, held, rates = np.random.default_rng(5), 0, 0
    names = ("mean", "p50", "p90", "p95")
    for _ in range(10):
        known = make(rng, 10_000, 0.5)
        found = judged(tmp_path, known.requests)
        assert (found.verdict, found.requests, found.errors) == ("valid", 10_000, 0)
        assert found.window_s == pytest.approx((0.0, known.requests.start_s[-1]))
        for name in names:
            estimate = found.figures.response_time_s[name]
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.high / estimate.low < 1.6
            held += estimate.low <= known.times_s[name] <= estimate.high
        # At the ends of the window, a few of the 10,000 requests may be counted wrongly, so 0.1 % is allowed.
        rate = found.figures.throughput_per_s
        rates += rate.low * 0.999 <= known.throughput_per_s <= rate.high * 1.001
    # With 95 % intervals, fewer than 34 of 40 contain the true value with a probability of only 1 %.
    assert 34 <= held <= 40
    assert rates >= 8


def test_percentiles_are_values_of_the_file_at_the_rank_of_the_definition(tmp_path: Path) -> None:
    elapsed = np.random.default_rng(1).permutation(np.arange(1, 1001)) / 1e3
    requests = Requests(np.arange(1000) * 0.1, elapsed, np.ones(1000, bool), np.zeros(1000, np.int64), ("",))
    times = judged(tmp_path, requests).figures.response_time_s
    assert {name: round(1e3 * times[name].value) for name in ("p50", "p90", "p95", "p99")} == {
        "p50": 500, "p90": 900, "p95": 950, "p99": 990,
    }  # fmt: skip
    assert times["mean"].value == pytest.approx(0.5005)


def test_correlated_times_have_wider_intervals_than_their_number_suggests(tmp_path: Path) -> None:
    widths = []
    for correlation in (0.0, 0.98):
        mean = judged(tmp_path, lognormal(np.random.default_rng(2), 10_000, correlation).requests).figures
        estimate = mean.response_time_s["mean"]
        widths.append((estimate.high - estimate.low) / estimate.value)
    # For the logarithms, the error grows by the factor sqrt((1 + 0.98) / (1 - 0.98)) = 9.9.
    assert 5 < widths[1] / widths[0] < 14


def of_queues(utilization: float, name: str, files: int = 100) -> tuple[int, int]:
    """Simulate files of 10,000 requests to an M/M/1 queue. Return how many files have an interval, and how many of
    these intervals do not contain the true value.
    """
    rng, given, wrong = np.random.default_rng(31), 0, 0
    for _ in range(files):
        known = queue(rng, 10_000, utilization)
        observed = observations_of(known.requests, 0.0, float(known.requests.start_s[-1]))
        estimate = of_requests(known.requests, observed).response_time_s[name]
        if estimate.low is not None:
            given += 1
            wrong += not estimate.low <= known.times_s[name] <= estimate.high
    return given, wrong


@pytest.mark.parametrize(
    ("utilization", "name", "least"),
    [
        *((0.7, "p90", 99), (0.8, "mean", 95), (0.8, "p95", 85), (0.9, "mean", 75), (0.9, "p50", 85), (0.9, "p90", 40)),
        *((0.95, "mean", 20), (0.95, "p50", 40)),
    ],
)
def test_intervals_near_saturation_hold_where_they_are_given(utilization: float, name: str, least: int) -> None:
    """At least `least` of 100 files have an interval. At most as many of these miss the true value as a
    binomial distribution with 5 % allows at a level of 1 %.
    """
    given, wrong = of_queues(utilization, name)
    assert given >= least
    assert wrong <= scipy.stats.binom.ppf(0.99, given, 0.05)


@pytest.mark.parametrize(("utilization", "name"), [(0.7, "p99"), (0.9, "p95"), (0.95, "p90")])
def test_tails_near_saturation_have_no_interval_where_it_would_not_hold(utilization: float, name: str) -> None:
    """At most 10 of 100 files have an interval."""
    assert of_queues(utilization, name)[0] <= 10


def test_the_upper_end_of_the_interval_of_a_queue_is_farther_by_its_relaxation_times() -> None:
    known = queue(np.random.default_rng(2), 10_000, 0.9)
    observed = observations_of(known.requests, 0.0, float(known.requests.start_s[-1]))
    plain = ratio_of_long(observed.response_sum_s, observed.started)
    mean = of_requests(known.requests, observed).mean_s
    # By Little's law the number in the system is N = X R, with throughput X and response time R. An M/M/1 queue with
    # this N and R has the relaxation time R / (1 + N) / (1 - sqrt(N / (1 + N)))^2 (Cohen 1982).
    length, response = float(known.requests.start_s[-1]), plain.value
    in_system = 10_000 * response / length
    relaxation = response / (1 + in_system) / (1 - math.sqrt(in_system / (1 + in_system))) ** 2
    factor = math.log(mean.high / mean.value) / math.log(plain.high / plain.value)
    assert factor == pytest.approx(1 + 30 * relaxation / length)
    assert factor > 1.4
    assert (mean.value, mean.low) == (plain.value, plain.low)


def test_independent_times_of_many_users_have_plain_intervals() -> None:
    """The interval of independent times must not be widened as that of a queue.

    On average, requests take one second, and 200 are in progress. An M/M/1 queue with this many requests would have a
    relaxation time longer than the file.
    """
    rng = np.random.default_rng(2)
    starts = np.sort(rng.uniform(0, 50, 10_000))
    known = Requests(
        starts - starts[0], rng.exponential(1, 10_000), np.ones(10_000, bool), np.zeros(10_000, int), ("",)
    )
    observed = observations_of(known, 0.0, float(known.start_s[-1]))
    plain = ratio_of_long(observed.response_sum_s, observed.started)
    assert of_requests(known, observed).mean_s == plain


def test_few_values_have_no_interval(tmp_path: Path) -> None:
    found = judged(tmp_path, lognormal(np.random.default_rng(3), 60, 0.0).requests)
    assert kinds(found)["too_few_samples"] == "suspect"
    assert all(estimate.low is None for estimate in found.figures.response_time_s.values())


def test_a_start_that_is_slower_is_left_out(tmp_path: Path) -> None:
    known = lognormal(np.random.default_rng(4), 10_000, 0.0)
    slow = 1 + 9 * np.exp(-known.requests.start_s / 5)
    found = judged(tmp_path, changed(known, elapsed_s=known.requests.elapsed_s * slow))
    assert 5 < found.window_s[0] < 40
    mean = found.figures.response_time_s["mean"]
    assert mean.low <= known.times_s["mean"] <= mean.high
    assert found.requests == 10_000
    assert found.document()["in_window"]["requests"] < 10_000


@pytest.mark.parametrize(("place", "factor"), [(1 / 3, 1.5), (1 / 3, 1.3), (1 / 2, 1.5), (1 / 4, 2.0)])
def test_times_that_rise_and_stay_are_no_warm_up(place: float, factor: float, tmp_path: Path) -> None:
    """A lasting rise of the response time must not be removed as a warm-up: the file would then be valid."""
    known = lognormal(np.random.default_rng(4), 10_000, 0.0)
    late = known.requests.start_s > place * known.requests.start_s[-1]
    found = judged(tmp_path, changed(known, elapsed_s=known.requests.elapsed_s * np.where(late, factor, 1.0)))
    assert found.verdict != "valid"
    (doubt,) = [doubt for doubt in found.doubts if doubt.kind == "no_steady_state"]
    # The logarithms of the times have a standard deviation of 0.7. So the mean of at least 2,500 times has a relative
    # standard error of at most 1.4 %.
    assert doubt.seen == pytest.approx(factor - 1, abs=0.08)
    assert "−" not in doubt.message


def test_the_note_about_a_slower_start_has_its_size(tmp_path: Path) -> None:
    known = lognormal(np.random.default_rng(4), 10_000, 0.0)
    early = known.requests.start_s < 0.25 * known.requests.start_s[-1]
    found = judged(tmp_path, changed(known, elapsed_s=known.requests.elapsed_s * np.where(early, 2.0, 1.0)))
    assert found.verdict == "valid"
    assert any("left out as transient, after which response time is" in note for note in found.all_notes)
    assert any(f"{percent} % lower" in note for note in found.all_notes for percent in range(47, 54))


def test_a_drift_is_no_steady_state(tmp_path: Path) -> None:
    known = lognormal(np.random.default_rng(4), 10_000, 0.0)
    drift = 1 + 4 * known.requests.start_s / known.requests.start_s[-1]
    found = judged(tmp_path, changed(known, elapsed_s=known.requests.elapsed_s * drift))
    assert found.verdict != "valid"
    assert "no_steady_state" in kinds(found)


def test_errors_beyond_one_per_cent_make_a_file_invalid(tmp_path: Path) -> None:
    known = lognormal(np.random.default_rng(4), 10_000, 0.0)
    for every, verdict in ((50, "invalid"), (200, "valid")):
        ok = np.arange(10_000) % every != 0
        found = judged(tmp_path, changed(known, ok=ok))
        assert (found.verdict, found.errors) == (verdict, 10_000 // every)
        # Failed requests do not count as throughput.
        assert found.figures.throughput_per_s.value == pytest.approx(50 * (1 - 1 / every), rel=2e-3)


def test_coarse_times_are_named(tmp_path: Path) -> None:
    known = lognormal(np.random.default_rng(4), 10_000, 0.0)
    for step, level in ((0.001, None), (0.002, "note"), (0.008, "suspect")):
        rounded = np.round(known.requests.elapsed_s / step) * step
        assert kinds(judged(tmp_path, changed(known, elapsed_s=rounded))).get("coarse_times") == level


def test_starts_in_whole_seconds_are_no_obstacle(tmp_path: Path) -> None:
    known = lognormal(np.random.default_rng(4), 10_000, 0.0)
    found = judged(tmp_path, changed(known, start_s=np.floor(known.requests.start_s)))
    mean = found.figures.response_time_s["mean"]
    assert mean.low <= known.times_s["mean"] <= mean.high
    assert found.verdict == "valid"


def test_ends_in_whole_seconds_are_no_obstacle(tmp_path: Path) -> None:
    # k6 writes the end of each request, rounded to whole seconds, to its CSV file.
    known = lognormal(np.random.default_rng(4), 10_000, 0.0, gap_s=0.004)
    ends = np.floor(known.requests.end_s) + 1
    order = np.argsort(ends - known.requests.elapsed_s)
    starts = (ends - known.requests.elapsed_s)[order]
    found = judged(tmp_path, changed(known, start_s=starts - starts[0], elapsed_s=known.requests.elapsed_s[order]))
    assert found.verdict == "valid"
    mean, rate = found.figures.response_time_s["mean"], found.figures.throughput_per_s
    assert mean.low <= known.times_s["mean"] <= mean.high
    assert rate.value == pytest.approx(known.throughput_per_s, rel=0.05)
    assert rate.high / rate.low < 1.1


def stalled(stall_s: float, every: int = 1000, waits: bool = True) -> Requests:
    """Return 5,000 requests of 2 to 6 ms at 100 /s; every `every`-th request takes `stall_s`.

    If `waits` is True, the generator sends the next request only after the response.
    """
    rng = np.random.default_rng(6)
    elapsed = rng.uniform(0.002, 0.006, 5000)
    elapsed[every // 2 :: every] = stall_s
    starts, now = np.zeros(5000), 0.0
    for number in range(5000):
        starts[number] = now
        now += max(0.01, elapsed[number] if waits else 0.0)
    return Requests(starts, elapsed, np.ones(5000, bool), np.zeros(5000, np.int64), ("",))


def test_omitted_requests_of_a_fixed_rate_are_counted(tmp_path: Path) -> None:
    requests = stalled(2.0)
    omission = omission_of(requests)
    assert omission is not None
    # During each of five stalls of 2 s, 199 requests that were due at 100 /s are not sent.
    assert (omission.stops, omission.missing) == (5, 5 * 199)
    assert omission.longest_s == pytest.approx(2.0)
    # The p99 of 5,995 requests is about the 60th longest time. Of these 60 times, each of five stalls has 12: 2.00 s,
    # 1.99 s, and so on to 1.89 s.
    assert omission.corrected_p99_s == pytest.approx(1.89, abs=0.02)
    assert omission.p99_s < 0.006
    found = judged(tmp_path, requests)
    assert kinds(found)["coordinated_omission"] == "invalid"


@pytest.mark.parametrize(
    "requests",
    [
        stalled(2.0, waits=False),
        stalled(0.004),
        queue(np.random.default_rng(7), 5000, 0.8).requests,
        lognormal(np.random.default_rng(7), 5000, 0.9).requests,
    ],
    ids=["does not wait", "no stall", "independent arrivals", "fixed rate"],
)
def test_no_omission_where_the_generator_does_not_wait(requests: Requests) -> None:
    assert omission_of(requests) is None


def test_a_closed_user_omits_nothing_since_it_has_no_rate() -> None:
    elapsed = np.random.default_rng(8).uniform(0.009, 0.011, 5000)
    elapsed[500::1000] = 2.0
    starts = np.concatenate([[0.0], np.cumsum(elapsed)[:-1]])
    assert omission_of(Requests(starts, elapsed, np.ones(5000, bool), np.zeros(5000, np.int64), ("",))) is None


def test_a_file_without_a_usable_row_is_invalid(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("start_s,elapsed_ms\nx,1\n")
    found = judge_file(path)
    assert found.verdict == "invalid"
    assert set(kinds(found)) == {"data_damaged", "nothing_completed"}
    assert found.document()["response_time_ms"]["mean"] == {"value": None, "low": None, "high": None}


@pytest.mark.parametrize("rows", ["0,1\n", "0,1\n0,1\n0,2\n", "0,0\n1,0\n", "5,1e300\n6,1\n", "-5,1\n1e12,1\n"])
def test_odd_files_are_judged(rows: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text(f"start_s,elapsed_ms\n{rows}")
    found = judge_file(path)
    assert found.requests == rows.count("\n")
    assert found.verdict in ("suspect", "invalid")


def test_a_clock_of_whole_seconds_has_a_window_of_complete_seconds(tmp_path: Path) -> None:
    """The ends of 60 requests a second, from 0.6 s to 4.7 s, are recorded in whole seconds, as in the CSV of k6.

    Without the incomplete seconds at both ends there are exactly 60 a second.
    """
    ends, elapsed = 0.6 + np.arange(246) / 60, np.random.default_rng(1).uniform(0.01, 0.3, 246)
    starts = np.floor(ends + 1e-9) - elapsed
    order = np.argsort(starts)
    ok, names = np.ones(246, bool), np.zeros(246, np.int64)
    found = judged(tmp_path, Requests(starts[order], elapsed[order], ok, names, ("",)))
    assert found.figures.throughput_per_s.value == pytest.approx(60)
