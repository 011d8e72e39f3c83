"""Reports wrong arguments of a call from Python. Messages name the arguments instead of command-line options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

from towtank.errors import COMMAND_LINE, Fault, StudyError
from towtank.spelling import misnamed
from towtank.units import shown

_OPTION = re.compile(r"--([a-z][a-z0-9-]*)")


@contextmanager
def faults_of(call: str, names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Raise faults of command-line options, found within this context, as faults of arguments of a function.

    Faults of files stay unchanged.

    Parameters
    ----------
    call : str
        Name of the called function, such as `towtank.drive`.
    names : mapping of str to str, optional
        Name of the argument for each option, if it differs from the option's name.
    """
    try:
        yield
    except StudyError as error:
        faults = [_of_call(fault, call, names or {}) for fault in error.faults]
        raise StudyError(faults, hint=error.hint) from error.__cause__


def _of_call(fault: Fault, call: str, names: Mapping[str, str]) -> Fault:
    of_file = fault.file != COMMAND_LINE
    if of_file and not fault.where.startswith("--"):
        return fault
    where, message = (
        _OPTION.sub(lambda option: names.get(option.group(), option.group(1).replace("-", "_")), text)
        for text in (fault.where, fault.message)
    )
    file = fault.file if of_file else f"{call}()"
    return replace(fault, file=file, where=names.get(where, where), message=message)


def refuse(call: str, argument: str, message: str) -> StudyError:
    """Return the error for one wrong argument."""
    return StudyError.at(f"{call}()", message, where=argument)


def refuse_unknown(call: str, names: Mapping[str, tuple[str | None, str, Iterable[str]]]) -> None:
    """Raise an error that lists all arguments whose value is not a known name.

    Parameters
    ----------
    call : str
        Name of the called function.
    names : mapping of str to tuple
        For each argument: its value, a description of the known names, and the known names.
    """
    faults = []
    for argument, (value, kind, among) in names.items():
        known = sorted(among)
        if value is not None and value not in known:
            message = misnamed(f"{kind} ({', '.join(known) or 'none'})", value, known)
            faults.append(Fault(f"{call}()", 0, 0, argument, message))
    if faults:
        raise StudyError(faults)


def path_of(call: str, argument: str, value: object) -> Path:
    """Return an argument as a path; raise an error if it is neither a text nor a path."""
    if isinstance(value, str | PathLike) and isinstance(name := fspath(value), str):
        return Path(name)
    raise refuse(call, argument, f"must be a text or a path, got {shown(value)} instead")


def texts(value: object, unit: str = "") -> list[str] | None:
    """Return an argument as the texts of a repeatable option; `unit` is the base unit of numbers.

    A mapping becomes texts of the form `NAME=VALUE`, a sequence becomes one text for each item, and any other value
    becomes a single text.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        return [f"{name}={text(each, unit)}" for name, each in value.items()]
    if isinstance(value, str | int | float):
        return [text(value, unit)]
    if isinstance(value, list | tuple):
        return [text(each, unit) for each in value]
    return [str(value)]


def changes_of(changes: Mapping[str, object] | None) -> dict[str, str]:
    """Return changed values by dotted path, each as the text of a YAML value."""
    return {path: value if isinstance(value, str) else json.dumps(value) for path, value in (changes or {}).items()}


def text(value: object, unit: str = "") -> str:
    """Return a value as the text that a study or model file would contain; `unit` is the base unit of a number."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{float(value)!r}{unit and ' '}{unit}" if isinstance(value, float) else f"{value}{unit and ' '}{unit}"
