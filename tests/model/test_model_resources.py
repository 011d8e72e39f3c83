from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from towtank.analysis import RunSummary
from towtank.model.fitting.measured import Resource, _resources


def resources(pinned: list[int], **tiers: tuple[float, str | None]) -> list[Resource]:
    manifest = {"tiers": {name: {"cpus": pinned} for name in tiers}}
    run: Any = SimpleNamespace(usable_manifest=lambda: (manifest, {}))
    found = {name: {"cpus_allotted": cpus, "cpu_control_group": group} for name, (cpus, group) in tiers.items()}
    return _resources([run], [RunSummary.read({"tiers": found})])


def test_tiers_in_control_groups_of_their_own_do_not_share_cpus() -> None:
    found = resources([], web=(2.0, "/web"), database=(1.5, "/database"), cache=(8, None), queue=(8, None))
    assert found == [
        Resource("web", 2, ("web",)),
        Resource("database", 2, ("database",), 0.75),
        Resource("cache+queue", 8, ("cache", "queue")),
    ]


def test_tiers_in_one_control_group_share_what_it_may_use() -> None:
    assert resources([], web=(2.0, "/box"), database=(2.0, "/box")) == [
        Resource("web+database", 2, ("web", "database"))
    ]


def test_tiers_that_are_pinned_to_the_same_cpus_share_them_whatever_limits_one_of_them() -> None:
    assert resources([0], web=(0.5, "/web"), database=(1, None)) == [Resource("web+database", 1, ("web", "database"))]
