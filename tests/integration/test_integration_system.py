"""Commands `towtank system up|status|down`: a system that keeps running between commands."""

import json
import os
import signal
import socket
import urllib.request
from pathlib import Path

import pytest
from integration_bench import Bench
from waiting import until

pytestmark = pytest.mark.waits


def test_up_status_down_and_down_again(bench: Bench) -> None:
    bench.study()
    up = bench.towtank("system", "up", "study.yaml", "--json", "--quiet")
    assert up.returncode == 0, up.stderr
    address = json.loads(up.stdout)["addresses"]["content"][0]
    with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
        assert answer.status == 200
    status = json.loads(bench.towtank("system", "status", "--json").stdout)
    assert [system["status"] for system in status["systems"]] == ["up"]
    again = bench.towtank("system", "up", "system.yaml", "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["addresses"]["content"] == [address]
    driven = bench.towtank("drive", f"http://{address}/", "--duration", "500ms", "--think", "10ms", "--json")
    assert json.loads(driven.stdout)["requests"] > 0
    down = bench.towtank("system", "down")
    assert (down.returncode, down.stdout) == (0, "down: tiny\n")
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(address.rpartition(":")[2]))) != 0
    assert bench.towtank("system", "down").stdout == "no system is up\n"
    assert bench.towtank("system", "status").stdout == "no system is up\n"


def test_port_taken(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        bench.study(port=port)
        up = bench.towtank("system", "up", "system.yaml")
    assert up.returncode == 6
    assert f"port {port} on 127.0.0.1 is already in use by" in up.stderr
    assert json.loads(bench.towtank("system", "status", "--json").stdout)["systems"] == []


def test_faults_of_the_system_file_give_status_2(bench: Bench) -> None:
    (bench.folder / "system.yaml").write_text("schema: towtank/system/1\nname: x\nservices:\n  a: {kind: nothing}\n")
    up = bench.towtank("system", "up", "system.yaml")
    assert up.returncode == 2
    assert "system.yaml:4:" in up.stderr


def test_keeper_killed_leaves_nothing_and_down_forgets_it(bench: Bench) -> None:
    bench.study()
    up = json.loads(bench.towtank("system", "up", "system.yaml", "--json").stdout)
    os.kill(up["keeper"]["pid"], signal.SIGKILL)
    pid = up["processes"]["content"]["pid"]
    until(lambda: not Path(f"/proc/{pid}").exists())
    assert "tiny: gone" in bench.towtank("system", "status").stdout
    assert bench.towtank("system", "down").returncode == 0


def test_study_does_not_share_the_data_of_a_system_that_is_up(bench: Bench) -> None:
    bench.study(users=[2])
    assert bench.towtank("system", "up", "system.yaml").returncode == 0
    ended = bench.run_study()
    assert ended.returncode == 6
    assert "is in use by another running system" in ended.stderr
    assert "towtank system down" in ended.stderr
