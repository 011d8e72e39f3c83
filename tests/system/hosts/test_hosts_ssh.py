"""Hosts of the provider `ssh`: secrets, lost connections, services, and observation."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from host_support import SshServer, until

from towtank.engine import OPEN_FILES
from towtank.errors import TargetError
from towtank.observe.observation import Observation
from towtank.results.folder import RunFolder
from towtank.results.observe import read_remote_probes
from towtank.system.build import build_system
from towtank.system.host_model import SshHost
from towtank.system.hosts import cleaning
from towtank.system.hosts.host import HostSettings
from towtank.system.hosts.remote import RemoteHost
from towtank.system.model import load_system
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_connection
from towtank.system.services.postgresql import program

pytestmark = pytest.mark.waits

SYSTEM = """
schema: towtank/system/1
name: far
hosts: {{far: {{provider: ssh, python: {python}, {keys}}}}}
services:
{services}
start_timeout: 60 s
"""
NULL = "  web: {kind: null_server, host: far, settings: {threads: 1}}\n"


def remote(server: SshServer, **keys: Any) -> RemoteHost:
    return RemoteHost("far", SshHost.model_validate({**server.keys, "provider": "ssh", **keys}), Path())


def system_file(folder: Path, server: SshServer, services: str = NULL) -> Path:
    keys = ", ".join(f"{name}: {json.dumps(value)}" for name, value in server.keys.items())
    path = folder / "system.yaml"
    path.write_text(SYSTEM.format(python=sys.executable, keys=keys, services=services))
    return path


def copied(server: SshServer) -> list[Path]:
    """Return Towtank's folders on the remote machine."""
    return sorted(Path(server.keys["folder"]).glob("towtank-*"))


