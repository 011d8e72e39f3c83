from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from towtank.analysis import RunSummary
from towtank.model.fitting.measured import Configuration, _resource
from towtank.model.fitting.quota_assumed import quota_assumptions


def configuration(allotted: float, virtual: float | None, *used_up: float | None) -> Configuration:
    runs: list[dict[str, Any]] = [
        {"hosts": {"node": {"tiers": ["web"], "cpus_virtual": virtual, "throttled_share": share},
                   "other": {"tiers": ["db"], "cpus_virtual": 4.0, "throttled_share": 0.9}},
         "tiers": {"web": {"cpus_allotted": allotted, "cpu_control_group": None}}}
        for share in used_up
    ]  # fmt: skip
    return Configuration(
        "all runs", {}, [], resources=[_resource(["web"], allotted)], runs=list(map(RunSummary.read, runs))
    )


def test_a_quota_of_one_and_a_half_is_two_servers_of_three_quarters() -> None:
    """The model represents a quota of 1.5 CPUs by two servers of 0.75 CPUs each, and must state the difference.

    A lone request with 10 ms of CPU time takes 10 ms under the quota, but 10 / 0.75 = 13.3 ms in the model. So it is
    served 1.33 times as fast as the model assumes.
    """
    (found,) = quota_assumptions(configuration(1.5, 1.5, 0.0, 0.25, None))
    assert found.assumes == "the quota of 1.5 CPUs of web is 2 servers of 0.75 CPUs each"
    assert found.tested.startswith(
        "no: a lone transaction is served 1.33 times as fast; if more transactions run at the same time"
    )
    assert found.tested.endswith("; in up to 25 % of the periods the quota was used up")


@pytest.mark.parametrize("cpus", [1.0, 2.0])
def test_whole_cpus_of_a_quota_are_servers_that_may_stand_still(cpus: float) -> None:
    (found,) = quota_assumptions(configuration(cpus, cpus, 0.4))
    assert found.assumes.endswith("is 1 server" if cpus == 1 else "is 2 servers")
    assert found.tested.startswith(
        "no: if more transactions run at the same time, they use up the quota and pause for the rest "
        "of each period of 100 ms"
    )


def test_cpus_that_a_tier_is_pinned_to_are_servers() -> None:
    assert quota_assumptions(configuration(2.0, None, None)) == []
    assert quota_assumptions(Configuration("all runs", {}, [], resources=[_resource(["web"], 1.5)])) == []


def test_the_limit_of_a_container_is_a_quota() -> None:
    limited = configuration(1.5, None, None)
    limited.runs[0].tiers["web"] = replace(limited.runs[0].tiers["web"], cpu_control_group="/docker/web")
    (found,) = quota_assumptions(limited)
    assert found.assumes == "the quota of 1.5 CPUs of web is 2 servers of 0.75 CPUs each"
    assert found.tested.endswith("computed high percentiles do not include these pauses")
