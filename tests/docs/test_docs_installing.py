"""The wheel works without a checkout. No text may recommend installing Towtank from a registry, because another project
may own its name there.
"""

from __future__ import annotations

import itertools
import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tracked import tracked

ROOT = Path(__file__).parents[2]
# Packages of other projects, which texts may recommend to install from a registry.
KNOWN = {"asyncssh", "ldap3", "psycopg[binary]", "PyMySQL", "typst"}
# Files with a command that installs the checkout itself. The dependencies of the checkout come from a lock file with
# hashes.
OWN = {"Makefile", ".ci/run"}
_TOOLS = (
    r"(?:pip[\d.]*|uv|pipx|poetry|pdm|conda|mamba|cargo|npm|gem|go)(?:\s+(?:pip|tool|global))?"
    r"\s+(?:install|add|run|i|download|wheel|binstall)\b|\buvx\b|\bnpx\b"
)
# A command may go on after a backslash at the end of a line.
COMMAND = re.compile(rf"\b(?:{_TOOLS})(?P<rest>(?:\\\n|[^\n`|])*)")
REQUIREMENT = re.compile(r"^[\s\"'-]*(?P<name>[A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*(?:[=<>~!]=?|@|;|\\|[\"']|$)")
OURS = re.compile(r"(?<![\w./-])(?:towtank|content[-_]server)(?:\[[^\]]*\])?(?![\w/.-])", re.IGNORECASE)
HINT = re.compile(
    r"pip_install\(\"(?P<name>[^\"]+)\"\)|LIBRARY = \"(?P<library>[^\"]+)\""
    r"|-m pip install '?(?P<bare>[a-z][\w\[\]-]*)"
)


def texts() -> list[tuple[str, str]]:
    """Return the text files of the repository, by name."""
    found = []
    for name in map(str, tracked(ROOT)):
        if name not in OWN and ROOT / name != Path(__file__):
            text = (ROOT / name).read_bytes()
            if b"\0" not in text:
                found.append((name, text.decode("utf-8", "replace")))
    return found


def ours_in(text: str) -> list[str]:
    """Return the commands in a text that would fetch a package whose name is one of this project's names."""
    return [match[0] for match in COMMAND.finditer(text) if OURS.search(match["rest"])]


@pytest.mark.parametrize(
    "command",
    [
        "pip install 'towtank[hosts]'",
        "uv tool install --upgrade towtank",
        "python -m pip install content-server",
        "pip3.11 install --quiet \\\n    towtank",
        "pip install asyncssh \\\n  && pip install 'content_server>=1'",
        "pip download towtank==0.1.0",
        "poetry add Towtank",
        "conda install -c conda-forge towtank",
        "uv pip install towtank",
        "pipx run towtank list",
        "cargo install towtank",
        "uvx towtank",
    ],
)
def test_a_command_that_fetches_one_of_our_names_is_found(command: str) -> None:
    assert ours_in(command) != []


@pytest.mark.parametrize(
    "command",
    [
        "pip install -e reference/content_server; pip install asyncssh; ./towtank",
        "pip install target/dist/towtank-0.1.0-py3-none-linux_x86_64.whl",
        "pip install target/dist/*.whl\ntowtank list",
        "python -m pip install asyncssh\ncontent-server --version",
        "towtank run content-users",
    ],
)
def test_a_command_that_installs_files_or_other_packages_is_allowed(command: str) -> None:
    assert ours_in(command) == []


def test_no_text_recommends_fetching_our_names_from_a_registry() -> None:
    assert [(name, command) for name, text in texts() for command in ours_in(text)] == []


def test_the_makefile_and_ci_install_only_files_of_the_checkout() -> None:
    commands = [match["rest"] for name in OWN for match in COMMAND.finditer((ROOT / name).read_text("utf-8"))]
    installing = [rest for rest in commands if "--no-build-isolation" in rest]
    assert len(installing) == 2
    assert all(
        "--no-deps" in rest and re.search(r"-e (?:\.|reference/content_server)\s*$", rest) for rest in installing
    )
    assert [rest for rest in commands if OURS.search(rest)] == []


def dependencies_of(project: Path) -> list[str]:
    """Return the names of the packages that a project, its extras and its groups need."""
    settings = tomllib.loads(project.read_text("utf-8"))
    about = settings.get("project", {})
    lists = [about.get("dependencies", []), *about.get("optional-dependencies", {}).values()]
    lists += settings.get("dependency-groups", {}).values()
    found = [REQUIREMENT.match(f"{each} ") for each in itertools.chain.from_iterable(lists)]
    assert all(found)
    return [each["name"].lower() for each in found if each]


def test_no_dependency_has_one_of_our_names() -> None:
    projects = tracked(ROOT, "*pyproject.toml", "*requirements*.txt", "*requirements*.lock")
    names = {str(path): dependencies_of(ROOT / path) for path in projects if path.suffix == ".toml"}
    for path in projects:
        if path.suffix != ".toml":
            lines = (ROOT / path).read_text("utf-8").splitlines()
            names[str(path)] = [found["name"].lower() for line in lines if (found := REQUIREMENT.match(line))]
    assert {"pyproject.toml", "reference/content_server/pyproject.toml", "requirements.lock"} <= set(names)
    assert "numpy" in names["requirements.lock"]
    assert [(path, name) for path, found in names.items() for name in found if OURS.fullmatch(name)] == []


def test_the_wheel_needs_what_the_content_server_needs() -> None:
    """The list of the content server stands in its own project only; `scripts/wheel` adds it to that of Towtank."""
    script = runpy.run_path(str(ROOT / "scripts" / "wheel"))
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    made = tomllib.loads(script["with_content_server"](settings))["project"]["dependencies"]
    of_towtank = tomllib.loads(settings)["project"]["dependencies"]
    of_server = tomllib.loads((ROOT / "reference/content_server/pyproject.toml").read_text("utf-8"))["project"][
        "dependencies"
    ]
    assert sorted(made) == sorted({*of_towtank, *of_server})
    assert set(of_towtank) & set(of_server) == {"rich>=14"}, "Towtank itself uses it, too"


def test_hints_of_messages_name_known_packages() -> None:
    hints = [
        match["name"] or match["library"] or match["bare"]
        for name, text in texts()
        if name.startswith(("python/", "reference/"))
        for match in HINT.finditer(text)
    ]
    assert set(hints) == KNOWN


@pytest.mark.waits
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
