"""A study with a simulated engine: order of runs, failures, stops, resumption, and exit statuses."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_plans import small_plan

from towtank.conduct import study as conducting
from towtank.conduct.display import Silent
from towtank.conduct.pinning import Pinning
from towtank.conduct.run import RunTask
from towtank.conduct.stopping import StopRequest
from towtank.conduct.study import StudyOutcome, held, run_study, set_aside
from towtank.errors import EngineError, ExitStatus, StudyError
from towtank.observe.host import HostFacts
from towtank.plan import Plan, PlannedStage
from towtank.results.folder import ResultsFolder, RunFolder
from towtank.system.process import ProcessSpec
from towtank.system.service import Place, Service
from towtank.system.system import Endpoints, System

pytestmark = pytest.mark.waits

SLEEP = "import time; time.sleep(600)"


@dataclass(frozen=True)
class Spec:
    run: str
    index: int
    users: int
    study: Any
    repetition: int = 1

    @property
    def factors(self) -> dict[str, str]:
        return {"users": str(self.users)}

    def document(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "index": self.index,
            "repetition": self.repetition,
            "factors": self.factors,
            "users": self.users,
            "rate": None,
        }


@dataclass
class SmallStudy:
    """A study with three runs. `code` maps run names to the Python program that serves this run."""

    code: dict[str, str] = field(default_factory=dict)
    name: str = "small"
    users: tuple[int, ...] = (3, 1, 2)
    needs_pilot: bool = False
    at_least: int = 0
    study: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(predict=None, repeat=None))
    workload: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(secret_parameters=frozenset()))

    def design(self) -> list[Spec]:
        return [Spec(f"r{index:03d}", index, users, self) for index, users in enumerate(self.users, start=1)]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}


class Program(Service):
    kind = "program"
    ready_within_s = 20.0

    def __init__(self, code: str) -> None:
        super().__init__("content")
        self.code = code

    def processes(self, place: Place) -> list[ProcessSpec]:
        return [ProcessSpec("content", [sys.executable, "-c", self.code], grace_s=1.0)]

    def ready(self) -> str | None:
        return "not yet" if "exit" in self.code else None


@contextmanager
def no_observation(run: RunFolder, endpoints: Endpoints) -> Iterator[SimpleNamespace]:
    yield SimpleNamespace(failures=list, add_group=lambda name, pid: None)


def plan(run: RunFolder, steady_s: float) -> Plan:
    return small_plan(run, [PlannedStage("steady", "steady", 0, steady_s, 1)], users=1)


@pytest.fixture(autouse=True)
def world(fake_engine: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """Replaces the analysis, the report and the reading of study files, which have their own tests."""
    state = SimpleNamespace(summarised=[], summary={"verdict": {"level": "valid"}, "objectives": []}, before_run=None)

    def summarize_run(run: RunFolder) -> dict[str, Any]:
        state.summarised.append(run.run_id)
        return {}

    def make_task(spec: Spec, run: RunFolder, title: str, stop: Any, display: Any) -> RunTask:
        if state.before_run:
            state.before_run(spec)
        code = spec.study.code.get(spec.run, SLEEP)
        return RunTask(
            run,
            title,
            lambda logs: System([Program(code)], tmp_path / "data", logs, check=stop.check),
            # A run whose server may end gets a load of 60 s, so that the server ends during the load.
            lambda endpoints: plan(run, 60.0 if spec.run in spec.study.code else 0.2),
            no_observation,
            Pinning(),
        )

    monkeypatch.setattr("towtank.analysis.summarize_run", summarize_run)
    monkeypatch.setattr("towtank.analysis.summarize_study", lambda results: state.summary)
    monkeypatch.setattr("towtank.report.write_report", lambda results: results.path / "report.html")
    monkeypatch.setattr("towtank.observe.host_facts", lambda: HostFacts(cpus=2))
    monkeypatch.setattr(conducting, "make_task", make_task)
    monkeypatch.setattr(conducting.provenance, "keep_files", lambda study, folder: [])
    monkeypatch.setattr(conducting.provenance, "data_files", lambda study: [])
    return state


def statuses(folder: Path) -> dict[str, str]:
    return {run.run_id: run.manifest["status"] for run in ResultsFolder.open(folder).runs()}


def go(study: SmallStudy, folder: Path, **options: Any) -> StudyOutcome:
    with StopRequest() as stop:
        return run_study(study, folder, Silent(), stop=stop, **options)  # type: ignore[arg-type]


def test_all_runs_in_the_order_of_the_design(tmp_path: Path, world: SimpleNamespace) -> None:
    outcome = go(SmallStudy(), tmp_path / "results")
    assert outcome.exit_status == ExitStatus.DONE
    assert outcome.report == tmp_path / "results" / "report.html"
    assert world.summarised == ["r001", "r002", "r003"]
    assert set(statuses(tmp_path / "results").values()) == {"complete"}
    manifest = ResultsFolder.open(tmp_path / "results").manifest
    assert [each["factors"] for each in manifest["design"]] == [
        {"users": "3"},
        {"users": "1"},
        {"users": "2"},
    ]
    assert manifest["versions"]["towtank"]
    assert manifest["host"]["cpus"] == 2


def test_a_repeated_first_block_is_predicted_anew(
    tmp_path: Path, world: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prediction rests on the runs of the first block. If the block is repeated, these runs no longer count."""
    prediction, seen = tmp_path / "results" / "prediction.json", []

    def predict(spec: Spec) -> None:
        seen.append((spec.run, prediction.exists()))
        prediction.write_text("{}")

    def repeats(repeating: object, block: int, runs: list[str], done: int) -> bool:
        return len(seen) == len(runs)

    world.before_run = predict
    monkeypatch.setattr("towtank.conduct.repeating.Repeating.repeats", repeats)
    go(SmallStudy(users=(3, 1)), tmp_path / "results")
    assert seen == [("r001", False), ("r002", True), ("r001", False), ("r002", True)]


