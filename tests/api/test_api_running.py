"""`towtank.drive` and `towtank.run`: measurements from Python, which must not change the calling process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from notebook_runs import code_cells

import towtank
from towtank.errors import StudyError, TargetError
from towtank.results.folder import ResultsFolder, RunFolder

pytestmark = pytest.mark.waits


def traits() -> dict[str, Any]:
    """Return the properties of this process that a library must not change."""
    return {
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
        "environment": dict(os.environ),
        "cpus": os.sched_getaffinity(threading.get_native_id()),
        "folder": Path.cwd(),
    }


def test_a_drive_has_counts_times_and_verdict(address: str) -> None:
    found = towtank.drive(f"http://{address}/path", users=4, think="10 ms", duration=1.0)
    assert found.target == f"http://{address}/path"
    assert (found.users, found.rate, found.errors) == (4, None, 0)
    assert found.window_s == pytest.approx(1.0)
    assert found.requests > 0
    assert found.throughput_per_s is not None and found.throughput_per_s.unit == "1/s"
    assert found.p95 is not None and found.response_time_ms.p95 is not None
    assert found.p95.unit == "s" and found.p95 < "10 s"
    assert found.response_time_ms.p95 == pytest.approx(1e3 * found.p95)
    assert found.response_time_ms.p95 == found.document["response_time_ms"]["p95"]
    assert found.valid == found.document["valid"]
    assert found.verdict.level in ("valid", "suspect", "invalid")
    assert found.transactions["request"].response_time_s.max is not None
    frame = found.frame()
    assert sum(frame["requests"]) == found.requests
    shown = found._repr_html_()
    assert f"verdict: <strong>{found.verdict}</strong>" in shown and "data:image/svg+xml" in shown
    assert f": {found.verdict}, " in repr(found)


def test_a_drive_leaves_the_process_as_it_is(address: str) -> None:
    before, meanwhile, steps = traits(), [], []

    def progress(step: towtank.Progress) -> None:
        steps.append(step)
        if step.kind == "second":
            meanwhile.append((traits(), threading.current_thread()))

    towtank.drive(f"http://{address}/", users=2, think="10 ms", duration="2 s", progress=progress)
    assert meanwhile
    assert all(seen == (before, threading.current_thread()) for seen in meanwhile)
    assert traits() == before
    assert steps[0].kind == "run_started" and steps[0].planned_s == pytest.approx(2.0)
    second = next(step for step in steps if step.kind == "second")
    assert second.stage == "steady" and second.users == 2 and 0 < second.share <= 1


def test_an_open_load_and_a_kept_record(address: str, tmp_path: Path) -> None:
    found = towtank.drive(f"http://{address}/", rate=100.0, duration="1 s", out=tmp_path / "kept")
    assert found.rate == 100.0
    # These requests are due before the end of the load. On a busy machine, some of them end after it.
    engine = json.loads((tmp_path / "kept" / "engine" / "engine.json").read_text())
    assert found.requests <= engine["totals"]["offered"] == pytest.approx(100, abs=2)
    assert RunFolder(tmp_path / "kept").manifest["status"] == "complete"
    with pytest.raises(StudyError, match=r"towtank\.drive\(\): out: must be a folder without a run"):
        towtank.drive(f"http://{address}/", rate=100.0, out=tmp_path / "kept")


def test_relaxed_limits_are_named_and_kept(address: str, tmp_path: Path) -> None:
    limits: towtank.Limits = {"interference": 1.0, "not_attributed": "100 %", "errors": 0.001}
    found = towtank.drive(f"http://{address}/", think="10 ms", duration="1 s", limits=limits, out=tmp_path / "kept")
    assert found.verdict.relaxed_limits == ("interference", "not_attributed")
    assert str(found.verdict) == f"{found.verdict.level} with relaxed limits"
    assert "with relaxed limits</strong>" in found._repr_html_()
    assert not {"interference", "not_attributed"} & {doubt.kind for doubt in found.doubts}
    kept = {"interference": 1.0, "not_attributed": 1.0, "errors": 0.001}
    assert RunFolder(tmp_path / "kept").manifest["limits"] == pytest.approx(kept)


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_it_works_while_an_event_loop_runs_and_leaves_nothing(address: str) -> None:
    """Jupyter executes the cells of a notebook in a running event loop."""

    async def cell() -> towtank.Drive:
        return towtank.drive(f"http://{address}/", think="10 ms", duration="1 s")

    before = children()
    assert asyncio.run(cell()).requests > 0
    assert children() == before
    assert not [thread for thread in threading.enumerate() if thread.name == "towtank-conducting"]


def test_a_cancelled_task_ends_its_load_and_the_engine(address: str, tmp_path: Path) -> None:
    async def measure(begun: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()

        def progress(step: towtank.Progress) -> None:
            if step.kind == "second":
                loop.call_soon_threadsafe(begun.set)

        async with towtank.Session(progress=progress) as session:
            await asyncio.to_thread(session.drive, f"http://{address}/", duration="60 s", out=tmp_path / "kept")

    async def cancel() -> None:
        begun = asyncio.Event()
        task = asyncio.create_task(measure(begun))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = children()
    asyncio.run(cancel())
    assert RunFolder(tmp_path / "kept").manifest["status"] == "stopped"
    assert children() == before


def test_arguments_are_checked_before_anything_starts() -> None:
    with pytest.raises(StudyError) as raised:
        towtank.drive("http://127.0.0.1:1/", users=3, rate=5.0, duration="soon", timeout=0.0)
    places = {(fault.file, fault.where) for fault in raised.value.faults}
    assert places == {("towtank.drive()", name) for name in ("rate", "duration", "timeout")}
    assert "together with users" in str(raised.value)
    with pytest.raises(StudyError, match=r"towtank\.drive\(\): target: must be a URL"):
        towtank.drive("ftp://127.0.0.1/")


def test_a_target_that_is_not_there_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # the port is bound but no process listens, so connections are refused
        with pytest.raises(TargetError, match="cannot be reached"):
            towtank.drive(f"http://127.0.0.1:{taken.getsockname()[1]}/", duration="1 s")


def test_an_interrupt_ends_the_load_and_keeps_the_record(address: str, tmp_path: Path) -> None:
    def progress(step: towtank.Progress) -> None:
        if step.kind == "second":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        towtank.drive(f"http://{address}/", duration="60 s", out=tmp_path / "kept", progress=progress)
    run = RunFolder(tmp_path / "kept")
    assert run.manifest["status"] == "stopped"
    assert "engine_ended" in [event["k"] for event in run.events()]
    assert not [thread for thread in threading.enumerate() if thread.name == "towtank-conducting"]


@pytest.mark.parametrize("raised", [TimeoutError("of the handler"), SystemExit(7)], ids=["exception", "exit"])
def test_an_exception_of_a_signal_handler_ends_the_load(address: str, tmp_path: Path, raised: BaseException) -> None:
    def handler(number: int, frame: object) -> None:
        raise raised

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        with pytest.raises(type(raised)) as found:
            towtank.drive(f"http://{address}/", duration="60 s", out=tmp_path / "kept")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found.value is raised
    assert RunFolder(tmp_path / "kept").manifest["status"] == "stopped"
    assert not [thread for thread in threading.enumerate() if thread.name == "towtank-conducting"]


def test_an_error_of_the_callback_ends_the_load_and_is_raised(address: str, tmp_path: Path) -> None:
    def progress(step: towtank.Progress) -> None:
        if step.kind == "second":
            raise LookupError("of the callback")

    with pytest.raises(LookupError, match="of the callback"):
        towtank.drive(f"http://{address}/", duration="60 s", out=tmp_path / "kept", progress=progress)
    assert RunFolder(tmp_path / "kept").manifest["status"] == "stopped"


def test_a_study_is_run_and_resumed(study: Path, tmp_path: Path) -> None:
    before, meanwhile, notes = traits(), [], []

    def progress(step: towtank.Progress) -> None:
        meanwhile.append(traits())
        notes.append(step.text)

    out = tmp_path / "results"
    results = towtank.run(study, changes={"load.stages.steady": "2 s"}, out=out, report=False, progress=progress)
    assert all(seen == before for seen in (*meanwhile, traits()))
    assert results.folder == out
    assert [run.status for run in results.runs] == ["complete", "complete"]
    assert [run.load for run in results.runs] == [2, 4]
    # Every analysed run has a point, even a run without a valid window, which can happen on a busy machine.
    analysed = [run.load for run in results.runs if run.summary]
    assert [point.load for point in results.points] == analysed
    assert [objective.text for objective in results.objectives] == ["p95 < 10 s"]
    measured = [run.summary["throughput_per_s"]["value"] for run in results.runs if run.summary]
    assert [point.throughput_per_s for point in results.points] == measured
    assert "analysing" in notes
    assert not (out / "report.html").exists()
    again = towtank.run(study, changes={"load.stages.steady": "2 s"}, out=out, resume=True, report=False)
    assert [run.summary["window"] for run in again.runs] == [run.summary["window"] for run in results.runs]
    assert len([event for event in ResultsFolder.open(out).events() if event["k"] == "study_resumed"]) == 1


def test_an_interrupted_study_keeps_its_runs(study: Path, tmp_path: Path) -> None:
    def progress(step: towtank.Progress) -> None:
        if step.kind == "second" and step.run.startswith("r002"):
            raise KeyboardInterrupt

    out = tmp_path / "results"
    with pytest.raises(KeyboardInterrupt) as raised:
        towtank.run(study, changes={"load.stages.steady": "5 s"}, out=out, report=False, progress=progress)
    assert str(out) in raised.value.__notes__[0]
    assert [run.status for run in towtank.open(out).runs] == ["complete", "stopped"]


def test_faults_of_a_study_and_of_its_arguments(study: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"towtank\.run\(\): out: must be given with resume"):
        towtank.run(study, resume=True)
    with pytest.raises(StudyError, match=r"load\.stages\.steady"):
        towtank.run(study, changes={"load.stages.steady": 5}, out=tmp_path / "results")
    with pytest.raises(StudyError, match="quick"):
        towtank.run(study, preset="quick", out=tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_a_file_from_outside_of_the_study_needs_trust(study: Path, tmp_path: Path) -> None:
    workload = (study if study.is_dir() else study.parent) / "workload.yaml"
    workload.write_text(workload.read_text().replace("[{get: /}]", "[{post: /, file: /etc/hostname}]"))
    assert "/etc/hostname" in workload.read_text()
    with pytest.raises(StudyError, match="must be below the folder of its study"):
        towtank.run(study, out=tmp_path / "results")
    assert not (tmp_path / "results").exists()
    assert towtank.run(study, out=tmp_path / "results", trusted=True).runs


def test_it_works_outside_of_the_main_thread(address: str) -> None:
    found: list[towtank.Drive] = []
    work = lambda: found.append(towtank.drive(f"http://{address}/", think="10 ms", duration="1 s"))  # noqa: E731
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0].requests > 0


def test_a_signal_handler_of_the_caller_is_called_and_the_load_goes_on(address: str) -> None:
    """If the caller's signal handler raises no exception, the load continues, even for SIGINT."""
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    own = signal.getsignal(signal.SIGINT)

    def progress(step: towtank.Progress) -> None:
        if step.kind == "second" and not seen:
            os.kill(os.getpid(), signal.SIGINT)

    try:
        found = towtank.drive(f"http://{address}/", think="10 ms", duration="3 s", progress=progress)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]
    assert found.window_s == pytest.approx(3.0) and found.requests > 0


