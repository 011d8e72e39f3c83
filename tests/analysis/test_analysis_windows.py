from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from simulated_windows import window_of

from towtank.analysis import load
from towtank.analysis.checks import window as checks
from towtank.analysis.doubts import DoubtKind, DoubtLevel
from towtank.analysis.limits import plateaus
from towtank.analysis.statistics import error_of
from towtank.analysis.statistics.histogram_layout import Layout
from towtank.analysis.system import tiers
from towtank.analysis.timed_histograms import TimedHistograms
from towtank.analysis.windows import changes, growth, steady
from towtank.analysis.windows.rest import Rest, is_at_rest, rest_of
from towtank.analysis.windows.settling import SteadySeconds, without_transient
from towtank.analysis.windows.tolerances import ALLOWED, TOLERANCE
from towtank.analysis.windows.window import at_mean_throughput


def steady_window(seconds, per_s=20.0, response_s=0.01):
    """Return a window of a run with responses at equal intervals."""
    ends = np.arange(0.5 / per_s, seconds, 1 / per_s)
    return window_of(ends - response_s, ends, 0, seconds, is_open=False)


def note_of(window):
    (doubt,) = checks.rest(SimpleNamespace(window=window))
    assert (doubt.kind, doubt.level) == (DoubtKind.REST_NOT_SHOWN, DoubtLevel.NOTE)
    return doubt


@pytest.mark.parametrize("seconds", [2, 3, 4, 7])
def test_a_window_too_short_for_any_statement_says_so_and_names_the_length(seconds):
    """A test of the steady state needs at least eight observations, which last one second or longer. A window of ten
    seconds is too short.
    """
    window = steady_window(seconds)
    assert (window.steady, window.outcome) == (True, "undecided")
    doubt = note_of(window)
    assert doubt.message == (
        f"the window of {seconds} s does not exclude any change of throughput (limit 10 %; too few observations) and "
        "any change of response time (limit 28.4 %; too few observations); a window of at least 10 s would"
    )
    assert (doubt.seen, doubt.limit) == (None, None)
    assert {found["at_most"] for found in window.document()["rest"].values()} == {None}


@pytest.mark.parametrize(
    ("needed_s", "said"),
    [
        (61.0, "about 70 s"),
        (204.0, "about 210 s"),
        (921.0, "about 16 min"),
        (970.0, "about 17 min"),
        (3600.0, "about 60 min"),
    ],
)
def test_the_length_of_a_longer_window_has_two_digits(needed_s, said):
    """921 s are rounded up to 930 s, or 15.5 min, and then to 16 min. 970 s are 16.2 min, rounded up to 17 min."""
    assert note_of(noisy(needed_s)).message.endswith(f"(limit 10 %); a window of {said} would")


@pytest.mark.parametrize("needed_s", [3601.0, 80_000.0, 1e9])
def test_no_window_beyond_an_hour_is_recommended(needed_s):
    ended = "(limit 10 %); no window of a practical length (up to 1 h) would"
    assert note_of(noisy(needed_s)).message.endswith(ended)


@pytest.mark.parametrize(
    ("window_s", "needed_s", "said"),
    [
        (7200.0, 10_000.0, "a window of about 170 min"),
        (7200.0, 80_000.0, "no window of a practical length (up to 4 h)"),
        (86_400.0, 100_000.0, "a window of about 28 h"),
        (86_400.0, 200_000.0, "no window of a practical length (up to 48 h)"),
    ],
)
def test_a_window_of_hours_is_compared_with_longer_ones(window_s, needed_s, said):
    """A length is practical if it is at most twice the length of the measured window."""
    assert note_of(noisy(needed_s, window_s)).message.endswith(f"(limit 10 %); {said} would")


def test_the_needed_length_has_no_bound_of_its_own():
    """The change that a window excludes falls with the square root of its length. With noise of four times the mean, a
    window of more than a day is needed, and this length must be stated without an upper bound.
    """
    noise = np.random.default_rng(5).normal(1.0, 4.0, 20)
    assert rest_of("throughput", noise, np.linspace(0.0, 7200.0, 21)).needed_s > 86_400.0