def test_run_whose_server_dies_is_marked_and_the_next_goes_on(tmp_path: Path) -> None:
    study = SmallStudy({"r002": "import os; os.kill(os.getpid(), 9)"})
    outcome = go(study, tmp_path / "results")
    assert statuses(tmp_path / "results") == {"r001": "complete", "r002": "failed", "r003": "complete"}
    assert outcome.exit_status == ExitStatus.DONE


def test_run_whose_system_does_not_come_up_is_reported_and_the_next_goes_on(tmp_path: Path) -> None:
    outcome = go(SmallStudy({"r001": "import sys; sys.exit('no licence')"}), tmp_path / "results")
    assert statuses(tmp_path / "results")["r001"] == "failed"
    run = ResultsFolder.open(tmp_path / "results").runs()[0]
    assert "no licence" in run.manifest["reason"]
    assert outcome.exit_status == ExitStatus.DONE


def test_system_that_never_comes_up_gives_status_6(tmp_path: Path) -> None:
    broken = dict.fromkeys(("r001", "r002", "r003"), "import sys; sys.exit('no licence')")
    outcome = go(SmallStudy(broken), tmp_path / "results")
    assert outcome.exit_status == ExitStatus.TARGET
    assert "no licence" in outcome.messages[0]


INVALID, MISSED = ExitStatus.INVALID_MEASUREMENT, ExitStatus.OBJECTIVE_MISSED


@pytest.mark.parametrize(
    ("summary", "status"),
    [
        ({"verdict": {"level": "invalid"}, "objectives": [{"met": False}]}, INVALID),
        ({"verdict": {"level": "suspect"}, "objectives": [{"met": False}]}, MISSED),
        ({"verdict": {"level": "suspect"}, "objectives": [{"met": True}]}, ExitStatus.DONE),
        ({"verdict": {"level": "valid"}, "objectives": []}, ExitStatus.DONE),
        ({"verdict": {"level": "valid"}, "objectives": [{"met": True}, {"met": None}]}, INVALID),
        ({"verdict": {"level": "suspect", "invalid_runs": 1}, "objectives": [{"met": True}]}, INVALID),
        ({"verdict": {"level": "suspect", "missing_runs": 1}, "objectives": []}, INVALID),
        ({"verdict": {"level": "suspect", "invalid_runs": 1}, "objectives": [{"met": False}]}, MISSED),
        ({"verdict": {"level": "valid"}, "required_claims": {"refuted": 1, "confirmed": 2}}, MISSED),
        ({"verdict": {"level": "invalid"}, "required_claims": {"refuted": 1}}, INVALID),
        ({"verdict": {"level": "valid"}, "required_claims": {"refuted": 0, "confirmed": 2}}, ExitStatus.DONE),
        ({"verdict": {"level": "valid"}, "required_claims": {"undecided": 1, "confirmed": 2}}, INVALID),
        ({"verdict": {"level": "valid"}, "required_claims": {"not_testable": 1}}, INVALID),
        ({"verdict": {"level": "valid"}, "claims": {"refuted": 3, "confirmed": 0}}, ExitStatus.DONE),
    ],
)
def test_exit_status_follows_verdict_then_objectives(
    tmp_path: Path, world: SimpleNamespace, summary: dict[str, Any], status: ExitStatus
) -> None:
    world.summary = summary
    outcome = go(SmallStudy(users=(1,)), tmp_path / "results")
    assert outcome.exit_status == status
    if status in (INVALID, MISSED):
        assert any(re.match(rf"status {status:d}: \w", message) for message in outcome.messages)


def test_one_ctrl_c_keeps_what_is_there_and_reports_it(tmp_path: Path, world: SimpleNamespace) -> None:
    world.before_run = lambda spec: os.kill(os.getpid(), signal.SIGINT) if spec.run == "r002" else None
    outcome = go(SmallStudy(), tmp_path / "results")
    assert outcome.exit_status == ExitStatus.STOPPED
    assert statuses(tmp_path / "results") == {"r001": "complete", "r002": "stopped"}
    assert outcome.report is not None


