"""The guide to sizing and its notebook: the commands work, the outputs kept are those of today."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "size-a-system.md"
EXAMPLE = ROOT / "examples" / "from-csv-to-size"


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "python"), "COLUMNS": "160"}


@pytest.mark.timeout(600)
def test_the_commands_of_the_guide_work(tmp_path: Path) -> None:
    text = GUIDE.read_text("utf-8")
    for name, content in re.findall(r"```yaml\n# (\S+\.yaml)\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(content, "utf-8")
    commands = re.findall(r"^\$ (towtank .*)$", text, re.MULTILINE)
    assert len(commands) >= 5
    for command in commands:
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert "guides/size-a-system.md" in (ROOT / "docs" / "README.md").read_text("utf-8")


@pytest.mark.timeout(600)
def test_the_notebook_says_what_it_said(tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder)
    book = json.loads((EXAMPLE / "from-csv-to-size.ipynb").read_text("utf-8"))
    cells = [one for one in book["cells"] if one["cell_type"] == "code"]
    mark = "--- end of a cell ---"
    script = f"\nprint({mark!r})\n".join("".join(one["source"]) for one in cells)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    kept = ["".join("".join(each["text"]) for each in one["outputs"]) for one in cells]
    assert done.stdout.split(f"{mark}\n") == kept