def noisy(needed_s, window_s=20.0):
    """Return a window that does not exclude a change of throughput by 30 %."""
    rest = {"throughput": Rest(0.02, 0.3, 0.1, needed_s), "response_time": Rest(0.0, 0.01, 0.284, 10.0)}
    return SimpleNamespace(steady=True, rest=rest, length_s=window_s)


def test_a_window_that_is_long_enough_and_quiet_has_no_note():
    window = steady_window(10)
    assert window.outcome == "holds"
    assert not list(checks.rest(SimpleNamespace(window=window)))


def test_the_length_allows_for_few_transactions():
    """With one transaction in five seconds, an observation must cover five transactions, or 25 s. Eight observations
    are needed, so 200 s.
    """
    window = steady_window(60, per_s=0.2)
    assert window.note == "too short to be tested"
    assert note_of(window).message.endswith("a window of at least 200 s would")


def test_a_series_without_a_value_in_some_observations_is_not_at_rest():
    """Each second has ten responses, except the eleventh, which has none.

    The throughput of that second is zero, and its response time is unknown.
    """
    ends = np.arange(0.05, 20, 0.1)
    ends = ends[(ends < 10) | (ends > 11)]
    window = window_of(ends - 0.01, ends, 0, 20, is_open=False)
    assert window.outcome != "holds"
    assert "any change of response time (no transaction ended in some seconds)" in note_of(window).message


def test_rest_has_the_error_of_changes_that_are_found():
    """The test that nothing changed uses the same standard error as the test for a change.

    This cautious error is larger, because it corrects the bias of the autocorrelation.
    """
    edges = np.arange(21.0)
    values = 100 + 3 * np.sin(np.arange(20) * 1.1)
    line = steady.trend((edges[:-1] + edges[1:]) / 2, values, cautious=True)
    span, mean = 19.0, values.mean()
    error = stats.t.ppf(0.9, line.freedom) * line.error_per_s * span / mean
    found = rest_of("throughput", values, edges)
    assert found.at_most == pytest.approx(abs(line.slope_per_s) * span / mean + error)
    assert found.at_most > 1.2 * rest_of("throughput", values, edges, cautious=False).at_most


def test_a_change_matters_before_it_is_so_large_that_rest_must_exclude_it():
    """A change of throughput matters from 5 %, and a change of response time from 20 %.

    A steady window must exclude changes of 10 % and 28 %.
    """
    assert (TOLERANCE["throughput"], TOLERANCE["response_time"]) == (0.05, 0.20)
    assert (ALLOWED["throughput"], round(np.expm1(ALLOWED["response_time"]), 2)) == (0.10, 0.28)
    assert TOLERANCE["throughput"] == growth.TOLERANCE


def test_where_nothing_is_cut_there_is_no_change_that_chance_would_have_to_explain():
    values = np.random.default_rng(1).normal(100, 1, size=40)
    for cautious in (False, True):
        found = changes.of_difference("throughput", *steady.difference_at(values, 0, cautious=cautious), values.mean())
        assert (found.share, found.at_least, found.p_value) == (0.0, 0.0, 1.0)
    assert changes.of_difference("throughput", 5.0, 0.0, 9.0, 100.0).p_value == 0.0


def with_transient(noise):
    """Return response times that are six times as long in the first 30 of 60 s.

    There are 20 responses per second, and the mean of each second has lognormal noise.
    """
    stream, ends = np.random.default_rng(3), np.arange(0.025, 60, 0.05)
    level = np.where(ends < 30, 0.6, 0.1) * np.repeat(stream.lognormal(0, noise, size=60), 20)
    return ends, level * stream.gamma(50, 1 / 50, len(ends))