def test_resume_does_what_is_missing_and_keeps_the_partial_run_aside(tmp_path: Path, world: SimpleNamespace) -> None:
    world.before_run = lambda spec: os.kill(os.getpid(), signal.SIGINT) if spec.run == "r002" else None
    go(SmallStudy(), tmp_path / "results")
    interrupted = RunFolder(tmp_path / "results" / "runs" / "r002")
    interrupted.update(status="running")
    (interrupted.engine / "worker-00.0000.ndjson").write_text("kept")
    world.before_run, world.summarised = None, []
    outcome = go(SmallStudy(), tmp_path / "results", resume=True)
    assert outcome.exit_status == ExitStatus.DONE
    assert world.summarised == ["r002", "r003"]
    assert statuses(tmp_path / "results") == dict.fromkeys(("r001", "r002", "r003"), "complete")
    aside = tmp_path / "results" / "runs" / "r002.interrupted-1"
    assert (aside / "engine" / "worker-00.0000.ndjson").read_text() == "kept"


def test_resume_with_nothing_missing_makes_the_report_again(tmp_path: Path, world: SimpleNamespace) -> None:
    go(SmallStudy(users=(1,)), tmp_path / "results")
    world.summarised = []
    outcome = go(SmallStudy(users=(1,)), tmp_path / "results", resume=True)
    assert world.summarised == []
    assert outcome.exit_status == ExitStatus.DONE


def test_resume_of_another_design_is_refused(tmp_path: Path) -> None:
    go(SmallStudy(users=(1,)), tmp_path / "results")
    with pytest.raises(
        StudyError, match=r"design: must contain the design of this study \(2 runs\), got another design"
    ):
        go(SmallStudy(users=(1, 2)), tmp_path / "results", resume=True)


def test_resume_of_no_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"must be a results folder with a study\.json"):
        go(SmallStudy(), tmp_path, resume=True)


def test_folder_with_results_is_not_written_over(tmp_path: Path) -> None:
    go(SmallStudy(users=(1,)), tmp_path / "results")
    with pytest.raises(StudyError, match="towtank run --resume"):
        go(SmallStudy(users=(1,)), tmp_path / "results")


def test_two_conductors_in_one_folder_are_refused(tmp_path: Path) -> None:
    go(SmallStudy(users=(1,)), tmp_path / "results")
    with held(tmp_path / "results"), pytest.raises(StudyError, match="another Towtank process"):
        go(SmallStudy(users=(1,)), tmp_path / "results", resume=True)


def test_a_refused_request_for_more_runs_changes_nothing(tmp_path: Path) -> None:
    go(SmallStudy(users=(1,)), tmp_path / "results")
    manifest = (tmp_path / "results" / "study.json").read_bytes()
    with held(tmp_path / "results"), pytest.raises(StudyError, match="another Towtank process"):
        go(SmallStudy(users=(1, 2), at_least=2), tmp_path / "results", resume=True)
    assert (tmp_path / "results" / "study.json").read_bytes() == manifest


def test_a_link_in_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    go(SmallStudy(users=(1,)), tmp_path / "results")
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (tmp_path / "results" / ".lock").unlink()
    (tmp_path / "results" / ".lock").symlink_to(outside)
    with pytest.raises(StudyError, match="must be a file, got a symbolic link"):
        go(SmallStudy(users=(1,)), tmp_path / "results", resume=True)
    assert outside.read_text() == "mine"


def test_earlier_tries_are_numbered(tmp_path: Path) -> None:
    results = ResultsFolder.create(tmp_path, {})
    for number in (1, 2):
        RunFolder.create(results.run_path("r001"), {"status": "running"})
        assert set_aside(results, "r001") == results.run_path(f"r001.interrupted-{number}")
    assert set_aside(results, "r001") is None
    assert results.runs() == []


def test_full_disk_ends_the_study_with_a_clear_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "exit:74")
    with pytest.raises(EngineError, match="the disk is full: nothing more can be written to") as caught:
        go(SmallStudy(), tmp_path / "results")
    assert caught.value.exit_status == ExitStatus.INTERNAL
    assert f"towtank run --resume {tmp_path / 'results'}" in str(caught.value)
    assert statuses(tmp_path / "results") == {"r001": "running"}


def test_analysis_that_fails_does_not_keep_the_next_run_from_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(run: RunFolder) -> None:
        raise ValueError("no numbers")

    monkeypatch.setattr("towtank.analysis.summarize_run", broken)
    go(SmallStudy(), tmp_path / "results")
    assert len(statuses(tmp_path / "results")) == 3
    failed = [event for event in ResultsFolder.open(tmp_path / "results").events() if event["k"] == "analysis_failed"]
    assert [event["error"] for event in failed] == ["ValueError: no numbers"] * 3
