"""Compares two results, A and B."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from towtank import units
from towtank.api import notebook
from towtank.api.quantity import COUNT, Quantity, estimate
from towtank.errors import StudyError

if TYPE_CHECKING:
    from towtank.analysis import Compared, Finding
    from towtank.api.results import Results

Side: TypeAlias = "str | PathLike[str] | Results | Sequence[str | PathLike[str]]"


@dataclass(frozen=True)
class ComparedMetric:
    """Comparison of one metric between two results, A and B.

    Attributes
    ----------
    name : str
        `throughput`, `response_time_mean`, `response_time_p50`, `response_time_p95`, `response_time_p99`,
        `cpu_per_transaction` or `errors`.
    transaction : str or None
        Name of the transaction; None for all transactions together.
    ratio : Quantity or None
        Value of B divided by value of A, with its 95 % interval over runs; None for `errors` if A has no failures. [1]
    verdict : str
        `same`, `better`, `worse` or `undecided`.
    least_detectable : float or None
        Smallest relative change that a comparison of so many runs detects with a probability of 80 %; None if neither
        result has repeated runs. [1]
    """

    name: str
    transaction: str | None
    ratio: Quantity | None
    verdict: str
    least_detectable: float | None


class Difference(NamedTuple):
    """Property of the configuration or environment that differs between the compared results, A and B.

    Attributes
    ----------
    what : str
        Name of the property.
    a, b : str or None
        Value of the property in A and in B; None if a result lacks the property.
    """

    what: str
    a: str | None
    b: str | None


class ComparedResults:
    """Comparison of two results, A and B, as `towtank compare` prints it."""

    def __init__(self, compared: Compared) -> None:
        self._compared = compared

    @property
    def document(self) -> Mapping[str, object]:
        """Complete comparison, as `towtank compare --json` prints it."""
        return self._compared.document()

    @property
    def verdict(self) -> str:
        """Verdict on B compared with A: `better` or `worse` (a significant change of at least the threshold), `same` or
        `undecided`.
        """
        return str(self._compared.verdict)

    @property
    def valid(self) -> bool:
        """True if both results have at least one valid or suspect run."""
        return not self._compared.is_invalid

    @property
    def metrics(self) -> tuple[ComparedMetric, ...]:
        """Comparisons of all metrics."""
        return tuple(
            ComparedMetric(
                str(found.name), found.transaction, _ratio_of(found), str(found.verdict), found.least_detectable
            )
            for found in self._compared.findings
        )

    @property
    def least_detectable(self) -> float | None:
        """Smallest relative change of the mean response time that a comparison of so many runs detects with a
        probability of 80 %; None if neither result has repeated runs. [1]"""
        return self._compared.least_detectable

    @property
    def runs_needed(self) -> int | None:
        """Estimated number of runs of each result that decides all metrics; None if all metrics are decided, or if the
        number is unknown. [1]
        """
        return self._compared.runs_needed

    @property
    def differs_in(self) -> tuple[Difference, ...]:
        """Differences between A and B in configuration and environment."""
        return tuple(Difference(*each) for each in self._compared.differs_in)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Suspect runs, and excluded invalid runs, each with the reason."""
        return tuple(self._compared.doubts)

    def __repr__(self) -> str:
        return f"<ComparedResults of {self._compared.a.name} and {self._compared.b.name}: {self.verdict}>"

    def _repr_html_(self) -> str:
        metrics = [
            (each.name, each.transaction or "all", notebook.text(each.ratio), each.verdict) for each in self.metrics
        ]
        return notebook.page(
            notebook.heading(f"{self._compared.b.name} compared with {self._compared.a.name}"),
            notebook.verdict(self.verdict, self.doubts),
            notebook.table(("metric", "transaction", "ratio B / A", "verdict"), metrics),
            notebook.table(("differs in", "A", "B"), self.differs_in) if self.differs_in else "",
        )


def _ratio_of(found: Finding) -> Quantity | None:
    document = {"value": found.ratio, "low": found.low, "high": found.high}
    return estimate(document, COUNT, f"{found.name}: B over A")


def compare(a: Side, b: Side, *, threshold: str | float = "2 %") -> ComparedResults:
    """Compare two results: compute ratios with confidence intervals over runs, a verdict, and the smallest detectable
    change.

    Parameters
    ----------
    a, b : path, Results, or sequence of paths
        A result: a results folder, a run folder, or result files of any tool, one file for each run.
        `FOLDER:CONFIGURATION` selects a configuration by its label, or by a part of the label that is unique.
    threshold : str or float, default "2 %"
        Smallest change that matters, for example `2 %` or 0.02, in (0, 1). [1]

    Returns
    -------
    ComparedResults
        Verdict, compared metrics and doubts.

    Raises
    ------
    StudyError
        If `a` or `b` contains no result, or the threshold is not between 0 and 1.
    """
    from towtank.analysis import compare as compare_sides  # noqa: PLC0415 - imports the analysis
    from towtank.analysis import side_of  # noqa: PLC0415

    try:
        share = units.share(threshold) if isinstance(threshold, str) else float(threshold)
    except (TypeError, ValueError) as error:
        raise StudyError.at("compare", str(error), where="threshold") from None
    return ComparedResults(compare_sides(side_of(_names(a)), side_of(_names(b)), share))


def _names(side: Side) -> tuple[str, ...]:
    """Return the paths of a compared result."""
    if isinstance(side, str | PathLike):
        return (str(side),)
    folder = getattr(side, "folder", None)
    return (str(folder),) if folder is not None else tuple(map(str, side))  # type: ignore[arg-type]
