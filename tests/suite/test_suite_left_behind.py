"""Processes and temporary files that tests leave behind are reported with the name of their test."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from small_suite import run_suite

SUITE = """\
import subprocess
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def of_the_file():
    process = subprocess.Popen(["sleep", "61"])
    yield
    process.kill()
    process.wait()


@pytest.fixture(scope="session")
def of_the_session():
    process = subprocess.Popen(["sleep", "62"])
    yield
    process.kill()
    process.wait()


def test_that_ends_what_it_starts(of_the_file, of_the_session):
    subprocess.run(["true"], check=True)
"""
LEAVES = """\

@pytest.fixture(scope="session")
def forgotten():
    subprocess.Popen(["sleep", "63"])


def test_that_forgets_a_process():
    subprocess.Popen(["sleep", "64"], start_new_session=True)


def test_that_forgets_a_file(forgotten):
    Path(tempfile.gettempdir(), "towtank-left-by-a-test").touch()
"""
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "with workers"])


def run(folder: Path, text: str, workers: tuple[str, ...], **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "temporary").mkdir()
    (folder / "test_second.py").write_text("def test_of_another_file():\n    pass\n")
    return run_suite(folder, "left_behind", text, *workers, TMPDIR=str(folder / "temporary"), **environment)


@WORKERS
def test_a_suite_that_leaves_nothing_passes(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run(tmp_path, SUITE, workers)
    assert done.returncode == 0, done.stdout
    assert "left behind" not in done.stdout


@WORKERS
def test_processes_and_files_are_named_with_their_tests(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run(tmp_path, SUITE + LEAVES, workers, CI="true")
    pids = [int(pid) for pid in re.findall(r"^process (\d+) ", done.stdout, re.MULTILINE)]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert done.returncode == 1
    assert "4 passed" in done.stdout
    assert len(pids) == 2, done.stdout
    _, _, section = done.stdout.partition("left behind by tests")
    assert re.search(r"process \d+ `sleep 64` of \S*test_small.py::test_that_forgets_a_process\n", section)
    assert re.search(r"process \d+ `sleep 63` of a fixture of the session: forgotten\n", section)
    file = tmp_path / "temporary" / "towtank-left-by-a-test"
    assert re.search(rf"temporary file {file}, first seen after \S*test_small.py\n", section)


def test_beside_others_a_file_may_be_theirs(tmp_path: Path) -> None:
    leaves = "\n\ndef test_that_forgets_a_file():\n    Path(tempfile.gettempdir(), 'towtank-left').touch()\n"
    done = run(tmp_path, SUITE + leaves, ())
    assert done.returncode == 0, done.stdout
    assert "new since the tests began" in done.stdout
    assert f"temporary file {tmp_path}/temporary/towtank-left, first seen after" in done.stdout
