"""Eviction of files from the page cache."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from host_support import requires, virtual_host

from towtank.system.build import build_system
from towtank.system.hosts.page_cache import evict_files
from towtank.system.hosts.virtual import VirtualHost
from towtank.system.model import load_system

pytestmark = pytest.mark.waits

SIZE = 2**22
SYSTEM = """
schema: towtank/system/1
name: cold
hosts: {web: {provider: namespaces, page_cache: drop}}
services:
  content: {kind: content_server, host: web, population: {scale: 0.0002}}
"""


@pytest.fixture(autouse=True)
def on_a_disk(tmp_path: Path) -> None:
    """Skips the test if `tmp_path` is on a file system in memory, whose files cannot be evicted."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True, check=True).stdout
    if kind.strip() in ("tmpfs", "ramfs"):
        pytest.skip(f"{tmp_path} is on a {kind.strip()}, a file system in memory")


def resident(*paths: Path) -> int:
    """Return the number of bytes of the files that are in the page cache."""
    command = ["fincore", "--bytes", "--noheadings", "--output", "RES", *map(str, paths)]
    return sum(map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()))


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(SIZE))
    assert resident(path) == SIZE
    return path


def test_files_below_a_folder_are_evicted(tmp_path: Path) -> None:
    near, deep, other = (made(tmp_path / name) for name in ("in/near", "in/a/b/deep", "out/other"))
    (tmp_path / "in/link").symlink_to(other)
    (tmp_path / "in/folder").symlink_to(other.parent)
    os.mkfifo(tmp_path / "in/fifo")
    evict_files([tmp_path / "missing", tmp_path / "in"])
    assert (resident(near), resident(deep), resident(other)) == (0, 0, SIZE)


def test_another_file_system_below_is_left_alone(virtual: Callable[..., VirtualHost]) -> None:
    host = virtual(disks={"data": {"size": "64 MiB"}})
    file = made(host.outside(host.disk("data")) / "file")
    evict_files([file.parent.parent])
    assert resident(file) == SIZE
    evict_files([file.parent])
    assert resident(file) == 0


def test_files_that_towtank_wrote_on_a_host_are_evicted(virtual: Callable[..., VirtualHost], tmp_path: Path) -> None:
    host = virtual(disks={"data": {"size": "64 MiB"}}, page_cache="drop")
    source, population = made(tmp_path / "source"), made(tmp_path / "population/file")
    targets = (host.disk("data") / "copied", host.temporary / "folder/copied")
    for target in targets:
        host.put(source, target)
    text = host.temporary / "written"
    host.write(text, "w" * SIZE)
    files = [host.outside(path) for path in (*targets, text)]
    assert resident(*files, population) == 4 * SIZE
    host.confine([population.parent])
    assert resident(*files, population) == 0
    assert resident(source) == SIZE, "files outside the host must not be evicted"


def test_a_host_that_keeps_its_page_cache_keeps_these_files(
    virtual: Callable[..., VirtualHost], tmp_path: Path
) -> None:
    host = virtual()
    population = made(tmp_path / "file")
    host.confine([population.parent])
    assert resident(population) == SIZE


def test_a_system_begins_without_the_population_in_memory(tmp_path: Path) -> None:
    requires(virtual_host(page_cache="drop"))
    path = tmp_path / "system.yaml"
    path.write_text(SYSTEM)
    with build_system(load_system(path), tmp_path, tmp_path / "logs") as system:
        endpoints = system.up()
        (folder,) = tmp_path.glob("state/**/content/sqlite")
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert sum(file.stat().st_size for file in files) > 2**20
        assert resident(*files) < 2**18
        assert endpoints.hosts["web"]["page_cache_left_bytes"] < 2**23
