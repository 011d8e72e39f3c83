"""A single run: its folder records everything that the system under test, the engine and the user do."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_plans import small_plan

from towtank.analysis import summarize_run
from towtank.conduct.display import Silent
from towtank.conduct.log_growth import LOOKS_AT_MOST, LogGrowth
from towtank.conduct.pinning import Pinning, share_out
from towtank.conduct.run import RunTask, conduct_run
from towtank.conduct.stopping import StopRequest
from towtank.marking import MARKER
from towtank.plan import Plan, PlannedStage
from towtank.results.folder import RunFolder
from towtank.system.identity import identity
from towtank.system.process import ProcessSpec
from towtank.system.service import Place, Service
from towtank.system.system import Endpoints, System

pytestmark = [pytest.mark.waits, pytest.mark.usefixtures("fake_engine")]

SLEEP = "import time; time.sleep(600)"


class Program(Service):
    kind = "program"

    def __init__(self, code: str, ready_file: Path | None = None) -> None:
        super().__init__("content")
        self.code, self.ready_file = code, ready_file

    def processes(self, place: Place) -> list[ProcessSpec]:
        return [ProcessSpec("content", [sys.executable, "-c", self.code], grace_s=1.0)]

    def ready(self) -> str | None:
        return None if self.ready_file is None or self.ready_file.exists() else "not yet"


class Watching(Silent):
    """Display that calls a function at the first displayed frame that meets a condition."""

    def __init__(self, when: Callable[[dict[str, Any]], bool], do: Callable[[], None]) -> None:
        self.when, self.do, self.done = when, do, False

    def frame(self, frame: dict[str, Any]) -> None:
        if not self.done and self.when(frame):
            self.done = True
            self.do()


def steady(frame: dict[str, Any]) -> bool:
    return frame["k"] == "live" and frame["stage"] == "steady"


@contextmanager
def observation(run: RunFolder, endpoints: Endpoints) -> Iterator[SimpleNamespace]:
    (run.observe / "groups.txt").write_text(str(endpoints.groups["content"]))
    yield SimpleNamespace(failures=list, add_group=lambda name, pid: None)


def plan_for(run: RunFolder, steady_s: float) -> Plan:
    stages = [PlannedStage("ramp_up", "ramp_up", 0, 0.1, 3), PlannedStage("steady", "steady", 0, steady_s, 3)]
    return small_plan(run, stages, users=3)


@pytest.fixture
def conduct(tmp_path: Path) -> Callable[..., tuple[RunFolder, Any]]:
    def do(service: Service, *, steady_s: float = 0.3, display: Any = None) -> tuple[RunFolder, Any]:
        run = RunFolder.create(tmp_path / "runs" / "r001", {"run": "r001", "status": "planned"})
        task = RunTask(
            run=run,
            title="r001",
            system=lambda logs: System([service], tmp_path / "data", logs),
            plan=lambda endpoints: plan_for(run, steady_s),
            observe=observation,
            pinning=share_out(),
        )
        with StopRequest() as stop:
            return run, conduct_run(task, stop, display or Silent())

    return do


def kinds(run: RunFolder) -> list[str]:
    return [event["k"] for event in run.events()]


def test_good_run_is_complete_and_records_every_step(conduct: Any) -> None:
    run, outcome = conduct(Program(SLEEP))
    assert outcome.status == run.manifest["status"] == "complete"
    assert "reason" not in run.manifest
    assert kinds(run) == [
        "system_starting",
        "system_up",
        "observation_started",
        "engine_started",
        "stage",
        "stage",
        "engine_ended",
        "observation_stopped",
        "system_down",
        "run_ended",
    ]
    assert run.manifest["tiers"]["content"]["kind"] == "program"
    assert run.manifest["started_wall_ns"] < run.manifest["ended_wall_ns"]
    assert identity(int((run.observe / "groups.txt").read_text())) is None


def test_processes_of_a_run_are_marked_and_this_one_is_not(conduct: Any, tmp_path: Path) -> None:
    class Watching(Silent):
        marks: set[str | None]

        def frame(self, frame: dict[str, Any]) -> None:
            self.marks.add(os.environ.get(MARKER))

    display = Watching()
    display.marks = set()
    ready = tmp_path / "ready"
    code = f"import os; print(os.environ[{MARKER!r}], flush=True); open({str(ready)!r}, 'w').close(); {SLEEP}"
    run, outcome = conduct(Program(code, ready), display=display)
    assert outcome.status == "complete"
    assert display.marks == {os.environ.get(MARKER)}
    assert (run.logs / "content.log").read_text().splitlines() == [str(run.path)]


# Program that logs an error at its start. When a file exists, the program repeats this error and also logs a second
# error.
TROUBLED = """
import pathlib, sys, time
print("ERROR: port 8080 is taken", flush=True)
pathlib.Path(sys.argv[1], "ready").touch()
while not pathlib.Path(sys.argv[1], "loaded").exists():
    time.sleep(0.01)
for number in range(30):
    print(f"ERROR: port {number} is taken\\naccept {number}: Too many open files, password=canary{number}", flush=True)
