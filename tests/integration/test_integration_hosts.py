"""Systems on virtual hosts, run by the real command line."""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from host_support import requires, ssh_server, virtual_host
from integration_bench import Bench
from waiting import until

from towtank.results import lines
from towtank.system.hosts import cleaning

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "two-hosts"
HOSTS = """
schema: towtank/system/1
name: tiny
hosts:
  web: {provider: namespaces, cpus: 0.5, memory: 64 MiB}
  far: {provider: namespaces, network: {mtu: 1492}}
services:
  content: {kind: null_server, host: web}
  second: {kind: null_server, host: far, settings: {port: 80}}
targets: {content: {service: content}}
start_timeout: 20 s
"""


@pytest.fixture
def on_hosts(bench: Bench) -> Bench:
    requires(virtual_host(cpus=0.5, memory="64 MiB"))
    bench.study(users=[2])
    (bench.folder / "system.yaml").write_text(HOSTS)
    return bench


def prefix_of(bench: Bench, address: str) -> str:
    """Return the name prefix of the system that uses an address. The prefix is the name of the network device in the
    same network.
    """
    shown = subprocess.run(["ip", "-json", "-4", "address"], capture_output=True, text=True, check=True).stdout
    network = address.rpartition(".")[0]
    for device in json.loads(shown):
        if any(address.get("local", "").startswith(network) for address in device["addr_info"]):
            return str(device["ifname"])
    raise AssertionError(f"no device reaches {address}")


def prefix_of_run(bench: Bench) -> str:
    """Return the name prefix of the running system of run r001."""
    (up,) = until(lambda: [event for event in bench.events("r001") if event["k"] == "system_up"])
    return prefix_of(bench, up["addresses"]["content"][0])


def test_a_study_on_hosts_is_driven_observed_and_leaves_nothing(on_hosts: Bench) -> None:
    on_hosts.study(users=[2], steady="6 s")
    (on_hosts.folder / "system.yaml").write_text(HOSTS)
    process = on_hosts.start_study()
    prefix = prefix_of_run(on_hosts)
    _, errors = process.communicate(timeout=240)
    assert process.returncode in (0, 4), errors
    manifest = on_hosts.manifest("r001")
    assert manifest["status"] == "complete"
    assert manifest["tiers"]["content"]["host"] == "web"
    assert manifest["hosts"]["web"]["sizes"]["memory"] == "64 MiB"
    assert manifest["hosts"]["web"]["sizes"]["in_force"]
    run = on_hosts.results / "runs" / "r001"
    damage = lines.Damage()
    samples = [
        document for document in lines.read(run / "observe" / "host-web.ndjson", damage) if document["k"] == "metrics"
    ]
    assert len(samples) >= 1
    assert samples[-1]["values"]["host_cpu_limit"] == 0.5
    assert samples[-1]["values"]["host_network_transmit_bytes_total"] > 1000
    summary = json.loads((run / "summary.json").read_text())
    assert set(summary["hosts"]) == {"web", "far"}
    assert summary["machine"]["cpus_virtual"] > 0.5
    assert summary["tiers"]["content"]["cpus_allotted"] == 0.5
    until(lambda: cleaning.leftovers(prefix) == [])


def test_a_system_on_hosts_stays_up_between_commands(on_hosts: Bench) -> None:
    up = on_hosts.towtank("system", "up", "system.yaml", "--json")
    assert up.returncode == 0, up.stderr
    addresses = json.loads(up.stdout)["addresses"]
    assert addresses["second"][0].endswith(":80")
    prefix = prefix_of(on_hosts, addresses["content"][0])
    driven = on_hosts.towtank("drive", f"http://{addresses['content'][0]}/", "--duration", "500ms", "--json")
    assert json.loads(driven.stdout)["requests"] > 0
    assert on_hosts.towtank("system", "down").returncode == 0
    assert cleaning.leftovers(prefix) == []


def test_a_conductor_that_is_killed_in_the_steady_stage_leaves_nothing(on_hosts: Bench) -> None:
    on_hosts.study(users=[2], steady="60 s")
    (on_hosts.folder / "system.yaml").write_text(HOSTS)
    process = on_hosts.start_study()
    on_hosts.await_stage("r001", "steady")
    prefix = prefix_of_run(on_hosts)
    os.kill(process.pid, signal.SIGKILL)
    until(lambda: cleaning.leftovers(prefix) == [], 60.0)
    on_hosts.await_no_strays()


def test_what_the_machine_lacks_is_said_before_any_run(on_hosts: Bench) -> None:
    (on_hosts.folder / "system.yaml").write_text(HOSTS.replace("cpus: 0.5", "pinned: [8191]"))
    ended = on_hosts.run_study()
    assert ended.returncode == 6
    assert "hosts.web.pinned: must name CPUs among" in ended.stderr
    assert not (on_hosts.results / "runs").exists()
    up = on_hosts.towtank("system", "up", "system.yaml")
    assert up.returncode == 6
    assert "hosts.web.pinned: must name CPUs among" in up.stderr