def test_an_exception_in_another_thread_leaves_nothing(address: str, tmp_path: Path) -> None:
    raised: list[BaseException] = []

    def progress(step: towtank.Progress) -> None:
        if step.kind == "second":
            raise LookupError("of the callback")

    def work() -> None:
        try:
            towtank.drive(f"http://{address}/", duration="60 s", out=tmp_path / "kept", progress=progress)
        except LookupError as error:
            raised.append(error)

    before, running = traits(), children()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [str(error) for error in raised] == ["of the callback"]
    assert RunFolder(tmp_path / "kept").manifest["status"] == "stopped"
    assert traits() == before and children() == running
    assert not [left for left in threading.enumerate() if left.name == "towtank-conducting"]


ROOT = Path(__file__).parents[2]
NEEDED = ("jupyter_client", "ipykernel", "nbclient")
# Prints the properties of the kernel's process that a library must not change, and possible leftovers of a measurement.
STATE = """
import os, pathlib, signal, threading
print([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])
print(sorted(os.sched_getaffinity(0)), os.getcwd(), sorted(os.environ.items()))
print([thread.name for thread in threading.enumerate() if "towtank" in thread.name])
print([pathlib.Path(f"/proc/{child}/cmdline").read_text() for child in
       pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()])
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a Python interpreter with Jupyter: this interpreter, or one in a new virtual environment."""
    if all(map(find_spec, NEEDED)):
        return Path(sys.executable)
    environment = tmp_path_factory.mktemp("jupyter") / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    install = [environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *NEEDED]
    if subprocess.run(install, check=False).returncode:
        pytest.skip("Jupyter cannot be installed: pip install jupyter_client ipykernel nbclient")
    return environment / "bin" / "python"


