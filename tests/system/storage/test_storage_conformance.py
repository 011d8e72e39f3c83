"""Conformance tests for all file systems of hosts: a write either stores the complete file or is refused."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from metric_tables import metric_names
from storage_cases import CASES, ON_TWO_HOSTS, StorageBench

from towtank.system.hosts import cleaning

pytestmark = pytest.mark.waits

# Script that writes a file. The content depends on the path, so that a test detects swapped files. Some tested sizes
# are not whole pages, and some need more than one packet.
WRITE = """
import hashlib, os, sys
path, count = sys.argv[1], int(sys.argv[2])
data = hashlib.sha256(path.encode()).digest() * (count // 32 + 1)
with open(path + ".new", "wb") as stream:
    stream.write(data[:count])
    stream.flush()
    os.fsync(stream.fileno())
os.rename(path + ".new", path)
folder = os.open(os.path.dirname(path), os.O_RDONLY)
os.fsync(folder)
print(hashlib.sha256(data[:count]).hexdigest())
"""
READ = """
import hashlib, sys
print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())
"""
PARTS = """
import os, sys
path = sys.argv[1]
with open(path, "wb") as stream:
    stream.write(b"a" * 10000)
with open(path, "ab") as stream:
    stream.write(b"b" * 10000)
with open(path, "r+b") as stream:
    stream.seek(5000)
    stream.write(b"c" * 10)
descriptor = os.open(path, os.O_RDONLY)
assert os.pread(descriptor, 12, 4999) == b"a" + b"c" * 10 + b"a"
assert os.pread(descriptor, 4, 9998) == b"aabb"
assert os.pread(descriptor, 100, 19990) == b"b" * 10
os.truncate(path, 15)
assert os.stat(path).st_size == 15
os.unlink(path)
print(os.path.exists(path))
"""
FOLDERS = """
import os, sys
root = sys.argv[1]
names = {f"file-{number}" for number in range(50)}
os.makedirs(f"{root}/a/b")
for name in names:
    open(f"{root}/a/b/{name}", "w").close()
assert set(os.listdir(f"{root}/a/b")) == names
os.rename(f"{root}/a/b/file-0", f"{root}/a/file-0")
os.rename(f"{root}/a/file-0", f"{root}/a/b/file-1")
assert set(os.listdir(f"{root}/a/b")) == names - {"file-0"}
try:
    os.rmdir(f"{root}/a/b")
except OSError as error:
    print(type(error).__name__)
for name in names - {"file-0"}:
    os.unlink(f"{root}/a/b/{name}")
os.removedirs(f"{root}/a/b")
"""
# Script that fills the file system with files of 1 MiB. It prints the number of complete files and the error code of
# the first file that failed.
FILL = """
import errno, os, sys
root, kept = sys.argv[1], 0
for number in range(1000):
    try:
        with open(f"{root}/full-{number}", "wb") as stream:
            stream.write(bytes([number % 256]) * 2**20)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        refusal = errno.errorcode[error.errno]
        break
    kept += 1
for number in range(kept):
    assert open(f"{root}/full-{number}", "rb").read() == bytes([number % 256]) * 2**20, number
for number in range(kept + 1):
    if os.path.exists(f"{root}/full-{number}"):
        os.unlink(f"{root}/full-{number}")
