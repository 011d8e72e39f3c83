"""The disk becomes full at a random write of a run or report. Recorded data stays readable, and the failure is
reported.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from any_conditions import RESULTS
from certification import Tried
from integration_bench import Bench, processes_of
from small_disk import PLENTY, small_disk
from waiting import until

from towtank.results import lines

pytestmark = pytest.mark.waits

DISKS = int(os.environ.get("TOWTANK_FULL_DISKS", "8" if os.environ.get("CI") else "6"))
"""Number of tested amounts of free space; hundreds in the nightly tests."""
# Largest tested amount of free space for a run and for a report, slightly more than their files need. [KiB]
RUN_KIB = 400
REPORT_KIB = 2000


def drawn(what: str, number: int, most: int) -> int:
    """Return a random amount of free space. [KiB]

    The range up to `most` is divided into `DISKS` equal intervals, and the value lies in interval `number`. So both
    early and late writes fail.
    """
    part = most / DISKS
    return 4 + round(part * (number + random.Random(f"{what} {number} of {DISKS}").random()))


def recorded(results: Path) -> dict[Path, list[dict[str, Any]]]:
    return {path: list(lines.read(path, lines.Damage())) for path in results.glob("runs/*/engine/worker-*.ndjson")}


def assert_said(ended: subprocess.CompletedProcess[str] | tuple[int, str], room: int) -> None:
    status, errors = ended if isinstance(ended, tuple) else (ended.returncode, ended.stderr)
    assert "internal fault" not in errors, f"{room} KiB: {errors}"
    assert "Traceback" not in errors, f"{room} KiB: {errors}"
    assert status in (0, 1, 4), f"{room} KiB: {errors}"
    if status == 1:
        assert "the disk is full" in errors or "No space left on device" in errors, f"{room} KiB: {errors}"


@pytest.mark.certify
@pytest.mark.timeout(240)
@pytest.mark.parametrize("number", range(DISKS))
def test_a_run_whose_disk_is_full_at_any_write(bench: Bench, number: int, tried: Tried) -> None:
    tried("run whose disk is full at a random write")
    room = drawn("run", number, RUN_KIB)
    bench.study(users=[2, 3], steady="800 ms")
    with small_disk(bench.folder / "disk", f"{room}k") as disk:
        results = disk.path / "results"
        ended = bench.towtank("run", "study.yaml", "--out", results, "--quiet", "--no-report")
        assert_said(ended, room)
        until(lambda: not processes_of(results))
        before = recorded(results)
        disk.resize(PLENTY)
        if (results / "study.json").exists():
            ended = bench.towtank("run", "--resume", results, "--quiet", "--no-report")
        else:
            ended = bench.towtank("run", "study.yaml", "--out", results, "--quiet", "--no-report")
        assert ended.returncode in (0, 4), f"{room} KiB: {ended.stderr}"
        for path, content in before.items():
            aside = path.parents[1].with_name(f"{path.parents[1].name}.interrupted-1") / "engine" / path.name
            assert list(lines.read(aside if aside.exists() else path, lines.Damage())) == content, f"{room} KiB"
        assert sorted(path.parent.name for path in results.glob("runs/r???/summary.json")) == ["r001", "r002"]
        assert not list(results.rglob("*.tmp")), f"{room} KiB"
        until(lambda: not processes_of(results))


@pytest.mark.certify
@pytest.mark.timeout(240)
@pytest.mark.parametrize("number", range(DISKS))
def test_a_run_whose_disk_becomes_full_at_any_moment(bench: Bench, number: int, tried: Tried) -> None:
    tried("run whose disk becomes full")
    bench.study(users=[2, 3], steady="800 ms")
    moment = random.Random(f"moment {number}").uniform(0.0, 5.0)
    with small_disk(bench.folder / "disk", PLENTY) as disk:
        results = disk.path / "results"
        process = bench.start("run", "study.yaml", "--out", results, "--quiet", "--no-report")
        ended = False
        try:
            process.wait(moment)
            ended = True
        except subprocess.TimeoutExpired:
            pass
        before = recorded(results)
        with suppress(OSError), (disk.path / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(65536))
        _, errors = process.communicate(timeout=240)
        assert_said((process.returncode, errors), -1)
        assert not ended or process.returncode in (0, 4)
        until(lambda: not processes_of(results))
        after = recorded(results)
        assert all(after[path][: len(content)] == content for path, content in before.items()), moment
        (disk.path / "filler").unlink(missing_ok=True)
        if (results / "study.json").exists():
            again = bench.towtank("run", "--resume", results, "--quiet", "--no-report")
        else:
            again = bench.towtank("run", "study.yaml", "--out", results, "--quiet", "--no-report")
        assert again.returncode in (0, 4), f"{moment}: {again.stderr}"
        assert sorted(path.parent.name for path in results.glob("runs/r???/summary.json")) == ["r001", "r002"]


@pytest.mark.certify
@pytest.mark.timeout(240)
@pytest.mark.parametrize("number", range(DISKS))
def test_a_report_whose_disk_is_full_at_any_write(bench: Bench, number: int, tried: Tried) -> None:
    tried("report whose disk is full at a random write")
    room = drawn("report", number, REPORT_KIB)
    with small_disk(bench.folder / "disk", PLENTY) as disk:
        results = disk.path / "results"
        shutil.copytree(RESULTS, results)
        # Half of the runs are removed, because fitting networks to all runs would take 9 s more CPU time.
        for run in ("r005", "r006", "r007", "r008"):
            shutil.rmtree(results / "runs" / run)
        for name in ("report.html", "study-summary.json", "runs/r001/summary.json"):
            (results / name).unlink(missing_ok=True)
        (results / "report.html").write_text("the report before")
        disk.resize(f"{disk.used() // 1024 + room}k")
        ended = bench.towtank("report", results)
        assert_said(ended, room)
        text = (results / "report.html").read_text("utf-8")
        assert text == "the report before" or text.rstrip().endswith("</html>"), room
        assert ended.returncode != 1 or text == "the report before"
        disk.resize(PLENTY)
        assert bench.towtank("report", results).returncode in (0, 4)
        assert (results / "report.html").read_text("utf-8").rstrip().endswith("</html>")
        assert all((results / name).exists() for name in ("study-summary.json", "runs/r001/summary.json"))
        assert not list(results.rglob(".*.tmp")), room
