"""Users with a fixed pace: a note states that the interval of a single run omits the variation between runs."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from changed_recordings import script
from synthetic_runs import write_run

from towtank.analysis import summarize_run
from towtank.analysis.checks.evidence import Evidence
from towtank.analysis.checks.window import fixed_pace
from towtank.analysis.doubts import Doubt, DoubtLevel
from towtank.analysis.run_summary import RunSummary
from towtank.results.folder import RunFolder

MEAN: dict[str, Any] = {"value": 0.2, "low": 0.18, "high": 0.22}
PACE = {"dist": "fixed", "mean_s": 1.0}
GROUP: dict[str, Any] = {
    "names": ["readers"],
    "users": 60.0,
    "throughput_per_s": 30.0,
    "response_time_s": 0.1,
    "pace_s": 2.0,
}


def found(groups: list[dict[str, Any]] | None, mean: dict[str, Any]) -> list[Doubt]:
    summary = RunSummary.read({"users": {"groups": groups}, "response_time_s": {"mean": mean}})
    nothing: Any = None
    return list(fixed_pace(Evidence({}, None, summary, nothing, nothing, 60.0, finished=True)))


@pytest.mark.parametrize(
    ("group", "mean", "doubts"),
    [
        ({"pace_is_fixed": True}, MEAN, 1),
        # The mean cycle time (users divided by throughput) exceeds the pace, so users make no pauses.
        ({"pace_is_fixed": True, "throughput_per_s": 29.0}, MEAN, 0),
        ({"pace_is_fixed": True, "throughput_per_s": 29.6}, MEAN, 1),
        ({"pace_is_fixed": True, "throughput_per_s": 0.0}, MEAN, 0),
        # With a random pace the order of the users changes, so the times between their requests do not stay fixed.
        ({"pace_is_fixed": False}, MEAN, 0),
        ({"pace_is_fixed": False, "pace_s": None}, MEAN, 0),
        # A result without an interval cannot contradict other runs.
        ({"pace_is_fixed": True}, {"value": 0.2, "low": None, "high": None}, 0),
    ],
)
def test_a_fixed_pace_that_users_keep_is_a_note(group: dict[str, Any], mean: dict[str, Any], doubts: int) -> None:
    assert [doubt.level for doubt in found([GROUP | group], mean)] == [DoubtLevel.NOTE] * doubts


def test_each_group_with_a_fixed_pace_is_named() -> None:
    writers = GROUP | {"names": ["writers", "menders"], "pace_is_fixed": True}
    thinkers = GROUP | {"names": ["thinkers"], "pace_is_fixed": False, "pace_s": None}
    (doubt,) = found([GROUP | {"pace_is_fixed": True}, thinkers, writers], MEAN)
    assert doubt.message.startswith("readers and writers and menders keep a constant pace: ")
    assert not found(None, MEAN)
    assert not found([], MEAN)


@pytest.mark.parametrize("dist", ["fixed", "exponential"])
def test_a_run_at_a_fixed_pace_has_the_note(tmp_path: Path, dist: str) -> None:
    """Each of eight users starts one transaction per second and pauses for the rest of the second."""
    stream, base = random.Random(7), script()
    longer_s = [stream.uniform(0.0, 0.2) for _ in base.exchanges]
    exchanges = [
        replace(exchange, end=exchange.end + more_s, think=exchange.think - more_s)
        for exchange, more_s in zip(base.exchanges, longer_s, strict=True)
    ]
    run = write_run(tmp_path / "r", replace(base, exchanges=exchanges))
    pacing = {"dist": dist, "mean_s": 1.0}
    mix = [{"transaction": 0, "weight": 1.0}]
    group = {"name": "everybody", "share": 1.0, "think": None, "pacing": pacing, "mix": mix}
    (run.path / "plan.json").write_text(json.dumps({"groups": [group]}))
    summary = summarize_run(run, tables=False)
    assert summary["response_time_s"]["mean"]["low"] is not None
    assert [each["pace_is_fixed"] for each in summary["users"]["groups"]] == [dist == "fixed"]
    kinds = {reason["kind"]: reason["level"] for reason in summary["verdict"]["reasons"]}
    assert kinds.get("fixed_pace") == ("note" if dist == "fixed" else None)


def test_groups_that_are_not_counted_apart_are_no_evidence_of_a_pace_that_is_not_kept(tmp_path: Path) -> None:
    run = write_run(tmp_path / "r", script())
    mix = [{"transaction": 0, "weight": 1.0}]
    pauses = ({"think": {"dist": "fixed", "mean_s": 0.75}, "pacing": None}, {"think": None, "pacing": PACE})
    groups = [{"name": str(number), "share": 0.5, "mix": mix, **pause} for number, pause in enumerate(pauses)]
    (run.path / "plan.json").write_text(json.dumps({"groups": groups}))
    assert "fixed_pace" in missing(run)
    (run.path / "plan.json").write_text(json.dumps({"groups": [{**each, "pacing": None} for each in groups]}))
    assert "fixed_pace" not in missing(run)


def missing(run: RunFolder) -> list[str]:
    return [entry["check"] for entry in summarize_run(run, tables=False)["verdict"]["not_checked"]]
