"""Runs of the test suite under varied conditions: each variation must take effect, and none may be skipped without a
message.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("test_anywhere_script", ROOT / "scripts" / "test_anywhere.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


SHOW = """\
import locale, os, resource, sys, tempfile, time
print(os.geteuid(), len(os.sched_getaffinity(0)), sys.stdout.encoding, locale.getpreferredencoding(False))
print(time.localtime(0).tm_gmtoff, tempfile.gettempdir(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
print("3 passed, 1 skipped in 0.10s")
"""


def shown(anywhere: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """Run a program, in place of the tests, under a variation of the conditions; return the lines of its output."""
    monkeypatch.setattr(anywhere, "command_of", lambda variation, everything: [sys.executable, "-c", SHOW])
    known = {variation.name: variation for variation in anywhere.VARIATIONS}
    variation = anywhere.joined([known[part] for part in name.split("+")])
    outcome = anywhere.run(variation, everything=False)
    assert outcome.status == 0, outcome.remark
    assert outcome.counts == {"passed": 3, "skipped": 1}
    return capfd.readouterr().out.splitlines()


def test_every_part_exists_and_every_variation_has_another_name(anywhere: ModuleType) -> None:
    names = [variation.name for variation in anywhere.VARIATIONS]
    assert len(names) == len(set(names))
    for variation in anywhere.VARIATIONS:
        assert [part for part in variation.parts if not (ROOT / part).exists()] == []
        command = anywhere.command_of(variation, everything=False)
        assert command[-len(variation.parts) :] == list(variation.parts)
        assert not set(variation.parts) & set(anywhere.command_of(variation, everything=True))


def test_a_locale_a_time_zone_and_a_folder_reach_the_tests(
    anywhere: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "ascii ANSI_X3.4-1968" in shown(anywhere, "locale-c", monkeypatch, capfd)[0]
    assert shown(anywhere, "time-zone", monkeypatch, capfd)[1].startswith("19800 ")
    # The program encodes its output as this process decodes it: in the encoding of the locale.
    assert "/zwischen ablage " in shown(anywhere, "tmpdir", monkeypatch, capfd)[1]
    assert shown(anywhere, "open-files", monkeypatch, capfd)[1].endswith(" 1024")
    assert shown(anywhere, "cpus-1", monkeypatch, capfd)[0].split()[1] == "1"


def test_variations_hold_together(
    anywhere: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    who, where = shown(anywhere, "tmpdir+locale-c+open-files+cpus-1+time-zone", monkeypatch, capfd)[:2]
    assert who.split()[1:3] == ["1", "ascii"]
    assert where.startswith("19800 ")
    assert where.endswith(" 1024")
    assert set(anywhere.NUMBERS + anywhere.USERS) <= set(
        anywhere.joined([each for each in anywhere.VARIATIONS if each.name in {"cpus-1", "open-files"}]).parts
    )


def test_root_is_given_up_last_and_the_other_folder_stays(anywhere: ModuleType, tmp_path: Path) -> None:
    user = anywhere.Variation(anywhere.NORMAL_USER, "", (), {"TMPDIR": "home"}, ("setpriv",))
    folder = anywhere.Variation("folder", "", (), {"TMPDIR": "other"}, ("prlimit",))
    for order in ([user, folder], [folder, user]):
        assert anywhere.joined(order).setting(tmp_path) == ({"TMPDIR": "other"}, ["prlimit", "setpriv"])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root rights, which the test then drops")
def test_half_a_cpu_is_a_control_group_that_is_gone_afterwards(
    anywhere: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shown(anywhere, "half-a-cpu", monkeypatch, capfd)
    found = subprocess.run(
        ["find", "/sys/fs/cgroup", "-name", "towtank-anywhere"], check=False, capture_output=True, text=True
    )
    assert found.stdout == ""


def test_the_table_has_failures_and_what_was_not_run(
    anywhere: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = anywhere.Outcome(
        "cpus-1", {"passed": 7, "failed": 2, "error": 1}, 12.4, 1, names=("FAILED tests/a.py::b",)
    )
    absent = anywhere.Outcome("cpus-2", {}, 0.0, None, "needs root")
    monkeypatch.setattr(
        anywhere, "run", lambda variation, everything: {"cpus-1": failed, "cpus-2": absent}[variation.name]
    )
    assert anywhere.main(["cpus-2"]) == 0
    assert anywhere.main(["cpus-1", "cpus-2"]) == 1
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "cpus-1              7      3        0      12  ended with status 1",
        "  FAILED tests/a.py::b",
        "cpus-2         not run: needs root",
    ]


def test_a_variation_that_there_is_not_is_refused(anywhere: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert anywhere.main(["cpus-3"]) == 2
    assert "error: no variation cpus-3; known: blas-haswell, " in capsys.readouterr().err


def test_tests_that_failed_are_named(anywhere: ModuleType) -> None:
    lines = ["FAILED tests/a.py::b - assert 1 == 2\n", "ERROR tests/a.py::c[ä]\n", "2 failed in 0.10s\n"]
    assert anywhere.names_of(lines) == ("FAILED tests/a.py::b", "ERROR tests/a.py::c[ä]")


def test_counts_are_those_of_the_closing_line(anywhere: ModuleType) -> None:
    lines = [
        "4 passed in the night\n",
        "2 failed, 10 passed, 3 skipped in 61.02s (0:01:01)\n",
        "3 tests were skipped. Missing requirements: root (3)\n",
    ]
    assert anywhere.counts_of(lines) == {"failed": 2, "passed": 10, "skipped": 3}
