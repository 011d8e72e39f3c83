"""A process under a guard process: start, log, and report of its exit."""

import os
import re
import sys
from pathlib import Path

import pytest

from towtank.errors import Stopped, TargetError
from towtank.system import keeper
from towtank.system.identity import identity
from towtank.system.process import _REAP_S, ProcessSpec, ServiceProcess, describe_status, log_tail, run_to_end

GUARD = Path(__file__).parents[2] / "crates/engine/src/guard.rs"
pytestmark = [pytest.mark.waits, pytest.mark.usefixtures("fake_engine")]


def python(code: str, name: str = "worker", grace_s: float = 2.0) -> ProcessSpec:
    return ProcessSpec(name, [sys.executable, "-c", code], {"GIVEN": "yes"}, grace_s)


def test_output_and_environment_reach_the_log(tmp_path: Path) -> None:
    run_to_end(ServiceProcess(python("import os; print('given', os.environ['GIVEN'])"), tmp_path / "worker.log"))
    assert log_tail(tmp_path / "worker.log") == ["given yes"]


def test_failure_shows_the_last_lines_and_the_status(tmp_path: Path) -> None:
    code = "import sys\nfor n in range(40): print('line', n)\nsys.exit(3)"
    with pytest.raises(TargetError) as caught:
        run_to_end(ServiceProcess(python(code), tmp_path / "worker.log"))
    text = str(caught.value)
    assert text.startswith("worker ended with status 3\n")
    assert text.endswith("line 39")
    assert "line 25" in text
    assert "line 24" not in text


def test_lines_of_an_earlier_process_are_not_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("a line of an earlier process\n")
    with pytest.raises(TargetError, match=r"^worker ended with status 3\n  mine$"):
        run_to_end(ServiceProcess(python("print('mine'); raise SystemExit(3)"), log))


def test_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="took longer than 0 s"):
        run_to_end(ServiceProcess(python("import time; time.sleep(600)"), tmp_path / "worker.log"), limit_s=0.3)


def test_wish_to_stop_ends_the_wait_and_the_process(tmp_path: Path) -> None:
    def check() -> None:
        raise Stopped("stopped by the user")

    with pytest.raises(Stopped):
        run_to_end(ServiceProcess(python("import time; time.sleep(600)"), tmp_path / "worker.log"), check=check)


def test_stop_ends_the_process_and_is_repeatable(tmp_path: Path) -> None:
    process = ServiceProcess(python("import time; time.sleep(600)"), tmp_path / "worker.log")
    process.start()
    assert process.status() is None
    pid = process.pid
    process.stop()
    process.stop()
    assert process.status() is not None
    assert identity(pid) is None


def test_process_that_ignores_term_is_killed_after_the_grace_time(tmp_path: Path) -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    process = ServiceProcess(python(code, grace_s=0.2), tmp_path / "worker.log")
    process.start()
    while not log_tail(process.log):
        assert process.status() is None
    process.stop()
    assert process.ended_text() == "ended by signal 9"


def test_a_guard_that_waits_for_the_kernel_is_not_killed() -> None:
    given = re.search(r"const KILLED_AT_LATEST: Duration = Duration::from_secs\((\d+)\);", GUARD.read_text())
    assert given is not None
    assert min(_REAP_S, keeper._GUARD_WITHIN_S) > float(given[1])


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, "not yet"),
        (0, "with status 0"),
        (7, "with status 7"),
        (137, "by signal 9"),
        (-15, "by signal 15"),
    ],
)
def test_status_in_words(status: int | None, words: str) -> None:
    assert describe_status(status) == words


def test_tail_reads_the_end_of_a_large_log_only(tmp_path: Path) -> None:
    log = tmp_path / "large.log"
    log.write_text("".join(f"{n}\n" for n in range(200_000)))
    assert log_tail(log, 2) == ["199998", "199999"]
    assert log_tail(tmp_path / "absent.log") == []


def test_identity_distinguishes_a_process_from_a_later_one_with_its_id() -> None:
    found = identity(os.getpid())
    assert found is not None
    assert found[0] == os.getpid()
    assert found[1] > 0
    assert identity(2**22 + 1) is None
