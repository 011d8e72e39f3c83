"""Summary of skipped tests at the end of a session: their number, the reasons, and the command that installs the
missing packages.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import left_out
import pytest
from small_suite import run_suite

SUITE = """\
import pytest


@pytest.mark.parametrize("kind", ["disk", "mount", "mount of two"])
@pytest.mark.applies(kind=lambda kind: kind.startswith("mount"))
def test_of_mounts(kind):
    assert kind != "disk"


def test_of_a_server():
    pytest.skip("the server is not installed: apt-get install -y nginx-light")


@pytest.mark.skipif(True, reason="gives root up, and so needs it first")
def test_of_root():
    pass


@pytest.mark.xfail(strict=True)
def test_of_a_known_fault():
    assert False
"""


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_suite(folder, "left_out", SUITE, *arguments, **environment)


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "with workers"])
def test_a_run_ends_with_what_was_left_out(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run(tmp_path, *workers)
    assert done.returncode == 0, done.stdout
    *_, closing, last = done.stdout.splitlines()
    assert "2 passed, 2 skipped, 1 xfailed" in closing
    assert last == (
        "2 tests were skipped. Missing requirements: nginx-light (1), root (1). "
        "To run them: sudo make test-packages; make test-all as root"
    )


def test_in_ci_nothing_may_be_left_out(tmp_path: Path) -> None:
    done = run(tmp_path, CI="true")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("error: 2 tests were skipped")
    assert run(tmp_path, "-k", "mounts", CI="true").returncode == 0


def test_no_line_where_nothing_was_left_out() -> None:
    assert left_out.line([]) is None


def test_a_reason_of_another_kind_is_its_own_cause() -> None:
    text = "Skipped: server and generator need a core each"
    assert (
        left_out.line([text]) == "1 test was skipped. Missing requirements: server and generator need a core each (1)"
    )
