"""`model solve` names, by its key, every feature that only simulation supports."""

from __future__ import annotations

from pathlib import Path

import pytest

from towtank.cli import main

MODEL = """classes:
  web: {rate: 1 /s, retries: 2, timeout: 1 s, batch: 2}
  mail: {rate: 1 /s, retries: 3}
stations:
  cpu: {demand: 10 ms, up: 10 h, down: 1 min}
"""


def test_every_feature_that_only_simulation_has_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(MODEL, "utf-8")
    assert main(["model", "solve", str(path)]) == 2
    lines = capsys.readouterr().err.replace(f"{path}:", "").splitlines()
    message = "must be left out for solving: only 'towtank model simulate' supports it"
    assert lines == [
        f"2:30: classes.web.retries: {message}",
        f"2:42: classes.web.timeout: {message}",
        f"2:54: classes.web.batch: {message}",
        f"3:31: classes.mail.retries: {message}",
        f"5:28: stations.cpu.up: {message}",
    ]
