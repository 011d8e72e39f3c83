"""Study content-tuning at a small scale: settings are in force at each level, and every claim has a verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from host_support import requires, virtual_host
from integration_bench import Bench

from towtank.study import needed_packages

pytestmark = pytest.mark.waits

STUDY = Path(__file__).parents[2] / "studies" / "content-tuning"
LEVELS = "{default: {}, all: {services.content.settings.threads: 32, services.content.settings.database_pool: 32}}"


@pytest.mark.postgresql
@pytest.mark.timeout(300)
def test_tuning_runs_at_a_small_scale(bench: Bench) -> None:
    requires(virtual_host(memory="64 MiB", disks={"data": {"size": "16 MiB", "write_operations": "200 /s"}}))
    pytest.importorskip("content_server")
    missing = [package for package in needed_packages(str(STUDY)) if package.found() is None]
    if missing:
        pytest.skip("; ".join(f"{package.kind}: {package.install}" for package in missing))
    stages = "{ramp_up: 1 s, settle: 1 s, steady: 5 s}"
    changes = (f"factors.settings={LEVELS}", "repetitions=1", "load.users=30", f"load.stages={stages}")
    small = [word for change in (*changes, "services.content.population.scale=0.0001") for word in ("--set", change)]
    ended = bench.towtank("run", STUDY, *small, "--out", bench.results, "--quiet")
    assert ended.returncode in (0, 3, 4), ended.stdout + ended.stderr
    assert set(bench.statuses().values()) == {"complete"}
    for run in ("r001", "r002"):
        _judge(bench, run)
    claims = json.loads((bench.results / "claims.json").read_text())["claims"]
    by_source = {claim["says"].split()[0]: claim for claim in claims}
    assert by_source["Pools"]["why"] == "settings threads is not in this preset"
    assert by_source["Without"]["why"] == "settings no_index is not in this preset"
    assert by_source["A"]["why"] == "no node of this system runs on a JVM"
    # The verdicts of the other claims depend on the machine, but the claims must be based on these two runs only.
    assert all(set(claim["runs"]) <= {"r001", "r002"} for claim in claims)
    assert "Claims and measured values" in (bench.results / "report.html").read_text()


def _judge(bench: Bench, run: str) -> None:
    """Assert that the settings of the level were in force, and that requests passed through all three tiers."""
    manifest = bench.manifest(run)
    tuned = manifest["factors"]["settings"] == "all"
    assert manifest["settings"]["content"]["threads"] == (32 if tuned else 4)
    assert manifest["settings"]["content"]["database_pool"] == (32 if tuned else 4)
    summary = json.loads((bench.results / "runs" / run / "summary.json").read_text())
    assert summary["accounting"]["holds"]
    assert summary["errors"]["count"] == 0
    assert set(summary["hosts"]) >= {"front", "application", "data"}
    assert all(summary["tiers"][tier]["cpus_used"]["value"] > 0 for tier in ("gateway", "content", "database"))
