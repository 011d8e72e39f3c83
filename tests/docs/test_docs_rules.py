"""What the pages about rules show: commands give what is printed, files are valid, the figure is as the rules say."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from towtank.filecheck import check_file

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "background" / name for name in ("interactive-capacity.md", "rules-of-thumb.md")]
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_CHECKED = re.compile(r"<!-- checked -->\n```yaml\n(.*?)```", re.DOTALL)


def sessions() -> list[tuple[str, str]]:
    """Commands with the output that is shown below them."""
    found = []
    for page in PAGES:
        for block in _CONSOLE.findall(page.read_text("utf-8")):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), sessions(), ids=lambda value: value.split("\n")[0][:60])
def test_commands_give_what_is_shown(command, output):
    words = shlex.split(command)
    assert words[0] == "towtank"
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=110
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == output


def test_there_are_commands():
    assert len(sessions()) >= 8


@pytest.mark.parametrize("number", [0, 1])
def test_files_of_the_reference_are_valid(tmp_path, number):
    text = _CHECKED.findall((ROOT / "docs" / "reference" / "rules.md").read_text("utf-8"))[number]
    path = tmp_path / "file.yaml"
    path.write_text(text, "utf-8")
    report = check_file(path)
    assert report.kind in ("rule-file", "sheet")
    assert report.faults == []


def test_the_sheet_is_shown_as_it_is():
    sheet = ROOT / "examples" / "interactive" / "sheet.yaml"
    assert f"# examples/interactive/sheet.yaml\n{sheet.read_text('utf-8')}" in PAGES[0].read_text("utf-8")
    assert check_file(sheet).faults == []


def test_the_figure_is_as_the_rules_say():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "figures"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_pages_are_linked():
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    for name in ("background/interactive-capacity.md", "background/rules-of-thumb.md", "reference/rules.md"):
        assert name in index
