"""Conformance tests for every host provider that can start services."""

import json
import os
import sys
from pathlib import Path

import pytest
from canaries import canary
from host_support import until

from towtank.errors import TargetError
from towtank.system.hosts.host import Host
from towtank.system.process import ProcessSpec, run_to_end
from towtank.system.reach import refuses_connection

pytestmark = pytest.mark.waits

LISTEN = """
import socket, sys, time
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
print('listening', flush=True)
time.sleep(600)
"""
# Shell script that starts a process in a separate session, writes the id of this process to a file, and waits.
TREE = "setsid sleep 600 & echo $! >{file}; wait"


def lives(host: Host, pid: str) -> bool:
    state = host.execute(["sh", "-c", f"grep -s State: /proc/{pid}/status"]).output
    return bool(state) and "Z" not in state


@pytest.mark.smoke
def test_a_process_runs_with_its_environment_and_its_log_is_here(host: Host, tmp_path: Path) -> None:
    spec = ProcessSpec("worker", ["sh", "-c", "echo given $GIVEN; echo oops >&2"], {"GIVEN": "yes"})
    process = host.process(spec, tmp_path / "worker.log")
    run_to_end(process)
    assert (tmp_path / "worker.log").read_text() == "given yes\noops\n"
    assert process.ended_text() == "ended with status 0"


