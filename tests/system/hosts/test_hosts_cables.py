"""Kinds of network links between hosts: reachability, limits in both directions, and refused settings."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from host_support import requires, until, virtual_host, virtual_hosts

from towtank.errors import StudyError
from towtank.system.build import build_system
from towtank.system.hosts import cleaning
from towtank.system.hosts.host import HostSettings
from towtank.system.hosts.site import DEVICE
from towtank.system.hosts.virtual import VirtualHost
from towtank.system.model import load_system
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_connection

pytestmark = pytest.mark.waits

Made = Callable[..., list[VirtualHost]]
LISTEN = """
import socket
server = socket.create_server(('', 7000))
while True: server.accept()[0].close()
"""
# Script that prints "yes" if it can connect to the host named in its argument. If the host is disconnected, the
# connection attempt ends after 0.5 s.
ASK = """
import socket, sys
try: socket.create_connection((sys.argv[1], 7000), timeout=0.5); print('yes')
except OSError: print('no')
"""


@pytest.fixture
def joined(room: HostSettings) -> Iterator[Made]:
    """A function that creates and prepares the hosts of one network. After the test, the fixture checks that no
    namespace or device of these hosts remains.
    """
    made: list[VirtualHost] = []

    def make(link: str, count: int = 2, **keys: object) -> list[VirtualHost]:
        hosts = virtual_hosts(link, count, **keys)
        requires(hosts[0])
        made.extend(hosts)
        for host in hosts:
            host.prepare(room)
        return hosts

    yield make
    prefixes = {host._site.prefix for host in made}
    for host in reversed(made):
        host.tear_down()
    assert [line for prefix in prefixes for line in cleaning.leftovers(prefix)] == []


def reaches(host: VirtualHost, name: str) -> bool:
    return host.execute([host.python(), "-c", ASK, name]).output.strip() == "yes"


def said(host: VirtualHost, *command: str) -> str:
    answer = host.execute(list(command))
    assert answer.status == 0, answer.output
    return answer.output.strip()


def links(host: VirtualHost) -> dict[str, Any]:
    return {device["ifname"]: device for device in json.loads(said(host, "ip", "-json", "-statistics", "link", "show"))}


@pytest.mark.parametrize(("link", "count"), [("bridge", 3), ("veth", 2), ("macvlan", 3), ("tun", 3)], ids=str)
def test_hosts_reach_each_other_are_cut_off_and_reached_again(
    joined: Made, tmp_path: Path, link: str, count: int
) -> None:
    hosts = joined(link, count)
    servers = [
        host.process(ProcessSpec("server", [host.python(), "-c", LISTEN], grace_s=1.0), tmp_path / f"{host.name}.log")
        for host in hosts
    ]
    try:
        for server in servers:
            server.start()
        for host in hosts:
            until(lambda host=host: refuses_connection(f"{host.address}:7000") is None)
        for host in hosts:
            for other in hosts:
                until(lambda host=host, other=other: reaches(host, other.name))
        web, far = hosts[:2]
        web.cut()
        assert not reaches(far, "web")
        assert not reaches(web, "far")
        web.mend()
        until(lambda: reaches(far, "web") and reaches(web, "far"))
    finally:
        for server in servers:
            server.stop()


@pytest.mark.parametrize("link", ["bridge", "veth", "macvlan", "tun"])
def test_facts_report_the_link_and_packets_are_as_large_as_asked(joined: Made, link: str) -> None:
    hosts = joined(link, network={"mtu": 8992})
    for host in hosts:
        facts = host.facts()
        assert facts["link"] == link
        assert set(facts["offloads"]) == {"tso", "gso", "gro"}
        assert set(facts["checksums"]) == {"transmit", "receive"}
        assert links(host)[DEVICE]["mtu"] == 8992
        assert bool(host.watching().processes) == (link == "tun")
        assert host.ended() == []


@pytest.mark.parametrize("link", ["bridge", "veth"])
def test_offloads_and_checksums_are_turned_off_at_both_ends(joined: Made, link: str) -> None:
    for host in joined(link, network={"offloads": False, "checksums": False}):
        facts = host.facts()
        assert not any(facts["offloads"].values())
        assert not any(facts["checksums"].values())
    (plain, _) = joined(link)
    assert plain.facts()["offloads"]["tso"]
    assert plain.facts()["checksums"]["transmit"]


def test_what_goes_from_host_to_host_goes_over_the_cable_between_them(joined: Made, tmp_path: Path) -> None:
    web, far = joined("veth")
    assert set(links(web)) == {"conductor", DEVICE, "lo"}
    server = far.process(ProcessSpec("server", [far.python(), "-c", LISTEN], grace_s=1.0), tmp_path / "far.log")
    server.start()

    def received(device: str) -> int:
        return int(links(web)[device]["stats64"]["rx"]["packets"])

    try:
        until(lambda: reaches(web, "far"))
        before = received(DEVICE), received("conductor")
        for _ in range(5):
            until(lambda: reaches(web, "far"))
        assert received(DEVICE) >= before[0] + 10
        assert received("conductor") < before[1] + 10
    finally:
        server.stop()


def test_a_relay_that_ended_is_reported(joined: Made) -> None:
    web, far = joined("tun")
    ((_, pid),) = web.watching().processes.items()
    said(web, "true")
    assert Path(f"/proc/{pid}").exists()

    os.kill(pid, signal.SIGKILL)
    until(lambda: web.ended() == [f"relay ended with status {-signal.SIGKILL}"])
    assert far.ended() == []


HEAD = "schema: towtank/system/1\nname: x\n"
TWO = "hosts:\n  a: {provider: namespaces}\n  b: {provider: namespaces}\n"
PEERS = "services:\n  one: {kind: tcp_peer, host: a}\n  two: {kind: tcp_peer, host: b}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            TWO + "network: {link: fibre}\n" + PEERS,
            ["6:17: network.link: must be bridge, veth, macvlan or tun, got 'fibre' instead"],
        ),
        (
            TWO + "  c: {provider: namespaces}\nnetwork: {link: veth}\ngenerator: {host: c}\n" + PEERS,
            ["7:17: network.link: must be veth only with exactly two hosts of provider namespaces in use, got "],
        ),
        (
            TWO + "network: {link: veth}\n" + PEERS,
            ["6:17: network.link: must be bridge, macvlan or tun if the load generator runs on neither host"],
        ),
        (
            "hosts:\n  a: {provider: namespaces, cpus: 1, network: {rate: 1 MB/s, offloads: false}}\n"
            "  b: {provider: namespaces, network: {delay: 1 ms, loss: 1 %, checksums: false}}\n"
            "network: {link: macvlan, rate: 2 MB/s}\ngenerator: {host: a}\n" + PEERS,
            [
                "4:35: hosts.a.cpus: must be left out on the host of the load generator (a), which must not be "
                "slowed down, got 1 instead",
                "4:54: hosts.a.network.rate: must be left out with network.link macvlan, got 1e+06 instead",
                "4:72: hosts.a.network.offloads: must be left out with network.link macvlan, got false instead",
                "5:46: hosts.b.network.delay: must be left out with network.link macvlan, got 0.001 instead",
                "5:58: hosts.b.network.loss: must be left out with network.link macvlan, got 0.01 instead",
                "5:74: hosts.b.network.checksums: must be left out with network.link macvlan, got false instead",
                "6:32: network.rate: must be left out with network.link macvlan, got 2e+06 instead",
            ],
        ),
        (
            "hosts:\n  a: {provider: namespaces}\n  b: {provider: namespaces, copies: 2}\n"
            "network: {link: veth}\ngenerator: {host: b}\n" + PEERS,
            [
                "6:17: network.link: must be veth only with exactly two hosts of provider namespaces in use, got "
                "veth with 3 (a, b-1, b-2) instead",
                "7:19: generator.host: must be a host without copies, got 'b' instead",
            ],
        ),
        (TWO + "generator: {host: bb}\n" + PEERS, ["6:19: generator.host: must be a host of this file (a, b), got 'b"]),
        (
            TWO + "  s: {provider: existing}\ngenerator: {host: s}\n" + PEERS,
            ["7:19: generator.host: must be a host of this machine, got 's' instead, of provider existing"],
        ),
    ],
    ids=["kind", "three", "outside", "sizes", "copies", "unknown", "elsewhere"],
)
def test_what_does_not_fit_is_refused_at_its_place(tmp_path: Path, text: str, expected: list[str]) -> None:
    path = tmp_path / "system.yaml"
    path.write_text(HEAD + text)
    with pytest.raises(StudyError) as caught:
        load_system(path)
    reported = [str(fault).removeprefix(f"{path}:") for fault in caught.value.faults]
    assert [line[: len(start)] for line, start in zip(reported, expected, strict=True)] == expected, reported


def test_a_direct_cable_takes_the_size_of_packets_and_offloads(tmp_path: Path) -> None:
    text = (
        HEAD + "hosts:\n  a: {provider: namespaces, network: {mtu: 8992, offloads: false, checksums: false}}\n"
        "  b: {provider: namespaces}\nnetwork: {link: veth}\ngenerator: {host: a}\n" + PEERS
    )
    (tmp_path / "system.yaml").write_text(text)
    assert load_system(tmp_path / "system.yaml").hosts_in_use == ["a", "b"]


def test_a_host_of_the_generator_alone_is_made_and_found_by_name(tmp_path: Path) -> None:
    requires(virtual_host())
    (tmp_path / "system.yaml").write_text(
        HEAD + TWO + "generator: {host: a}\nservices:\n  two: {kind: null_server, host: b}\n"
    )
    file = load_system(tmp_path / "system.yaml")
    with build_system(file, tmp_path, tmp_path / "logs") as system:
        place = system.up().generator
        assert place.name == "a"
        assert isinstance(place.host, VirtualHost)
        assert f"{place.host.address} generator" in said(place.host, "cat", "/etc/hosts").splitlines()
        own = place.within(lambda: Path("/proc/thread-self/net/dev").read_text())
        assert DEVICE in own


def test_a_generator_of_this_machine_is_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "system.yaml").write_text(
        HEAD + "hosts: {a: {provider: local}}\ngenerator: {host: a}\nservices: {one: {kind: null_server, host: a}}\n"
    )
    file = load_system(tmp_path / "system.yaml")
    with build_system(file, tmp_path, tmp_path / "logs") as system:
        place = system.up().generator
        assert (place.host, place.name) == (None, None)
        assert place.entry().command(["x"]) == ["x"]
