"""Checks that the subcommands and options of a Towtank command line exist, without running the command.

Placeholders in documentation are accepted: words in capitals, brackets around optional arguments, `A|B`, and dots.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer.main

from towtank.cli.app import application

_OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
_COMMAND = re.compile(r"[a-z][a-z-]*")


@cache
def root() -> Any:
    return typer.main.get_command(application())


def options_of(command: Any) -> set[str]:
    found = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return {*found, "--help", "-h"}


def every_option(command: Any = None) -> Iterator[str]:
    """Return the names of the options of a command and all its subcommands; by default, of `towtank`."""
    command = root() if command is None else command
    yield from options_of(command)
    for below in getattr(command, "commands", {}).values():
        yield from every_option(below)


def faults_of(words: list[str]) -> list[str]:
    """Return the faults of a command: subcommands or options that do not exist.

    Examples
    --------
    >>> faults_of(["towtank", "model", "fit", "[CURVE]", "RESULTS", "--think", "2 s"])
    []
    >>> faults_of(["towtank", "modle", "fit"]), faults_of(["towtank", "run", "[--presets", "NAME]"])
    (["towtank has no command 'modle'"], ["towtank run has no option '--presets'"])
    """
    command, rest = root(), words[1:]
    name = "towtank"
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        if rest[0].isupper():
            return []  # a placeholder, which stands for any subcommand
        if not all(_COMMAND.fullmatch(part) for part in rest[0].split("|")):
            return [f"{name} has no command {rest[0]!r}"]
        below = [command.commands.get(part) for part in rest[0].split("|")]
        if None in below:
            return [f"{name} has no command {rest[0]!r}"]
        command, name, rest = below[0], f"{name} {rest[0]}", rest[1:]
        if command.name == "fit" and rest and not rest[0].startswith("-"):
            break
    known = options_of(command)
    asked = [option for word in rest for option in _OPTION.findall(word) if _is_option(word)]
    return [f"{name} has no option {option!r}" for option in asked if option not in known]


def _is_option(word: str) -> bool:
    """Return True if a word is an option, even if a bracket precedes it. Return False for the value of an option."""
    return word.lstrip("[(|").startswith("-") and " " not in word


def faults_of_text(text: str) -> list[str]:
    """Return the faults of a command line that is quoted on a page. The command ends before a pipe, `>`, `&&` or
    `;`.
    """
    command = re.split(r"\s+(?:\||>|&&)\s+|;\s", text)[0]
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    return faults_of(words)
