from __future__ import annotations

import numpy as np
import pytest

from towtank.analysis.measurement import Measurement
from towtank.analysis.statistics.fairness import fairness_of
from towtank.analysis.system.spread import spread
from towtank.results.recording import Recording
from towtank.results.segments import interval

TARGETS = [
    {"name": "pages", "balance": "round_robin", "addresses": ["10.0.0.1:80", "10.0.0.2:80"]},
    {"name": "orders", "balance": "user", "addresses": ["a:1", "b:1", "b:2"], "services": ["big", "small", "small"]},
    {"name": "mail", "balance": "user", "addresses": ["c:1", "d:1"]},
]


def recorded(seconds: int, ok: list[int], failed: list[int], workers: int = 1) -> Measurement:
    """Return a measurement in which every load thread records the same counts in every second."""
    line = {
        "stage": 0,
        "users": 1,
        "user_ns": 1,
        "in_flight": 0,
        "cpu_ns": 1,
        "series": [],
        "places": {"ok": ok, "failed": failed},
    }
    second = 10**9
    spans = [{**line, "t0_ns": at * second, "t1_ns": (at + 1) * second} for at in range(seconds)]
    return Measurement(Recording(intervals=[interval(span, worker) for span in spans for worker in range(workers)]))


def test_each_service_of_each_target_has_what_its_addresses_got() -> None:
    measurement = recorded(20, ok=[6, 1, 1, 4, 4], failed=[0, 0, 2, 0, 1], workers=2)
    found = spread({"targets": TARGETS}, measurement, np.ones(20, dtype=bool))
    assert list(found) == ["orders", "mail"]
    big, small = found["orders"].members.values()
    assert (big.transactions, small.transactions) == (240, 80)
    assert (big.throughput_per_s.value, small.throughput_per_s.value) == (12, 4)
    assert (big.share.value, small.share.value) == (0.75, 0.25)
    assert (big.errors_share, small.errors_share) == (0, 0.5)
    # The fairness index of the counts 3 and 1 is (3 + 1)^2 / (2 (9 + 1)) = 0.8; it has no error, because the counts
    # never vary.
    assert found["orders"].fairness.value == pytest.approx(0.8)
    assert found["orders"].fairness.low == pytest.approx(0.8)
    assert list(found["mail"].members) == ["c:1", "d:1"]
    assert found["mail"].fairness.value == 1


def test_only_the_window_counts_and_what_was_not_counted_is_left_out() -> None:
    measurement = recorded(20, ok=[6, 1, 1, 4, 4], failed=[0] * 5)
    half = np.arange(20) < 10
    assert spread({"targets": TARGETS}, measurement, half)["mail"].members["c:1"].transactions == 40
    assert list(spread({"targets": TARGETS}, recorded(20, ok=[1, 1, 1], failed=[0] * 3), half)) == ["orders"]
    assert spread({"targets": TARGETS}, Measurement(Recording()), np.zeros(0, dtype=bool)) == {}
    assert spread(None, measurement, half) == {}


def test_a_service_that_got_nothing_makes_the_others_fairness_k_of_n() -> None:
    # Jain, Chiu and Hawe, DEC-TR-301 (1984): if k of n users share equally and the other users get nothing, the
    # fairness index is k/n.
    found = fairness_of(np.full((20, 4), [5.0, 5.0, 5.0, 0.0]), np.ones(20))
    assert found.value == pytest.approx(0.75)
    assert fairness_of(np.zeros((20, 4)), np.ones(20)).value is None


def test_the_interval_holds_the_true_index_as_often_as_it_says() -> None:
    # The counts are random Poisson numbers with known means; the true fairness index is that of the means.
    means = np.array([5.0, 8.0, 10.0, 20.0])
    true = means.sum() ** 2 / (len(means) * np.square(means).sum())
    random = np.random.default_rng(7)
    tries = 1000
    found = [fairness_of(random.poisson(means, (40, 4)).astype(float), np.ones(40)) for _ in range(tries)]
    covered = sum(
        estimate.low <= true <= estimate.high
        for estimate in found
        if estimate.low is not None and estimate.high is not None
    )
    # The coverage of 1,000 intervals must be 95 %, within four of its standard errors.
    assert abs(covered / tries - 0.95) < 4 * np.sqrt(0.95 * 0.05 / tries)