def kernel_environment() -> dict[str, str]:
    """Return environment variables with which a Python that has Jupyter imports the packages of the checkout."""
    places = [str(ROOT / "python"), str(ROOT / "reference/content_server/src"), sysconfig.get_path("purelib")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}


def outputs_of(python: Path, *cells: str | tuple[str, str]) -> list[list[dict[str, Any]]]:
    """Run cells in a Jupyter kernel; return the outputs of each cell. A cell given as a tuple is interrupted when an
    output contains the second string.
    """
    given = [
        {"source": cell} if isinstance(cell, str) else {"source": cell[0], "interrupt_at": cell[1]} for cell in cells
    ]
    done = subprocess.run(
        [python, ROOT / "tests" / "support" / "jupyter_cells.py"],
        input=json.dumps(given),
        env=kernel_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[list[dict[str, Any]]] = json.loads(done.stdout)
    return found


def texts(outputs: list[dict[str, Any]]) -> list[str]:
    """Return the texts of a cell's outputs: printed lines, and displayed values."""
    return [str(each.get("text") or each.get("data", {}).get("text/plain", "")) for each in outputs]


@pytest.mark.xdist_group("jupyter")
def test_a_cell_shows_its_progress_and_the_result(python: Path, address: str) -> None:
    drive = f'towtank.drive("http://{address}/", users=2, think="10 ms", duration="2 s", progress=True)'
    _, before, shown, after = outputs_of(python, "import towtank, towtank.analysis", STATE, drive, STATE)
    assert [each for each in shown if each["kind"] == "error"] == []
    lines = texts([each for each in shown if each["kind"] == "update_display_data"])
    assert any("steady: 2 users" in line for line in lines), lines
    assert lines[-1] == "done"
    (result,) = [each["data"] for each in shown if each["kind"] == "execute_result"]
    assert "verdict: <strong>" in result["text/html"] and "data:image/svg+xml" in result["text/html"]
    assert result["text/plain"].startswith("<Drive of http://")
    assert texts(after) == texts(before)
    assert "".join(texts(after)).splitlines()[-2:] == ["[]", "[]"], "no thread and no process may remain"


@pytest.mark.xdist_group("jupyter")
def test_the_stop_button_ends_the_load_and_leaves_nothing(python: Path, address: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    drive = f'towtank.drive("http://{address}/", duration="60 s", out={str(kept)!r}, progress=True)'
    failing = f'towtank.drive("http://{address}/", duration="60 s", progress=lambda step: 1 / 0)'
    cells = ("import towtank, towtank.analysis", STATE, (drive, "steady"), STATE, failing, STATE)
    _, before, interrupted, after, failed, at_last = outputs_of(python, *cells)
    assert [each["ename"] for each in interrupted if each["kind"] == "error"] == ["KeyboardInterrupt"]
    assert texts([each for each in interrupted if each["kind"] == "update_display_data"])[-1] == "stopped"
    assert RunFolder(kept).manifest["status"] == "stopped"
    assert [each["ename"] for each in failed if each["kind"] == "error"] == ["ZeroDivisionError"]
    assert texts(after) == texts(at_last) == texts(before)
    assert "".join(texts(after)).splitlines()[-2:] == ["[]", "[]"], "no thread and no process may remain"


@pytest.mark.xdist_group("jupyter")
@pytest.mark.timeout(1200)
def test_the_notebook_of_the_first_study_runs_fits_sizes_and_compares(python: Path, tmp_path: Path) -> None:
    """The notebook runs as it stands, but with limits for a machine on which other programs work, too."""
    folder = shutil.copytree(ROOT / "examples" / "first-study", tmp_path / "first-study")
    notebook = folder / "first-study.ipynb"
    text, first = notebook.read_text("utf-8"), '\\"load.stages.steady\\": \\"8 s\\",'
    assert text.count(first) == 1
    limits = [f'\\"limits.{name}\\": \\"100 %\\",' for name in ("interference", "not_attributed", "start_lag_share")]
    notebook.write_text(text.replace(first, "".join([first, *limits])), "utf-8")
    done = subprocess.run(
        [python.parent / "jupyter-execute", "--inplace", notebook.name],
        cwd=folder,
        env=kernel_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    cells = code_cells(json.loads(notebook.read_text("utf-8")))
    shown = [[each["data"] for each in cell["outputs"] if each["output_type"] == "execute_result"] for cell in cells]
    pages = ["".join(data["text/html"]) for found in shown for data in found if "text/html" in data]
    _, ran, fitted, sized, compared = pages
    assert "verdict: <strong>" in ran and all("data:image/svg+xml" in page for page in (ran, fitted))
    assert "CPU" in sized and any(word in compared for word in ("same", "better", "worse", "undecided"))
    assert (folder / "results" / "four-threads" / "report.html").stat().st_size > 10_000
