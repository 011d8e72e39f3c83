"""Tiers on other machines: a condition that raises a doubt about this machine must raise it about another
machine, too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changed_recordings import on_samples, reasons, rewrite, script
from harmed_runs import (
    died,
    gap,
    heavy_steal,
    launched_and_left,
    out_of_descriptors,
    overflowing,
    restarted,
    retransmitting,
    slow_memory,
    slowed,
    steal,
    throttled,
    unattributed,
)
from moved_runs import to_another_machine
from synthetic_runs import write_run

from towtank.analysis import summarize_run
from towtank.analysis.doubts import DoubtKind
from towtank.results.folder import RunFolder

HARMS: list[tuple[Callable[[RunFolder], None], DoubtKind, str]] = [
    (restarted, DoubtKind.SERVICE_RESTARTED, "invalid"),
    (died, DoubtKind.SERVICE_DIED, "invalid"),
    (launched_and_left, DoubtKind.ROOT_LEFT, "suspect"),
    (unattributed, DoubtKind.NOT_ATTRIBUTED, "suspect"),
    (steal, DoubtKind.STEAL_TIME, "suspect"),
    (heavy_steal, DoubtKind.STEAL_TIME, "invalid"),
    (slowed, DoubtKind.MACHINE_SPEED, "note"),
    (slow_memory, DoubtKind.SLOW_MEMORY, "note"),
    (overflowing, DoubtKind.LISTEN_OVERFLOW, "suspect"),
    (retransmitting, DoubtKind.RETRANSMITS, "suspect"),
    (throttled, DoubtKind.THROTTLED, "note"),
    (out_of_descriptors, DoubtKind.TIER_LIMIT, "suspect"),
    (gap, DoubtKind.OBSERVATION_GAP, "suspect"),
]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return write_run(tmp_path / "r001", script())


@pytest.fixture
def move(run: RunFolder) -> Callable[[], None]:
    """Return a function that moves the tier and all recorded conditions of this machine to another machine."""
    sound = (run.observe / "probe.ndjson").read_bytes()
    return lambda: to_another_machine(run, "content", sound)


def test_a_sound_run_has_no_doubt_about_another_machine(run: RunFolder, move: Callable[[], None]) -> None:
    move()
    assert not set(reasons(run)) & {kind for _, kind, _ in HARMS}


@pytest.mark.parametrize(("harm", "kind", "level"), HARMS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_a_harm_of_another_machine_is_a_doubt(
    harm: Callable[[RunFolder], None], kind: DoubtKind, level: str, run: RunFolder, move: Callable[[], None]
) -> None:
    harm(run)
    move()
    assert reasons(run)[kind]["level"] == level


@pytest.mark.parametrize("harm", [unattributed, steal, gap])
def test_the_doubt_names_the_machine(
    harm: Callable[[RunFolder], None], run: RunFolder, move: Callable[[], None]
) -> None:
    harm(run)
    move()
    kinds = {unattributed: DoubtKind.NOT_ATTRIBUTED, steal: DoubtKind.STEAL_TIME, gap: DoubtKind.OBSERVATION_GAP}
    assert " far" in reasons(run)[kinds[harm]]["message"]


def test_what_another_machine_did_for_no_tier_is_beside_its_name(run: RunFolder, move: Callable[[], None]) -> None:
    unattributed(run)
    near = summarize_run(run, tables=False)["not_attributed"]["this_machine"]
    move()
    summary = summarize_run(run, tables=False)
    (name,) = summary["not_attributed"]
    found: dict[str, Any] = summary["not_attributed"][name]
    assert name == "far"
    assert found["cpus"] == near["cpus"]
    # The CPU use of the generator is subtracted only on the machine that it runs on. After the move the probe is on
    # another machine, so nothing is subtracted.
    assert found["cpus_used"]["value"] > near["cpus_used"]["value"] > 0.19


def test_tiers_on_a_machine_without_samples_are_a_doubt(run: RunFolder, move: Callable[[], None]) -> None:
    move()
    (run.observe / "far.probe.ndjson").unlink()
    assert "far" in reasons(run)[DoubtKind.OBSERVATION_GAP]["message"]


def test_samples_of_another_machine_without_its_clock_are_a_doubt(run: RunFolder, move: Callable[[], None]) -> None:
    move()
    run.update(clocks={})
    assert "far" in reasons(run)[DoubtKind.OBSERVATION_GAP]["message"]


def test_a_process_of_another_machine_that_is_left_is_counted(run: RunFolder, move: Callable[[], None]) -> None:
    def change(document: dict[str, Any], at: float) -> None:
        document["groups"]["content"] |= {"alive": at < 20, "processes": 4, "processes_alive": 4 if at < 20 else 3}

    rewrite(run.observe / "probe.ndjson", on_samples(change))
    move()
    assert (
        "had ended at 20 s of the run, but 3 processes that it started still ran"
        in reasons(run)[DoubtKind.ROOT_LEFT]["message"]
    )
