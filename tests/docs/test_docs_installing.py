"""The wheel works without a checkout. No text may recommend installing Towtank from a registry, because another project
may own its name there.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]
# Packages of other projects, which texts may recommend to install from a registry.
KNOWN = {"asyncssh", "ldap3", "psycopg[binary]", "PyMySQL"}
# Files with a command that installs the checkout itself. The dependencies of the checkout come from a lock file with
# hashes.
OWN = {"Makefile", ".ci/run"}
_TOOLS = r"(?:pip3?|uv|pipx|cargo|npm|gem|go)(?:\s+(?:pip|tool))?\s+(?:install|add|run|i)\b|\buvx\b|\bnpx\b"
COMMAND = re.compile(rf"\b(?:{_TOOLS})(?P<rest>[^\n`|]*)")
OURS = re.compile(r"(?<![\w./-])(?:towtank|content[-_]server)(?:\[[^\]]*\])?(?![\w/.-])", re.IGNORECASE)
HINT = re.compile(
    r"pip_install\(\"(?P<name>[^\"]+)\"\)|LIBRARY = \"(?P<library>[^\"]+)\""
    r"|-m pip install '?(?P<bare>[a-z][\w\[\]-]*)"
)


def texts() -> list[tuple[str, str]]:
    """Return the text files of the repository, by name."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = []
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if name and name not in OWN and path != Path(__file__) and path.is_file():
            text = path.read_bytes()
            if b"\0" not in text:
                found.append((name, text.decode("utf-8", "replace")))
    return found


def ours_in(text: str) -> list[str]:
    """Return the commands in a text that would fetch a package whose name is one of this project's names."""
    return [match[0] for match in COMMAND.finditer(text) if OURS.search(match["rest"])]


def test_a_command_that_fetches_one_of_our_names_is_found() -> None:
    assert ours_in("pip install 'towtank[hosts]'") == ["pip install 'towtank[hosts]'"]
    assert ours_in("uv tool install --upgrade towtank") != []
    assert ours_in("python -m pip install content-server") != []
    assert ours_in("pip install -e reference/content_server; pip install asyncssh; ./towtank") == []


def test_no_text_recommends_fetching_our_names_from_a_registry() -> None:
    assert [(name, command) for name, text in texts() for command in ours_in(text)] == []


def test_hints_of_messages_name_known_packages() -> None:
    hints = [
        match["name"] or match["library"] or match["bare"]
        for name, text in texts()
        if name.startswith(("python/", "reference/"))
        for match in HINT.finditer(text)
    ]
    assert set(hints) == KNOWN


@pytest.mark.timeout(1800)
def test_the_wheel_runs_a_shipped_study_without_a_checkout(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "scripts/wheel"], cwd=ROOT, check=True)
    (wheel,) = (ROOT / "target" / "dist").glob("towtank-*.whl")
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run(
        [environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True
    )

    def towtank(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [environment / "bin" / "towtank", *arguments],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    listed = json.loads(towtank("list", "--json").stdout)
    assert [study["name"] for study in listed["studies"]] == sorted(path.name for path in (ROOT / "studies").iterdir())
    assert all(Path(study["file"]).is_relative_to(environment) for study in listed["studies"])
    changed = ("factors.users=[2]", "load.stages.ramp_up=500 ms", "load.stages.settle=500 ms", "load.stages.steady=2 s")
    ended = towtank("run", "content-users", "--json", "--out", "results", *(f"--set={change}" for change in changed))
    assert ended.returncode in (0, 4), ended.stderr
    runs = json.loads(ended.stdout)["summary"]["runs"]
    assert [run["status"] for run in runs] == ["complete", "complete"]
    assert (tmp_path / "results" / "report.html").stat().st_size > 10_000
