"""The wheel works without a checkout. No text may recommend installing Towtank from a registry, because another project
may own its name there.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tracked import tracked

ROOT = Path(__file__).parents[2]
# Search path without the programs of the checkout and without Rust.
SYSTEM = "/usr/bin:/bin"
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
    """Only the project of the content server lists the dependencies of the content server.

    `scripts/wheel` adds this list to that of Towtank.
    """
    script = runpy.run_path(str(ROOT / "scripts" / "wheel"))
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    made = tomllib.loads(script["with_content_server"](settings))["project"]["dependencies"]
    of_towtank = tomllib.loads(settings)["project"]["dependencies"]
    of_server = tomllib.loads((ROOT / "reference/content_server/pyproject.toml").read_text("utf-8"))["project"][
        "dependencies"
    ]
    assert sorted(made) == sorted({*of_towtank, *of_server})
    assert set(of_towtank) & set(of_server) == {"rich>=14"}, "rich is the only dependency that both projects list"


def test_hints_of_messages_name_known_packages() -> None:
    hints = [
        match["name"] or match["library"] or match["bare"]
        for name, text in texts()
        if name.startswith(("python/", "reference/"))
        for match in HINT.finditer(text)
    ]
    assert set(hints) == KNOWN


@pytest.fixture(scope="module")
def archives() -> Path:
    """Build the wheel and the source archive; return their folder."""
    subprocess.run([sys.executable, "scripts/wheel", "--sdist"], cwd=ROOT, check=True)
    return ROOT / "target" / "dist"


def installing(archive: str) -> dict[str, str]:
    """Return the environment variables for `pip install` of an archive. A wheel must be installable without Rust."""
    cargo = shutil.which("cargo")
    assert cargo is not None and shutil.which("cargo", path=SYSTEM) is None
    if archive.endswith(".whl"):
        return {**os.environ, "PATH": SYSTEM}
    # The crates of other projects are compiled once, for the checkout and for the source archive.
    built = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return {**os.environ, "PATH": f"{Path(cargo).parent}:{os.environ['PATH']}", "CARGO_TARGET_DIR": built}


def installs(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that installs archives: it waits, and one process runs all such tests."""
    grouped = pytest.mark.xdist_group("archives")(test)
    return pytest.mark.waits(pytest.mark.timeout(1800)(grouped))  # type: ignore[no-any-return]


def install(archive: str, archives: Path, folder: Path, *packages: str) -> Path:
    """Install an archive, and packages of other projects, in an empty environment; return its folder of programs."""
    (built,) = archives.glob(archive)
    environment = folder / "environment"
    programs = environment / "bin"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    command = [programs / "pip", "install", "--quiet", "--disable-pip-version-check", built, *packages]
    subprocess.run(command, cwd=folder, env=installing(archive), check=True)
    return programs


# The tests of another project: a server in a process of its own, a test that passes, one that fails, and measurements
# that are not valid.
PROJECT = """
import http.server
import multiprocessing

import pytest

BUSY_MACHINE = {"interference": "100 %", "not_attributed": "100 %"}


class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/" else 500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def shop():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        process = multiprocessing.get_context("fork").Process(target=server.serve_forever)
        process.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        process.kill()
        process.join()


def test_fast(towtank, shop):
    found = towtank.drive(shop, users=2, think="20 ms", duration="2 s", limits=BUSY_MACHINE)
    assert found.errors == 0
    assert found.p95 < "20 s"


def test_too_slow(towtank, shop):
    found = towtank.drive(shop, users=2, think="20 ms", duration="2 s", limits=BUSY_MACHINE)
    assert found.p95 < "1 ns"


def test_broken(towtank, shop):
    towtank.drive(shop + "basket", users=2, think="20 ms", duration="1 s", limits=BUSY_MACHINE)


def test_nobody(towtank):
    towtank.drive("http://127.0.0.1:9/", duration="1 s")
"""
# Lines of the output in this order; `*` stands for any text.
SHOWN = [
    "*ERROR at measurement of test_broken*",
    "invalid: 100 % of transactions failed, limit 1 % (* status_5xx)",
    "  hint: *",
    "measured: the load on http://127.0.0.1:*/basket",
    "in: test_shop.py:42",
    "*ERROR at measurement of test_nobody*",
    "the target cannot be reached: 127.0.0.1:9: Connection refused",
    "in: test_shop.py:46",
    "*= FAILURES =*",
    '>*assert found.p95 < "1 ns"',
    "E*assert * < '1 ns'",
    "E*objective: below 1 ns",
    "E*measured: *",
    "E*of: p95 of the response time of http://127.0.0.1:*/, a measurement that is *",
    "FAILED test_shop.py::test_too_slow - *",
    "ERROR test_shop.py::test_broken - invalid: 100 % of transactions failed*",
    "ERROR test_shop.py::test_nobody - the target cannot be reached*",
    "=*1 failed, 1 passed, 2 errors in *",
]


@installs
def test_the_tests_of_another_project_measure_with_the_installed_plugin(archives: Path, tmp_path: Path) -> None:
    programs = install("towtank-*.whl", archives, tmp_path, "pytest")
    (tmp_path / "test_shop.py").write_text(PROJECT, "utf-8")
    done = subprocess.run(
        [programs / "pytest", "test_shop.py"],
        cwd=tmp_path,
        env={"PATH": SYSTEM, "HOME": str(tmp_path), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = iter(done.stdout.splitlines())
    missing = [pattern for pattern in SHOWN if not any(fnmatchcase(line, pattern) for line in lines)]
    assert (done.returncode, missing[:1]) == (1, []), done.stdout


@installs
@pytest.mark.parametrize("archive", ["towtank-*.whl", "towtank-*.tar.gz"])
def test_an_archive_runs_the_commands_of_the_first_page_without_a_checkout(
    archive: str, archives: Path, tmp_path: Path
) -> None:
    programs = install(archive, archives, tmp_path)
    environment = programs.parent

    def towtank(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [programs / "towtank", *arguments],
            cwd=tmp_path,
            env={"PATH": SYSTEM, "HOME": str(tmp_path)},
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
    assert [run["run"] for run in runs] == ["r001", "r002"]
    assert {run["verdict"] for run in runs} <= {"valid", "suspect", "invalid"}
    assert (tmp_path / "results" / "report.html").stat().st_size > 10_000
    server_command = [programs / "towtank-engine", "null-server", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(server_command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().rpartition(" ")[2].strip()
        driven = towtank("drive", f"http://{address}/", "--users", "4", "--think", "10ms", "--duration", "1s", "--json")
        server.kill()
    assert driven.returncode in (0, 4), driven.stderr
    assert json.loads(driven.stdout)["requests"] > 0
