"""A fitted model states the CPU time of its runs that belongs to no tier, and is thus in none of its demands."""

from __future__ import annotations

from typing import Any

from towtank.analysis import RunSummary
from towtank.model.fitting.documents import attribution_doubts
from towtank.model.fitting.measured import Configuration


def run(name: str, *seen: float) -> dict[str, Any]:
    doubt = {"kind": "not_attributed", "level": "suspect"}
    reasons = [{**doubt, "seen": share, "message": f"{share:.0%} of its CPUs"} for share in seen]
    return {"run": name, "verdict": {"level": "suspect" if seen else "valid", "reasons": reasons}}


def test_the_run_with_most_cpu_time_of_no_tier_is_named() -> None:
    runs = [run("r001"), run("r002", 0.07), run("r003", 0.22)]
    (text,) = attribution_doubts(Configuration("all runs", {}, [], runs=list(map(RunSummary.read, runs))))
    assert text.startswith(
        "2 of 3 runs used CPU time that is attributed to no tier, most of all r003: 22% of its CPUs."
    )


def test_runs_whose_tiers_explain_all_raise_no_doubt() -> None:
    assert (
        attribution_doubts(
            Configuration("all runs", {}, [], runs=list(map(RunSummary.read, [run("r001"), run("r002")])))
        )
        == []
    )
