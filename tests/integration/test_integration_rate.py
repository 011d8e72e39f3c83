"""Short executions of each benchmark kernel of `towtank rate`, without assertions about the measured rates."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from towtank.engine import binary
from towtank.sizing.kernels import KERNELS

pytestmark = pytest.mark.waits


def test_every_kernel_works_on_one_cpu_and_on_all(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(binary()), "rate", "--folder", str(tmp_path), "--rounds", "2", "--turn", "0.001"],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    begin, turns, end = lines[0], lines[1:-1], lines[-1]
    assert (begin["event"], end) == ("begin", {"event": "end"})
    assert set(begin["kernels"]) == set(KERNELS)
    failed = {turn["kernel"]: turn["failed"] for turn in turns if "failed" in turn}
    assert all("O_DIRECT" in reason for reason in failed.values()), failed
    for name in set(KERNELS) - set(failed):
        modes = [(turn["round"], turn["mode"]) for turn in turns if turn["kernel"] == name]
        assert modes == [(0, "single"), (0, "all"), (1, "single"), (1, "all")], name
    assert all(rate > 0 for turn in turns for rate in turn.get("slices", ()))


def test_wrong_options_are_reported_together(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(binary()), "rate", "--folder", str(tmp_path / "no"), "--rounds", "x", "--turn", "0"],
        check=False,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 2
    assert "--rounds must be" in done.stderr and "--turn must be" in done.stderr
