"""With `--second-try`, a failed test marked `waits` runs again. If it then passes, it is listed as disturbed; if not,
the session fails.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from small_suite import run_suite

pytestmark = pytest.mark.waits

HEAD = """\
from pathlib import Path

import pytest


def test_of_the_gate():
    pass

"""
DISTURBED = """
@pytest.mark.waits
def test_disturbed():
    seen = Path(__file__).with_name("seen")
    before = seen.exists()
    seen.touch()
    assert before

"""
DISTURBED_FIXTURE = """
@pytest.fixture
def server():
    seen = Path(__file__).with_name("seen")
    before = seen.exists()
    seen.touch()
    assert before


@pytest.mark.waits
def test_disturbed(server):
    pass

"""
FAULT = """
@pytest.mark.waits
def test_fault():
    assert False

"""
OF_THE_GATE = """
def test_fault_of_the_gate():
    assert not Path(__file__).with_name("gate").exists()
    Path(__file__).with_name("gate").touch()
    assert False
"""
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "1", "--dist", "loadgroup")], ids=["alone", "with workers"])


def run(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_suite(folder, "second_try", HEAD + text, "--second-try", *arguments)


@WORKERS
@pytest.mark.parametrize("text", [DISTURBED, DISTURBED_FIXTURE], ids=["test", "fixture"])
def test_a_test_that_passes_alone_is_disturbed(tmp_path: Path, text: str, workers: tuple[str, ...]) -> None:
    done = run(tmp_path, text, *workers)
    assert done.returncode == 0, done.stdout
    assert "test_small.py::test_disturbed: passed alone: disturbed" in done.stdout
    *_, closing = done.stdout.splitlines()
    assert "1 passed" in closing
    assert "1 disturbed" in closing
    assert "failed" not in closing


def test_a_test_of_a_group_has_a_second_try(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\nmarkers = waits: needs time\n")
    text = DISTURBED.replace("def test", "@pytest.mark.xdist_group('servers')\ndef test")
    done = run(tmp_path, text, "-n", "1", "--dist", "loadgroup")
    assert done.returncode == 0, done.stdout
    assert "test_small.py::test_disturbed: passed alone: disturbed" in done.stdout


@WORKERS
def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run(tmp_path, FAULT, *workers)
    assert done.returncode == 1
    assert "test_small.py::test_fault: failed alone" in done.stdout
    assert "1 failed, 1 passed" in done.stdout.splitlines()[-1]


def test_more_than_a_hundredth_fails_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, DISTURBED + FAULT)
    assert done.returncode == 1
    assert "test_small.py::test_disturbed: not run again" in done.stdout
    assert "no test ran a second time: more than 1 failed" in done.stdout


def test_a_test_of_the_gate_has_no_second_try(tmp_path: Path) -> None:
    done = run(tmp_path, OF_THE_GATE + DISTURBED)
    assert done.returncode == 1
    assert "no test ran a second time: a test without the mark `waits` failed" in done.stdout
