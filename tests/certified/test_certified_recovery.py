"""Recovery from events: how often an undisturbed system is called disturbed, and when a queue is worked off."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from covering import SERIES, autoregressive

from towtank.analysis import recovery

RUNS = SERIES or 200
BEFORE = 60


def described(ok, means_s, seconds_before=BEFORE):
    """Recovery of an event at the start of second `seconds_before` of a run of whole seconds."""
    seconds = len(ok)
    starts = np.arange(seconds, dtype=float)
    response = SimpleNamespace(counts=ok, quantile_by_bin=lambda share: list(means_s))
    column = SimpleNamespace(
        bins=seconds,
        ok=ok,
        ended=ok,
        failed=np.zeros(seconds),
        failed_by_kind={},
        response=response,
        response_means_s=means_s,
    )
    measurement = SimpleNamespace(
        bins=seconds, starts=starts, ends=starts + 1, lengths=np.ones(seconds), transactions=column, requests=column,
        length_of=lambda chosen: float(np.ones(seconds)[chosen].sum()),
        inside=lambda start, end: (starts >= start - 1e-6) & (starts + 1 <= end + 1e-6),
    )  # fmt: skip
    event = recovery.Happened("event", "touch", "a file", float(seconds_before), float(seconds_before))
    asked = SimpleNamespace(asked_start_s=0.0, asked_end_s=float(seconds))
    return recovery.describe([event], measurement, asked, 0.01)["event"]


def quiet(stream, seconds, correlation):
    """Throughput and mean response times of a system that nothing happens to."""
    ok = np.maximum(0.0, 100 + 5 * (autoregressive(stream, seconds, correlation) - 10))
    return ok, 0.02 * np.exp(0.2 * (autoregressive(stream, seconds, correlation) - 10))


def disturbed(seed, seconds, correlation):
    """Share of undisturbed runs that are called disturbed."""
    stream = np.random.default_rng(seed)
    runs = [described(*quiet(stream, BEFORE + seconds, correlation)) for _ in range(RUNS)]
    return sum(run["disturbed"] for run in runs) / RUNS


@pytest.mark.parametrize("seconds", [60, 300])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5])
def test_an_undisturbed_system_is_hardly_ever_disturbed(seconds, correlation):
    # Single seconds judged at 1 of 1,000 made 5.8 % of 60 s and 26 % of 300 s disturbed.
    assert disturbed(seconds, seconds, correlation) <= 0.01 + 4 * (0.01 / RUNS) ** 0.5


def test_a_backlog_counts_until_response_time_is_back():
    # Open load of 100 /s, capacity 110 /s, 10 s of standstill: 1,000 wait, and are worked off in 100 s. Throughput is
    # above the band at once.
    stream = np.random.default_rng(1)
    ok, means = quiet(stream, BEFORE + 200, 0.0)
    ok[BEFORE : BEFORE + 10] = 0
    ok[BEFORE + 10 : BEFORE + 110] += 10
    means[BEFORE : BEFORE + 10] = np.nan
    means[BEFORE + 10 : BEFORE + 110] += np.linspace(10, 0, 100)
    found = described(ok, means)
    # The last seconds of the queue are within the band: 0.02 s and what one of 1,000 exceeds, some 0.04 s.
    assert 105 <= found["recovery_s"] <= 110


def test_recovery_lasts_until_the_last_time_out():
    # Down for 5 s, up for 3 s, down for 60 s: not recovered after 5 s.
    ok, means = quiet(np.random.default_rng(2), BEFORE + 200, 0.0)
    ok[BEFORE : BEFORE + 5] = 0
    ok[BEFORE + 8 : BEFORE + 68] = 0
    assert described(ok, means)["recovery_s"] == 68


def test_a_system_that_stays_slow_is_not_back():
    ok, means = quiet(np.random.default_rng(3), BEFORE + 60, 0.0)
    means[BEFORE:] *= 10
    found = described(ok, means)
    assert (found["disturbed"], found["recovery_s"]) == (True, None)


def rows():
    """Lines of the table: seconds after the event, correlation of seconds, share called disturbed."""
    for seconds in (60, 300):
        for correlation in (0.0, 0.3, 0.5, 0.7):
            yield (f"{seconds} s", str(correlation), f"{100 * disturbed(seconds, seconds, correlation):.1f} %")
