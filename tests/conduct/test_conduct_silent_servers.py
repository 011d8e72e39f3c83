"""A measurement of a server that accepts connections but sends nothing ends as invalid, with a message that names the
server.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.waits

TOWTANK = [sys.executable, "-m", "towtank"]
SQL = "[{sql: select 1, target: db}]"
LDAP = "[{ldap: {search: 'ou=people', filter: (uid=a)}, target: db}]"
HTTP = "[{get: /, target: db}]"
# Steps of a workload, by address of a silent server. `{}` is replaced by host and port.
SCHEMES = {
    "mysql://reader:secret@{}/shop": SQL,
    "postgresql://reader:secret@{}/shop": SQL,
    "ldap://{}": LDAP,
    "http://{}": HTTP,
}
WORKLOAD = """schema: towtank/workload/1
name: silent
defaults: {{connect_timeout: 500 ms, timeout: 500 ms}}
transactions:
  look: {}
groups: {{readers: {{loop: {{think: {{fixed: 20 ms}}, mix: {{look: 100}}}}}}}}
"""
STUDY = """schema: towtank/study/1
name: silent
system: system.yaml
workload: workload.yaml
factors: {users: [2]}
load: {kind: closed, stages: {ramp_up: 100 ms, steady: 1 s}}
"""
SYSTEM = """schema: towtank/system/1
name: silent
services: {{db: {{kind: existing, host: there, address: ["{}"]}}}}
hosts: {{there: {{provider: existing}}}}
"""


@pytest.fixture
def mute() -> Iterator[str]:
    """Address at which the kernel accepts connections, but no program reads from them."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def towtank(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(folder)}
    return subprocess.run(
        [*TOWTANK, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=240
    )


def assert_named(reasons: list[dict[str, Any]], mute: str) -> None:
    doubts = {reason["kind"]: reason for reason in reasons}
    assert doubts["nothing_completed"]["level"] == "invalid"
    assert f"every request to db ({mute}) failed" in doubts["nothing_completed"]["message"]


@pytest.mark.parametrize(("address", "steps"), SCHEMES.items(), ids=[each.partition(":")[0] for each in SCHEMES])
def test_drive_ends_and_names_the_server(mute: str, tmp_path: Path, address: str, steps: str) -> None:
    (tmp_path / "workload.yaml").write_text(WORKLOAD.format(steps))
    target = f"db={address.format(mute)}"
    done = towtank(
        tmp_path, "drive", "workload.yaml", "--address", target, "--users", "2", "--duration", "1 s", "--json"
    )
    assert done.returncode == 4, done.stderr
    document = json.loads(done.stdout)
    assert document["valid"] is False
    assert document["throughput_per_s"] in (None, 0.0)
    assert_named(document["doubts"], mute)
    assert "secret" not in done.stdout + done.stderr


def test_a_run_ends_and_names_the_server(mute: str, tmp_path: Path) -> None:
    system = SYSTEM.format(f"http://{mute}")
    files = {"workload.yaml": WORKLOAD.format(HTTP), "study.yaml": STUDY, "system.yaml": system}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = towtank(tmp_path, "run", "study.yaml", "--no-report", "--out", "results", "--json")
    assert done.returncode == 4, done.stderr
    run = json.loads((tmp_path / "results/runs/r001/summary.json").read_text())
    assert_named(run["verdict"]["reasons"], mute)
    assert f"db ({mute})" in json.dumps(json.loads(done.stdout)["summary"]["verdict"])
