"""The study of one node and four, smaller still: nodes on hosts of their own, one of them lost while users work."""

import json

import pytest
from conftest import Bench
from host_support import requires, virtual_host

from towtank.system.services.postgresql import program
from towtank.system.services.private_server import find_program

SMALLER = (
    "factors.users=[20]",
    "factors.nodes={one: {services.content.settings.nodes: 1}, four: {events.node_lost.happens: true}}",
    "events.node_lost.at=steady + 7 s",
    "load.stages={settle: 1 s, steady: 12 s, ramp_down: 3 s}",
    "services.content.population.scale=0.0001",
    "claims=[]",
)


@pytest.mark.slow
def test_four_nodes_share_the_load_and_one_is_lost(bench: Bench) -> None:
    requires(virtual_host(cpus=0.5, memory="64 MiB"))
    if find_program("haproxy") is None or program("postgres") is None:
        pytest.skip("haproxy or PostgreSQL is not installed")
    changes = [part for change in SMALLER for part in ("--set", change)]
    command = ("run", "content-nodes", "--quick", "--quiet", "--no-report", "--out", bench.results, *changes)
    ended = bench.towtank(*command)
    assert ended.returncode in (0, 4), ended.stdout + ended.stderr
    assert bench.statuses() == {"r001": "complete", "r002": "complete"}
    # The run with one node came first; one level of load carries no curve, and that is told before the other is run.
    prediction = json.loads((bench.results / "prediction.json").read_text())
    assert prediction["made_before"]
    assert prediction["refused"]
    tiers = bench.manifest("r002")["tiers"]
    nodes = {name: one["host"] for name, one in tiers.items() if one["kind"] == "content_server"}
    assert nodes == {"content": "node-1", "content-2": "node-2", "content-3": "node-3", "content-4": "node-4"}
    summary = json.loads((bench.results / "runs" / "r002" / "summary.json").read_text())
    shares = [one["requests"] for one in summary["balance"]["gateway"]["members"].values()]
    assert len(shares) == 4
    # Round robin over all requests: one more or less at each edge of a second, never a member without its part.
    assert min(shares) > 0.8 * max(shares)
    event = summary["events"]["node_lost"]
    assert event["failed"] is None
    assert event["on"] == "content-3"
    assert summary["window"]["asked_end_s"] <= event["begin_s"]
    # What editors were told is stored was read back after the run, and all of it was there, whole.
    stored = summary["stored"]
    assert stored["told"] > 0
    assert stored["found"] == stored["told"] == stored["read"]
    assert not {one["kind"] for one in summary["verdict"]["reasons"]} & {"service_died", "event_failed"}