def test_sizes_are_factors(on_hosts: Bench) -> None:
    study = on_hosts.folder / "study.yaml"
    factor = "  users: [2]\n  size:\n    small: {hosts.web.cpus: 0.2}\n    big: {hosts.web.cpus: 0.8}\n"
    study.write_text(study.read_text().replace("  users: [2]\n", factor))
    assert on_hosts.run_study().returncode in (0, 4)
    given = {run: on_hosts.manifest(run)["hosts"]["web"]["cpus_virtual"] for run in ("r001", "r002")}
    assert given == {"r001": 0.2, "r002": 0.8}
    study.write_text(study.read_text().replace("hosts.web.cpus: 0.2", "hosts.wep.cpus: 0.2"))
    wrong = on_hosts.towtank("validate", "study.yaml")
    assert wrong.returncode == 2
    assert "must be a path to a host of the system (web, far), got 'wep' instead, did you mean 'web'?" in wrong.stderr


def test_a_study_on_another_machine(bench: Bench) -> None:
    bench.study(users=[2], steady="3 s")
    with tempfile.TemporaryDirectory() as folder, ssh_server(Path(folder)) as server:
        keys = ", ".join(f"{name}: {json.dumps(value)}" for name, value in server.keys.items())
        far = f"hosts: {{far: {{provider: ssh, {keys}}}}}\nservices: {{content: {{kind: null_server, host: far}}}}\n"
        (bench.folder / "system.yaml").write_text(f"schema: towtank/system/1\nname: tiny\n{far}")
        ended = bench.run_study()
        assert ended.returncode in (0, 4), ended.stdout + ended.stderr
        assert list(Path(folder).glob("towtank-*")) == []
    manifest = bench.manifest("r001")
    assert manifest["status"] == "complete"
    assert manifest["hosts"]["far"]["provider"] == "ssh"
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    assert summary["tiers"]["content"]["cpus_allotted"] == summary["hosts"]["far"]["cpus_allotted"]
    assert summary["tiers"]["content"]["cpus_used"]["value"] is not None
    assert summary["hosts"]["far"]["cpus_used"]["value"] > 0
    assert summary["damage"]["bad_lines"] == 0
    verdict = json.loads((bench.results / "study-summary.json").read_text())["verdict"]
    assert bench.towtank("report", bench.results).returncode == (4 if verdict["level"] == "invalid" else 0)


@pytest.mark.postgresql
def test_the_example_runs_at_a_small_scale(bench: Bench) -> None:
    requires(virtual_host(cpus=0.5, memory="64 MiB", disks={"data": {"size": "16 MiB", "write_rate": "8 MB/s"}}))
    pytest.importorskip("content_server")
    changes = ["load.stages.steady=8 s", "load.stages.settle=1 s", "factors.users=[180]"]
    changes = [word for change in changes for word in ("--set", change)]
    ended = bench.towtank(
        "run", EXAMPLE / "study.yaml", "--preset", "quick", *changes, "--out", bench.results, "--quiet", "--no-report"
    )
    assert ended.returncode in (0, 4), ended.stdout + ended.stderr
    assert set(bench.statuses().values()) == {"complete"}
    summary = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    assert summary["hosts"]["database"]["disks"]["data"]["write_bytes_per_s"] is not None
    assert summary["hosts"]["web"]["tiers"] == ["content"]
    assert summary["accounting"]["holds"]
    prediction = json.loads((bench.results / "prediction.json").read_text())
    assert (prediction["cpus_from"], prediction["cpus_to"]) == (0.05, 0.2)
    assert prediction["made_before"]


def test_doctor_list_and_validate_know_hosts(bench: Bench) -> None:
    checks = json.loads(bench.towtank("doctor", "--json").stdout)["checks"]
    points = {check["name"]: check["status"] for check in checks if check["name"].startswith("hosts_")}
    assert {"hosts_namespaces", "hosts_cgroup_memory", "hosts_netem", "hosts_loop"} <= set(points)
    assert set(points.values()) <= {"ok", "note"}
    listed = json.loads(bench.towtank("list", "--json").stdout)
    assert [provider["name"] for provider in listed["host_providers"]][:2] == ["local", "namespaces"]
    assert bench.towtank("validate", EXAMPLE / "study.yaml").returncode == 0
    # Only the folder of this test is examined, because other tests may be removing their systems at the same time.
    dead = Path(tempfile.gettempdir()) / f"towtank-{secrets.token_hex(3)}"
    dead.mkdir()
    clean = subprocess.run(
        [sys.executable, "-m", "towtank", "doctor", "--clean", "--json"], capture_output=True, text=True, check=False
    )
    assert not [line for line in json.loads(clean.stdout)["left"] if line.startswith(dead.name)]
    assert not dead.exists()