def test_services_do_not_get_what_else_the_environment_holds(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = canary("environment")
    for name in ("CLOUD_TOKEN", "TOWTANK_FAR", "PGPASSWORD", "https_proxy"):
        monkeypatch.setenv(name, secret)
    run_to_end(host.process(ProcessSpec("worker", ["env"], {"GIVEN": "yes"}), tmp_path / "worker.log"))
    for reported in ((tmp_path / "worker.log").read_text(), host.execute(["env"], environment={"GIVEN": "yes"}).output):
        assert "GIVEN=yes" in reported
        assert secret not in reported


def test_a_process_that_fails_is_reported_with_its_last_words(host: Host, tmp_path: Path) -> None:
    process = host.process(ProcessSpec("worker", ["sh", "-c", "echo no room; exit 3"]), tmp_path / "worker.log")
    with pytest.raises(TargetError, match=r"worker ended with status 3\n  no room"):
        run_to_end(process)


def test_a_missing_program_is_reported(host: Host, tmp_path: Path) -> None:
    process = host.process(ProcessSpec("worker", ["/no/such/program"]), tmp_path / "worker.log")
    with pytest.raises(TargetError, match="worker ended with status 127"):
        run_to_end(process)


def test_processes_are_ended_with_all_their_children(host: Host, tmp_path: Path) -> None:
    file = host.temporary / "grandchild"
    process = host.process(ProcessSpec("tree", ["sh", "-c", TREE.format(file=file)]), tmp_path / "tree.log")
    process.start()

    def reported() -> str:
        return (host.read(file) or "").strip()

    pid = str(until(reported))
    assert lives(host, pid)
    assert process.status() is None
    process.stop()
    assert process.status() is not None
    assert not lives(host, pid)
    host.remove(file)


def test_commands_answer_with_status_and_output(host: Host) -> None:
    answer = host.execute(["sh", "-c", "echo $WHO; echo two >&2; exit 5"], environment={"WHO": "one"})
    assert (answer.status, sorted(answer.output.split())) == (5, ["one", "two"])


def test_a_command_that_takes_too_long_is_ended(host: Host) -> None:
    with pytest.raises(TargetError, match=r"took longer than 0\.5 s"):
        host.execute(["sleep", "600"], limit_s=0.5)


def test_files_are_written_read_copied_and_removed(host: Host, tmp_path: Path) -> None:
    folder = host.temporary / f"files-{tmp_path.name}"
    host.make_folder(folder / "deep")
    host.write(folder / "deep" / "note", "größer\n")
    assert host.read(folder / "deep" / "note") == "größer\n"
    assert host.read(folder / "nothing") is None
    (tmp_path / "source" / "inner").mkdir(parents=True)
    (tmp_path / "source" / "inner" / "data").write_bytes(bytes(range(256)))
    host.put(tmp_path / "source", folder / "copied")
    host.put(tmp_path / "source" / "inner" / "data", folder / "single")
    assert host.execute(["cmp", str(folder / "copied/inner/data"), str(folder / "single")]).status == 0
    host.get(folder / "copied/inner/data", tmp_path / "back" / "data")
    assert (tmp_path / "back" / "data").read_bytes() == bytes(range(256))
    host.remove(folder / "single")
    host.remove(folder)
    host.remove(folder)
    assert host.execute(["test", "-e", str(folder)]).status != 0


def modes(host: Host, *paths: Path) -> list[str]:
    return [host.execute(["stat", "-c", "%a", str(path)]).output.strip() for path in paths]


def test_private_folders_and_files_are_for_their_owner_alone(host: Host, tmp_path: Path) -> None:
    folder = host.temporary / f"private-{tmp_path.name}"
    host.make_private_folder(folder)
    host.write(folder / "secret", "first")
    host.write(folder / "secret", "second")
    assert modes(host, folder, folder / "secret") == ["700", "600"]
    assert host.read(folder / "secret") == "second"
    with pytest.raises(TargetError):
        host.make_private_folder(folder)
    host.remove(folder)


def test_nothing_is_written_or_made_through_a_link(host: Host, tmp_path: Path) -> None:
    folder = host.temporary / f"links-{tmp_path.name}"
    host.make_private_folder(folder)
    host.write(folder / "kept", "as it was")
    host.execute(["ln", "-s", "kept", str(folder / "file")])
    host.execute(["ln", "-s", "nowhere", str(folder / "folder")])
    host.write(folder / "file", "another")
    assert (host.read(folder / "kept"), host.read(folder / "file")) == ("as it was", "another")
    with pytest.raises(TargetError):
        host.make_private_folder(folder / "folder")
    assert host.execute(["test", "-e", str(folder / "nowhere")]).status != 0
    host.remove(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the group of a file")
def test_processes_of_a_group_read_what_is_written_for_it(host: Host, tmp_path: Path) -> None:
    folder = host.temporary / f"group-{tmp_path.name}"
    host.make_private_folder(folder, "daemon")
    host.write(folder / "shared", "for them", "daemon")
    assert modes(host, folder, folder / "shared") == ["710", "640"]

    def read(group: str) -> int:
        """Reads the file as user 65534 with the given group; returns the exit status."""
        reader = ["setpriv", "--reuid=65534", f"--regid={group}", "--clear-groups", "--"]
        return host.execute([*reader, "cat", str(folder / "shared")]).status

    assert (read("daemon"), read("nogroup")) == (0, 1)
    with pytest.raises(TargetError):
        host.make_private_folder(folder / "other", "no-such-group")
    host.remove(folder)


@pytest.mark.smoke
def test_what_listens_on_a_host_is_reached_from_here_and_its_port_is_taken(host: Host, tmp_path: Path) -> None:
    port = host.free_ports()
    host.require_free(port, "web")
    first = host.free_ports(3)
    for each in range(first, first + 3):
        host.require_free(each, "web")
    command = [host.python(), "-c", LISTEN, host.address, str(port)]
    process = host.process(ProcessSpec("web", command, grace_s=1.0), tmp_path / "web.log")
    process.start()
    try:
        until(lambda: refuses_connection(f"{host.address}:{port}") is None)
        with pytest.raises(TargetError, match=f"other: port {port} on {host.address} is already in use"):
            host.require_free(port, "other")
    finally:
        process.stop()
    assert refuses_connection(f"{host.address}:{port}")


def test_programs_of_towtank_are_there(host: Host) -> None:
    assert "towtank-engine" in host.execute([str(host.engine()), "--version"]).output
    assert host.execute([host.python(), "-c", "import sys; print(sys.version_info[0])"]).output == "3\n"


def test_facts_report_provider_and_address_as_plain_data(host: Host) -> None:
    facts = json.loads(json.dumps(host.facts()))
    assert facts["provider"] == host.provider
    assert facts["address"] == host.address
    assert host.ended() == []


@pytest.mark.smoke
def test_a_host_is_torn_down_twice(host: Host) -> None:
    host.confine()
    host.tear_down()
    host.tear_down()


@pytest.mark.applies(host=lambda provider: provider != "ssh")
def test_a_file_of_the_host_is_seen_from_outside_where_files_are_shared(host: Host, tmp_path: Path) -> None:
    assert host.capabilities().shares_files
    file = host.temporary / f"seen-{tmp_path.name}"
    assert host.execute([sys.executable, "-c", f"open({str(file)!r}, 'w').write('x')"]).status == 0
    assert host.outside(file).read_text() == "x"
    host.remove(file)
