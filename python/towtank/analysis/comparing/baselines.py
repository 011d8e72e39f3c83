"""Stores the measured values of a result as a named baseline. A baseline contains no recordings, so it is small enough
to be committed to a repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from towtank.analysis.comparing.runs import ComparedRun, Failures, Measured, Metric, Place, Side
from towtank.errors import Fault, StudyError
from towtank.files import put_text, read_regular
from towtank.spelling import misnamed
from towtank.version import __version__

FOLDER = Path(".towtank") / "baselines"
"""Folder for baselines, relative to the current folder."""
SCHEMA = "towtank/baseline/1"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PLACE: Literal["loc"] = "loc"
_MESSAGE: Literal["msg"] = "msg"
_Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class FigureForm(_Form):
    """Entry of a baseline file: a measured value of one run."""

    name: Annotated[Metric, Field(strict=False)]
    transaction: str = ""
    value: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    error: _Share | None = None
    step: _Share = 0.0


class FailuresForm(_Form):
    """Entry of a baseline file: numbers of failed and of ended transactions in one run.

    The numbers cover one transaction, or all transactions if `transaction` is empty.
    """

    transaction: str = ""
    failed: _Count
    ended: _Count


class RunForm(_Form):
    """Entry of a baseline file: a run with its measured values."""

    name: str
    cell: str
    verdict: Literal["valid", "suspect", "invalid"]
    figures: list[FigureForm]
    failures: list[FailuresForm]
    reasons: list[str] = []
    because: list[str] = []
    transactions: list[str] = []

    def run(self) -> ComparedRun:
        """Return the stored run in the form that comparisons use."""
        figures = {
            Place(each.name, each.transaction): Measured(each.value, each.error, each.step) for each in self.figures
        }
        failures = {each.transaction: Failures(each.failed, each.ended) for each in self.failures}
        return ComparedRun(
            self.name,
            self.cell,
            self.verdict,
            figures,
            failures,
            tuple(self.reasons),
            tuple(self.because),
            tuple(self.transactions),
        )


class BaselineForm(_Form):
    """Content of a baseline file."""

    # The JSON key is `schema`. pydantic does not allow this name for a field, so the field has an alias.
    kind: Annotated[Literal["towtank/baseline/1"], Field(alias="schema")]
    towtank: str
    of: str
    runs: Annotated[list[RunForm], Field(min_length=1)]
    facts: dict[str, str]


def path_of(name: str) -> Path:
    """Return the path of a baseline file.

    Raises
    ------
    StudyError
        If the name contains characters other than letters, digits, `.`, `_` and `-`, or does not begin with a letter or
        digit.
    """
    if _NAME.fullmatch(name) is None:
        message = f"must be letters, digits, '.', '_' and '-', the first a letter or digit, got {name!r} instead"
        raise StudyError.of_option("--baseline", message)
    return FOLDER / f"{name}.json"


def keep_baseline(name: str, side: Side) -> Path:
    """Write the runs of one result as a baseline, and return the path of the file."""
    path = path_of(name)
    form = BaselineForm.model_validate(
        {
            "schema": SCHEMA,
            "towtank": __version__,
            "of": side.name,
            "runs": [_form_of(run) for run in side.runs],
            "facts": dict(side.facts),
        }
    )
    put_text(path, form.model_dump_json(by_alias=True, indent=1, exclude_defaults=True) + "\n")
    return path


def _form_of(run: ComparedRun) -> RunForm:
    return RunForm(
        name=run.name,
        cell=run.cell,
        verdict=run.verdict,  # type: ignore[arg-type]
        figures=[
            FigureForm(
                name=place.metric,
                transaction=place.transaction,
                value=found.value,
                error=found.error,
                step=found.step,
            )
            for place, found in run.figures.items()
        ],
        failures=[
            FailuresForm(transaction=transaction, failed=found.failed, ended=found.ended)
            for transaction, found in run.failures.items()
        ],
        reasons=list(run.reasons),
        because=list(run.because),
        transactions=list(run.transactions),
    )


def read_baseline(name: str) -> Side:
    """Read a baseline as one side of a comparison.

    Raises
    ------
    StudyError
        If no baseline has this name, or if its file is damaged. The error lists all faults.
    """
    path = path_of(name)
    if not path.is_file():
        known = sorted(found.stem for found in FOLDER.glob("*.json"))
        of = f", one of {', '.join(map(repr, known))}" if known else f"; {FOLDER} has none"
        message = misnamed(f"a baseline that `towtank compare --keep` made{of}", name, known)
        raise StudyError.of_option("--baseline", message)
    try:
        form = BaselineForm.model_validate_json(read_regular(path))
    except ValidationError as error:
        raise StudyError(list(_faults(path, error))) from None
    except (OSError, ValueError) as error:
        raise StudyError.at(path, f"must be a baseline that can be read, got {error} instead") from None
    return Side(f"baseline {name}", tuple(run.run() for run in form.runs), form.facts)


def _faults(path: Path, error: ValidationError) -> Iterator[Fault]:
    for problem in error.errors():
        message = f"must be as `towtank compare --keep` writes it: {problem[_MESSAGE]}"
        yield Fault(str(path), 0, 0, ".".join(map(str, problem[_PLACE])), message)
