"""The conductor (the process that runs a study) is killed while it prepares hosts. All objects of the hosts must be
removed.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from host_support import requires, until, virtual_host

from towtank.system.hosts import cgroups, cleaning

pytestmark = pytest.mark.waits

# Program that prepares and removes hosts repeatedly. It counts the commands that it executes, and kills itself before
# the command with the given number.
CONDUCTOR = """
import os, signal, sys, time
from pathlib import Path
from towtank.system.hosts import site as site_module
from towtank.system.build import build_system
from towtank.system.model import load_system

folder, last = Path(sys.argv[1]), int(sys.argv[2])
count = 0
run = site_module.run_with

def counted(*arguments):
    global count
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return run(*arguments)

site_module.run_with = counted
file = load_system(folder / "system.yaml")
for turn in range(100):
    system = build_system(file, folder, folder / "logs")
    print(system._hosts.of("web")._site.prefix, flush=True)
    with system:
        system.up()
        if last == 0:
            print("up", flush=True)
            time.sleep(600)
"""
SYSTEM = """
schema: towtank/system/1
name: killed
hosts:
  web: {provider: namespaces, cpus: 0.5, memory: 64 MiB, network: {rate: 100 Mbit/s}}
  far:
    provider: namespaces
    network: {delay: 1 ms}
    disks: {data: {size: 16 MiB, write_rate: 8 MB/s}}
services:
  a: {kind: null_server, host: web}
  b: {kind: null_server, host: far}
"""
# System with two hosts. The placeholder LINK is replaced by the kind of their network link. The load generator runs on
# one of the two hosts.
JOINED = """
schema: towtank/system/1
name: killed
hosts:
  web: {provider: namespaces, network: {mtu: 1492}}
  far: {provider: namespaces}
network: {link: LINK}
generator: {host: far}
services:
  a: {kind: null_server, host: web}
"""
# Time limit for the removal of all objects after a kill. The process that removes them waits one second first, and
# longer on a busy machine. [s]
GONE_WITHIN_S = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    requires(virtual_host(cpus=0.5, memory="64 MiB", network={"rate": "1 MB/s", "delay": "1 ms"}))
    requires(virtual_host(disks={"data": {"size": "16 MiB", "write_rate": "8 MB/s"}}))
    (tmp_path / "system.yaml").write_text(SYSTEM)
    return tmp_path


def conductor(folder: Path, last: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "TOWTANK_STATE": str(folder / "state")}
    return subprocess.Popen(
        [sys.executable, "-c", CONDUCTOR, str(folder), str(last)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def assert_gone(prefixes: list[str], conductor: int) -> None:
    """Asserts that no object has a name with one of the prefixes, and that no temporary folder of the conductor exists.
    `conductor` is the conductor's process id.
    """
    for prefix in prefixes:
        until(lambda prefix=prefix: cleaning.leftovers(prefix) == [], GONE_WITHIN_S)
        until(lambda prefix=prefix: not any(prefix.encode() in line for line in commands()), GONE_WITHIN_S)
    until(lambda: limits_of_nothing() == [])
    assert list(Path(tempfile.gettempdir()).glob(f"towtank-system-{conductor}-*")) == []


def limits_of_nothing() -> list[str]:
    """Return the numbers of loop devices that have I/O limits but no file.

    Limits are set after the file is attached and removed before the file is detached, so the list must be empty.
    """
    limited = {
        device.partition(":")[2]
        for device in cgroups.throttled_devices(cgroups.find_trees())
        if device.startswith("7:")
    }
    return [number for number in limited if not Path(f"/sys/block/loop{number}/loop/backing_file").exists()]


def commands() -> list[bytes]:
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and process.name != str(os.getpid()):
            try:
                found.append((process / "cmdline").read_bytes())
            except OSError:
                continue
    return found


@pytest.mark.parametrize("last", range(1, 22, 2))
def test_killed_before_any_command(folder: Path, last: int) -> None:
    with conductor(folder, last) as process:
        out, errors = process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL, errors
    assert_gone(out.split(), process.pid)


@pytest.mark.parametrize("last", [4, 7, 10, 13])
@pytest.mark.parametrize("link", ["veth", "macvlan", "tun"])
def test_killed_before_any_command_of_a_link(tmp_path: Path, link: str, last: int) -> None:
    requires(virtual_host({"link": link}))
    (tmp_path / "system.yaml").write_text(JOINED.replace("LINK", link))
    with conductor(tmp_path, last) as process:
        out, errors = process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL, errors
    assert_gone(out.split(), process.pid)


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_a_random_moment(folder: Path, seed: int) -> None:
    with conductor(folder, -1) as process:
        assert process.stdout is not None
        prefix = process.stdout.readline().strip()
        # The conductor prepares and removes the hosts in less than two seconds, so the kill may hit any of its steps.
        try:
            process.wait(random.Random(seed).uniform(0.0, 2.0))
        except subprocess.TimeoutExpired:
            process.kill()
        out, errors = process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL, errors
    assert_gone([prefix, *out.split()], process.pid)


def test_a_system_that_is_up_is_owned_and_not_cleaned(folder: Path) -> None:
    with conductor(folder, 0) as process:
        assert process.stdout is not None
        prefix = process.stdout.readline().strip()
        assert process.stdout.readline() == "up\n"
        assert cleaning.is_owned(prefix)
        assert prefix in cleaning.prefixes()
        kinds = {line.split()[0] for line in cleaning.leftovers(prefix)}
        assert {"process", "network", "loop", "control", "folder"} <= kinds
        cleaned, _ = cleaning.clean_dead()
        assert prefix not in cleaned
        process.kill()
    assert_gone([prefix], process.pid)


def test_what_stays_when_the_janitor_was_killed_too_is_cleaned_by_doctor(folder: Path) -> None:
    with conductor(folder, 0) as process:
        assert process.stdout is not None
        prefix = process.stdout.readline().strip()
        assert process.stdout.readline() == "up\n"
        (janitor,) = [int(path.name) for path in Path("/proc").iterdir() if is_janitor(path, prefix)]
        os.kill(janitor, signal.SIGKILL)
        process.kill()
    until(lambda: not cleaning.is_owned(prefix))
    done = subprocess.run(
        [sys.executable, "-m", "towtank", "doctor", "--clean", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert_gone([prefix], process.pid)


def is_janitor(process: Path, prefix: str) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return cleaning.JANITOR.encode() in words and prefix.encode() in words
