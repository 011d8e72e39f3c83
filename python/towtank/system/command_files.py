"""Finds the files that the commands of a program name, and calculates a hash of the inputs of a population."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from towtank.files import open_regular
from towtank.system.command_model import Command
from towtank.system.placeholders import Reference, as_text, filled
from towtank.system.service_model import Service

_LATE = "\0"
_REDIRECTED = frozenset({">", ">>", ">|", "&>", "&>>"})
# Extensions of files, such as logs, that a program writes rather than reads.
_WRITTEN = (".log", ".pid")
# Longest word of a command in which file names are searched. A longer word is assumed to be a whole script.
# [characters]
_TEXT_LENGTH = 2**16
# Number of files after which the state of a folder includes no further subfolders. [1]
_ENTRIES = 100_000


class NamedWord(NamedTuple):
    """File that a word of a command names, and path of the key in the system file that contains the word."""

    key: tuple[str, ...]
    path: Path


def early_text(part: Command, text: str) -> str:
    """Return a text in which references are replaced by their values.

    A reference whose value depends on the run is replaced by a NUL character.
    """

    def value(place: Reference) -> str:
        if place.section == "settings":
            return as_text(part.settings[place.name])
        if place.section == "values" and part.population is not None:
            return as_text(part.population.values[place.name])
        return _LATE

    return filled(text, value)


def working_folder(part: Command, base: Path) -> Path | None:
    """Return the working folder of a program; None if the folder depends on the run."""
    folder = early_text(part, part.folder or ".")
    return None if _LATE in folder else base / folder


def files_of_commands(part: Service, base: Path) -> Iterator[NamedWord]:
    """Yield the existing files that the program and the commands of a service name. Only services of kind `command`
    have further commands besides their program.
    """
    if not isinstance(part, Command):
        program = getattr(part, "program", None)
        if program is not None and "/" in program and (base / program).is_file():
            yield NamedWord(("program",), (base / program).absolute())
        return
    commands: dict[tuple[str, ...], list[str]] = {("arguments",): [part.program, *part.arguments]}
    if part.population is not None:
        commands["population", "command"] = part.population.command
    if part.ready is not None and part.ready.command is not None:
        commands["ready", "command"] = part.ready.command
    for keys, command in commands.items():
        found = files_of_command([early_text(part, text) for text in command], base, working_folder(part, base))
        for number, path in found:
            own = keys == ("arguments",)
            key = ("program",) if own and number == 0 else (*keys, str(number - 1 if own else number))
            if path.is_file():
                yield NamedWord(key, path.absolute())


def files_of_command(command: list[str], base: Path, folder: Path | None) -> Iterator[tuple[int, Path]]:
    """Yield each existing file or folder that a command names, with the number of the word that contains its name.

    The path of a program is relative to the system file; all other words are relative to the working folder, which is
    None if it depends on the run. A word may be a file, an option with a file (`--config=app.ini`), or a shell command
    that contains file names. A NUL stands for text that depends on the run, because no file name contains a NUL. Log
    files, pid files, and files to which a shell redirects output are left out.
    """
    program, *words = command
    if "/" in program and _exists(base / program):
        yield 0, base / program
    if folder is None:
        return
    for number, word in enumerate(words, start=1):
        paths = dict.fromkeys(path for name, place in _names(word, folder) if _exists(path := place / name))
        yield from ((number, path) for path in paths if path.suffix not in _WRITTEN)


def _names(word: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each possible file name in a word, with a folder to which the name may be relative.

    This folder is the working folder, or a folder to which a shell command in the word changes by `cd`.
    """
    yield word, folder
    folders, before = [folder], ""
    for token in _tokens(word):
        if before == "cd":
            folders.append(folders[-1] / token)
        elif before not in _REDIRECTED:
            names = dict.fromkeys((token, token.partition("=")[2] or token))
            yield from ((name, place) for name in names for place in folders)
        before = token


def _tokens(word: str) -> list[str]:
    if len(word) > _TEXT_LENGTH:
        return []
    lexer = shlex.shlex(word, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:  # A word with an unclosed quote is no shell command, and is split at blanks.
        return word.split()


def _exists(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return path.is_file() or path.is_dir()
    return False


def population_digest(part: Command, base: Path, environment: dict[str, str], program: str | None) -> str:
    """Return a hash of everything on which the data of a population depend.

    It covers the command, the working folder, the environment, the settings, and the content of files that the command
    names. For a folder that the command names, it covers the names, sizes and modification times of the files in it.
    The hash does not reveal the values of the environment. `program` is the path of the program if it was found in
    `PATH`.
    """
    assert part.population is not None
    folder = working_folder(part, base)
    command = [early_text(part, text) for text in part.population.command]
    named = [path for _, path in files_of_command(command, base, folder)]
    named += [] if program is None else [Path(program)]
    facts = [
        part.population.command,
        sorted(part.population.values.items()),
        part.folder if folder is None else str(folder.resolve()),
        sorted(environment.items()),
        sorted(part.settings.items()),
        [[str(path), _state_of(path, base)] for path in named],
    ]
    # `json.dumps` uses escapes, and can thus also encode file names that are not valid UTF-8.
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def _state_of(path: Path, base: Path) -> object:
    """Return a hash of a file's content, or the names, sizes and modification times of all files in a folder.

    The result is None for a folder that contains the system file, and for a path that cannot be read.
    """
    try:
        if path.is_dir():
            return None if base.resolve().is_relative_to(path.resolve()) else _entries(path)
        with open_regular(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def _entries(folder: Path) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                state = Path(place, name).stat()
                found.append((str(Path(place, name)), state.st_size, state.st_mtime_ns))
        if len(found) > _ENTRIES:
            break
    return sorted(found)
