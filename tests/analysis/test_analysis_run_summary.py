"""The type of the run summary reads what the analysis writes, and the summaries of older versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from changed_recordings import script
from synthetic_runs import write_run

from towtank.analysis import RunSummary, summarize_run
from towtank.results import earlier

OLDER = sorted((Path(__file__).parents[1] / "data").glob("results-*/runs/*/summary.json"))


def test_a_summary_that_was_read_is_written_unchanged(tmp_path: Path) -> None:
    written = summarize_run(write_run(tmp_path / "r001", script()), tables=False)
    found = json.loads(json.dumps(written))
    assert json.dumps(RunSummary.read(found).document()) == json.dumps(found)


@pytest.mark.parametrize("path", OLDER, ids=lambda path: f"{path.parts[-4]}-{path.parent.name}")
def test_summaries_of_older_versions_lose_nothing(path: Path) -> None:
    found = earlier.run_summary(json.loads(path.read_text("utf-8")))
    for tier in found["tiers"].values():
        tier.pop("resident_bytes", None)  # Older name of `resident_sets_bytes`.
    assert lost(found, RunSummary.read(found).document()) == []


def lost(before: Any, after: Any, place: str = "") -> list[str]:
    """Return the places of all values in `before` that differ in `after`."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [each for key, value in before.items() for each in lost(value, after.get(key), f"{place}.{key}")]
    return [] if before == after else [f"{place}: {before} is {after}"]


def test_a_malformed_entry_has_its_default() -> None:
    found = RunSummary.read({"run": "r001", "backlog": 3, "tiers": {"web": {"cpus_used": "many"}}})
    assert (found.run, found.backlog, found.tiers) == ("r001", None, {})
