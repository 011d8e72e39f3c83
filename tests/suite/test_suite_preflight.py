"""The script `scripts/preflight` reports the missing requirements of a build on one line, with the commands that
install them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]
TOOLS = {
    "cargo": 'case "$1" in --version) echo "cargo 1.99.0 (abc 2026-01-01)";; esac',
    "python3": 'case "$2" in *version_info*) echo 3.12;; esac',
    "cc": "exit 0",
    "df": 'echo "Filesystem 1024-blocks Used Available"; echo "disk 9000000 1 8000000 1% /"',
    "id": "echo 1000",
}
PLENTY = "MemTotal: 9000000 kB\nMemAvailable:    8000000 kB\nSwapFree:              0 kB\n"


class Machine:
    """Simulated machine: a folder with its programs, and a file that states its memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.has(**TOOLS)
        for name in ("sh", "sed", "sort", "head", "awk", "dirname", "tail", "mkdir"):
            real = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
            (folder / name).symlink_to(real)
        self.memory = folder / "meminfo"
        self.memory.write_text(PLENTY)

    def has(self, **scripts: str) -> None:
        for name, script in scripts.items():
            file = self.folder / name
            file.write_text(f"#!/bin/sh\n{script}\n")
            file.chmod(0o755)

    def lacks(self, *names: str) -> None:
        for name in names:
            (self.folder / name).unlink()

    def preflight(self, **variables: str) -> str:
        """Run the script; return its line of errors, which is empty if the exit status is 0."""
        done = subprocess.run(
            [str(ROOT / "scripts" / "preflight"), "python3"],
            env={"PATH": str(self.folder), "TOWTANK_MEMINFO": str(self.memory), **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == ""
        assert (done.returncode, len(done.stderr.splitlines())) in ((0, 0), (1, 1)), done.stderr
        return done.stderr.strip()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_complete_machine_gets_no_output(machine: Machine) -> None:
    assert machine.preflight() == ""


@pytest.mark.parametrize(("version", "found"), [("cargo 1.85.1 (Debian)", "1.85"), ("cargo 0.66.0", "0.66")])
def test_rust_of_debian_is_too_old(machine: Machine, version: str, found: str) -> None:
    machine.has(cargo=f'echo "{version}"')
    wanted = re.search(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert wanted is not None
    assert machine.preflight() == (
        f"error: to build, this machine lacks: Rust {wanted[1]} or newer (found {found}). "
        "Type: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
    )
    machine.has(rustup="exit 0")
    assert machine.preflight().endswith(". Type: rustup default stable && rustup update stable")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_no_crate_needs_a_newer_rust_than_is_asked_for() -> None:
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("needs the crates of Cargo.lock: cargo fetch")
    found = {crate["name"]: crate["rust_version"] for crate in json.loads(done.stdout)["packages"]}
    asked = found["towtank-engine"]
    newer = {name: version for name, version in found.items() if version and parts(version) > parts(asked)}
    assert newer == {}
    assert f"Rust {asked} or newer" in (ROOT / "README.md").read_text("utf-8")


def parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


def test_all_that_is_missing_is_in_the_one_line(machine: Machine) -> None:
    machine.lacks("cargo", "python3", "cc")
    said = machine.preflight()
    assert "Rust 1.88 or newer (found none); Python 3.11 or newer (found none); a C compiler that links" in said
    assert ". Type: sudo apt-get install python3-venv gcc libc6-dev && curl " in said
    machine.has(id="echo 0")
    assert ". Type: apt-get install python3-venv" in machine.preflight()


def test_a_newer_python_beside_the_usual_one_is_named(machine: Machine) -> None:
    machine.has(python3='case "$2" in *version_info*) echo 3.9;; esac', **{"python3.12": "exit 0"})
    assert machine.preflight().endswith("lacks: Python 3.11 or newer (found 3.9). Type: make setup PYTHON=python3.12")


def test_python_without_environments_and_a_compiler_without_a_library(machine: Machine) -> None:
    machine.has(python3='case "$2" in *version_info*) echo 3.13;; *) exit 1;; esac', cc="exit 1")
    said = machine.preflight()
    assert "lacks: the module venv of Python; a C compiler that links a program." in said
    assert said.endswith("Type: sudo apt-get install python3-venv gcc libc6-dev")


def test_too_little_disk_or_memory(machine: Machine) -> None:
    machine.has(df='echo head; echo "disk 9000000 1 1200000 1% /"')
    machine.memory.write_text("MemAvailable: 300000 kB\nSwapFree: 200000 kB\n")
    said = machine.preflight()
    assert "lacks: 1.4 GB of disk (free here: 1200 MB); 1 GB of memory (free: 500 MB)" in said


def test_the_readme_asks_for_what_is_checked() -> None:
    script, readme = (ROOT / "scripts" / "preflight").read_text(), (ROOT / "README.md").read_text("utf-8")
    asked = readme.partition("A fresh machine needs ")[2].partition("Before it builds")[0]
    for amount, of in re.findall(r'lack "([\d.]+ GB) of (disk|memory)', script):
        assert re.search(rf"{amount} of (free )?{of}", asked), (amount, of)


def test_a_full_temporary_folder_is_not_taken_for_a_missing_compiler(machine: Machine, tmp_path: Path) -> None:
    full = tmp_path / "temporary"
    full.mkdir()
    disk = 'echo head; case "$2" in */temporary) echo "d 9 9 1000 99% /t";; *) echo "d 9 9 8000000 1% /";; esac'
    machine.has(df=disk, cc="exit 1")
    said = machine.preflight(TMPDIR=str(full))
    assert f"lacks: 0.4 GB for temporary files (free in {full}: 1 MB; TMPDIR chooses another folder)" in said
    assert "compiler" not in said
    assert "a C compiler" in machine.preflight(TMPDIR=str(tmp_path / "no folder"))


def test_a_home_that_cannot_be_written_is_named(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    folder = tmp_path / "home" / ".cargo"
    said = machine.preflight(HOME=str(tmp_path / "home"))
    assert said == (
        f"error: to build, this machine lacks: a folder that cargo can write to (not {folder}; "
        "CARGO_HOME chooses another one, RUSTUP_HOME that of rustup)"
    )
    assert machine.preflight(HOME=str(tmp_path / "home"), CARGO_HOME=str(tmp_path / "packages")) == ""


def test_a_registry_out_of_reach(machine: Machine) -> None:
    said = r"error: failed to download\n\nCaused by:\n  [6] Could not resolve host: registry\n"
    machine.has(cargo=f'case "$1" in --version) echo "cargo 1.99.0";; *) printf "{said}" >&2; exit 101;; esac')
    assert machine.preflight().endswith("the registry of Rust packages (Could not resolve host: registry)")


def test_nothing_is_checked_once_all_is_built(tmp_path: Path) -> None:
    def planned() -> list[str]:
        command = ["make", "--dry-run", "setup", f"VENV={tmp_path}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return [line for line in done.stdout.splitlines() if not line.startswith("make")]

    assert planned()[0] == "scripts/preflight python3"
    for name in (".python", ".towtank"):
        (tmp_path / name).touch()
    assert planned() == []
