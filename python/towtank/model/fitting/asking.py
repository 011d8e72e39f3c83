"""Fits capacity curves to the points of a CSV file, or to chosen configurations of a results folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from towtank.analysis import STUDY_SUMMARY_FILE
from towtank.errors import StudyError
from towtank.model.fitting.documents import CurveAnswer, FitRequest, fit_results, fit_table
from towtank.model.fitting.measured import is_results
from towtank.model.fitting.networks import NetworkAnswer
from towtank.model.fitting.table import PointColumns

AnyAnswer = TypeVar("AnyAnswer", CurveAnswer, NetworkAnswer)


def why_no_source(source: Path) -> str | None:
    """Return the reason why a path is neither a CSV file nor a results folder; otherwise None."""
    if not source.exists():
        return f"must be a CSV file or a results folder, got {str(source)!r}, which does not exist"
    if source.is_dir() and not is_results(source):
        return f"must be a CSV file or a results folder, got the folder {str(source)!r}"
    if source.suffix == ".json" and not is_results(source):
        return f"must be a CSV file, a results folder or its {STUDY_SUMMARY_FILE}, got {str(source)!r}"
    return None


def misplaced_options(source: Path, columns: PointColumns, configuration: str | None) -> list[tuple[str, str]]:
    """Return the options that do not apply to the kind of source (CSV file or results folder), each with the reason.

    With a results folder, options may set a think time, but name no column. With a CSV file, no text to find in labels
    of configurations is allowed.
    """
    if not is_results(source):
        message = f"must be given with a results folder only, got {configuration!r}"
        return [] if configuration is None else [("--configuration", message)]
    named = {
        "--x": columns.load,
        "--y": columns.throughput,
        "--response": columns.response,
        "--error": columns.error,
        "--busy": columns.busy,
    }
    return [
        (option, f"must not be given with a results folder, got {value!r}")
        for option, value in named.items()
        if value is not None
    ]


def fit_source(
    source: Path, columns: PointColumns, request: FitRequest, configuration: str | None
) -> list[CurveAnswer]:
    """Fit the points of a CSV file, or each chosen configuration of a results folder.

    The columns apply to a CSV file only. The labels of the configurations to fit contain the text `configuration`; None
    for all configurations.

    Raises
    ------
    StudyError
        If the CSV file is invalid, or no configuration has a label that contains the text.
    MeasurementError
        If no run is good enough to be modelled.
    """
    if not is_results(source):
        return [fit_table(source, columns, request)]
    answers = fit_results(source, request, configuration)
    if not answers:
        raise no_such_configuration(configuration)
    return answers


def no_such_configuration(configuration: str | None) -> StudyError:
    """Return the error for a text that no label of a configuration contains."""
    message = f"must be part of the label of a configuration, got {configuration!r} instead"
    return StudyError.of_option("--configuration", message)


def only_answer(answers: Sequence[AnyAnswer]) -> AnyAnswer:
    """Return the answer of a list that must contain exactly one answer.

    Raises
    ------
    StudyError
        If the list is empty, or contains several answers.
    """
    if len(answers) != 1:
        labels = "; ".join(str(each.document["label"]) for each in answers) or "none"
        message = f"must choose one configuration of the study by part of its label, got {labels}"
        raise StudyError.of_option("--configuration", message)
    return answers[0]
