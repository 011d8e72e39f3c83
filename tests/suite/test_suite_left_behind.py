"""Processes and temporary files that remain after a test are reported with the test's name."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from small_suite import run_suite

from towtank.system.hosts import cgroups

pytestmark = pytest.mark.waits

SUITE = """\
import subprocess
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def of_the_file():
    process = subprocess.Popen(["sleep", "61"])
    yield
    process.kill()
    process.wait()


@pytest.fixture(scope="session")
def of_the_session():
    process = subprocess.Popen(["sleep", "62"])
    yield
    process.kill()
    process.wait()


def test_that_ends_what_it_starts(of_the_file, of_the_session):
    subprocess.run(["true"], check=True)
"""
LEAVES = """\

@pytest.fixture(scope="session")
def forgotten():
    subprocess.Popen(["sleep", "63"])


def test_that_forgets_a_process():
    subprocess.Popen(["sleep", "64"], start_new_session=True)


def test_that_forgets_a_file(forgotten):
    Path(tempfile.gettempdir(), "towtank-left-by-a-test").touch()
"""
# Time limit for the end of leftover processes. The processes that the tests start live longer. [s]
WITHIN = {"TOWTANK_LEFT_WITHIN_S": "10"}
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "with workers"])


def run(folder: Path, text: str, workers: tuple[str, ...], **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "temporary").mkdir()
    (folder / "test_second.py").write_text("def test_of_another_file():\n    pass\n")
    environment = {**environment, **WITHIN, "TMPDIR": str(folder / "temporary")}
    return run_suite(folder, "left_behind", text, *workers, **environment)


@WORKERS
def test_a_suite_that_leaves_nothing_passes(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run(tmp_path, SUITE, workers)
    assert done.returncode == 0, done.stdout
    assert "left behind" not in done.stdout


@WORKERS
def test_processes_and_files_are_named_with_their_tests(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run(tmp_path, SUITE + LEAVES, workers, CI="true")
    pids = [int(pid) for pid in re.findall(r"^process (\d+) ", done.stdout, re.MULTILINE)]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert done.returncode == 1
    assert "4 passed" in done.stdout
    assert len(pids) == 2, done.stdout
    _, _, section = done.stdout.partition("left behind by tests")
    assert re.search(r"process \d+ `sleep 64` of \S*test_small.py::test_that_forgets_a_process\n", section)
    assert re.search(r"process \d+ `sleep 63` of a fixture of the session: forgotten\n", section)
    file = tmp_path / "temporary" / "towtank-left-by-a-test"
    assert re.search(rf"temporary file {file}, first seen after \S*test_small.py\n", section)


OF_ROOT = """\
import os
import subprocess
from pathlib import Path

from towtank.system.hosts import cgroups


def test_that_forgets_a_mount():
    folder = Path(os.environ["TMPDIR"]).parent / "towtank-mounted"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)


def test_that_forgets_a_namespace():
    # `ip netns add` leaves a file of this kind.
    Path("/run/netns/towtank-left").touch()


def test_that_forgets_a_control_group():
    trees = cgroups.find_trees()
    tree = next(iter(trees.controllers.values()), trees.unified)
    (tree / os.environ["GROUP"]).mkdir()


def test_that_forgets_a_network_device():
    subprocess.run(["ip", "link", "add", "towtank-left", "type", "bridge"], check=True)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_mounts_namespaces_control_groups_and_devices_are_named_with_their_file(tmp_path: Path) -> None:
    group = f"towtank-left-{os.getpid()}"
    own = "mount -t tmpfs tmpfs /run && mkdir /run/netns && mount -t sysfs sysfs /sys --make-private"
    # Control groups are folders below /sys. A test process needs its own network namespace to mount another /sys.
    own = f'mkdir "$0" && mount --rbind /sys/fs/cgroup "$0" && {own} && mount --rbind "$0" /sys/fs/cgroup && exec "$@"'
    behind = ("unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", own, str(tmp_path / "groups"))
    (tmp_path / "temporary").mkdir()
    environment = {"CI": "true", "TMPDIR": str(tmp_path / "temporary"), "GROUP": group, **WITHIN}
    try:
        done = run_suite(tmp_path, "left_behind", OF_ROOT, behind=behind, **environment)
    finally:
        trees = cgroups.find_trees()
        for tree in {*trees.controllers.values(), *([trees.unified] if trees.unified else [])}:
            if (tree / group).exists():
                (tree / group).rmdir()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    _, _, section = done.stdout.partition("left behind by tests")
    for thing in (
        f"mount {tmp_path / 'towtank-mounted'}",
        "network namespace towtank-left",
        f"/{group}",
        "network device towtank-left",
    ):
        assert f"{thing}, first seen after test_small.py\n" in section, done.stdout


def test_beside_others_a_file_may_be_theirs(tmp_path: Path) -> None:
    leaves = "\n\ndef test_that_forgets_a_file():\n    Path(tempfile.gettempdir(), 'towtank-left').touch()\n"
    done = run(tmp_path, SUITE + leaves, ())
    assert done.returncode == 0, done.stdout
    assert "new since the start of the tests" in done.stdout
    assert f"temporary file {tmp_path}/temporary/towtank-left, first seen after" in done.stdout
