"""Generates the reference page of all commands, with their arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import typer.main

from towtank.cli.app import application

_FORMS = {int: "whole number", float: "number", Path: "path"}
_HEAD = """# Commands

Generated from the commands by `scripts/schemas`; `towtank COMMAND --help` prints the same. All commands have the same
[exit statuses](../guides/when-things-go-wrong.md#exit-statuses). An option with "..." may be repeated.

"""


def document() -> str:
    return _HEAD + "\n".join(_section(name, command) for name, command in _commands(_root(), "towtank"))


def _root() -> Any:
    return typer.main.get_command(application())


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield each command that has no subcommands, with its full name."""
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    for word, inner in below.items():
        yield from _commands(inner, f"{name} {word}")


def _section(name: str, command: Any) -> str:
    lines = [f"## `{name}`", "", " ".join((command.help or "").split()), ""]
    for title, rows in (("argument", _arguments(command)), ("option", _options(command))):
        if rows:
            lines += [f"| {title} | form | default | meaning |", "|---|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _arguments(command: Any) -> list[str]:
    return [
        _row(f"`{_metavar(parameter)}`", parameter)
        for parameter in command.params
        if parameter.param_type_name == "argument"
    ]


def _options(command: Any) -> list[str]:
    return [
        _row(", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts)), parameter)
        for parameter in command.params
        if parameter.param_type_name == "option"
    ]


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper()).strip("{}[]").replace("|", "\\|").removesuffix("...")


def _row(name: str, parameter: Any) -> str:
    text = re.sub(r"\s+", " ", parameter.help or "").replace("|", "\\|")
    return f"| {name} | {_form(parameter)} | {_default(parameter)} | {text} |"


def _form(parameter: Any) -> str:
    """Return the form of a parameter's value, such as `number`; empty for a flag."""
    if getattr(parameter, "is_flag", False):
        return ""
    kind = parameter.type_descriptor.annotation
    several = get_origin(kind) is list
    inner = get_args(kind)[0] if several else kind
    form = str(parameter.metavar or "").strip("{}[]").replace("|", "\\|")
    if parameter.param_type_name == "argument" or not form:
        form = _FORMS.get(inner, "text") + _bounds(parameter)
    return f"{form} ..." if several else form


def _bounds(parameter: Any) -> str:
    """Return the bounds of a numeric parameter, such as `, at least 1`; empty if the parameter is unbounded."""
    bounds = (("at least", parameter.min), ("at most", parameter.max))
    parts = [f"{word} {bound}" for word, bound in bounds if bound is not None]
    return f", {' and '.join(parts)}" if parts else ""


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or value is False or callable(value) or value in ((), [], ""):
        return ""
    if value is True:
        return f"`{parameter.opts[0]}`"
    return f"`{value}`"
