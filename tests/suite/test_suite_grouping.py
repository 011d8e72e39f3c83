"""All tests of an `xdist_group` run on the same pytest worker, so that their common fixtures are created only once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_suite import run_suite

pytestmark = pytest.mark.waits

SUITE = """\
import os
import pytest


@pytest.mark.parametrize("number", range(6))
@pytest.mark.xdist_group("shared")
def test_of_a_group(number):
    pass


@pytest.mark.parametrize("number", range(6))
def test_of_none(number):
    pass
"""


@pytest.mark.parametrize("times", [1, 2])
def test_a_group_has_one_worker(tmp_path: Path, times: int) -> None:
    if times == 2:
        (tmp_path / "test_second.py").write_text(SUITE)
    done = run_suite(tmp_path, "grouping", SUITE, "-n", "2", "--dist", "loadgroup", "-v", "-v")
    assert f"{12 * times} passed" in done.stdout, done.stdout
    workers = re.findall(r"^\[(gw\d)\].* PASSED .*::test_of_a_group", done.stdout, re.MULTILINE)
    assert len(workers) == 6 * times
    assert len(set(workers)) == 1
