"""Observations with the real probe and a scraping thread: recordings, and reported failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import EngineError
from towtank.observe import Observation, ScrapeError
from towtank.observe import observation as module
from towtank.results import lines
from towtank.results.folder import RunFolder

pytestmark = pytest.mark.waits

INTERVAL_S = 0.05
PATIENCE_S = 60.0


class FakeScraper:
    """Scraper that returns the number of its scrapes, or raises the given exception."""

    source = "fake"
    kind = "fake_server"

    def __init__(self, service: str, fault: Exception | None = None) -> None:
        self.service, self.fault = service, fault
        self.scrapes = 0
        self.closed = 0

    def scrape(self) -> dict[str, float]:
        self.scrapes += 1
        if self.fault is not None:
            raise self.fault
        return {"scrapes_total": float(self.scrapes)}

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "r001", {"run": "r001"})


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits until its standard input is closed."""
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.wait()
    assert process.stdin is not None
    process.stdin.close()


def read(run: RunFolder, stream: str) -> list[dict[str, Any]]:
    damage = lines.Damage()
    documents = list(lines.read(run.observe / f"{stream}.ndjson", damage))
    assert not damage.bad_lines
    return documents


def wait_for(run: RunFolder, stream: str, ready: Callable[[list[dict[str, Any]]], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not ((run.observe / f"{stream}.ndjson").exists() and ready(read(run, stream))):
        assert time.monotonic() < deadline, "the expected documents were not recorded in time"
        time.sleep(0.01)


def group_shows(name: str, key: str, value: Any) -> Callable[[list[dict[str, Any]]], bool]:
    return lambda documents: bool(documents) and documents[-1].get("groups", {}).get(name, {}).get(key) == value


def test_probe_and_services_are_recorded(run: RunFolder, worker: subprocess.Popen[bytes]) -> None:
    scraper = FakeScraper("content")
    with Observation(run, {"worker": worker.pid}, [scraper], INTERVAL_S) as observation:
        wait_for(run, "content", lambda documents: len(documents) > 3)
        wait_for(run, "probe", lambda documents: len(documents) > 3)
        assert observation.failures() == []
    assert observation.failures() == []
    header, *samples = read(run, "probe")
    assert header["schema"] == "towtank/probe/1"
    assert header["groups"] == {"worker": {"pid": worker.pid}}
    assert header["interval_s"] == INTERVAL_S
    assert all(sample["k"] == "sample" and sample["groups"]["worker"]["alive"] for sample in samples)
    times = [sample["t_ns"] for sample in samples]
    assert times == sorted(times)
    costs = [sample["probe"]["cpu_s_total"] for sample in samples]
    assert costs == sorted(costs) and costs[0] > 0
    service, *metrics = read(run, "content")
    assert service == {
        "k": "header",
        "schema": "towtank/service-metrics/1",
        "service": "content",
        "kind": "fake_server",
        "source": "fake",
    }
    assert [line["values"]["scrapes_total"] for line in metrics] == list(range(1, len(metrics) + 1))
    assert all(line["took_s"] >= 0 and line["cpu_s_total"] > 0 for line in metrics)
    assert scraper.closed == 1


def test_the_last_samples_are_taken_at_the_end(run: RunFolder, worker: subprocess.Popen[bytes]) -> None:
    # The interval between samples is so long that the observation ends before the next sample is due.
    with Observation(run, {"worker": worker.pid}, [FakeScraper("content")], 3.0):
        for stream in ("probe", "content"):
            wait_for(run, stream, lambda documents: len(documents) > 1)
        ended_ns = time.monotonic_ns()
    for stream in ("probe", "content"):
        assert read(run, stream)[-1]["t_ns"] >= ended_ns


def test_groups_come_go_and_end(run: RunFolder, worker: subprocess.Popen[bytes]) -> None:
    with Observation(run, {}, interval_s=INTERVAL_S) as observation:
        observation.add_group("late", worker.pid)
        wait_for(run, "probe", group_shows("late", "alive", True))
        worker.kill()
        worker.wait()
        wait_for(run, "probe", group_shows("late", "alive", False))
        observation.add_group("late", os.getpid())
        wait_for(run, "probe", group_shows("late", "root_pid", os.getpid()))
        assert observation.failures() == []


def test_a_group_that_is_not_there_is_not_alive(run: RunFolder, worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    with Observation(run, {"gone": worker.pid}, interval_s=INTERVAL_S):
        wait_for(run, "probe", lambda documents: len(documents) > 1)
    assert read(run, "probe")[1]["groups"] == {"gone": {"alive": False}}


def test_failed_scrapes_are_lines_and_harm_nobody_else(run: RunFolder) -> None:
    scrapers = [
        FakeScraper("refused", ScrapeError("connection refused")),
        FakeScraper("wrong", KeyError("of ours")),
        FakeScraper("good"),
    ]
    with Observation(run, {}, scrapers, INTERVAL_S) as observation:
        wait_for(run, "good", lambda documents: len(documents) > 2)
    _, failure, *_ = read(run, "refused")
    assert failure["k"] == "failure"
    assert failure["message"] == "connection refused"
    assert "KeyError" in read(run, "wrong")[1]["message"]
    refused, wrong = observation.failures()
    assert refused.startswith("refused: ") and "scrapes failed, last: connection refused" in refused
    assert wrong.startswith("wrong: ")


def test_a_probe_that_was_killed_is_reported(run: RunFolder) -> None:
    with Observation(run, {}, interval_s=INTERVAL_S) as observation:
        wait_for(run, "probe", lambda documents: len(documents) > 1)
        assert observation._probe is not None
        observation._probe.send_signal(signal.SIGKILL)
        observation._probe.wait()
        observation.add_group("late", os.getpid())
        assert observation.failures() == ["probe: was ended by signal 9"]
    assert observation.failures() == ["probe: was ended by signal 9"]
    assert len(read(run, "probe")) > 1


def test_a_probe_that_cannot_write_reports_why(run: RunFolder) -> None:
    (run.observe / "probe.ndjson").mkdir()
    with Observation(run, {}, interval_s=INTERVAL_S) as observation:
        assert observation._probe is not None
        observation._probe.wait()
    (failure,) = observation.failures()
    assert "ended with status 1" in failure and "probe.ndjson" in failure


def test_the_probe_ends_with_its_parent(run: RunFolder) -> None:
    script = (
        "import os, sys; from pathlib import Path; from towtank.observe import Observation;"
        "from towtank.results.folder import RunFolder;"
        f"observation = Observation(RunFolder(Path(sys.argv[1])), {{}}, interval_s={INTERVAL_S}).__enter__();"
        "print(observation._probe.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    parent = subprocess.run([sys.executable, "-c", script, run.path], stdout=subprocess.PIPE, text=True, check=False)
    assert parent.returncode == -signal.SIGKILL
    probe = int(parent.stdout)
    deadline = time.monotonic() + PATIENCE_S
    while _runs(probe):
        assert time.monotonic() < deadline, "the probe still runs after the end of its parent"
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state != "Z"


def test_a_stream_is_gone_on_with(run: RunFolder) -> None:
    for _ in range(2):
        with Observation(run, {}, [FakeScraper("content")], INTERVAL_S):
            before = len(read(run, "content"))
            wait_for(run, "content", lambda documents, before=before: len(documents) > before + 1)
    assert [line["k"] for line in read(run, "content")].count("header") == 2


def test_a_missing_engine_is_an_error(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise EngineError("towtank-engine is not installed")

    monkeypatch.setattr(module.engine, "binary", missing)
    with pytest.raises(EngineError), Observation(run, {}):
        pass


def test_names_of_services_must_differ(run: RunFolder) -> None:
    with pytest.raises(ValueError, match="one scraper"):
        Observation(run, {}, [FakeScraper("a"), FakeScraper("a")])
    with pytest.raises(ValueError, match="other than `probe`"):
        Observation(run, {}, [FakeScraper("probe")])
