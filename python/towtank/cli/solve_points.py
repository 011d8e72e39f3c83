"""The variants of a model that a command line asks for, and their answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from towtank import yamlfile
from towtank.cli.options import COMMAND_LINE, Given
from towtank.errors import Fault, StudyError
from towtank.model import ModelProblem, solve_models
from towtank.model.fitted_error import with_intervals
from towtank.model.loading import load_document

POINTS_AT_MOST = 100_000


@dataclass
class Point:
    """One variant with its answer, or with why there is none.

    Attributes
    ----------
    changes : dict of str to str
        What was varied, by path.
    fixed : dict of str to str
        What was set for all variants, by path.
    """

    changes: dict[str, str]
    fixed: dict[str, str]
    answer: dict[str, Any] | None = None
    faults: list[Fault] = field(default_factory=list)

    def answer_or_refuse(self) -> dict[str, Any]:
        """The answer, or all faults raised."""
        if self.answer is None:
            raise StudyError(self.faults)
        return self.answer


def points_of(file: str, changes: list[str], users: list[str], sweeps: list[str]) -> list[Point]:
    """Read the options; all combinations of what is varied."""
    given = Given()
    fixed = given.pairs("--set", changes)
    varied = [(path, _values(given, "--sweep", text)) for path, text in (given.pair("--sweep", one) for one in sweeps)]
    for text in users:
        name, equals, numbers = text.rpartition("=")
        name = name if equals else _only_closed_class(given, file)
        varied.append((f"classes.{name}.users", _values(given, "--users", numbers)))
    count = 1
    for _, values in varied:
        count *= max(len(values), 1)
    if count > POINTS_AT_MOST:
        given.fault("--sweep", f"must make at most {POINTS_AT_MOST} combinations, got {count} instead")
    given.refuse_faults()
    paths = [path for path, _ in varied]
    return [Point(dict(zip(paths, one, strict=True)), fixed) for one in product(*(values for _, values in varied))]


def _values(given: Given, option: str, text: str) -> list[str]:
    values = [value.strip() for value in text.split(",")]
    if not all(values):
        given.fault(option, f"must be values with commas between, got {text!r} instead")
    return values


def _only_closed_class(given: Given, file: str) -> str:
    """The class that `--users 50,100` means, where there is one closed class."""
    classes = yamlfile.load(file).root.child("classes")
    names = [
        name
        for name, node in (classes.value.items() if classes is not None and isinstance(classes.value, dict) else ())
        if node.child("users") is not None
    ]
    if len(names) == 1:
        return str(names[0])
    given.fault(
        "--users", f"must be CLASS=N,N,... with one of the closed classes ({', '.join(names) or 'there is none'})"
    )
    return ""


def solve_points(file: str, points: list[Point], method: str) -> list[Point]:
    """Solve all variants in one go; a variant without a steady state keeps its faults, a wrong file raises them."""
    document = yamlfile.load(file)
    problems: list[ModelProblem] = []
    faults: set[Fault] = set()
    for point in points:
        try:
            problems.append(load_document(document, {**point.fixed, **point.changes}))
        except StudyError as error:
            faults |= set(error.faults)
    if faults:
        raise StudyError(sorted(faults))
    outcomes = solve_models([problem.document for problem in problems], method)
    for point, problem, outcome in zip(points, problems, outcomes, strict=True):
        point.answer = outcome.get("answer")
        point.faults = [_at_command_line(fault, method) for fault in problem.faults(outcome.get("faults", []))]
    fitted = problems[0].fitted if problems else None
    if fitted is not None:
        models = [problem.document for problem in problems]
        with_intervals([point.answer for point in points], models, fitted.draws, method)
    return points


def _at_command_line(fault: Fault, method: str) -> Fault:
    """A method that the model does not allow is the command line's fault."""
    if method != "auto" and f"got {method!r}" in fault.message and not fault.where:
        return Fault(COMMAND_LINE, 0, 0, "--method", fault.message)
    return fault
