"""Commands whose standard output is closed, full or never read still do their work and return the correct exit
status.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from any_conditions import FILL, TINY, null_server, on_mount, sh
from results_1 import copy_with_model

pytestmark = pytest.mark.waits

OUTPUTS = [">&-", "2>&-", ">&- 2>&-", "| true", "2>&1 | head -1", ">/dev/full", ">/dev/full 2>&1"]
FULL = "the output could not be written: No space left on device"
# By test name: the command, a file that the command reads or writes, and the tested redirections of its output.
COMMANDS = {
    "validate": ("$towtank validate study.yaml", "study.yaml", OUTPUTS),
    "validate what is wrong": ("$towtank validate wrong.yaml", "wrong.yaml", OUTPUTS),
    "drive": ("$towtank drive $url --users 10 --duration '300 ms' --out drive", "drive/summary.json", OUTPUTS),
    "run": (
        "$towtank run study.yaml --no-report --out run",
        "run/study-summary.json",
        [">&- 2>&-", ">/dev/full", ">/dev/full 2>&1"],
    ),
    "size": (
        "$towtank size kept --configuration present --users 100 --objective 'p95 < 500 ms'",
        "kept/study.json",
        ["| true", ">/dev/full"],
    ),
    "report": ("$towtank report kept --out page.html", "page.html", ["2>&1 | true", ">/dev/full"]),
}
# A study with a fault. Messages contain the name of its factor, which is not ASCII.
WRONG = TINY["study.yaml"].replace("factors: {users: [2]}", "factors: {größe: [µ, 语]}")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    yield from null_server()


@pytest.fixture
def folder(tmp_path: Path, kept_model: Path) -> Path:
    """Folder with a study of one short run, a faulty study, and the results of a third study."""
    for name, text in {**TINY, "wrong.yaml": WRONG}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    copy_with_model(tmp_path / "kept", kept_model)
    return tmp_path


def expected(name: str, output: str) -> set[str]:
    """Return the correct exit statuses of a command with a redirected output."""
    if name == "validate what is wrong":
        return {"2"}
    lost = output.startswith(">/dev/full")
    if name in ("drive", "run"):
        return {"1", "4"} if lost else {"0", "4"}  # A busy machine may make the measurement invalid (status 4).
    return {"1"} if lost else {"0"}


@pytest.mark.parametrize(
    ("name", "output"), [(name, output) for name, (_, _, outputs) in COMMANDS.items() for output in outputs]
)
def test_the_work_is_done_whatever_becomes_of_the_output(url: str, folder: Path, name: str, output: str) -> None:
    command, written, _ = COMMANDS[name]
    done = sh(f"{{ {command}; echo $? >status; }} {output}", folder, url=url)
    assert (folder / "status").read_text().strip() in expected(name, output), done.stderr
    assert (folder / written).stat().st_size > 0
    assert "internal fault" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if output == ">/dev/full" and name != "validate what is wrong":
        assert done.stderr.splitlines()[-1] == FULL
    if output == "2>&1 | head -1":
        assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin1"])
def test_faults_in_any_language_are_printed_in_any_encoding(folder: Path, encoding: str) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "40"}
    done = sh(
        f"$towtank validate wrong.yaml 2>&1 | iconv -f {encoding} -t utf-8", folder, **locale, PYTHONIOENCODING=encoding
    )
    assert done.returncode == 0
    assert "wrong.yaml:5:" in done.stdout
    assert ("größe" in done.stdout) == (encoding == "latin1")
    assert "Traceback" not in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
@pytest.mark.parametrize(
    ("before", "command", "status", "line"),
    [
        (FILL, "$towtank run study.yaml --out disk/new", 1, "the disk is full: nothing more can be written to"),
        ("mount -o remount,ro disk", "$towtank run study.yaml --out disk/new", 2, "disk/new: cannot be written:"),
        (
            FILL,
            "$towtank report kept --out disk/page",
            1,
            "the report could not be written to disk/page: No space",
        ),
    ],
    ids=["run, full", "run, read-only", "report, full"],
)
def test_a_disk_without_room_is_one_clear_line(folder: Path, before: str, command: str, status: int, line: str) -> None:
    done = on_mount(folder, "size=8m", command, before)
    assert done.returncode == status
    first, *rest = done.stderr.splitlines()
    assert first.startswith(line)
    assert all(not text or text.startswith("hint: ") for text in rest)
    assert not (folder / "disk/new/runs").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_a_study_without_room_for_its_report_keeps_the_results_and_does_not_end_with_0(folder: Path) -> None:
    kept = "cp -r disk/new kept-whole"
    done = on_mount(folder, "size=250k", f"$towtank run study.yaml --out disk/new; s=$?; {kept}; (exit $s)")
    assert done.returncode in (1, 4), done.stderr  # A busy machine may make the measurement invalid (status 4).
    assert "the report could not be written to disk/new/report.html: No space left on device" in done.stderr
    assert "verdict: " in done.stdout
    assert json.loads((folder / "kept-whole/runs/r001/run.json").read_text())["status"] == "complete"
    assert (folder / "kept-whole/study-summary.json").is_file()
    if done.returncode == 1:
        assert "`towtank report RESULTS --out FILE` writes the report to another file" in done.stderr
