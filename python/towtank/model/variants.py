"""Solves or simulates several variants of models in one call of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from towtank import units, yamlfile
from towtank.errors import Fault, StudyError
from towtank.model.fitted_error import with_intervals
from towtank.model.loading import ModelProblem, load_document
from towtank.model.simulating import SimulationSettings, simulate_models
from towtank.model.solved import SimulatedOutcome, SolvedNetwork
from towtank.model.solving import solve_models
from towtank.option_check import OptionCheck
from towtank.yamlfile import Document

FITTED = (
    "the demands of this model were fitted to measurements: the intervals include the error of the simulation, but not "
    "the error of the fit; `towtank model solve` gives intervals of the fit"
)


@dataclass
class ModelPoint:
    """Variant of a model, with its solution or the faults that prevent a solution.

    Attributes
    ----------
    changes : dict of str to str
        Values that differ between the variants, by path.
    fixed : dict of str to str
        Values set for all variants, by path.
    """

    changes: dict[str, str]
    fixed: dict[str, str]
    answer: SolvedNetwork | None = None
    faults: list[Fault] = field(default_factory=list)

    def answer_or_refuse(self) -> SolvedNetwork:
        """Return the solution of this variant; raises StudyError with all faults if there is no solution."""
        if self.answer is None:
            raise StudyError(self.faults)
        return self.answer


def solve_points(document: Document, points: list[ModelPoint], method: str) -> list[ModelPoint]:
    """Solve all variants of a model in one call of the engine.

    A variant without a steady state keeps its faults in `ModelPoint.faults`. Faults of the model file raise StudyError.
    """
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
        point.answer = outcome.answer
        point.faults = [_at_command_line(fault, method) for fault in problem.faults(outcome.faults)]
    fitted = problems[0].fitted if problems else None
    if fitted is not None:
        models = [problem.document for problem in problems]
        answers = with_intervals([point.answer for point in points], models, fitted.draws, method)
        for point, answer in zip(points, answers, strict=True):
            point.answer = answer
    return points


def _at_command_line(fault: Fault, method: str) -> Fault:
    """Return the engine's fault; if the model does not allow the solution method, as a fault of the option
    `--method`.
    """
    if method != "auto" and f"got {method!r}" in fault.message and not fault.where:
        return Fault.of_option("--method", fault.message)
    return fault


def checked_simulation_settings(
    ratios: dict[str, str], *, replications: int, events: int, time: str | None, seed: int, threads: int | None
) -> SimulationSettings:
    """Check the settings of a simulation that the command line gives as texts.

    `ratios` are the texts of `--precision` and `--confidence`, in this order, such as `1 %`. The time limit is a text
    such as `30 s`. Without a number of threads, all processors are used.

    Raises
    ------
    StudyError
        If a setting is invalid; contains every fault.
    """
    check = OptionCheck()
    shares = []
    for option, text in ratios.items():
        try:
            value = units.share(text)
        except ValueError as error:
            check.fault(option, str(error))
            continue
        if not 0 < value < 1:
            check.fault(option, f"must be above 0 % and below 100 %, got {text!r} instead")
        shares.append(value)
    for option, count, least, most in (
        ("--replications", replications, 2, 10_000),
        ("--events", events, 1000, 10**13),
        ("--seed", seed, 0, 2**64 - 1),
        ("--threads", 1 if threads is None else threads, 1, 4096),
    ):
        if not least <= count <= most:
            check.fault(option, f"must be from {least} to {most}, got {count} instead")
    time_s = None if time is None else check.positive("--time", time)
    check.refuse_faults()
    return SimulationSettings(shares[0], shares[1], replications, events, time_s, seed, threads)


def simulate_variants(
    wanted: Sequence[tuple[Document | str, Mapping[str, str]]], settings: SimulationSettings
) -> SimulatedOutcome:
    """Simulate models, or model files given by their paths, each with values to change by dotted path.

    Raises
    ------
    StudyError
        If a model is invalid; contains every fault of every model.
    """
    problems: list[ModelProblem] = []
    faults: list[Fault] = []
    for model, changes in wanted:
        try:
            document = yamlfile.load(model) if isinstance(model, str) else model
            problems.append(load_document(document, changes))
        except StudyError as error:
            faults += error.faults
    if faults:
        raise StudyError(sorted(set(faults)))
    outcome = simulate_models([problem.document for problem in problems], settings)
    if outcome.faults:
        found = [
            problem.faults([fault for fault in outcome.faults if fault.model == place])
            for place, problem in enumerate(problems)
        ]
        raise StudyError(sorted({fault for faults in found for fault in faults}))
    answers = tuple(
        answer
        if problem.fitted is None
        else answer.with_results({"fitted": {"draws": 0}, "warnings": [*answer.warnings, FITTED]})
        for problem, answer in zip(problems, outcome.answers, strict=True)
    )
    return outcome.model_copy(update={"answers": answers})
