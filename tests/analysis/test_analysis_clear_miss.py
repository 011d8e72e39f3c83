"""A load ends early only if it clearly misses an objective.

Checked with runs of known response times, and by the rate of wrong decisions in random series.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from even_runs import even_script, stages_of
from synthetic_runs import write_run

from towtank.analysis.clear_miss import miss_tests
from towtank.analysis.measurement import Measurement
from towtank.results.following import Follower
from towtank.study import read_objective


def measured(folder: Path, response_s: float, failing: int = 0) -> Measurement:
    """Return a run of 30 s with evenly spaced transactions. Each `failing`-th one fails; 0 for none."""
    script = even_script(
        stages_of(10, 1.0, 29.0), users=10, response_s=response_s, think_s=0.1, seconds=30.0, service_s=0.0, tiers={}
    )
    exchanges = [
        replace(each, failure="check" if failing and number % failing == 0 else None)
        for number, each in enumerate(script.exchanges)
    ]
    follower = Follower(write_run(folder / "run", replace(script, exchanges=exchanges)).engine)
    follower.read()
    return Measurement(follower.recording())


def why(text: str, measurement: Measurement) -> tuple[float, str] | None:
    """Return the time at which the objective is first clearly missed, judged each second, and the reason."""
    (test,) = miss_tests([read_objective(text).document()])
    for end_s in range(1, 31):
        chosen = (measurement.starts >= end_s - 1) & (measurement.ends <= end_s)
        if (reason := test.take(measurement, chosen)) is not None:
            return float(end_s), reason
    return None


@pytest.mark.parametrize(
    ("text", "at_s", "reason"),
    [
        ("p95 < 100 ms", 11.0, "100 % of the responses took longer over 10 s"),
        ("mean < 40 ms", 11.0, "mean 200 ms over 10 s"),
        ("mean < 150 ms", 21.0, "mean 200 ms over 20 s"),
        ("throughput > 1000 /s", 11.0, "33.4 /s over 10 s"),
        ("max < 100 ms", 2.0, "a response took longer"),
        ("p95 < 100 ms in every 5 s", 6.0, "100 % of the responses took longer in a window of 5 s"),
        ("p95 of read < 100 ms at 10 users", 11.0, "100 % of the responses took longer over 10 s"),
    ],
)
def test_a_clear_miss_is_found_when_it_is_clear(tmp_path: Path, text: str, at_s: float, reason: str) -> None:
    found = why(text, measured(tmp_path, 0.2))
    assert found is not None
    assert found[0] == at_s
    assert found[1] == f"{text}: {reason}"


@pytest.mark.parametrize(
    "text",
    [
        "p95 < 250 ms",
        "mean < 210 ms",
        "max < 250 ms",
        "throughput > 30 /s",
        "errors < 1 %",
        "p95 < 250 ms in every 5 s",
        "p95 < 100 ms at 20 users",
        "p95 < 100 ms in ramp_down",
        "p95 of another < 100 ms",
    ],
)
def test_an_objective_that_is_met_or_does_not_apply_ends_nothing(tmp_path: Path, text: str) -> None:
    assert why(text, measured(tmp_path, 0.2)) is None


def test_failures_are_counted(tmp_path: Path) -> None:
    found = why("errors < 1 %", measured(tmp_path, 0.2, failing=4))
    assert found is not None
    assert found[0] <= 12.0
    assert "% failed over" in found[1]


@pytest.mark.parametrize(("objective", "silent_s"), [("max < 3 s", 4), ("p95 < 3 s", 10), ("mean < 8 s", 17)])
def test_a_system_that_stops_to_answer_misses_a_limit_of_time(objective: str, silent_s: int) -> None:
    (test,) = miss_tests([read_objective(objective).document()])
    silent = np.array((0.0, 0.0, 1.0, 0.0, 5.0))
    test._rows = [np.array((0.0, 10.0, 1.0, 10.0, 5.0)), *[silent] * (silent_s - 1)]
    assert test._why() is None
    test._rows.append(silent)
    assert test._why() == f"{objective}: no transaction ended for {silent_s} s, although requests were in flight"


def test_silence_with_nothing_in_flight_is_no_miss() -> None:
    (test,) = miss_tests([read_objective("p95 < 3 s").document()])
    answered, silent, idle = (np.array((0.0, ended, 1.0, ended, flying)) for ended, flying in ((9, 5), (0, 5), (0, 0)))
    test._rows = [answered, *[silent] * 6, idle, *[silent] * 6]
    assert test._why() is None


def ended(factor: float, correlation: float, random: np.random.Generator) -> bool:
    """Return True if a load of 120 s ends early whose mean response time is `factor` times its limit."""
    (test,) = miss_tests([read_objective("mean < 1 s").document()])
    slow = 0.0
    for second in range(120):
        count = float(random.poisson(50) + 1)
        slow = correlation * slow + random.normal() * (1 - correlation**2) ** 0.5
        test._rows.append(np.array((count * factor * (1 + 0.3 * slow), count, 1.0, count, 5.0)))
        if second % 3 == 2 and test._why() is not None:
            return True
    return False


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_a_load_at_its_limit_hardly_ever_ends_early(correlation: float) -> None:
    random = np.random.default_rng(5)
    assert sum(ended(1.0, correlation, random) for _ in range(60)) <= 3


def test_a_load_far_beyond_its_limit_ends_early() -> None:
    random = np.random.default_rng(5)
    assert all(ended(1.5, 0.0, random) for _ in range(20))
