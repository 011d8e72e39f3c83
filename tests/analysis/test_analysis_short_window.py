"""Windows that are short relative to the relaxation time of the queue of an open load."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.checks.window import memory
from towtank.analysis.doubts import Doubt, DoubtKind, DoubtLevel
from towtank.analysis.run_summary import RunSummary

OPEN = {"users": None, "rate": 100.0}


def found(
    manifest: dict[str, Any],
    length_s: float,
    *tiers: tuple[float, float],
    rate: float = 100.0,
    response_s: float | None = None,
    steady: bool = True,
) -> list[Doubt]:
    """Return the doubts about a window. Each tier is a pair: the CPUs that it uses and the CPUs that it has."""
    summary = {
        "request_throughput_per_s": {"value": rate},
        "response_time_s": {"mean": {"value": response_s}},
        "tiers": {
            f"t{number}": {"cpus_used": {"value": used}, "cpus_allotted": cpus, "utilization": used / cpus}
            for number, (used, cpus) in enumerate(tiers)
        },
    }
    window: Any = SimpleNamespace(length_s=length_s, steady=steady)
    observed: Any = None
    return list(memory(Evidence(manifest, None, RunSummary.read(summary), window, observed, length_s, finished=True)))


@pytest.mark.parametrize(
    ("busy", "length_s", "level"),
    [
        # Intervals from these windows contain the true value in less than 93 % of cases
        # (tests/certified/test_certified_coverage.py).
        (0.90, 20, DoubtLevel.NOTE),
        (0.90, 30, DoubtLevel.NOTE),
        (0.95, 30, DoubtLevel.SUSPECT),
        (0.95, 60, DoubtLevel.SUSPECT),
        (0.95, 120, DoubtLevel.NOTE),
        # Intervals from these windows contain the true value in at least 93 % of cases.
        (0.95, 300, None),
        (0.80, 20, None),
        (0.50, 20, None),
    ],
)
def test_a_window_that_is_short_beside_the_memory_of_a_queue_says_so(
    busy: float, length_s: float, level: DoubtLevel | None
) -> None:
    levels = [doubt.level for doubt in found(OPEN, length_s, (busy, 1.0))]
    assert levels == ([] if level is None else [level])


def test_the_busiest_tier_and_the_length_that_would_do_are_named() -> None:
    # The relaxation time is 1.95 * 9.5 ms / 0.05^2 = 7.41 s; the window should last at least forty times as long, 296
    # s: 300 s with two digits, rounded up.
    (doubt,) = found(OPEN, 60.0, (0.1, 1.0), (0.95, 1.0))
    assert doubt.kind == DoubtKind.SHORT_WINDOW
    assert "lasts 8.1 relaxation times of the queue at t1 (95 % busy);" in doubt.message
    assert doubt.message.endswith(" relaxation times on, about 300 s")


def test_a_long_window_is_named_in_minutes() -> None:
    # The relaxation time is 1.98 * 9.8 ms / 0.02^2 = 48.51 s; the window should last at least forty times as long,
    # 1,940 s, or 32.3 minutes: 33 minutes, rounded up.
    (doubt,) = found(OPEN, 60.0, (0.98, 1.0))
    assert doubt.message.endswith(" relaxation times on, about 33 min")


def test_work_that_no_request_waits_for_is_no_service_time() -> None:
    # Two requests/s use 25 ms of CPU time each, and background work uses 0.85 CPUs. If the background work were counted
    # as work of the requests, their service time would be 450 ms.
    assert found(OPEN, 60.0, (0.9, 1.0), rate=2.0)[0].level == DoubtLevel.SUSPECT
    assert found(OPEN, 60.0, (0.9, 1.0), rate=2.0, response_s=0.03)[0].level == DoubtLevel.NOTE


def test_a_queue_at_its_limit_is_no_reason_for_a_day_of_load() -> None:
    (doubt,) = found(OPEN, 60.0, (0.999, 1.0))
    assert "t0 is so close to its limit that no window is long enough: lower the rate" in doubt.message
    assert found(OPEN, 60.0, (0.999, 1.0), steady=False) == []


def test_two_servers_of_twice_the_work_remember_as_long() -> None:
    alone, both = (found(OPEN, 60.0, tier)[0] for tier in ((0.9, 1.0), (1.8, 2.0)))
    assert alone.seen == pytest.approx(both.seen)


@pytest.mark.parametrize("used", [0.0, 1.0, 1.2])
def test_idle_and_overloaded_tiers_have_no_such_memory(used: float) -> None:
    assert found(OPEN, 1.0, (used, 1.0)) == []


def test_users_who_wait_for_answers_bound_the_queue() -> None:
    assert found({"users": 10, "rate": None}, 10.0, (0.95, 1.0)) == []
