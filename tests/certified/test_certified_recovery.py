"""Recovery of a system after an event: false alarms, and the time at which a queue is empty again."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from certification import Section, percent
from covering import SERIES, autoregressive

from towtank.analysis import recovery

RUNS = SERIES or 200
BEFORE = 60


def described(ok, means_s, seconds_before=BEFORE):
    """Return the reported recovery from an event that begins at second `seconds_before` of a run."""
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
    event = recovery.StudyEvent("event", "touch", "a file", float(seconds_before), float(seconds_before))
    asked = SimpleNamespace(asked_start_s=0.0, asked_end_s=float(seconds))
    return recovery.describe([event], measurement, asked, 0.01)["event"]


def quiet(stream, seconds, correlation):
    """Return random throughput and mean response time for each second of an undisturbed system."""
    ok = np.maximum(0.0, 100 + 5 * (autoregressive(stream, seconds, correlation) - 10))
    return ok, 0.02 * np.exp(0.2 * (autoregressive(stream, seconds, correlation) - 10))


def disturbed(seed, seconds, correlation):
    """Return the fraction of undisturbed runs that are reported as disturbed."""
    stream = np.random.default_rng(seed)
    runs = [described(*quiet(stream, BEFORE + seconds, correlation)) for _ in range(RUNS)]
    return sum(run.disturbed for run in runs) / RUNS


SECTION = Section(
    "Recovery of undisturbed runs",
    "seconds after the event | correlation between seconds | runs reported as disturbed",
    f"{RUNS} undisturbed runs each. Up to a correlation of 0.5, at most 1 % of the runs may be reported as disturbed; "
    "the tolerance is four standard deviations.",
)


@pytest.mark.certify
@pytest.mark.parametrize("seconds", [60, 300])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5, 0.7])
def test_an_undisturbed_system_is_hardly_ever_disturbed(seconds, correlation, tabled):
    # At most 1 % of the undisturbed runs may be reported as disturbed, if the correlation is at most 0.5.
    share = disturbed(seconds, seconds, correlation)
    allowed = correlation > 0.5 or share <= 0.01 + 4 * (0.01 / RUNS) ** 0.5
    tabled(SECTION, f"{seconds} s", str(correlation), percent(share), holds=allowed)


PLANTED = Section(
    "Recovery from outages",
    "outage | capacity divided by load | true recovery time | median of the reported recovery time | within 1 s",
    f"{RUNS} runs each of an open load of 100 /s. After the outage, waiting requests are handled in order of arrival, "
    "with the capacity that exceeds the load. At least 95 % of the reported times must be within 1 s of the true "
    "time; the tolerance is four standard deviations.",
)


def outage(stream, down_s, capacity):
    """Simulate a queue whose service stops for `down_s` seconds. Return the reported and the true recovery time. [s]"""
    # 100 jobs arrive per second. After the outage, the queue of 100 x `down_s` jobs shrinks by `capacity` - 100 jobs
    # per second.
    drained_s = 100 * down_s / (capacity - 100)
    ok, means = quiet(stream, BEFORE + round(down_s + drained_s) + 60, 0.3)
    ok[BEFORE : BEFORE + down_s] = 0
    means[BEFORE : BEFORE + down_s] = np.nan
    middle = np.arange(len(ok)) + 0.5 - BEFORE - down_s
    waiting = np.where(middle > 0, np.maximum(0.0, 100 * down_s - (capacity - 100) * middle), 0.0)
    ok[waiting > 0] += capacity - 100
    return described(ok, means + waiting / capacity), down_s + drained_s


@pytest.mark.certify
@pytest.mark.parametrize("capacity", [110, 150, 300])
@pytest.mark.parametrize("down_s", [3, 10, 30])
def test_recovery_ends_when_the_queue_is_worked_off(down_s, capacity, tabled):
    stream = np.random.default_rng(10 * capacity + down_s)
    shown = []
    for _ in range(RUNS):
        found, truth = outage(stream, down_s, capacity)
        shown.append(np.inf if found.recovery_s is None else found.recovery_s)
    within = float(np.mean(np.abs(np.array(shown) - truth) <= 1))
    least = 0.95 - 4 * (0.95 * 0.05 / RUNS) ** 0.5
    cells = (f"{down_s} s", f"{capacity / 100:g}", f"{truth:.1f} s", f"{np.median(shown):.1f} s", percent(within))
    tabled(PLANTED, *cells, holds=within >= least)


def test_a_backlog_counts_until_response_time_is_back():
    # The service of an open load of 100 /s stops for 10 s. Then a capacity of 110 /s handles the 1,000 waiting jobs
    # within 100 s.
    stream = np.random.default_rng(1)
    ok, means = quiet(stream, BEFORE + 200, 0.0)
    ok[BEFORE : BEFORE + 10] = 0
    ok[BEFORE + 10 : BEFORE + 110] += 10
    means[BEFORE : BEFORE + 10] = np.nan
    means[BEFORE + 10 : BEFORE + 110] += np.linspace(10, 0, 100)
    found = described(ok, means)
    # The last delayed response times are about 0.02 s, which is normal, so the reported recovery is slightly early.
    assert 105 <= found.recovery_s <= 110


def test_recovery_lasts_until_the_last_time_out():
    # The system is down for 5 s, up for 3 s, and down for 60 s. The second outage belongs to the same disturbance, so
    # recovery is at the end of the second outage.
    ok, means = quiet(np.random.default_rng(2), BEFORE + 200, 0.0)
    ok[BEFORE : BEFORE + 5] = 0
    ok[BEFORE + 8 : BEFORE + 68] = 0
    assert described(ok, means).recovery_s == 68


def test_a_system_that_stays_slow_is_not_back():
    ok, means = quiet(np.random.default_rng(3), BEFORE + 60, 0.0)
    means[BEFORE:] *= 10
    found = described(ok, means)
    assert (found.disturbed, found.recovery_s) == (True, None)
