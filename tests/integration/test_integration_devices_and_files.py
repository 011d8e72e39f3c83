"""Studies of links between hosts and of file systems, at a small scale, run by the real command line."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from host_support import requires, virtual_host
from integration_bench import Bench
from ruamel.yaml import YAML
from waiting import until

from towtank.system.hosts import cleaning
from towtank.system.hosts.prefix import PREFIX

pytestmark = pytest.mark.waits

STUDIES = Path(__file__).parents[2] / "studies"
MIB = 2**20
JOINED = """
schema: towtank/system/1
name: tiny
hosts:
  client: {provider: namespaces}
  server: {provider: namespaces}
network: {link: veth}
generator: {host: client}
services:
  content: {kind: null_server, host: server}
start_timeout: 20 s
"""


def small(bench: Bench, name: str, users: int, steady: str, **levels: list[str]) -> dict[str, dict[str, Any]]:
    """Run some levels of a study for a few seconds each; return the summaries of the runs by factor levels."""
    written = YAML(typ="safe").load(STUDIES / name / "study.yaml")["factors"]
    kept = {factor: {level: written[factor][level] for level in wanted} for factor, wanted in levels.items()}
    changes = {
        "repetitions": 1,
        "factors.users": [users],
        **{f"factors.{factor}": given for factor, given in kept.items()},
        "load.stages.settle": "500 ms",
        "load.stages.steady": steady,
    }
    given = [part for path, value in changes.items() for part in ("--set", f"{path}={json.dumps(value)}")]
    options = ["--preset", "quick", "--out", bench.results, "--quiet", "--no-report"]
    ended = bench.towtank("run", STUDIES / name, *given, *options)
    # On a shared machine every run may be invalid (status 4).
    assert ended.returncode in (0, 4), ended.stdout + ended.stderr
    assert set(bench.statuses().values()) == {"complete"}
    summaries = [json.loads(path.read_text()) for path in sorted(bench.results.glob("runs/*/summary.json"))]
    return {"/".join(summary["factors"][factor] for factor in levels): summary for summary in summaries}


def value(summary: dict[str, Any], *path: str) -> float:
    """Return the value of the estimate at a path of keys in a summary."""
    node: Any = summary
    for key in path:
        node = node[key]
    assert node["value"] is not None, path
    return float(node["value"])


@pytest.mark.timeout(600)
def test_each_link_carries_what_is_counted(bench: Bench) -> None:
    requires(virtual_host({"link": "tun"}))
    requires(virtual_host({"link": "macvlan"}))
    found = small(
        bench,
        "network-devices",
        1,
        "8 s",
        link=["veth", "macvlan", "tun", "loopback", "unix_socket"],
        pattern=["stream"],
    )
    for level, summary in found.items():
        link = level.partition("/")[0]
        assert summary["errors"]["share"] == 0, level
        assert summary["connections"]["opened_in_run"] == 1
        sent = MIB * value(summary, "throughput_per_s")
        assert sent > 0
        if link in ("loopback", "unix_socket"):
            assert summary["hosts"]["client"]["transmit_bytes_per_s"] < sent / 100, (
                "packets must not pass through the device"
            )
            continue
        # Headers take 4 % of a packet of 1,492 bytes; retransmissions and packets in transit also cause differences.
        assert 0.8 * sent < summary["hosts"]["server"]["receive_bytes_per_s"] < 1.3 * sent, level
        relays = {name for name in summary["tiers"] if summary["tiers"][name]["kind"] == "relay"}
        assert relays == ({"relay-client", "relay-server"} if link == "tun" else set())
        # The load generator runs in the control group of its host, so the host's CPU time includes the generator's CPU
        # time.
        assert value(summary, "hosts", "client", "cpus_used") > 0.5 * summary["generator"]["cpus_used"] > 0
    manifest = bench.manifest("r001")
    assert manifest["generator_host"] == "client"
    assert {"offloads", "checksums", "link"} <= set(manifest["hosts"]["client"])


@pytest.mark.timeout(600)
def test_patterns_differ_in_bytes_and_connections(bench: Bench) -> None:
    requires(virtual_host())
    found = small(bench, "network-devices", 1, "8 s", link=["bridge"], pattern=["request_response", "connect"])
    kept, anew = found["bridge/request_response"], found["bridge/connect"]
    assert kept["connections"]["opened_in_run"] == 1
    assert value(anew, "connections", "opened_per_s") > 0.9 * value(anew, "throughput_per_s") > 1
    # Every request takes at least two packets of 67 bytes, and a new connection takes several more. The lower bounds
    # are 1.3 and 4 packets, because counters are read only once a second.
    for summary, least in ((kept, 1.3 * 67), (anew, 4 * 67)):
        host = summary["hosts"]["client"]
        carried = host["transmit_bytes_per_s"] + host["receive_bytes_per_s"]
        assert carried > least * value(summary, "throughput_per_s")


@pytest.mark.timeout(600)
def test_each_file_system_does_the_operations(bench: Bench) -> None:
    kinds = {"ext2": "ext2", "ext4_without_journal": "ext4", "xfs": "xfs", "btrfs": "btrfs"}
    for kind in kinds.values():
        requires(virtual_host(disks={"data": {"size": "2 GiB", "file_system": kind}}))
    found = small(bench, "file-systems", 2, "15 s", file_system=list(kinds))
    assert set(found) == set(kinds)
    for level, summary in found.items():
        assert summary["errors"]["share"] == 0, level
        assert {"save", "look", "browse", "flush", "scratch"} <= set(summary["transactions"])
        # Every synchronous write reaches the device.
        assert summary["hosts"]["server"]["disks"]["data"]["write_bytes_per_s"] > 0, level
        # The load generator accesses the files itself, so each request takes CPU time.
        assert summary["generator"]["cpu_us_per_request"] > 0
    manifests = [bench.manifest(run) for run in bench.statuses()]
    made = {
        manifest["factors"]["file_system"]: manifest["hosts"]["server"]["disks"]["data"]["file_system"]
        for manifest in manifests
    }
    assert made == kinds
    journals = {
        manifest["factors"]["file_system"]: manifest["hosts"]["server"]["disks"]["data"]["journal"]
        for manifest in manifests
    }
    assert not journals["ext4_without_journal"]


@pytest.mark.timeout(180)
def test_a_conductor_that_is_killed_leaves_no_generator_on_a_host(bench: Bench) -> None:
    requires(virtual_host())
    bench.study(users=[2], steady="60 s")
    (bench.folder / "system.yaml").write_text(JOINED)
    process = bench.start_study()
    bench.await_stage("r001", "steady")
    (engine,) = [event["pid"] for event in bench.events("r001") if event["k"] == "engine_started"]
    joined = re.search(rf"/({PREFIX.pattern})/client\n", Path(f"/proc/{engine}/cgroup").read_text())
    assert joined is not None, "the engine must be in the control group of its host"
    there, here = Path(f"/proc/{engine}/ns"), Path("/proc/self/ns")
    assert (there / "net").readlink() != (here / "net").readlink()
    assert (there / "mnt").readlink() == (here / "mnt").readlink(), "the engine must use this mount namespace"
    os.kill(process.pid, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{engine}").exists(), 60.0)
    until(lambda: cleaning.leftovers(joined[1]) == [], 60.0)
    bench.await_no_strays()
