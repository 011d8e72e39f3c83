"""Determines the variants of a model that `towtank model solve` solves."""

from __future__ import annotations

import re
from itertools import product

from towtank.cli.options import OptionCheck
from towtank.model import ModelPoint
from towtank.yamlfile import Document

POINTS_AT_MOST = 100_000
_SEPARATOR = re.compile(r",(?![^()]*\))")
"""Comma outside of parentheses, as in `between(10 ms, 30 ms),5 ms`."""


def points_of(file: Document, changes: list[str], users: list[str], sweeps: list[str]) -> list[ModelPoint]:
    """Return the variants to solve: all combinations of the values in `--users` and `--sweep`."""
    check = OptionCheck()
    fixed = check.pairs("--set", changes)
    varied = [
        (path, _values(check, "--sweep", text)) for path, text in (check.pair("--sweep", sweep) for sweep in sweeps)
    ]
    for text in users:
        name, equals, numbers = text.rpartition("=")
        name = name if equals else _only_closed_class(check, file)
        varied.append((f"classes.{name}.users", _values(check, "--users", numbers)))
    count = 1
    for _, values in varied:
        count *= max(len(values), 1)
    if count > POINTS_AT_MOST:
        check.fault("--sweep", f"must make at most {POINTS_AT_MOST} combinations, got {count} instead")
    check.refuse_faults()
    paths = [path for path, _ in varied]
    return [
        ModelPoint(dict(zip(paths, combination, strict=True)), fixed)
        for combination in product(*(values for _, values in varied))
    ]


def _values(check: OptionCheck, option: str, text: str) -> list[str]:
    values = [value.strip() for value in _SEPARATOR.split(text)]
    if not all(values):
        check.fault(option, f"must be values separated by commas, got {text!r} instead")
    return values


def _only_closed_class(check: OptionCheck, file: Document) -> str:
    """Return the only closed class of the model, to which `--users 50,100` applies; otherwise report a fault."""
    classes = file.root.child("classes")
    names = [
        name
        for name, node in (classes.value.items() if classes is not None and isinstance(classes.value, dict) else ())
        if node.child("users") is not None
    ]
    if len(names) == 1:
        return str(names[0])
    check.fault(
        "--users", f"must be CLASS=N,N,... with one of the closed classes ({', '.join(names) or 'it has none'})"
    )
    return ""