print(kept, refusal)
"""
KILLED_WITHIN_S = 60.0


def printed(bench: StorageBench, script: str, *arguments: object, limit_s: float = 60.0) -> str:
    status, output = bench.python(script, *arguments, limit_s=limit_s)
    assert status == 0, output
    return output


@pytest.mark.smoke
def test_what_is_written_is_read_under_its_last_name(storage: StorageBench) -> None:
    for count in (0, 1, 4096, 300_001):
        path = storage.root / f"written-{count}"
        assert printed(storage, WRITE, path, count) == printed(storage, READ, path)


def test_parts_are_read_and_written_in_place(storage: StorageBench) -> None:
    assert printed(storage, PARTS, storage.root / "parts") == "False"


def test_folders_hold_what_was_put_into_them(storage: StorageBench) -> None:
    assert printed(storage, FOLDERS, storage.root) in ("OSError", "FileExistsError")


@pytest.mark.timeout(480)
def test_a_full_one_refuses_and_keeps_what_it_took(storage: StorageBench) -> None:
    # The script waits for the disk hundreds of times, so its time limit is long.
    kept, refusal = printed(storage, FILL, storage.root, limit_s=300.0).split()
    assert refusal in storage.case.refusals
    assert int(kept) >= 8
    # The file system may need time before it can use freed space again.
    path = storage.root / "after"
    assert until_written(storage, path) == printed(storage, READ, path)


def until_written(storage: StorageBench, path: Path) -> str:
    deadline = time.monotonic() + KILLED_WITHIN_S
    while True:
        status, output = storage.python(WRITE, path, 100_000)
        if status == 0:
            return output
        assert time.monotonic() < deadline, output
        time.sleep(0.2)


def test_nobody_else_sees_it(storage: StorageBench) -> None:
    assert str(storage.root) not in Path("/proc/self/mounts").read_text()
    (line,) = [
        line.split()
        for line in printed(storage, "print(open('/proc/self/mounts').read())").splitlines()
        if f" {storage.root} " in line
    ]
    if storage.case.is_mount:
        assert line[2].startswith("fuse")
    else:
        assert line[0].startswith("/dev/loop")


# Only mounts have a scraper; the activity of a disk is reported by the disk's host.
@pytest.mark.applies(storage=lambda case: case.is_mount)
def test_each_step_is_reported(storage: StorageBench) -> None:
    (scraper,) = storage.service("area").scrapers()
    before = scraper.scrape()
    path = storage.root / "printed"
    printed(storage, WRITE, path, 70_000)
    printed(storage, READ, path)
    grown = {key: value - before.get(key, 0.0) for key, value in scraper.scrape().items()}
    scraper.close()
    assert grown["glusterfs_written_bytes_total"] == 70_000
    # If the host's page cache holds the written data, the later read fetches at most part of a page from the server.
    expected = range(4096) if "direct" not in storage.case.services else [70_000]
    assert grown["glusterfs_read_bytes_total"] in expected
    assert grown['glusterfs_calls_total{call="create"}'] == 1
    servers = sum(value for key, value in grown.items() if re.match(r'glusterfs_server_calls_total.*"write"', key))
    assert servers >= (2 if storage.case.survives else 1)
    names = {key.partition("{")[0] for key in before}
    assert names == metric_names("GlusterFS mounts")


@pytest.mark.applies(storage=lambda case: case.is_mount)
def test_a_server_that_was_killed_and_is_back_has_what_was_written(storage: StorageBench) -> None:
    written = {path: printed(storage, WRITE, path, 50_000) for path in paths_on_both(storage)}
    _, process = storage.process("store-1")
    assert process.pid is not None
    os.kill(server_of(process.pid), signal.SIGKILL)
    failed = [path for path in written if not is_whole(storage, path, written[path])]
    assert (failed == []) == storage.case.survives
    storage.start_again("store-1")
    deadline = time.monotonic() + KILLED_WITHIN_S
    while failed and time.monotonic() < deadline:
        failed = [path for path in failed if not is_whole(storage, path, written[path])]
    assert failed == []
    until_written(storage, storage.root / "behind")


def paths_on_both(storage: StorageBench) -> list[Path]:
    """Writes at least six files, until server `store-1` has one of them. Returns the paths of all files.

    A server whose disk was full gets no files for a while, so more than six files may be needed.
    """
    paths: list[Path] = []
    deadline = time.monotonic() + KILLED_WITHIN_S
    while len(paths) < 6 or not any(storage.has_content(path.name) for path in paths):
        assert time.monotonic() < deadline, "server store-1 received no file"
        paths.append(storage.root / f"before-{len(paths)}")
        printed(storage, WRITE, paths[-1], 50_000)
    return paths


def is_whole(storage: StorageBench, path: Path, digest: str) -> bool:
    status, output = storage.python(READ, path)
    assert status != 0 or output == digest, "a read must return the correct content or fail"
    return status == 0


def server_of(guard: int) -> int:
    """Return the process id of the server, which is the child process of its guard process."""
    return int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])


CONDUCTOR = """
import sys, time
from pathlib import Path
from storage_cases import CASES, ON_TWO_HOSTS, StorageBench

cases = (*CASES, ON_TWO_HOSTS)
bench = StorageBench(Path(sys.argv[1]), next(case for case in cases if case.name == sys.argv[2]))
bench.system.up()
print(bench.host._site.prefix, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("name", ["glusterfs-direct", ON_TWO_HOSTS.name])
def test_a_conductor_that_is_killed_leaves_nothing(name: str, tmp_path: Path) -> None:
    case = next(case for case in (*CASES, ON_TWO_HOSTS) if case.name == name)
    if lines := StorageBench(tmp_path, case).lacks():
        pytest.skip("; ".join(lines))
    support = str(Path(__file__).parents[2] / "support")
    paths = os.pathsep.join([support, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-c", CONDUCTOR, str(tmp_path), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        prefix = process.stdout.readline().strip()
        assert prefix
        kinds = {line.split()[0] for line in cleaning.leftovers(prefix)}
        process.kill()
    assert {"process", "loop"} <= kinds
    deadline = time.monotonic() + KILLED_WITHIN_S
    while cleaning.leftovers(prefix) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert cleaning.leftovers(prefix) == []
    assert "fuse.glusterfs" not in Path("/proc/self/mounts").read_text()
