"""GitHub action and pre-commit hook. The tests execute the commands of both without changes."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT
from ruamel.yaml import YAML
from tiny_study import write_tiny_study

pytestmark = pytest.mark.waits

_EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")


def read(name: str) -> Any:
    return YAML(typ="safe").load((ROOT / name).read_text("utf-8"))


class Job:
    """Executes the steps of the action in bash, with the values that GitHub would insert.

    A shell script replaces the program `gh` and stores its input.

    Attributes
    ----------
    status : int
        Exit status of the first step that fails; 0 if all steps succeed.
    """

    def __init__(self, folder: Path, inputs: dict[str, str], *, comments: bool = True) -> None:
        self.folder, self.comments, self.status = folder, comments, 0
        action = read("action.yml")
        given = {name: str(each.get("default", "")) for name, each in action["inputs"].items()} | inputs
        self.values = {f"inputs.{name}": value for name, value in given.items()} | {
            "github.event.pull_request.number": "7",
            "github.repository": "owner/name",
        }
        self.program("towtank", f'exec {shlex.quote(sys.executable)} -m towtank "$@"')
        # The pull request has no comment of the action yet, so the simulated `gh` fails to edit the last comment.
        self.program("gh", 'echo "$@" >> gh.log; case "$*" in *--edit-last*) exit 1;; esac; cp "$5" comment.md')
        for step in action["runs"]["steps"]:
            if "run" in step and self.status == 0 and (comments or step["id"] != "comment"):
                self.run(step)

    def program(self, name: str, script: str) -> None:
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n", "utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(self, step: dict[str, Any]) -> None:
        output = self.folder / "output"
        environment = {name: _EXPRESSION.sub(self.value, str(value)) for name, value in step["env"].items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env={
                **os.environ,
                **environment,
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "TOWTANK_STATE": str(self.folder / "state"),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.folder / "step.md"),
            },
            check=False,
        )
        self.status = done.returncode
        for line in output.read_text("utf-8").splitlines() if output.exists() else ():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        output.unlink(missing_ok=True)

    def value(self, expression: re.Match[str]) -> str:
        return self.values[expression[1]]


def test_the_action_runs_a_study_and_comments_its_results(tmp_path: Path) -> None:
    write_tiny_study(tmp_path)
    # This objective is met even on a busy machine.
    job = Job(tmp_path, {"study": "study.yaml", "set": "factors.users=[2]\nobjectives=[p95 < 1 h]\n", "token": "t"})
    status = job.values["steps.study.outputs.exit-status"]
    assert job.status == int(status) and status in ("0", "4")
    assert (tmp_path / "towtank-results" / "report.html").is_file()
    comment = (tmp_path / "comment.md").read_text("utf-8")
    assert comment == (tmp_path / "step.md").read_text("utf-8")
    assert "p95 < 1 h" in comment.replace("\\", "")
    assert len((tmp_path / "gh.log").read_text("utf-8").splitlines()) == 2


def test_the_action_fails_with_the_status_of_the_study(tmp_path: Path) -> None:
    write_tiny_study(tmp_path)
    values = {"study": "study.yaml", "set": "factors.users=[2]\nobjectives=[p95 < 1 ns]"}
    job = Job(tmp_path, values, comments=False)
    assert job.status == int(job.values["steps.study.outputs.exit-status"]) in (3, 4)
    assert not (tmp_path / "comment.md").exists()
    other = Job(tmp_path, {"study": "nothing.yaml", "out": "none"})
    assert other.status == 2
    assert not (tmp_path / "comment.md").exists()


def test_the_hook_finds_the_files_of_the_examples_and_checks_them(tmp_path: Path) -> None:
    (hook,) = read(".pre-commit-hooks.yaml")
    pattern = re.compile(hook["files"])
    files = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "examples").rglob("*.yaml"))]
    chosen = [name for name in files if pattern.search(name)]
    assert len(chosen) > 20
    assert not pattern.search("examples/interactive/sheet.yaml")
    wrong = tmp_path / "study.yaml"
    wrong.write_text("schema: towtank/study/1\n", "utf-8")
    program, *rest = shlex.split(hook["entry"])
    assert program == "towtank"
    for arguments, status in ((chosen[:6], 0), ([str(wrong)], 2)):
        command = [sys.executable, "-m", "towtank", *rest, *arguments]
        assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == status
