"""Mounts in system files: faults, effects of settings, and content servers on mounts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from storage_cases import CASES, StorageBench

from towtank.errors import StudyError
from towtank.study import needed_packages
from towtank.system.build import build_system
from towtank.system.model import load_system
from towtank.system.packages import Package
from towtank.system.services.glusterfs_volumes import mount_text, server_text
from towtank.system.storage_models import GlusterfsMountSettings, GlusterfsServerSettings
from towtank.system.system import System

pytestmark = pytest.mark.waits

HEAD = """
schema: towtank/system/1
name: storage
hosts:
  here: {provider: local}
  web: {provider: namespaces, disks: {data: {size: 64 MiB}}}
  far: {provider: namespaces, disks: {data: {size: 64 MiB}}}
services:
"""


def written(folder: Path, *services: str) -> Path:
    path = folder / "system.yaml"
    path.write_text(HEAD + "".join(f"  {service}\n" for service in services) + "start_timeout: 60 s\n")
    return path


def test_faults_are_reported_all_at_once_with_their_places(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "store: {kind: glusterfs_server, host: far, disk: data}",
        "area: {kind: glusterfs_mount, host: here, servers: store}",
        "second: {kind: glusterfs_mount, host: web, servers: [stor, web, store, store]}",
        "web: {kind: null_server, host: web}",
        "content: {kind: content_server, host: far, storage: second}",
        "third: {kind: glusterfs_mount, host: web, servers: [store], settings: {copies: 2}}",
        "fourth: {kind: glusterfs_mount, host: web, servers: [store], settings: {cache: 1 MiB}}",
        "fifth: {kind: glusterfs_server, host: web, disk: dat, settings: {cache: 100 KiB}}",
    )
    with pytest.raises(StudyError) as refused:
        load_system(path)
    reported = str(refused.value)
    for words in (
        "system.yaml:10:39: services.area.host: must be a host of provider namespaces for a glusterfs_mount",
        "services.second.servers[0]: must be a service of this file",
        "did you mean 'store'",
        "services.second.servers[1]: must be a glusterfs_server, got 'web' of kind null_server instead",
        "services.second.servers[3]: must name each server once, got 'store' again",
        "services.content.storage: must be a disk or a mount of host far (data), got 'second' instead",
        "services.third: must have at least two servers for two copies, got 1 instead",
        "services.fourth.settings: must have a cache of 0 B or at least 4 MiB",
        "services.fifth.settings: must have a cache of 0 B or at least 4 MiB",
    ):
        assert words in reported, reported


def test_hosts_of_mounts_and_of_nodes_are_checked_together(tmp_path: Path) -> None:
    nodes = "kind: content_server, host: web, hosts: [web, far]"
    path = written(
        tmp_path,
        "store: {kind: glusterfs_server, host: far, disk: data}",
        "area: {kind: glusterfs_mount, host: web, hosts: [web, far], servers: store}",
        "single: {kind: glusterfs_mount, host: web, servers: store}",
        "half: {kind: glusterfs_mount, host: web, hosts: [far], servers: store}",
        "twice: {kind: glusterfs_mount, host: web, hosts: [web, web], servers: store}",
        "odd: {kind: glusterfs_mount, host: web, hosts: [web, here, fra], servers: store}",
        f"right: {{{nodes}, storage: area, settings: {{nodes: 2}}}}",
        f"alone: {{{nodes}, storage: single, settings: {{nodes: 2}}}}",
        f"own: {{{nodes}, storage: data, settings: {{nodes: 2}}}}",
        f"apart: {{{nodes}, disk: data, settings: {{nodes: 2}}}}",
        f"one: {{{nodes}, disk: data, storage: data}}",
        "others: {kind: cmis_repository, host: web, hosts: [web, far], storage: single, settings: {nodes: 2}}",
        "area-2: {kind: null_server, host: web}",
    )
    with pytest.raises(StudyError) as refused:
        load_system(path)
    reported = sorted(f"{fault.line}:{fault.column}: {fault.where}: {fault.message}" for fault in refused.value.faults)
    # The mount `odd` has a misspelt host name, which Towtank interprets as `far`. So messages list `odd` among the
    # mounts on `far`.
    everywhere = "must be a mount on all hosts of its nodes, web, far (area, odd), got"
    assert reported == sorted(
        [
            "12:9: services.half: must have its host among its hosts (far), got 'web' instead",
            "13:10: services.twice: must name each of its hosts once",
            "14:56: services.odd.hosts[1]: must be a host of provider namespaces for a glusterfs_mount, got 'here' "
            "instead",
            "14:62: services.odd.hosts[2]: must be a host of this file (here, web, far), got 'fra' instead, did you "
            "mean 'far'?",
            f"16:72: services.alone.storage: {everywhere} 'single' instead, which is not on far",
            f"17:70: services.own.storage: {everywhere} 'data' instead",
            "18:69: services.apart.disk: must be left out if nodes run on hosts other than web (far), because these "
            "hosts cannot access the disk, got 'data' instead",
            f"20:74: services.others.storage: {everywhere} 'single' instead, which is not on far",
            "21:3: services.area-2: must not be the name of a process of service 'area', got 'area-2'",
        ]
    )


NOTHING = {"cache": "0 B", "write_behind": "0 B", "attributes_timeout": "0 s"}
TUNED = {"cache": "8 MiB", "direct": True, "inode_limit": 77}


def stack(text: str) -> list[str]:
    """Return the names of the GlusterFS translators in a volume file, in file order, which is from the lowest to the
    highest.
    """
    return [line.split()[1] for line in text.splitlines() if line.startswith("volume ")]


def test_settings_stand_in_the_volume_files() -> None:
    servers = {"store-1": ("198.18.0.10", 1, "first-secret"), "store-2": ("198.18.0.11", 2, "second-secret")}
    plain = mount_text(GlusterfsMountSettings(), servers)
    remote = ["remote-store-1-0", "store-1-0", "remote-store-2-0", "store-2-0"]
    assert stack(plain) == [*remote, "spread", "behind", "cache", "attributes", "asked"]
    bare = mount_text(GlusterfsMountSettings.model_validate(NOTHING), servers)
    assert stack(bare) == [*remote, "spread", "asked"]
    server = server_text(GlusterfsServerSettings.model_validate(TUNED), "/data", "198.18.0.10", 9, "its-secret")
    assert stack(server)[:4] == ["posix-0", "locks-0", "cache-0", "part-0"]
    for line in ("option o-direct on", "option cache-size 8388608", "option inode-lru-limit 77", "listen-port 9"):
        assert line in server
    assert "auth.addr" not in server, "access must need a secret, not only an address"
    assert server.count("its-secret") == 1
    assert (plain.count("first-secret"), plain.count("second-secret")) == (1, 1)
    assert "option flush-behind off" in plain, "a closed file must be on the servers"


@pytest.mark.parametrize(
    ("reads", "first"), [("rotated", ["store-1-0", "store-2-0"]), ("same", ["store-1-0", "store-1-1"])]
)
def test_copies_are_read_from_each_server_or_from_the_first(reads: str, first: list[str]) -> None:
    settings = GlusterfsMountSettings.model_validate({"copies": 2, "reads": reads})
    text = mount_text(
        settings, {"store-1": ("198.18.0.10", 1, "first-secret"), "store-2": ("198.18.0.11", 2, "second-secret")}
    )
    assert [line.split()[2] for line in text.splitlines() if "read-subvolume" in line] == first
    assert "subvolumes store-1-0 store-2-1" in text
    assert "subvolumes store-2-0 store-1-1" in text


def test_doctor_names_the_packages(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "store: {kind: glusterfs_server, host: far, disk: data}",
        "area: {kind: glusterfs_mount, host: web, servers: store}",
    )
    packages = [need for need in needed_packages(str(path)) if isinstance(need, Package)]
    names = {name for package in packages for name in package.names}
    assert {"glusterfs-server", "glusterfs-client"} <= names


STORES = {
    "disk": ["content: {kind: content_server, host: web, storage: data, population: {scale: 0.00002}}"],
    "mount": [
        "store: {kind: glusterfs_server, host: far, disk: data}",
        "area: {kind: glusterfs_mount, host: web, servers: store}",
        "content: {kind: content_server, host: web, disk: data, storage: area, population: {scale: 0.00002}}",
    ],
}


@pytest.mark.parametrize("place", STORES)
def test_a_content_server_has_its_contents_there(place: str, tmp_path: Path) -> None:
    pytest.importorskip("content_server")
    if lines := StorageBench(tmp_path, next(case for case in CASES if case.name == "glusterfs-one")).lacks():
        pytest.skip("; ".join(lines))
    system = build_system(load_system(written(tmp_path, *STORES[place])), tmp_path, tmp_path / "logs")
    with system:
        endpoints = system.up()
        settings = json.loads(json.dumps(endpoints.settings["content"]))
        assert settings["storage"] == ("data" if place == "disk" else "area")
        count, held = contents(system, place)
        assert count > 20
        assert held == (place == "disk"), "the database must not be on the mount"


def contents(system: System, place: str) -> tuple[int, bool]:
    """Return the number of content files in the folder, and True if the disk `data` contains no database."""
    host = system._hosts.of("web")
    root = host.disk("data") if place == "disk" else Path("/tmp/mounts/area")
    found = host.execute(["sh", "-c", f"find {root}/content -type f | wc -l"]).output
    disk = host.execute(["sh", "-c", f"find {host.disk('data')} -name 'content.sqlite' | wc -l"]).output
    return int(found), int(disk) == 0
