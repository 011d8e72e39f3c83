from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from towtank.analysis.checks import recording
from towtank.analysis.doubts import DoubtLevel


def evidence(bad: int = 0, histograms: int = 0, torn: bool = False, found: int = 2, cost: float | None = None) -> Any:
    damage, observation = SimpleNamespace(bad_lines=bad, torn_tail=torn), SimpleNamespace(cpus_used=cost)
    summary = SimpleNamespace(damage=damage, observation=observation)
    return SimpleNamespace(
        manifest={"run": "r001"},
        summary=summary,
        engine=None,
        manifest_faults={},
        bad_histograms=histograms,
        workers=2,
        workers_found=found,
    )


def brief(found: Any) -> list[tuple[DoubtLevel, float | None, float | None]]:
    return [(doubt.level, doubt.seen, doubt.limit) for doubt in found]


@pytest.mark.parametrize(
    ("seen", "doubts"),
    [
        (evidence(), []),
        (evidence(bad=3, histograms=2, torn=True), [(DoubtLevel.SUSPECT, 5.0, 0.0)]),
        (evidence(torn=True), [(DoubtLevel.NOTE, None, None)]),
        (evidence(found=1), [(DoubtLevel.INVALID, 1.0, 0.0)]),
    ],
)
def test_damage_has_its_count_and_no_allowance(seen: Any, doubts: list[Any]) -> None:
    assert brief(recording.damage(seen)) == doubts


@pytest.mark.parametrize(
    ("cost", "doubts"),
    [
        (None, []),
        (0.01, []),
        (0.02, [(DoubtLevel.NOTE, 0.02, 0.01)]),
        (0.05, [(DoubtLevel.NOTE, 0.05, 0.01)]),
        (0.06, [(DoubtLevel.SUSPECT, 0.06, 0.01)]),
    ],
)
def test_observing_may_take_a_hundredth_of_a_core(cost: float | None, doubts: list[Any]) -> None:
    assert brief(recording.observation_cost(evidence(cost=cost))) == doubts
