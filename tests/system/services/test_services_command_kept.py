"""Reuse of the initial data that a user's program creates.

The data is created again after a change of an input. Files named in the command count as inputs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from towtank.system.command_files import files_of_commands
from towtank.system.command_model import Command
from towtank.system.services.command import CommandService


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Folder of a system file with a script, a program, and the folders `a` and `b`. Both folders contain the file
    in.txt and a folder for data.
    """
    (tmp_path / "make.sh").write_text("cp in.txt $1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "generate").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "generate").chmod(0o755)
    for name in ("a", "b"):
        (tmp_path / name / "rows").mkdir(parents=True)
        (tmp_path / name / "in.txt").write_text(name)
        (tmp_path / name / "rows" / "1.csv").write_text("1")
    return tmp_path


def command(*population: str, **keys: Any) -> Command:
    given = {"kind": "command", "host": "here", "program": "sleep", "port": 0, "folder": "a", **keys}
    return Command.model_validate({**given, "population": {"command": list(population), **keys.pop("more", {})}})


def digest(place: Path, *population: str, **keys: Any) -> str:
    return CommandService("app", command(*population, **keys), place)._digest()


@pytest.mark.parametrize(
    ("words", "change"),
    [
        (("./make.sh", "${data}"), lambda place: (place / "make.sh").write_text("echo new")),
        (("cp", "in.txt", "${data}"), lambda place: (place / "a" / "in.txt").write_text("new")),
        (("load", "--from=in.txt"), lambda place: (place / "a" / "in.txt").write_text("new")),
        (("sh", "-c", "cat <in.txt|sort >${data}/x"), lambda place: (place / "a" / "in.txt").write_text("new")),
        (("sh", "-c", "cd rows && cat 1.csv"), lambda place: (place / "a" / "rows" / "1.csv").write_text("new")),
        (("cp", "-r", "rows", "${data}"), lambda place: (place / "a" / "rows" / "2.csv").write_text("new")),
        (("generate",), lambda place: (place / "bin" / "generate").write_text("#!/bin/false\n")),
    ],
)
def test_a_changed_file_of_its_command_makes_another_population(
    place: Path, words: tuple[str, ...], change: Callable[[Path], object]
) -> None:
    keys = {"environment": {"PATH": f"{place / 'bin'}:{os.environ['PATH']}"}}
    before = digest(place, *words, **keys)
    assert digest(place, *words, **keys) == before
    change(place)
    assert digest(place, *words, **keys) != before


def test_another_folder_makes_another_population(place: Path) -> None:
    # The command refers to its files by a pattern only, so no file counts as an input. The folder in which the command
    # runs must count, because the pattern finds other files there.
    texts = ["sh", "-c", "cp *.txt ${data}"]
    assert digest(place, *texts, folder="a") != digest(place, *texts, folder="b")
    varied = [{"folder": "${settings.part}", "settings": {"part": part}} for part in "ab"]
    assert digest(place, *texts, **varied[0]) != digest(place, *texts, **varied[1])


def test_another_value_of_a_variable_of_towtank_makes_another_population(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for value in ("one", "two"):
        monkeypatch.setenv("TOWTANK_SEED", value)
        found.add(digest(place, "generate", "${data}", environment_from={"SEED": "TOWTANK_SEED"}))
    assert len(found) == 2


def test_pipes_and_devices_among_the_words_are_not_read(place: Path) -> None:
    os.mkfifo(place / "a" / "pipe")
    assert digest(place, "cat", "pipe", "/dev/zero", "x\0y", "n" * 5000)


def test_files_of_all_commands_are_named_with_their_keys(place: Path) -> None:
    part = command(
        "./make.sh",
        "${data}",
        program="bin/generate",
        arguments=["--port=${port}", "--rows=${settings.rows}", "cat rows/1.csv >>in.txt", "rows"],
        settings={"rows": "in.txt"},
        ready={"command": ["bin/generate", "in.txt"]},
    )
    assert [(".".join(key), str(path.relative_to(place))) for key, path in files_of_commands(part, place)] == [
        ("program", "bin/generate"),
        ("arguments.1", "a/in.txt"),
        ("arguments.2", "a/rows/1.csv"),
        ("population.command.0", "make.sh"),
        ("ready.command.0", "bin/generate"),
        ("ready.command.1", "a/in.txt"),
    ]
