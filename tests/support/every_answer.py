"""Runs every command that reads a results folder, and collects internal faults (unexpected exceptions)."""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer

from towtank import containment
from towtank.cli import app
from towtank.errors import ExitStatus, TowtankError
from towtank.model.fitting import demand_classes, knees, replicates
from towtank.model.fitting.across import write_prediction
from towtank.model.fitting.networks import judging
from towtank.model.fitting.networks import replicates as network_replicates
from towtank.report import pictures
from towtank.results.exports import EXPORT_FORMATS

ANSWERS = (ExitStatus.DONE, ExitStatus.INPUT, ExitStatus.OBJECTIVE_MISSED, ExitStatus.INVALID_MEASUREMENT)
_FEW = 20
_application, _get_command = app.application, typer.main.get_command
_SIZE = ("--users", "20", "--objective", "mean < 1 s", "--cpus", "content=1..4", "--no-simulation")


def commands(folder: Path, out: Path, turn: int) -> list[list[str]]:
    """Return the arguments of every command that reads a results folder. If `turn` is odd, `towtank size` gets further
    options.
    """
    results = str(folder)
    given = [
        ["report", results, "--out", str(out / "report.html")],
        ["advise", results, "--all"],
        ["model", "demands", results],
        ["model", "fit", results, "--at", "10,1000"],
        ["model", "fit", "network", results],
        ["size", results, *_SIZE, *((), ("--model", "curve", "--beyond"))[turn % 2]],
    ]
    exports = [
        ["export", results, "--to", name, "--out", str(out / name)] for name in EXPORT_FORMATS if name != "github"
    ]
    return [*given, *exports]


def faults_of(folder: Path, out: Path, turn: int = 0) -> list[str]:
    """Return the internal faults of all commands that read a results folder, each with its traceback.

    This includes faults after which a command omits a section of its output and continues.
    """
    faults: list[str] = []
    with _watched(faults):
        for number, arguments in enumerate(commands(folder, out, turn)):
            # The commands print JSON and text alternately.
            asked = [*arguments, "--json"] if (number + turn // 2) % 2 else arguments
            faults += _answered(asked)
        try:
            write_prediction(folder)
        except TowtankError:
            pass
        except Exception:
            faults.append(f"prediction: {traceback.format_exc()}")
    return faults


def _answered(arguments: list[str]) -> list[str]:
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    errors = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(errors):
        status = app.run(arguments)
    text = printed.buffer.getvalue().decode()  # type: ignore[attr-defined]
    # A fault with exit status INTERNAL is already in the list.
    wrong = [] if status in (*ANSWERS, ExitStatus.INTERNAL) else [f"{arguments}: status {status}: {errors.getvalue()}"]
    if "--json" in arguments and text:
        try:
            json.loads(text, parse_constant=_refused)
        except ValueError as error:
            wrong.append(f"{arguments}: no JSON: {error}")
    return wrong


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


@contextmanager
def _watched(faults: list[str]) -> Iterator[None]:
    """Record every internal fault that the command line catches, including faults after which a command omits a section
    of its output and continues.
    """
    make_failed, make_file = containment._failed, app._internal_fault

    def failed(parts: Any, part: str, error: Exception, *, internal: bool) -> Any:
        if internal:
            faults.append(f"{part}: " + "".join(traceback.format_exception(error)))
        return make_failed(parts, part, error, internal=internal)

    def internal() -> int:
        faults.append("".join(traceback.format_exception(sys.exc_info()[1])))
        return make_file()

    with (
        patch.object(containment, "_failed", failed),
        patch.object(app, "_internal_fault", internal),
        patch.object(pictures, "static_svg", lambda _: "<svg></svg>"),
        # Without this replacement, Towtank would write a file for each internal fault.
        patch.object(containment, "keep_fault", lambda *_: None),
        few_replicates(),
        quickly(),
    ):
        yield


@contextmanager
def quickly() -> Iterator[None]:
    """Speed up the commands: file data is not forced to disk, and each argument parser is built only once."""
    with (
        patch.object(os, "fsync", lambda _: None),
        patch.object(app, "application", lambda arguments: _built(arguments[0])),
    ):
        yield


@cache
def _built(name: str) -> Any:
    return _get_command(_application([name]))


@contextmanager
def few_replicates() -> Iterator[None]:
    with (
        patch.object(replicates.replicates, "__defaults__", (_FEW, replicates.SEED)),
        patch.object(network_replicates.fit_network, "__defaults__", (_FEW, network_replicates.SEED)),
        patch.object(demand_classes, "REPLICATES", _FEW),
        patch.object(judging, "TEST_DRAWS", _FEW),
        patch.object(knees, "_DRAWS", _FEW),
    ):
        yield
