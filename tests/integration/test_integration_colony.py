"""Study with one, a few, or many database servers, at a small scale. Each host has one database with its own users."""

from __future__ import annotations

import json
from typing import Any

import pytest
from host_support import requires, virtual_host
from integration_bench import Bench

from towtank.system.services.postgresql import program

pytestmark = pytest.mark.waits

MANY = """{many: {hosts.server.copies: 3, hosts.server.cpus: 0.3, services.database.population.values.warehouses: 2,
parameters.warehouses: 2}}"""
MEASURE = "{value: {of: spread.orders.fairness, at: {servers: many, hit_ratio: high}}}"
# A single user per database and a long window, because a saturated database on a busy machine would not return its
# metrics in time.
SMALLER = (
    "repetitions=1",
    f"factors.servers={MANY}",
    "factors.hit_ratio={high: {services.database.population.values.fill: 100}}",
    "load.users=3",
    "load.stages={ramp_up: 500 ms, settle: 1 s, steady: 15 s, ramp_down: 1 s}",
    f"claims=[{{says: each gets its part, holds: '> 0.5', measure: {MEASURE}}}]",
)


def test_each_of_several_databases_has_its_own_users_and_their_fairness_is_reported(bench: Bench) -> None:
    requires(virtual_host(cpus=0.5, memory="64 MiB", disks={"data": {"size": "400 MiB", "file_system": "xfs"}}))
    if program("postgres") is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    changes = [part for change in SMALLER for part in ("--set", change)]
    command = ("run", "colony", "--quick", "--quiet", "--no-report", "--out", bench.results, *changes)
    ended = bench.towtank(*command)
    assert ended.returncode in (0, 4), ended.stdout + ended.stderr
    assert bench.statuses() == {"r001": "complete"}
    databases = ["database-1", "database-2", "database-3"]
    tiers = bench.manifest("r001")["tiers"]
    assert {name: tier["host"] for name, tier in tiers.items()} == dict(
        zip(databases, ["server-1", "server-2", "server-3"], strict=True)
    )
    summary: dict[str, Any] = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    spread = summary["spread"]["orders"]
    assert list(spread["members"]) == databases
    assert all(member["transactions"] > 0 for member in spread["members"].values())
    # Every transaction belongs to a user, and every user to one database, so the throughputs of all databases add up to
    # the total.
    done = sum(member["throughput_per_s"]["value"] for member in spread["members"].values())
    assert done == pytest.approx(summary["throughput_per_s"]["value"])
    # According to its own counters, each database has executed transactions.
    committed = [summary["services"][name]["pg_stat_database_commits_total"]["per_s"] for name in databases]
    assert min(committed) > 0
    assert 1 / 3 < spread["fairness"]["value"] <= 1
    (claim,) = json.loads((bench.results / "claims.json").read_text())["claims"]
    assert claim["asks"] == "spread.orders.fairness at servers many, hit_ratio high"
