"""Sizes the hardware for a model file or a results folder. The sizing file and the options state the requirements."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from towtank.errors import StudyError
from towtank.sizing.basis import ModelChoice, load_basis
from towtank.sizing.reading import read_sizing
from towtank.sizing.result import SizingResult
from towtank.sizing.sizing import SizingSettings, sizing_result


def why_no_source(source: Path) -> str | None:
    """Return the reason why a path cannot be sized; None if the path exists."""
    if source.exists():
        return None
    return f"must be a model file or a results folder, got {str(source)!r}, which does not exist"


def size_source(
    source: Path, file: Path | None, options: Mapping[str, object], choice: ModelChoice, settings: SizingSettings
) -> SizingResult:
    """Return the hardware on which the required load meets the objectives.

    The source is a model file, or a results folder to which a model is fitted. Options override values of the sizing
    file, as for `read_sizing`.

    Raises
    ------
    StudyError
        If the source, the file or an option is invalid; contains every fault.
    MeasurementError
        If the measurements do not support an answer.
    """
    checked = read_sizing(file, options)
    try:
        basis = load_basis(source, choice)
    except StudyError as error:
        raise StudyError(sorted({*error.faults, *checked.faults}), hint=error.hint) from None
    return sizing_result(basis, checked, file.parent if file is not None else Path(), settings)
