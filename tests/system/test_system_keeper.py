"""A system that a user starts without a study. Its state is stored, and it can be stopped even if its keeper process
was killed.
"""

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from towtank.errors import TargetError
from towtank.system import keeper
from towtank.system.identity import identity
from towtank.system.reach import refuses_connection
from towtank.system.state import SystemState, living, remember, system_states

pytestmark = pytest.mark.waits

SYSTEM = """
schema: towtank/system/1
name: small
hosts: {here: {provider: local}}
services:
  content: {kind: null_server, host: here, settings: {port: PORT}}
start_timeout: 20 s
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_engine: Path) -> Iterator[Path]:
    root = tmp_path / "state"
    monkeypatch.setenv("TOWTANK_STATE", str(root))
    yield root
    keeper.take_down(root)


def system_file(folder: Path, port: int = 0) -> Path:
    path = folder / "system.yaml"
    path.write_text(SYSTEM.replace("PORT", str(port)))
    return path


def silent(text: str) -> None:
    pass


def test_up_status_down(tmp_path: Path) -> None:
    up = keeper.bring_up("small", system_file(tmp_path), silent)
    assert up["status"] == "up"
    address = up["addresses"]["content"][0]
    assert refuses_connection(address) is None
    (described,) = (keeper.describe_system(state) for state in system_states())
    assert described["status"] == "up"
    assert described["processes"]["content"]["running"]
    assert keeper.take_down() == ["small"]
    assert refuses_connection(address)
    assert not living(up["keeper"])
    assert not any(living(process) for process in up["processes"].values())
    assert keeper.take_down() == []


def test_only_the_named_system_is_taken_down(tmp_path: Path) -> None:
    up = keeper.bring_up("small", system_file(tmp_path), silent)
    assert keeper.take_down(only="other") == []
    assert refuses_connection(up["addresses"]["content"][0]) is None
    assert keeper.take_down(only="small") == ["small"]


def test_state_has_addresses_with_their_scheme_and_is_private(tmp_path: Path) -> None:
    path = system_file(tmp_path)
    path.write_text(path.read_text().replace("start_timeout", "  files: {kind: folder, host: here}\nstart_timeout"))
    up = keeper.bring_up("small", path, silent)
    assert up["urls"] == {
        "content": [f"http://{up['addresses']['content'][0]}"],
        "files": up["addresses"]["files"],
    }
    assert up["addresses"]["files"][0].startswith("file:///")
    (state,) = system_states()
    assert stat.S_IMODE(state.path.stat().st_mode) == 0o600


def test_second_up_finds_the_first(tmp_path: Path) -> None:
    first = keeper.bring_up("small", system_file(tmp_path), silent)
    said: list[str] = []
    second = keeper.bring_up("small", system_file(tmp_path), said.append)
    assert second["keeper"] == first["keeper"]
    assert said == ["small is already running"]


def test_keeper_killed_takes_its_system_along_and_down_cleans_up(tmp_path: Path) -> None:
    up = keeper.bring_up("small", system_file(tmp_path), silent)
    os.kill(up["keeper"]["pid"], signal.SIGKILL)
    while any(living(process) for process in up["processes"].values()):
        pass
    (state,) = system_states()
    assert keeper.describe_system(state)["status"] == "gone"
    assert keeper.take_down() == ["small"]
    assert system_states() == []


def test_service_killed_shows_as_damaged(tmp_path: Path) -> None:
    up = keeper.bring_up("small", system_file(tmp_path), silent)
    process = up["processes"]["content"]
    os.kill(process["pid"], signal.SIGTERM)
    while living(process):
        pass
    (state,) = system_states()
    assert keeper.describe_system(state)["status"] == "damaged"


def test_stale_state_with_a_reused_process_id_harms_nobody(state: Path) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        other = {**remember(bystander.pid), "start_ticks": 1}
        SystemState(state / "up" / "old.json").write(
            status="up", keeper=other, processes={"content": {**other, "kind": "null_server"}}
        )
        assert keeper.take_down() == ["old"]
        assert identity(bystander.pid) is not None
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_system_that_cannot_come_up_is_reported_and_leaves_no_state(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(TargetError, match=f"content: port {port} on 127.0.0.1 is already in use by"):
            keeper.bring_up("small", system_file(tmp_path, port), silent)
    assert system_states() == []


def test_damaged_state_file_is_cleaned(state: Path) -> None:
    (state / "up").mkdir(parents=True)
    (state / "up" / "broken.json").write_text("{")
    described = keeper.describe_system(system_states()[0])
    assert described == {"name": "broken", "status": "gone", "processes": {}}
    assert keeper.take_down() == ["broken"]
