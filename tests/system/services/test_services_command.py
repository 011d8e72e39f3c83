"""Services that run a program of the user (kind `command`)."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from host_support import requires, virtual_host
from victims import descendants
from waiting import until

from towtank.errors import TargetError
from towtank.system.build import build_system
from towtank.system.identity import identity
from towtank.system.model import load_system
from towtank.system.system import System

SERVER = Path(__file__).parents[2] / "support" / "command_server.py"
pytestmark = pytest.mark.waits


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOWTANK_STATE", str(tmp_path / "state"))


def system_of(place: Path, /, host: str = "{provider: local}", more: str = "", **keys: Any) -> System:
    """Builds a system with one service of kind `command`. `keys` are the keys of the service in the system file,
    written as JSON, which is also valid YAML.
    """
    given = {
        "kind": "command",
        "host": "here",
        "program": sys.executable,
        "port": 0,
        "arguments": [str(SERVER), "${host}", "${port}"],
    }
    path = place / "system.yaml"
    path.write_text(
        f"schema: towtank/system/1\nname: own\nhosts: {{here: {host}}}\nstart_timeout: 30 s\nservices:\n"
        f"  app: {json.dumps({**given, **keys})}\n{more}"
    )
    return build_system(load_system(path), place, place / "logs")


def asked(address: str, path: str = "/") -> str:
    with urlopen(f"http://{address}{path}", timeout=20) as answer:
        return str(answer.read().decode())


def python(code: str) -> dict[str, Any]:
    return {"arguments": ["-u", "-c", code]}


def test_texts_and_files_are_filled_and_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "app.ini").write_text("pool = ${settings.pool}\nurl = ${services.store.address}\nhome = $${HOME}\n")
    (tmp_path / "work").mkdir()
    system = system_of(
        tmp_path,
        arguments=[str(SERVER), "${host}", "${port}", "--sync=${settings.sync}", "${files.conf/app.ini}"],
        settings={"pool": 4, "sync": True},
        files={"conf/app.ini": "app.ini"},
        folder="work",
        environment={"WHERE": "${address}", "STORE": "${services.store.address}"},
        more="  store: {kind: null_server, host: here}\n",
    )
    with system:
        endpoints = system.up()
        (address,), (store,) = endpoints.addresses["app"], endpoints.addresses["store"]
        answer = json.loads(asked(address))
        sync, file = answer["arguments"]
        assert (sync, answer["folder"]) == ("--sync=true", str(tmp_path / "work"))
        assert asked(address, f"/file?{file}") == f"pool = 4\nurl = {store}\nhome = ${{HOME}}\n"
        assert asked(address, "/variable?WHERE") == address
        assert asked(address, "/variable?STORE") == store
        assert stat.S_IMODE(Path(file).stat().st_mode) == 0o600
        assert endpoints.settings["app"]["pool"] == 4
        assert endpoints.tiers["app"].kind == "command"
    assert not Path(file).exists()


def test_variables_of_towtank_are_passed_only_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = system_of(tmp_path, environment_from={"DB_PASSWORD": "TOWTANK_SHOP_PASSWORD"})
    with pytest.raises(TargetError, match=r"SHOP_PASSWORD, which environment_from\.DB_PASSWORD names, is not set"):
        system.up()
    monkeypatch.setenv("TOWTANK_SHOP_PASSWORD", "hunter2")
    with system:
        endpoints = system.up()
        (address,) = endpoints.addresses["app"]
        assert asked(address, "/variable?DB_PASSWORD") == "hunter2"
        assert asked(address, "/variable?TOWTANK_SHOP_PASSWORD") == "(none)"
        assert "hunter2" not in json.dumps(endpoints.settings) + repr(endpoints.tiers)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"program": "no-such-program"}, "the program no-such-program is not installed: no executable file on PATH"),
        ({"program": "./here.sh"}, "no executable file at"),
        ({"folder": "nowhere"}, "nowhere does not exist"),
    ],
)
def test_what_is_missing_is_named_before_anything_starts(tmp_path: Path, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(TargetError) as refused:
        system_of(tmp_path, **keys).up()
    assert words in str(refused.value)


def test_a_program_that_ends_early_is_reported_with_status_and_last_lines(tmp_path: Path) -> None:
    system = system_of(tmp_path, **python("print('no database'); raise SystemExit(3)"))
    with pytest.raises(TargetError, match=r"^app ended with status 3 before it was ready\n  no database$"):
        system.up()
    system = system_of(tmp_path, **python("print('it runs in the background')"))
    with pytest.raises(TargetError) as refused:
        system.up()
    assert "must be started in the foreground" in str(refused.value.hint)


def test_the_command_then_ends_with_status_6(tmp_path: Path) -> None:
    system_of(tmp_path, **python("print('no database'); raise SystemExit(3)"))
    command = [sys.executable, "-m", "towtank", "system", "up", str(tmp_path / "system.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.count("Traceback")) == (6, 0)
    assert "app ended with status 3 before it was ready\n  no database\n" in done.stderr


@pytest.mark.parametrize(
    "ready",
    [
        {"page": "/"},
        {"page": "/late", "status": 503},
        {"log": "^it listens$"},
        {"command": [sys.executable, "-c", "import urllib.request as u; u.urlopen('http://${address}/')"]},
    ],
)
def test_each_check_waits_until_the_program_is_ready(tmp_path: Path, ready: dict[str, Any]) -> None:
    with system_of(tmp_path, ready=ready) as system:
        (address,) = system.up().addresses["app"]
        assert json.loads(asked(address))


@pytest.mark.parametrize(
    ("ready", "words"),
    [
        ({"page": "/late"}, "responds with status 503"),
        ({"page": "/", "status": 204}, "responds with status 200"),
        ({"log": "^ready$"}, "no line of its output matches '^ready$'"),
        ({"command": ["sh", "-c", "echo not yet; exit 7"]}, "the command sh ends with status 7: not yet"),
    ],
)
def test_a_program_that_is_not_ready_in_time_is_ended(tmp_path: Path, ready: dict[str, Any], words: str) -> None:
    path = tmp_path / "system.yaml"
    system = system_of(tmp_path, ready=ready)
    path.write_text(path.read_text().replace("start_timeout: 30 s", "start_timeout: 1 s"))
    system = build_system(load_system(path), tmp_path, tmp_path / "logs")
    with pytest.raises(TargetError, match="app was not ready within 1 s") as refused:
        system.up()
    assert words in str(refused.value)
    assert system.processes() == {}


def test_a_line_of_an_earlier_start_is_not_taken_for_readiness(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = (
        "import pathlib, time\n"
        f"mark = pathlib.Path({str(mark)!r})\n"
        "again = mark.exists(); mark.touch()\n"
        "print('started'); time.sleep(3 * again); print('ready now'); time.sleep(600)"
    )
    with system_of(tmp_path, port=None, ready={"log": "ready"}, **python(code)) as system:
        system.up()
        system.signal("app", "kill")
        system.start("app")
        assert (tmp_path / "logs" / "app.log").read_text().count("ready now") == 2


@pytest.mark.parametrize("name", ["TERM", "INT", "USR1"])
def test_it_is_asked_to_end_by_its_signal(tmp_path: Path, name: str) -> None:
    with system_of(tmp_path, stop={"signal": name, "grace": "10 s"}) as system:
        system.up()
    assert f"signal {int(signal.Signals[f'SIG{name}'])}" in (tmp_path / "logs" / "app.log").read_text()


def test_nothing_is_left_of_children_that_ignore_signals(tmp_path: Path) -> None:
    script = "trap '' TERM INT; setsid sleep 600 & setsid sh -c \"trap '' TERM INT; sleep 600\" & echo up; wait"
    keys = {"program": "sh", "arguments": ["-c", script], "port": None, "ready": {"log": "up"}}
    with system_of(tmp_path, stop={"signal": "INT", "grace": "500 ms"}, **keys) as system:
        system.up()
        below = until(lambda: len(found := list(descendants(system.processes()["app"].pid))) >= 4 and found)
    assert [pid for pid in below if identity(pid) is not None] == []


def test_nothing_is_left_after_towtank_is_killed(tmp_path: Path) -> None:
    system_of(tmp_path)
    code = (
        "import sys, time; from pathlib import Path; from towtank.system.build import build_system\n"
        "from towtank.system.model import load_system\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "system = build_system(load_system(folder / 'system.yaml'), folder, folder / 'logs')\n"
        "system.up(); print(system.processes()['app'].pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as towtank:
        assert towtank.stdout is not None
        guard = int(towtank.stdout.readline())
        below = [guard, *descendants(guard)]
        assert len(below) >= 2
        towtank.kill()
    until(lambda: [pid for pid in below if identity(pid) is not None] == [])


def test_the_population_is_created_once_and_brought_back(tmp_path: Path) -> None:
    made = "echo made >> log; seq ${values.rows} > ${data}/rows.csv"
    population = {"command": ["sh", "-c", made], "values": {"rows": 3}}

    def served(**more: Any) -> str:
        with system_of(tmp_path, population={**population, **more}, exports={"rows": "rows.csv"}) as system:
            path = system.up().exports["app"]["rows"]
            text = path.read_text()
            path.write_text("changed by the load")
            return text

    assert [served(), served()] == ["1\n2\n3\n", "1\n2\n3\n"]
    assert served(values={"rows": 1}) == "1\n"
    assert (tmp_path / "log").read_text() == "made\n" * 2


def test_a_population_that_refers_to_a_service_runs_before_each_run(tmp_path: Path) -> None:
    population = {"command": ["sh", "-c", "echo ${services.store.address} >> log"]}
    for _ in range(2):
        with system_of(tmp_path, population=population, more="  store: {kind: null_server, host: here}\n") as system:
            system.up()
    assert len((tmp_path / "log").read_text().split()) == 2


def test_a_population_that_fails_is_reported_and_not_kept(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(TargetError, match=r"app-population ended with status 4\n  no rows"):
            system_of(tmp_path, population={"command": ["sh", "-c", "echo no rows; exit 4"]}).up()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may start programs as another user")
def test_it_runs_as_its_user_with_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.ini").write_text("a = 1\n")
    tmp_path.chmod(0o755)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    code = (
        "import os, pathlib, sys, time; pathlib.Path(sys.argv[2], 'own').write_text('x')\n"
        "print(os.getuid(), open(sys.argv[1]).read(), flush=True); time.sleep(600)"
    )
    keys = {"program": "python3", "folder": "/", "port": None, "ready": {"log": "a = 1"}, "files": {"a.ini": "app.ini"}}
    with system_of(tmp_path, user="nobody", arguments=["-c", code, "${files.a.ini}", "${data}"], **keys) as system:
        system.up()
        assert (tmp_path / "logs" / "app.log").read_text().startswith("65534 a = 1")


def test_limits_and_disks_of_a_host_hold_for_it(tmp_path: Path) -> None:
    requires(virtual_host(cpus=0.5, memory="128 MiB", disks={"fast": {"size": "32 MiB"}}))
    host = "{provider: namespaces, cpus: 0.5, memory: 128 MiB, disks: {fast: {size: 32 MiB}}}"
    with system_of(
        tmp_path, host, port=80, disk="fast", population={"command": ["sh", "-c", "echo kept > ${data}/rows"]},
        arguments=[str(SERVER), "${host}", "${port}", "${data}/rows"], metrics="/metrics", ready={"page": "/"},
    ) as system:  # fmt: skip
        endpoints = system.up()
        (address,) = endpoints.addresses["app"]
        assert address.endswith(":80")
        (rows,) = json.loads(asked(address))["arguments"]
        assert asked(address, f"/file?{rows}") == "kept\n"
        assert endpoints.hosts["here"]["sizes"]["cpus"] == 0.5
        groups = [Path(f"/proc/{pid}/cgroup").read_text() for pid in descendants(system.processes()["app"].pid)]
        assert all("towtank" in text for text in groups), groups