pathlib.Path(sys.argv[1], "said").touch()
time.sleep(600)
"""


def test_new_log_lines_of_a_service_under_load_are_in_the_summary(conduct: Any, tmp_path: Path) -> None:
    def load() -> None:
        (tmp_path / "loaded").touch()
        while not (tmp_path / "said").exists():
            time.sleep(0.01)

    service = Program(TROUBLED.replace("sys.argv[1]", repr(str(tmp_path))), tmp_path / "ready")
    run, _ = conduct(service, display=Watching(steady, load))
    logs = summarize_run(run, tables=False)["logs"]
    (group,) = logs["content"]["groups"]
    assert (group["text"], group["count"]) == ("accept 0: Too many open files, password=***", 30)
    assert group["first_s"] > 0
    (ended,) = [event for event in run.events() if event["k"] == "engine_ended"]
    assert ended["log_bytes"]["content"] == (run.logs / "content.log").stat().st_size


def test_records_of_the_length_of_a_log_are_bounded(tmp_path: Path) -> None:
    now = 0
    growth = LogGrowth(tmp_path, lambda: now)
    for second in range(3000):
        now = second * 1_000_000_000
        with (tmp_path / "web.log").open("a") as log:
            log.write("x")
        growth.look()
    looks = growth.document()["web"]
    assert 100 < len(looks) <= LOOKS_AT_MOST
    assert looks == sorted(looks)
    assert growth.at_start == {}
    assert growth.at_end() == {"web": 3000}


def kills_itself_after(path: Path) -> Program:
    return Program(
        f"import os, time\nwhile not os.path.exists({str(path)!r}):\n    time.sleep(0.01)\nos.kill(os.getpid(), 9)"
    )


def test_service_killed_in_the_steady_stage_marks_the_run(conduct: Any, tmp_path: Path) -> None:
    last = tmp_path / "last"
    run, outcome = conduct(kills_itself_after(last), steady_s=600.0, display=Watching(steady, last.touch))
    assert run.manifest["status"] == "failed"
    assert run.manifest["reason"] == "service content ended by signal 9 in stage steady"
    died = [event for event in run.events() if event["k"] == "service_died"]
    assert [(event["service"], event["stage"], event["reason"]) for event in died] == [
        ("content", "steady", "ended by signal 9")
    ]
    assert (run.engine / "engine.json").exists()
    assert outcome.came_up


def test_system_that_does_not_come_up_fails_the_run_with_its_log(conduct: Any, tmp_path: Path) -> None:
    run, outcome = conduct(Program("import sys; sys.exit('no licence')", ready_file=tmp_path / "never"))
    assert run.manifest["status"] == "failed"
    assert run.manifest["reason"] == "content ended with status 1 before it was ready\n  no licence"
    assert kinds(run) == ["system_starting", "system_failed", "run_ended"]
    assert not outcome.came_up


def test_engine_killed_fails_the_run(conduct: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "crash")
    run, _ = conduct(Program(SLEEP), steady_s=600.0)
    assert run.manifest["status"] == "failed"
    assert run.manifest["reason"] == "the engine ended by signal 9"
    assert kinds(run)[-4:] == ["engine_ended", "observation_stopped", "system_down", "run_ended"]


def test_engine_on_a_full_disk_is_reported(conduct: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "exit:74")
    _, outcome = conduct(Program(SLEEP))
    assert outcome.disk_full
    assert outcome.reason == "the engine ended with status 74\n  cannot write"


def test_one_ctrl_c_stops_the_engine_gracefully(conduct: Any) -> None:
    display = Watching(steady, lambda: os.kill(os.getpid(), signal.SIGINT))
    run, outcome = conduct(Program(SLEEP), steady_s=600.0, display=display)
    assert outcome.status == run.manifest["status"] == "stopped"
    assert '"stopped"' in (run.engine / "engine.json").read_text()
    assert kinds(run)[-1] == "run_ended"


class StopsAtNote(Watching):
    """Display that sends SIGINT at each note."""

    def note(self, text: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)


def test_a_request_to_stop_after_a_service_died_does_not_wait_for_answers(
    conduct: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "waits")
    last = tmp_path / "last"
    run, outcome = conduct(kills_itself_after(last), steady_s=600.0, display=StopsAtNote(steady, last.touch))
    asked = [event["why"] for event in run.events() if event["k"] == "engine_asked_to_stop"]
    assert asked[-1] == "responses take too long"
    assert "service content ended by signal 9" in outcome.reason
    assert "did not end in time" not in outcome.reason


def test_sigterm_while_the_system_comes_up_stops_the_run(conduct: Any, tmp_path: Path) -> None:
    signalling = Program(f"import os, signal, time; os.kill({os.getpid()}, signal.SIGTERM); time.sleep(600)")
    signalling.ready_file = tmp_path / "never"
    run = RunFolder.create(tmp_path / "runs" / "r002", {"run": "r002", "status": "planned"})
    with StopRequest() as stop:
        task = RunTask(
            run=run,
            title="r002",
            system=lambda logs: System([signalling], tmp_path / "data", logs, check=stop.check),
            plan=lambda endpoints: plan_for(run, 1.0),
            observe=observation,
            pinning=Pinning(note="one CPU"),
        )
        outcome = conduct_run(task, stop, Silent())
    assert outcome.status == run.manifest["status"] == "stopped"
    assert run.manifest["pinning"] == {"system": [], "generator": [], "note": "one CPU"}


def test_conductor_goes_back_to_all_cpus(conduct: Any) -> None:
    before = os.sched_getaffinity(0)
    seen: list[set[int]] = []
    run, _ = conduct(Program(SLEEP), display=Watching(steady, lambda: seen.append(os.sched_getaffinity(0))))
    pinning = share_out(before)
    assert os.sched_getaffinity(0) == before
    assert seen == [set(pinning.generator) or before]
    assert run.manifest["pinning"]["system"] == list(pinning.system)


def test_disk_full_for_the_conductor_ends_the_run(conduct: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: RunFolder, kind: str, **fields: Any) -> None:
        if kind == "engine_started":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunFolder, "event", full)
    _, outcome = conduct(Program(SLEEP))
    assert outcome.disk_full
    assert outcome.status == "failed"
