"""Fraction of the system's CPUs that other programs use, computed from counters with known values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from towtank.analysis.system.rates import Samples
from towtank.analysis.system.tiers import foreign_share


def observed(interrupts: list[float]) -> Any:
    """Return a tier that uses 20 % of CPU 0, while all programs together use 50 %.

    `interrupts` contains the cumulative interrupt time at each sample. [s]
    """
    samples = [
        {
            "t_ns": at * 10**9,
            "cpus": [{"busy_s_total": 40_000.0 + 0.5 * at + interrupt, "irq_s_total": 30_000.0 + interrupt}],
            "groups": {"web": {"cpu_user_s_total": 0.15 * at, "cpu_system_s_total": 0.05 * at}},
        }
        for at, interrupt in enumerate(interrupts)
    ]
    found = SimpleNamespace(tiers={"web": {"cpus": [0]}}, samples=Samples(samples, 0))
    found.where = lambda _: found
    return found


def test_busy_time_less_interrupts_and_tiers_is_that_of_other_programs() -> None:
    assert foreign_share(observed([0.1 * at for at in range(11)]), 0, 10) == pytest.approx(0.3)


def test_an_interrupt_that_is_counted_before_the_busy_time_is_no_restart() -> None:
    """The kernel updates the counters of a CPU separately, so busy time minus interrupt time may fall by a clock tick.

    This is no restart of the counters.
    """
    late = observed([0.0] * 11)
    late.samples.samples[5]["cpus"][0]["irq_s_total"] += 0.51
    late.samples.samples[6]["cpus"][0]["irq_s_total"] += 0.51
    late.samples.samples[7:] = []
    late.samples.times_s[7:] = []
    assert foreign_share(late, 0, 6) == pytest.approx(0.3 - 0.51 / 6)


def test_a_tier_without_cpus_of_its_own_has_no_such_share() -> None:
    found = observed([0.0] * 11)
    found.tiers["cache"] = {"cpus": []}
    assert foreign_share(found, 0, 10) is None
