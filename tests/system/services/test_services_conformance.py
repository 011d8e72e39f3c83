"""Conformance tests for all third-party servers: start, work, settings, and removal."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import stat
from pathlib import Path

import pytest
from service_bench import Bench
from service_cases import CASES, ServiceCase
from waiting import until

from towtank.errors import StudyError, TargetError
from towtank.system.identity import identity
from towtank.system.model import load_system
from towtank.system.services.private_server import server_account

pytestmark = pytest.mark.waits


def processes_of(mark: Path) -> list[int]:
    """Return the ids of the processes whose environment variable TOWTANK_RUN equals `mark`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if f"TOWTANK_RUN={mark}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def server_of(bench: Bench) -> int:
    """Return the process id of the server, which is the child process of its guard process."""
    assert bench.system is not None
    guard = bench.system.processes()["served"].pid
    return int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])


@pytest.mark.smoke
def test_comes_up_on_a_free_port_works_and_leaves_nothing(bench: Bench) -> None:
    with bench.make() as system:
        endpoints = system.up()
        service = bench.service()
        bench.case.use(service)
        scratch = system._scratch
        assert endpoints.tiers["served"].kind == bench.case.kind
        assert endpoints.settings["served"]
        assert (bench.folder / "logs" / "served.log").exists()
        assert processes_of(bench.folder)
    assert processes_of(bench.folder) == []
    assert scratch is not None
    assert not scratch.exists()
    assert (bench.folder / "logs" / "served.log").exists()


@pytest.mark.smoke
def test_settings_reach_the_running_process(bench: Bench) -> None:
    with bench.make(bench.case.settings) as system:
        system.up()
        assert bench.case.asked(bench.service()) == bench.case.expected


def test_wrong_settings_are_refused_with_their_place(bench: Bench) -> None:
    for settings, words in bench.case.wrong.items():
        path = bench.file(settings)
        with pytest.raises(StudyError) as refused:
            load_system(path)
        reported = str(refused.value)
        assert words in reported, reported
        assert "system.yaml:6:" in reported
        assert "services.served.settings" in reported


def test_port_taken_is_reported_with_who_has_it(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(TargetError, match=f"port {port} on 127.0.0.1 is already in use by"):
            bench.make(port=port).up()
    assert processes_of(bench.folder) == []


def test_killed_in_the_middle_is_reported_with_the_last_lines(bench: Bench) -> None:
    with bench.make() as system:
        system.up()
        with (bench.folder / "logs" / "served.log").open("a") as log:
            log.write("the last words\n")
        os.kill(server_of(bench), signal.SIGKILL)
        ended = until(system.ended)
        assert [(process.tier, process.text) for process in ended] == [("served", "ended by signal 9")]
        assert "\n  the last words" in ended[0].last_lines
    assert until(lambda: not processes_of(bench.folder))


def test_its_metrics_count_what_was_done(bench: Bench) -> None:
    with bench.make() as system:
        endpoints = system.up()
        scraper = next(candidate for candidate in endpoints.scrapers if candidate.service == "served")

        def seen() -> float:
            return float(scraper.scrape().get(bench.case.grows, 0.0))

        before = seen()
        bench.case.use(bench.service())
        bench.case.use(bench.service())
        assert until(lambda: seen() > before)
        scraper.close()
        assert scraper.kind == bench.case.kind


def those(cases: list[ServiceCase]) -> pytest.MarkDecorator:
    """Return a mark that runs a test for the given kinds of servers only."""
    return pytest.mark.parametrize("bench", cases, indirect=True, ids=lambda case: case.kind)


# Servers without access control are left out; their `intrude` is None.
@those([case for case in CASES if case.intrude])
def test_another_user_of_the_machine_is_refused(bench: Bench) -> None:
    assert bench.case.intrude is not None
    with bench.make() as system:
        system.up()
        bench.case.intrude(bench.service())
        folder = bench.service().folder
        assert [str(path) for path in (folder, *folder.iterdir()) if stat.S_IMODE(path.stat().st_mode) & 0o007] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may drop its rights")
@those([case for case in CASES if case.account])
def test_it_does_not_run_as_root(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server runs as its own operating-system user, even if that user cannot access the working folder of this
    process.
    """
    if server_account([bench.case.account]) is None:
        pytest.skip(f"this machine has no user {bench.case.account!r}")
    tmp_path.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    with bench.make() as system:
        system.up()
        wanted = pwd.getpwnam(bench.case.account).pw_uid
        assert Path(f"/proc/{server_of(bench)}").stat().st_uid == wanted


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may drop its rights")
@those([case for case in CASES if case.account])
def test_it_does_not_outlive_its_guard(bench: Bench) -> None:
    with bench.make() as system:
        system.up()
        server = server_of(bench)
        os.kill(system.processes()["served"].pid, signal.SIGKILL)
        assert until(lambda: identity(server) is None)