@pytest.mark.parametrize(("noise", "kept_s"), [(0.05, 30), (0.5, None)])
def test_a_stage_and_the_analysis_decide_alike_on_a_cut_at_half(noise, kept_s):
    """The minimum of MSER lies at the end of its search range, half of the window. Then the load stage and the analysis
    both test the remaining half.
    """
    ends, responses = with_transient(noise)
    window = window_of(ends - responses, ends, 0, 60, is_open=False)
    edges = np.arange(61.0)
    counts, sums = np.histogram(ends, edges)[0], np.histogram(ends, edges, weights=responses)[0]
    zero = np.zeros(60)
    kept = without_transient(SteadySeconds(edges[1:], np.ones(60), counts.astype(float), sums, zero, zero))
    assert window.cuts_s["response_time"] == 30
    assert (None if kept is None else len(kept.ends_s)) == kept_s
    assert window.steady == (kept_s is not None)


def test_a_difference_of_a_percent_is_left_in_by_both():
    """Throughput without noise is 1 % lower in the first 15 s. This change is significant, but too small to matter, so
    these seconds are kept.
    """
    counts = np.where(np.arange(60) < 15, 1000.0, 1008.0)
    zero = np.zeros(60)
    record = SteadySeconds(np.arange(1.0, 61), np.ones(60), counts, 0.1 * counts, zero, zero)
    assert without_transient(record) is record


def test_a_rest_is_not_shown_in_less_than_ten_seconds():
    edges = np.arange(10.0)
    assert not is_at_rest("throughput", np.full(9, 100.0), edges)
    assert is_at_rest("throughput", np.full(10, 100.0), np.arange(11.0))


@pytest.mark.parametrize(("bin_s", "needs_s"), [(0.25, 5), (1.0, 20), (1.0002, 20), (2.0, 40), (10.0, 200)])
def test_the_length_that_an_interval_needs_is_in_seconds_whatever_the_bins(bin_s, needs_s):
    """An interval needs twenty bins: 20 x 2 s = 40 s."""
    counts = np.random.default_rng(1).normal(100, 1, 12)
    measured = SimpleNamespace(lengths=np.full(12, bin_s), bin_s=bin_s)
    every = np.ones(12, dtype=bool)
    assert load.throughput(counts, measured, every).document()["needs_s"] == needs_s
    assert tiers.ratio(counts, counts, every, bin_s=bin_s).document()["needs_s"] == needs_s
    assert load.mean_of(SimpleNamespace(counts=counts), counts, every, bin_s)[0].needs_s == needs_s


def test_a_quantile_needs_seconds_and_not_bins():
    """Twelve bins are too few for an interval of p50, although each contains ten values: like the mean, it needs 20
    bins.
    """
    timed, bins, buckets = TimedHistograms(12), np.repeat(np.arange(12), 10), np.tile(np.arange(100, 110), 12)
    timed.__dict__["_decoded"] = (Layout(1, 3_600_000_000_000, 3), bins, buckets, np.ones(120, dtype=np.int64), 0)
    every = np.ones(12, dtype=bool)
    merged = timed.merged(every)
    short, long = (load.quantile(timed, merged, 0.5, every, bin_s).needs_s for bin_s in (1.0, 10.0))
    assert (short, long) == (20, 200)


def test_bins_that_were_not_observed_make_the_needed_window_longer():
    tops = np.full(12, 1.0)
    tops[:4] = np.nan
    assert tiers.ratio(tops, np.ones(12), np.ones(12, dtype=bool), bin_s=1.0).needs_s == 30


def test_plateaus_have_the_error_that_intervals_rest_on():
    """Counts are correlated (r = 0.7). With an error that ignores this, the search would find too early that throughput
    no longer grows.
    """
    counts = 10 * autoregressive(np.random.default_rng(6), 20, 0.7)
    error = error_of(counts, np.ones(20))
    assert plateaus._throughput_error(counts, np.ones(20)) == error.standard_error
    assert error.standard_error > 1.2 * error.best_error
    assert plateaus._throughput_error(counts[:7], np.ones(7)) is None


