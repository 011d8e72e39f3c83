"""Example `balanced` at a small scale: gateways count the requests for each server; summaries and report contain these
counts.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from integration_bench import Bench

from towtank.study import needed_packages

pytestmark = pytest.mark.waits

EXAMPLE = Path(__file__).parents[2] / "examples" / "balanced"
USERS = 20


@pytest.mark.timeout(300)
def test_gateways_spread_requests_as_their_policy_says(bench: Bench) -> None:
    missing = [package for package in needed_packages(str(EXAMPLE)) if package.found() is None]
    if missing:
        pytest.skip("; ".join(f"{package.kind}: {package.install}" for package in missing))
    stages = ("load.stages.steady=10 s", "load.stages.settle=1 s", "load.stages.ramp_up=500 ms")
    changes = (f"factors.users=[{USERS}]", "parameters.think=50 ms", *stages)
    small = [word for change in changes for word in ("--set", change)]
    ended = bench.towtank("run", EXAMPLE, "--preset", "quick", *small, "--out", bench.results, "--quiet")
    summaries = [json.loads(path.read_text()) for path in sorted(bench.results.glob("runs/*/summary.json"))]
    assert len(summaries) == 6, ended.stderr
    for summary in summaries:
        _judge(summary)
    report = (bench.results / "report.html").read_text()
    assert "Balance between members" in report
    assert "web-2" in report


def _judge(summary: dict[str, Any]) -> None:
    """Assert that each of two servers gets half of the requests, and that every request is counted.

    Round robin must be exact; with random balancing, the fractions may deviate by chance.
    """
    result = summary["balance"]["gateway"]
    window = summary["window"]["end_s"] - summary["window"]["start_s"]
    answered = summary["request_throughput_per_s"]["value"] * window
    assert list(result["members"]) == ["web-1", "web-2"]
    # Counters are read once a second, and values between two reads are interpolated. Therefore the tolerance is 25 %.
    assert result["requests"] == pytest.approx(answered, rel=0.25)
    share = result["members"]["web-1"]["share"]["value"]
    if summary["factors"]["policy"] == "round_robin":
        assert share == pytest.approx(0.5, abs=2 * USERS / answered)
        assert result["fairness"] > 0.995
    else:
        # The tolerance of six standard deviations of a binomial fraction is exceeded by chance in fewer than 1 of 10^8
        # runs.
        assert abs(share - 0.5) < 6 * 0.5 / math.sqrt(answered)
