"""Records the lines that each test executes; repeats the recording if the package or the tests changed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from planting.places import Place

FOLDERS = (
    "tests/analysis",
    "tests/model",
    "tests/size",
    "tests/certified",
    "tests/cli",
    "tests/docs",
    "tests/report",
    "tests/results/exports",
    "tests/conduct/test_conduct_steering.py",
)
"""Folders of tests that check computed numbers, and call the package in the pytest process."""
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Executed:
    """Lines that each test executes, and the time of each test.

    Attributes
    ----------
    seconds : dict
        Time of each test that passed, by its name. [s]
    by_line : dict
        Tests that execute a line, by file and line number; empty for a line that is executed only on import.
    """

    seconds: dict[str, float]
    by_line: dict[tuple[str, int], set[str]]

    def tests_of(self, place: Place) -> list[str]:
        """Return the tests that execute the expression of a fault, the most specific tests first.

        Tests of a file come earlier if a larger share of the file's tests executes the expression; within a file,
        faster tests come first. A line outside of functions is executed once, on import, so every test that executes
        any line of the source file is returned. For a source file without functions, every test that executes a line in
        its folder is returned.
        """
        lines = range(place.line, place.end_line + 1)
        found = set().union(*(self.by_line.get((place.path, line), set()) for line in lines))
        if not found and self._on_import(place):
            found = self._tests_below(place.path) or self._tests_below(f"{Path(place.path).parent}/")
        mine = Counter(_file(test) for test in found)
        share = {file: count / self._tests_by_file[file] for file, count in mine.items()}
        return sorted(found, key=lambda test: (-share[_file(test)], _file(test), self.seconds[test], test))

    @cached_property
    def _tests_by_file(self) -> Counter[str]:
        return Counter(_file(test) for test in self.seconds)

    def _tests_below(self, start: str) -> set[str]:
        return set().union(*(tests for (path, _), tests in self.by_line.items() if path.startswith(start)))

    def _on_import(self, place: Place) -> bool:
        return any((place.path, line) in self.by_line for line in range(place.line, place.end_line + 1))

    def beside(self, tests: list[str]) -> list[str]:
        """Return the other tests in the files of the given tests; these tests may use the same fixtures."""
        files = {_file(test) for test in tests}
        others = {test for test in self.seconds if _file(test) in files} - set(tests)
        return sorted(others, key=lambda test: (self.seconds[test], test))


def _file(test: str) -> str:
    return test.partition("::")[0]


def state_of(package: Path, folders: tuple[str, ...]) -> str:
    """Return a digest of the content of all files of the package and of the tests."""
    digest = hashlib.sha256()
    for place in (package, *(_ROOT / name for name in folders), _ROOT / "tests" / "support"):
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


def recorded(package: Path, data: Path, keep: bool, folders: tuple[str, ...] = FOLDERS) -> Executed:
    """Return the lines that each test executes.

    If a file has changed since the last recording, run the tests first; with `keep`, use the old recording.
    """
    mark, state = data / "state", state_of(package, folders)
    if not mark.exists() or (not keep and mark.read_text() != state):
        for path in data.glob("*.json"):
            path.unlink()
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-p", "planting.recording"]
        variables = {"PLANT_PACKAGE": str(package), "PLANT_DATA": str(data), "PYTHONPATH": _python_path(package)}
        subprocess.run([*command, "--timeout=900", *folders], cwd=_ROOT, env=os.environ | variables, check=True)
        mark.write_text(state)
    return read(data)


def _python_path(package: Path) -> str:
    return os.pathsep.join([str(package.parent), str(_ROOT / "scripts"), os.environ.get("PYTHONPATH", "")])


def read(data: Path) -> Executed:
    """Read the files that the pytest plugin `planting.recording` wrote."""
    seconds: dict[str, float] = {}
    by_line: dict[tuple[str, int], set[str]] = defaultdict(set)
    for path in sorted(data.glob("*.json")):
        for test, found in json.loads(path.read_text()).items():
            if test:
                seconds[test] = found["seconds"]
            for file, lines in found["lines"].items():
                for line in lines:
                    by_line[file, line].update([test] if test else [])
    return Executed(seconds, dict(by_line))
