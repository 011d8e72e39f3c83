"""Targets must be on this machine or in private networks. The user can permit other targets by name."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from towtank.errors import ExitStatus, StudyError, TargetError
from towtank.workload import check_targets
from towtank.workload import targets as module


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-in for the name service: no query for a name may leave the machine."""
    known = {
        "inside.test": ["10.1.2.3"],
        "outside.test": ["203.0.113.7"],
        "two.test": ["203.0.113.7", "203.0.113.8"],
        "both.test": ["10.0.0.1", "203.0.113.8"],
    }

    def resolve(host: str, port: int, **options: object) -> list[tuple[object, ...]]:
        if host in known:
            return [(0, 0, 0, "", (number, port)) for number in known[host]]
        if host.replace(".", "").isdigit() or ":" in host:
            return [(0, 0, 0, "", (host, port))]
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(module.socket, "getaddrinfo", resolve)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8080",
        "http://127.9.9.9:1/x",
        "10.0.0.1:80",
        "172.16.0.1:80",
        "172.31.255.255:80",
        "198.19.255.10:80",
        "192.168.1.1:80",
        "169.254.0.9:80",
        "[::1]:80",
        "[fd00::1]:80",
        "[fe80::1]:80",
        "[::ffff:10.0.0.1]:80",
        "inside.test:80",
    ],
)
def test_own_addresses_may_be_loaded(names: None, address: str) -> None:
    assert check_targets([address])


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8:80",
        "172.32.0.1:80",
        "172.15.0.1:80",
        "192.169.0.1:80",
        "11.0.0.1:80",
        "100.64.0.1:80",
        "[2001:db8::1]:80",
        "[::ffff:8.8.8.8]:80",
        "http://outside.test/",
        "both.test:80",
        "http://169.254.169.254/latest/meta-data/",
        "169.254.170.2:80",
        "[fd00:ec2::254]:80",
        "[::ffff:169.254.169.254]:80",
    ],
)
def test_other_addresses_need_leave(names: None, address: str) -> None:
    with pytest.raises(StudyError) as raised:
        check_targets([address])
    host = module.host_and_port(address)[0]
    assert raised.value.exit_status == ExitStatus.INPUT
    assert raised.value.hint is not None
    assert f"--i-may-load {host}" in raised.value.hint
    assert check_targets([address], [host.upper()])


def test_all_refused_hosts_are_reported_at_once_and_each_once(names: None) -> None:
    with pytest.raises(StudyError) as raised:
        check_targets(["8.8.8.8:80", "outside.test:80", "127.0.0.1:80", "8.8.8.8:81"])
    assert len(raised.value.faults) == 2
    assert "--i-may-load 8.8.8.8 --i-may-load outside.test" in str(raised.value)


def test_leave_for_one_host_is_not_leave_for_another(names: None) -> None:
    with pytest.raises(StudyError, match=r"8.8.8.8"):
        check_targets(["8.8.8.8:80"], ["outside.test"])


def test_a_name_may_be_loaded_if_all_of_its_outside_addresses_are_permitted(names: None) -> None:
    with pytest.raises(StudyError, match=r"two.test \(203.0.113.7, 203.0.113.8\)"):
        check_targets(["two.test:80"], ["203.0.113.7"])
    numbers = ["203.0.113.7", "203.0.113.8"]
    assert check_targets(["two.test:80"], numbers) == {"two.test": numbers}


def test_names_are_resolved_once_for_all(names: None) -> None:
    assert check_targets(["both.test:80", "both.test:81"], ["both.test"]) == {"both.test": ["10.0.0.1", "203.0.113.8"]}


def test_unknown_name_is_a_target_that_cannot_be_reached(names: None) -> None:
    with pytest.raises(TargetError, match=r"nowhere.test: must be a host that can be resolved"):
        check_targets(["nowhere.test:80"])


@pytest.mark.parametrize("address", ["", "http://", "host:port", "127.0.0.1:99999"])
def test_what_is_no_address_is_refused(names: None, address: str) -> None:
    with pytest.raises(StudyError, match="must "):
        check_targets([address])


def planned(*addresses: str) -> dict[str, Any]:
    return {"schema": "towtank/plan/1", "targets": [{"name": "web", "host": "shop.test:80", "addresses": [*addresses]}]}


def test_a_plan_holds_the_numbers_that_were_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["10.0.0.1", "203.0.113.9"])
    monkeypatch.setattr(module.socket, "getaddrinfo", lambda host, port, **_: [(2, 1, 6, "", (next(answers), port))])
    numbers = check_targets(["http://shop.test/"])
    plan = module.pinned_plan(planned("shop.test:80", "SHOP.test:81", "unix:/run/shop"), numbers)
    assert plan["targets"][0]["addresses"] == ["10.0.0.1:80", "10.0.0.1:81", "unix:/run/shop"]
    assert plan["targets"][0]["host"] == "shop.test:80"


@pytest.mark.parametrize("address", ["other.test:80", "203.0.113.9:80", "169.254.169.254:80"])
def test_a_plan_with_an_address_that_was_not_checked_is_refused(address: str) -> None:
    with pytest.raises(TargetError, match="must be an address that was checked before the first run"):
        module.pinned_plan(planned(address), {"shop.test": ["10.0.0.1"]})


def test_numbers_that_were_allowed_and_own_ones_stay_in_a_plan() -> None:
    plan = module.pinned_plan(planned("203.0.113.9:80", "127.0.0.1:81", "[::1]:82"), {"shop.test": ["203.0.113.9"]})
    assert plan["targets"][0]["addresses"] == ["203.0.113.9:80", "127.0.0.1:81", "[::1]:82"]


def test_a_name_keeps_all_of_its_addresses_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(10, 1, 6, "", (number, 80)) for number in ("::1", "127.0.0.1", "::1")]
    monkeypatch.setattr(module.socket, "getaddrinfo", lambda *_, **__: found)
    numbers = check_targets(["localhost:80"])
    assert numbers == {"localhost": ["::1", "127.0.0.1"]}
    plan = module.pinned_plan(planned("localhost:80", "127.0.0.2:81"), numbers)
    assert plan["targets"][0]["addresses"] == ["[::1]:80", "127.0.0.2:81"]
    assert plan["targets"][0]["fallbacks"] == [["127.0.0.1:80"], []]


def test_a_name_with_one_address_has_nothing_to_fall_back_to() -> None:
    assert "fallbacks" not in module.pinned_plan(planned("127.0.0.1:80"), {})["targets"][0]
