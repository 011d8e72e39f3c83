"""A system of small real servers: it starts them in order, observes them, stops them, and reports every failure."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from held_port import held_port
from waiting import until

from towtank.errors import Stopped, TargetError
from towtank.system.hosts.group import Hosts
from towtank.system.hosts.host import HostSettings
from towtank.system.hosts.local import LocalHost
from towtank.system.identity import children, identity, is_stopped
from towtank.system.ports import require_free
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_connection, refuses_http
from towtank.system.service import Place, Service
from towtank.system.system import System

pytestmark = [pytest.mark.waits, pytest.mark.usefixtures("fake_engine")]

SERVE = """
import http.server, sys
http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]), bind='127.0.0.1')
"""
DIES_AT_FIRST_CONNECTION = """
import os, socket, sys
socket.create_server(('127.0.0.1', int(sys.argv[1]))).accept()
os.kill(os.getpid(), 9)
"""


class Small(Service):
    """A service that runs a Python program, by default an HTTP server of the standard library."""

    kind = "small"
    ready_within_s = 20.0

    def __init__(self, name: str, journal: list[str], program: str = SERVE, port: int | None = None) -> None:
        super().__init__(name)
        self.journal, self.program, self.fixed = journal, program, port
        self.port = 0
        self.held = ExitStack()

    def prepare(self, place: Place) -> None:
        self.journal.append(f"prepare {self.name}")
        if self.fixed:
            require_free("127.0.0.1", self.fixed, self.name)
        self.port = self.fixed or self.held.enter_context(held_port())

    def processes(self, place: Place) -> list[ProcessSpec]:
        return [ProcessSpec(self.name, [sys.executable, "-c", self.program, str(self.port)], grace_s=1.0)]

    def ready(self) -> str | None:
        return refuses_connection(self.addresses()[0])

    def stopping(self, *, for_good: bool) -> None:
        self.journal.append(f"stopping {self.name}{'' if for_good else ' for now'}")

    def stopped(self) -> None:
        self.journal.append(f"stopped {self.name}")

    def addresses(self) -> list[str]:
        return [f"127.0.0.1:{self.port}"]


@pytest.fixture
def journal() -> list[str]:
    return []


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    systems: list[System] = []

    def build(*services: Service, **options: Any) -> System:
        systems.append(System(list(services), tmp_path / "data", tmp_path / "logs", **options))
        return systems[-1]

    yield build
    for system in systems:
        system.down()
        for service in system._services:
            service.held.close()


def test_services_come_up_in_order_and_go_down_in_reverse(make: Any, journal: list[str]) -> None:
    system = make(Small("database", journal), Small("content", journal), cpus=[0])
    endpoints = system.up()
    assert refuses_http(endpoints.addresses["content"][0], "/") is None
    content = endpoints.tiers["content"]
    assert (content.kind, content.host, content.cpus) == ("small", "here", [0])
    assert set(endpoints.groups) == {"database", "content"}
    assert system.ended() == []
    assert all(process.status() is None for process in system.processes().values())
    system.down()
    system.down()
    assert journal[:2] == ["prepare database", "prepare content"]
    assert journal[2:] == ["stopping content", "stopped content", "stopping database", "stopped database"]
    assert all(identity(pid) is None for pid in endpoints.groups.values())
    assert refuses_connection(endpoints.addresses["content"][0])


@pytest.mark.parametrize("step", ["status", "stopping", "stopped"])
def test_a_service_that_fails_to_go_leaves_nothing_of_the_others_up(make: Any, journal: list[str], step: str) -> None:
    first, second, third = (Small(name, journal) for name in ("first", "second", "third"))
    system = make(first, second, third)
    system.up()
    scratch, processes = system._scratch, [process for _, process in system._processes]

    def fails(**_: Any) -> None:
        raise OSError("no room")

    setattr(processes[1] if step == "status" else second, step, fails)
    with pytest.raises(OSError, match="no room"):
        system.down()
    assert [identity(process.pid) for process in processes] == [None] * 3
    assert {"stopped first", "stopped third"} <= set(journal)
    assert not scratch.exists()
    assert system._lock is None
    system.down()


def test_a_stop_before_a_restart_is_announced(make: Any, journal: list[str]) -> None:
    system = make(Small("database", journal))
    system.up()
    system.stop("database")
    system.start("database")
    system.down()
    assert journal == ["prepare database", "stopping database for now", "stopping database", "stopped database"]


def test_nothing_is_started_again_while_the_system_goes_down(make: Any, journal: list[str]) -> None:
    system = make(Small("database", journal), Small("content", journal))
    system.up()
    system.stop("content")
    (_, ended) = system._processes[1]
    ended.stop = system.down  # simulates another thread that stops the system at the same time
    with pytest.raises(TargetError, match="content is not restarted, because the system is being stopped"):
        system.start("content")
    assert system.processes() == {}


def test_a_host_that_fails_to_go_leaves_none_of_the_others(journal: list[str], tmp_path: Path) -> None:
    class Leaving(LocalHost):
        def tear_down(self) -> None:
            journal.append(self.name)
            if self.name == "second":
                raise OSError("no room")

    hosts = Hosts({name: Leaving(name) for name in ("first", "second", "third")})
    hosts.prepare(HostSettings(tmp_path))
    with pytest.raises(TargetError, match="no room"):
        hosts.tear_down()
    assert journal == ["third", "second", "first"]


def test_a_server_that_ended_is_not_ready_because_another_answers_on_its_port(make: Any, journal: list[str]) -> None:
    class Elsewhere(Small):
        def ready(self) -> str | None:
            assert until(lambda: system.processes()["web"].status() is not None)
            return None

    system = make(Elsewhere("web", journal, "import sys; sys.exit('address in use')"))
    with pytest.raises(TargetError, match="web ended with status 1 before it was ready"):
        system.up()


def test_server_that_fails_to_start_shows_its_last_log_lines(make: Any, journal: list[str]) -> None:
    broken = Small(
        "content",
        journal,
        "import sys; print('reading settings', flush=True); sys.exit('no such table: documents')",
    )
    system = make(Small("database", journal), broken)
    with pytest.raises(TargetError) as caught:
        system.up()
    assert str(caught.value).splitlines() == [
        "content ended with status 1 before it was ready",
        "  reading settings",
        "  no such table: documents",
    ]
    assert system.processes() == {}
    assert "stopped database" in journal


def test_server_that_never_answers_is_reported_with_its_log(make: Any, journal: list[str]) -> None:
    deaf = Small("content", journal, "import time; print('warming up', flush=True); time.sleep(600)")
    deaf.ready_within_s = 0.5
    with pytest.raises(TargetError, match=r"content was not ready within 0 s: 127\.0\.0\.1:\d+: Connection refused"):
        make(deaf).up()


def test_taken_port_is_refused_before_anything_starts(make: Any, journal: list[str]) -> None:
    system = make(Small("first", journal))
    taken = system.up().addresses["first"][0].rpartition(":")[2]
    other = System([Small("content", journal, port=int(taken))], Path(str(system._data) + "-2"), system._logs)
    with pytest.raises(TargetError, match=rf"content: port {taken} on 127.0.0.1 is already in use by python"):
        other.up()


def test_server_that_dies_is_seen(make: Any, journal: list[str]) -> None:
    system = make(Small("content", journal, DIES_AT_FIRST_CONNECTION))
    system.up()
    while not (ended := system.ended()):
        pass
    assert [(each.tier, each.text) for each in ended] == [("content", "ended by signal 9")]


def test_data_of_one_system_is_not_shared(make: Any, journal: list[str]) -> None:
    make(Small("content", journal)).up()
    with pytest.raises(TargetError, match="is in use by another running system"):
        make(Small("content", journal)).up()


def test_wish_to_stop_ends_the_wait_for_a_server(make: Any, journal: list[str]) -> None:
    asked: list[int] = []

    def check() -> None:
        asked.append(1)
        if len(asked) > 3:
            raise Stopped("stopped by the user")

    system = make(Small("content", journal, "import time; time.sleep(600)"), check=check)
    with pytest.raises(Stopped):
        system.up()
    assert journal[-1] == "stopped content"


def test_missing_programs_are_reported_all_at_once(make: Any, journal: list[str]) -> None:
    first, second = Small("a", journal), Small("b", journal)
    first.missing = lambda: "a: needs x"  # type: ignore[method-assign]
    second.missing = lambda: "b: needs y"  # type: ignore[method-assign]
    with pytest.raises(TargetError, match="a: needs x\nb: needs y"):
        make(first, second).up()
    assert journal == []


def test_a_service_that_somebody_stops_by_a_signal_is_reported_and_one_that_an_event_holds_is_not(
    make: Any, journal: list[str]
) -> None:
    system = make(Small("database", journal), Small("content", journal))
    groups = system.up().groups
    assert system.held() == []
    (server,) = children(groups["content"])
    os.kill(server, signal.SIGSTOP)
    until(lambda: system.held() == ["content"])
    os.kill(server, signal.SIGCONT)
    until(lambda: system.held() == [])
    system.signal("database", "hold")
    (server,) = children(groups["database"])
    until(lambda: is_stopped(server))
    assert system.held() == []
    system.signal("database", "go on")
    until(lambda: not is_stopped(server))
    os.kill(server, signal.SIGSTOP)
    until(lambda: system.held() == ["database"])
    os.kill(server, signal.SIGCONT)