def autoregressive(stream, count, correlation):
    """Return random values with mean 10, standard deviation 1 and the given lag-1 correlation."""
    noise = stream.normal(size=count)
    for number in range(1, count):
        noise[number] = correlation * noise[number - 1] + np.sqrt(1 - correlation**2) * noise[number]
    return 10 + noise


def cpu_of_a_tier(generator, drift=0.0, seconds=26, per_s=400.0, demand_s=0.001):
    """Return CPU use and throughput of a tier, per second.

    Throughput has slow noise of 5 %, as from random think times. The CPU time per transaction changes by the share
    `drift` over the series.
    """
    pace = stats.norm.rvs(size=seconds + 4, random_state=generator)
    throughput = per_s * (1 + 0.05 * np.convolve(pace, np.ones(5) / np.sqrt(5), mode="valid")[:seconds])
    demands = demand_s * (1 + drift * np.linspace(-0.5, 0.5, seconds) + 0.03 * generator.standard_normal(seconds))
    return demands * throughput, throughput


def significant_trends(drift, adjusted, seeds=400):
    """Return the fraction of windows in which the trend of CPU use is significantly larger than its tolerance."""
    found = 0
    for seed in range(seeds):
        used, throughput = cpu_of_a_tier(np.random.default_rng(seed), drift)
        values = at_mean_throughput(used, throughput) if adjusted else used
        middles = np.arange(len(values), dtype=float)
        line, cautious = steady.trend(middles, values), steady.trend(middles, values, cautious=True)
        found += (
            changes.of_trend("cpu of web", line, cautious, float(np.ptp(middles)), float(values.mean())) is not None
        )
    return found / seeds


def test_throughput_that_wanders_is_no_change_of_the_work_per_transaction():
    assert significant_trends(0.0, adjusted=False) > 0.01
    assert significant_trends(0.0, adjusted=True) == 0.0


def test_a_change_of_the_work_per_transaction_is_found_more_often_without_the_noise_of_throughput():
    assert significant_trends(0.15, adjusted=True) > 0.8
    assert significant_trends(0.15, adjusted=False) < 0.5


def test_a_slow_drift_of_the_work_is_no_transient_whose_start_is_cut_off():
    """MSER would remove the first half of a slow drift of CPU time as a transient. The remaining drift would be within
    the tolerance.
    """
    found = [window_of_a_tier(seed, drift=0.15) for seed in range(20)]
    seen = [change.text for window in found for change in window.changes if change.metric == "cpu of web"]
    assert len(seen) >= 12
    assert set(seen) == {"cpu of web at mean throughput"}
    assert float(np.mean([window.length_s for window in found])) > 50


def window_of_a_tier(seed, drift, seconds=60):
    """Return the tested window of a tier with the CPU use that `cpu_of_a_tier` returns and response times of 20 ms."""
    used, throughput = cpu_of_a_tier(np.random.default_rng(seed), drift, seconds)
    ends = np.concatenate([second + (np.arange(n) + 0.5) / n for second, n in enumerate(np.rint(throughput))])
    return window_of(ends - 0.02, ends, 0.0, seconds, is_open=False, tiers_cpu_s={"web": used})


def test_the_mean_stays_and_a_tier_that_is_always_busy_is_left_as_it_is():
    used, throughput = cpu_of_a_tier(np.random.default_rng(1))
    assert at_mean_throughput(used, throughput).mean() == pytest.approx(used.mean())
    busy = np.ones(8)
    assert at_mean_throughput(busy, throughput[:8]) == pytest.approx(busy)
    falling = 2.0 - throughput / 1000  # CPU use is higher at lower throughput, so throughput explains no part of it
    assert at_mean_throughput(falling, throughput) == pytest.approx(falling)


def test_no_transaction_and_a_constant_throughput_explain_nothing():
    used = np.array([0.2, 0.3, 0.25])
    assert at_mean_throughput(used, np.zeros(3)) == pytest.approx(used)
    assert at_mean_throughput(used, np.full(3, 10.0)) == pytest.approx(used)