def test_a_service_is_started_observed_and_leaves_nothing(ssh: SshServer, tmp_path: Path) -> None:
    path = system_file(tmp_path, ssh)
    run = RunFolder.create(tmp_path / "r001", {"run": "r001"})
    with build_system(load_system(path), tmp_path, run.logs) as system:
        endpoints = system.up()
        assert refuses_connection(endpoints.addresses["web"][0]) is None
        web = endpoints.tiers["web"]
        assert (web.kind, web.host, web.cpus) == ("null_server", "far", [])
        assert web.limits["open_files"] == min(OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        assert endpoints.groups == {}, "the process runs on the remote machine"
        assert endpoints.hosts["far"]["provider"] == "ssh"
        with Observation(run, {}, endpoints.scrapers, 0.1, endpoints.probes) as observation:
            until(lambda: len(read_remote_probes(run.observe)["far"].samples) >= 3)
        assert observation.failures() == []
        assert system.ended() == []
        assert len(copied(ssh)) == 1
    assert copied(ssh) == []
    stream = read_remote_probes(run.observe)["far"]
    assert stream.samples[-1]["groups"]["web"]["alive"]
    counted = {"tcp_listen_overflows_total", "tcp_retransmits_total", "tcp_memory_bytes"}
    assert counted <= set(stream.samples[-1]["host"]), "the remote probe must record TCP counters"
    assert stream.damage.bad_lines == 0
    clocks = run.manifest["clocks"]["far"]
    # The SSH client and server use the same clock, so the confidence interval of the clock offset must contain zero.
    assert len(clocks) == 2
    assert all(abs(clock["offset_ns"]) <= clock["uncertainty_ns"] for clock in clocks)


def test_secrets_are_on_no_command_line_and_in_no_fact(
    ssh: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOWTANK_FAR", "opens")
    keys = {name: value for name, value in ssh.keys.items() if name != "key"}
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    server = SshServer(keys, ssh.commands)
    host = remote(server, password_from="TOWTANK_FAR")
    assert host.lacks() == []
    try:
        host.prepare(HostSettings(tmp_path))
        answer = host.execute(["sh", "-c", "echo got $SECRET"], environment={"SECRET": "hidden-word"})
        assert answer.output == "got hidden-word\n"
        process = host.process(
            ProcessSpec("worker", ["sh", "-c", "sleep 600"], {"SECRET": "hidden-word"}), tmp_path / "l"
        )
        process.start()
        seen = " ".join(ssh.commands) + json.dumps(host.facts()) + repr(host._connection.__dict__)
        assert "hidden-word" not in seen
        assert "opens" not in seen
        process.stop()
    finally:
        host.tear_down()


def test_missing_needs_are_reported_before_anything_starts(ssh: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOWTANK_NONE", raising=False)
    host = remote(ssh, key="/no/key", known_hosts="/no/hosts", password_from="TOWTANK_NONE")
    assert host.lacks() == [
        "hosts.far.password_from: must name a variable of the environment, TOWTANK_NONE is not set",
        "hosts.far.key: must be a file, /no/key does not exist",
        "hosts.far.known_hosts: must be a file, /no/hosts does not exist",
    ]


def test_a_folder_that_somebody_else_made_is_not_taken(ssh: SshServer, tmp_path: Path) -> None:
    host = remote(ssh)
    host.folder.mkdir()
    try:
        with pytest.raises(TargetError, match=r"`mkdir` failed: .*exists"):
            host.prepare(HostSettings(tmp_path))
    finally:
        host.tear_down()
    assert list(host.folder.iterdir()) == [], "an existing folder must not be changed"
    host.folder.rmdir()


def test_its_name_is_printed_only_once_the_folder_is_its_own(ssh: SshServer, tmp_path: Path) -> None:
    host = remote(ssh)
    try:
        host.prepare(HostSettings(tmp_path))
        named = next(command for command in ssh.commands if host.folder.name in command)
        assert "mkdir -m 700" in named
        assert host.folder.stat().st_mode & 0o077 == 0o011
        assert (host.folder / "pids").stat().st_mode & 0o077 == 0
    finally:
        host.tear_down()


def test_an_unknown_host_key_is_refused(ssh: SshServer, tmp_path: Path) -> None:
    (tmp_path / "none").write_text("")
    host = remote(ssh, known_hosts=str(tmp_path / "none"))
    with pytest.raises(TargetError, match=r"127\.0\.0\.1: SSH: .*[Hh]ost key"):
        host.prepare(HostSettings(tmp_path))
    host.tear_down()


def test_a_wrong_key_is_refused(ssh: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncssh = pytest.importorskip("asyncssh")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(tmp_path / "other"))
    with pytest.raises(TargetError, match=r"127\.0\.0\.1: SSH: Permission denied"):
        remote(ssh, key=str(tmp_path / "other")).prepare(HostSettings(tmp_path))


def test_an_unreachable_machine_is_reported(ssh: SshServer, tmp_path: Path) -> None:
    host = remote(ssh, port=1)
    with pytest.raises(TargetError, match=r"127\.0\.0\.1: SSH: "):
        host.prepare(HostSettings(tmp_path))
    host.tear_down()


def test_a_lost_connection_is_reported_and_everything_there_ends(ssh: SshServer, tmp_path: Path) -> None:
    host = remote(ssh)
    host.prepare(HostSettings(tmp_path))
    process = host.process(ProcessSpec("worker", ["sh", "-c", "echo $$; sleep 600"], grace_s=1.0), tmp_path / "log")
    process.start()
    pid = until(lambda: (tmp_path / "log").read_text().strip())
    ssh.drop()
    until(lambda: process.status() is not None)
    assert host.ended() == ["the SSH connection was lost"]
    until(lambda: not Path(f"/proc/{pid}").exists())
    process.stop()
    host.tear_down()
    until(lambda: copied(ssh) == [])


def test_a_host_in_use_is_not_cleaned_by_those_of_its_own_machine(ssh: SshServer, tmp_path: Path) -> None:
    host = remote(ssh, folder="/tmp")
    host.prepare(HostSettings(tmp_path))
    process = host.process(ProcessSpec("worker", ["sleep", "600"], grace_s=1.0), tmp_path / "log")
    process.start()
    until(host.roots)
    prefix = host.folder.name
    assert prefix in cleaning.prefixes()
    cleaned, _ = cleaning.clean_dead()
    assert prefix not in cleaned
    assert process.status() is None
    process.stop()
    host.tear_down()
    assert prefix not in cleaning.prefixes()


CONDUCTOR = """
import sys, time
from pathlib import Path
from towtank.system.build import build_system
from towtank.system.model import load_system
folder = Path(sys.argv[1])
with build_system(load_system(folder / "system.yaml"), folder, folder / "logs") as system:
    print(system.up().addresses["web"][0], flush=True)
    time.sleep(600)
"""


def test_a_conductor_that_is_killed_leaves_nothing_there(ssh: SshServer, tmp_path: Path) -> None:
    system_file(tmp_path, ssh)
    environment = {**os.environ, "TOWTANK_STATE": str(tmp_path / "state")}
    with subprocess.Popen(
        [sys.executable, "-c", CONDUCTOR, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert refuses_connection(address) is None
        os.kill(process.pid, signal.SIGKILL)
    until(lambda: copied(ssh) == [])
    assert refuses_connection(address)


@pytest.mark.postgresql
def test_content_server_and_postgresql_run_there(ssh: SshServer, tmp_path: Path) -> None:
    pytest.importorskip("content_server")
    services = (
        "  content:\n    kind: content_server\n    host: far\n    settings: {database: postgresql, threads: 2}\n"
        "    population: {scale: 0.00002, seed: 1}\n  database: {kind: postgresql, host: far}\n"
    )
    path = system_file(tmp_path, ssh, services)
    with build_system(load_system(path), tmp_path, tmp_path / "logs") as system:
        endpoints = system.up()
        assert refuses_connection(endpoints.addresses["content"][0]) is None
        lists = endpoints.exports["content"]["documents_csv"].read_text().splitlines()
        assert len(lists) > 10
        assert re.fullmatch(r"\d+(\.\d+)?", endpoints.settings["database"]["version"])
    assert copied(ssh) == []


@pytest.mark.postgresql
@pytest.mark.skipif(program("postgres") is None, reason="apt-get install postgresql")
def test_a_database_on_another_machine_lets_in_nobody_without_its_secret(ssh: SshServer, tmp_path: Path) -> None:
    path = system_file(tmp_path, ssh, "  database: {kind: postgresql, host: far}\n")
    with build_system(load_system(path), tmp_path, tmp_path / "logs") as system:
        (address,) = system.up().addresses["database"]

        def ask(where: str) -> subprocess.CompletedProcess[str]:
            command = [str(program("psql")), "-wXAt", where, "-c", "SELECT 1"]
            return subprocess.run(command, capture_output=True, text=True, check=False)

        assert ask(address).stdout == "1\n"
        place = address.rpartition("@")[2]
        for user in ("towtank", "postgres"):
            assert "no password supplied" in ask(f"postgresql://{user}@{place}").stderr
        secret = address.partition("://towtank:")[2].partition("@")[0]
        assert secret not in " ".join(ssh.commands)
    assert copied(ssh) == []
