"""Hosts with several copies, and targets that consist of several services, in system files."""

from __future__ import annotations

from pathlib import Path

import pytest

from towtank import yamlfile
from towtank.errors import StudyError
from towtank.system.copies import host_and_service_names, host_copies
from towtank.system.model import SystemFile, load_system

pytestmark = pytest.mark.waits

SYSTEM = """\
schema: towtank/system/1
name: colony
hosts:
  here: {provider: local}
  node: {provider: local, copies: 3}
services:
  web: {kind: null_server, host: here}
  shop: {kind: null_server, host: node}
"""


def loaded(tmp_path: Path, text: str) -> SystemFile:
    path = tmp_path / "system.yaml"
    path.write_text(text)
    return load_system(path)


def faults(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(StudyError) as raised:
        loaded(tmp_path, text)
    return [f"{fault.line}:{fault.column}: {fault.where}: {fault.message}" for fault in raised.value.faults]


def test_a_host_with_copies_is_several_with_all_its_services(tmp_path: Path) -> None:
    system = loaded(tmp_path, SYSTEM)
    assert list(system.hosts) == ["here", "node-1", "node-2", "node-3"]
    assert {name: service.host for name, service in system.services.items()} == {
        "web": "here",
        "shop-1": "node-1",
        "shop-2": "node-2",
        "shop-3": "node-3",
    }
    # Target `shop` was generated for the copies of service `shop`. Each user always sends requests to the same copy.
    shop, web = system.targets["shop"], system.targets["web"]
    assert (shop.all_services, shop.balanced) == (["shop-1", "shop-2", "shop-3"], "user")
    assert (web.all_services, web.balanced) == (["web"], "round_robin")
    assert all(getattr(host, "copies", None) is None for host in system.hosts.values())


def test_one_copy_has_a_number_too_and_none_is_as_before(tmp_path: Path) -> None:
    assert list(loaded(tmp_path, SYSTEM.replace("copies: 3", "copies: 1")).services) == ["web", "shop-1"]
    plain = loaded(tmp_path, SYSTEM.replace(", copies: 3", ""))
    assert list(plain.services) == ["web", "shop"]
    assert plain.all_targets["shop"].balanced == "round_robin"


def test_a_target_may_name_several_services(tmp_path: Path) -> None:
    system = loaded(tmp_path, SYSTEM + "targets: {all: {services: [web, shop], balance: random}}\n")
    assert system.targets["all"].all_services == ["web", "shop-1", "shop-2", "shop-3"]
    assert system.targets["all"].balanced == "random"


def test_services_that_cannot_be_one_target_are_reported_all_at_once(tmp_path: Path) -> None:
    text = """\
schema: towtank/system/1
name: wrong
hosts:
  here: {provider: local}
  node: {provider: local, copies: 2}
  node-2: {provider: local}
services:
  web: {kind: null_server, host: here}
  shop: {kind: null_server, host: node}
  shop-1: {kind: null_server, host: here}
  files: {kind: folder, host: here}
  orders: {kind: postgresql, host: here}
  gateway: {kind: nginx, host: here, members: [web, shop]}
  rows: {kind: sqlite, host: node, population: {script: rows.sql}}
targets:
  none: {}
  both: {service: web, services: [web]}
  twice: {services: [web, web]}
  unknown: {services: [web, shpo]}
  mixed: {services: [web, orders]}
  local: {services: [files, web]}
  single: {service: rows}
"""
    assert faults(tmp_path, text) == [
        "6:3: hosts.node-2: must not be the name of a copy of host 'node', got 'node-2'",
        "10:3: services.shop-1: must not be the name of a copy of service 'shop', got 'shop-1'",
        "13:53: services.gateway.members[1]: must be a service on a host without copies, got 'shop' instead",
        "16:9: targets.none: must have either service or services, got neither",
        "17:9: targets.both: must have either service or services, got both",
        "18:10: targets.twice: must name each of its services once",
        "19:29: targets.unknown.services[1]: must be a service of this file (web, shop, shop-1, files, orders, "
        "gateway, rows), got 'shpo' instead, did you mean 'shop'?",
        "20:27: targets.mixed.services[1]: must be a service with the protocol of 'web', got 'orders' instead",
        "21:22: targets.local.services[0]: must be a service that is reached over the network, got 'files' instead",
        "21:29: targets.local.services[1]: must be a service with the protocol of 'files', got 'web' instead",
        "22:21: targets.single.service: must be a service that is reached over the network, got 'rows' instead",
    ]


def test_a_service_in_several_nodes_needs_hosts_without_copies(tmp_path: Path) -> None:
    text = SYSTEM + "  content: {kind: content_server, host: node, hosts: [node, here], settings: {nodes: 2}}\n"
    reported = [line for line in faults(tmp_path, text) if "without copies" in line]
    assert [line.split(": ")[1] for line in reported] == ["services.content.host", "services.content.hosts[0]"]


def test_a_service_of_a_copy_has_the_mount_of_its_own_host_as_storage(tmp_path: Path) -> None:
    text = """\
schema: towtank/system/1
name: mounts
hosts:
  node: {provider: namespaces, copies: 2, disks: {data: {size: 64 MiB}}}
  far: {provider: namespaces}
services:
  content: {kind: content_server, host: node, disk: data, storage: area}
  area: {kind: glusterfs_mount, host: node, servers: store}
  plain: {kind: content_server, host: node, storage: data}
  store: {kind: glusterfs_server, host: far}
"""
    services = loaded(tmp_path, text).services
    found = {name: (service.host, getattr(service, "storage", None)) for name, service in services.items()}
    assert found == {
        "content-1": ("node-1", "area-1"),
        "content-2": ("node-2", "area-2"),
        "area-1": ("node-1", None),
        "area-2": ("node-2", None),
        "plain-1": ("node-1", "data"),
        "plain-2": ("node-2", "data"),
        "store": ("far", None),
    }


def test_names_of_copies_are_known_before_anybody_says_how_many(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    path.write_text(SYSTEM)
    root = yamlfile.load(path).root
    hosts, services = host_and_service_names(root, "hosts"), host_and_service_names(root, "services")
    assert hosts is not None
    assert services is not None
    assert {"here", "node", "node-1", "node-7"} <= set(hosts)
    assert {"web", "shop", "shop-7"} <= set(services)
    assert "web-1" not in services
    assert host_copies(root) == {"node": 3}
