"""Study that compares one node with four nodes, at a small scale. Nodes and mounts are on separate hosts, and one node
fails under load.
"""

import json
from typing import Any

import pytest
from host_support import requires, virtual_host
from integration_bench import Bench

from towtank.study import needed_packages

pytestmark = pytest.mark.waits

SMALLER = (
    "factors.users=[20]",
    "factors.nodes={one_parallel: {services.content.settings.nodes: 1, services.area.hosts: [node-1]}, "
    "four: {events.node_lost.happens: true}}",
    "events.node_lost.at=steady + 7 s",
    "load.stages={settle: 1 s, steady: 12 s, ramp_down: 3 s}",
    "services.content.population.scale=0.0001",
    "claims=[]",
    "repetitions=1",
)


def summary_of(bench: Bench, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((bench.results / "runs" / run / "summary.json").read_text())
    return found


def hosts_of(bench: Bench, run: str, kind: str) -> dict[str, str]:
    """Return the host of each service of a kind, by name of the service."""
    tiers = bench.manifest(run)["tiers"]
    return {name: tier["host"] for name, tier in tiers.items() if tier["kind"] == kind}


@pytest.mark.timeout(400)
def test_four_nodes_share_the_load_and_one_is_lost(bench: Bench) -> None:
    requires(virtual_host(cpus=0.5, memory="64 MiB", disks={"data": {"size": "400 MiB", "file_system": "xfs"}}))
    if missing := [package for package in needed_packages("content-nodes") if package.found() is None]:
        pytest.skip("; ".join(f"{package.kind}: {package.install}" for package in missing))
    changes = [part for change in SMALLER for part in ("--set", change)]
    command = ("run", "content-nodes", "--quick", "--quiet", "--no-report", "--out", bench.results, *changes)
    ended = bench.towtank(*command)
    assert ended.returncode in (0, 4), ended.stdout + ended.stderr
    assert bench.statuses() == {"r001": "complete", "r002": "complete"}
    # The run with one node is executed first. Before the second run, the prediction was refused, because one load level
    # is not enough to fit a curve.
    prediction = json.loads((bench.results / "prediction.json").read_text())
    assert prediction["made_before"]
    assert prediction["refused"]
    assert hosts_of(bench, "r001", "glusterfs_mount") == {"area": "node-1"}
    places = {1: "node-1", 2: "node-2", 3: "node-3", 4: "node-4"}
    for kind, name in (("content_server", "content"), ("glusterfs_mount", "area")):
        nodes = {name if number == 1 else f"{name}-{number}": host for number, host in places.items()}
        assert hosts_of(bench, "r002", kind) == nodes
    summary = summary_of(bench, "r002")
    # Every node has its own mount, and each mount reports its requests.
    mounts = summary["storage"]["mounts"]
    assert set(mounts) == {"area", "area-2", "area-3", "area-4"}
    assert all(set(mount["servers"]) == {"store-1", "store-2"} for mount in mounts.values())
    for quantity in ("read_bytes_per_s", "write_bytes_per_s"):
        assert sum(mount[quantity]["value"] for mount in mounts.values()) > 0
    shares = [member["requests"] for member in summary["balance"]["gateway"]["members"].values()]
    assert len(shares) == 4
    # The gateway balances by round robin, so all nodes get about the same number of requests.
    assert min(shares) > 0.8 * max(shares)
    event = summary["events"]["node_lost"]
    assert event["failed"] is None
    assert event["on"] == "content-3"
    assert summary["window"]["asked_end_s"] <= event["begin_s"]
    # After the run, every document that was confirmed as stored was read back completely.
    stored = summary["stored"]
    assert stored["acknowledged"] > 0
    assert stored["found"] == stored["acknowledged"] == stored["read"]
    assert not {reason["kind"] for reason in summary["verdict"]["reasons"]} & {"service_died", "event_failed"}
