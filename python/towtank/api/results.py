"""Results of a study."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from towtank.api import notebook
from towtank.api.frames import Frame
from towtank.api.judged import Claim, Comparison, Objective, claim_of, comparison_of, objective_of
from towtank.api.measured import Verdict
from towtank.api.points import Point, Run, point_of, row_of, run_of

if TYPE_CHECKING:
    from towtank.api.diagnosed import Diagnosis
    from towtank.api.fits import Fit, Prediction
    from towtank.api.sizings import Sizing
    from towtank.report import Results as Source


@dataclass(frozen=True, repr=False)
class Results:
    """Results of a study, read from a results folder.

    Attributes
    ----------
    folder : Path
        Results folder.
    messages : tuple of str
        Messages about results that could not be computed, and further messages of `towtank.run`.
    """

    folder: Path
    _source: Source = field(repr=False)
    messages: tuple[str, ...] = ()

    @property
    def summary(self) -> dict[str, Any]:
        """Copy of the study summary as a dict (`docs/reference/summary.md`)."""
        return copy.deepcopy(dict(self._source.summary))

    @property
    def title(self) -> str:
        """Title of the study; if the study has no title, its name."""
        return self._source.title

    @property
    def question(self) -> str:
        """Question that the study answers."""
        return str(self._source.summary.get("question") or "")

    @property
    def headline(self) -> str:
        """Main result of the study, in one sentence."""
        from towtank.report import headline  # noqa: PLC0415 - imports the analysis

        return headline(self._source)

    @property
    def verdict(self) -> Verdict:
        """Verdict on the measurement as a whole, with its doubts."""
        return Verdict.of(self._source.summary.get("verdict"))

    @property
    def valid(self) -> bool:
        """True if the measurement is valid or suspect, so that it may be used."""
        return self.verdict.valid

    @property
    def configurations(self) -> tuple[str, ...]:
        """Labels of the configurations; a configuration is a combination of levels of all factors except the load."""
        return tuple(each.label for each in self._source.configurations)

    @property
    def points(self) -> tuple[Point, ...]:
        """Load points of all configurations, each with the results over its runs."""
        documents = self._source.summary.get("configurations") or ()
        return tuple(point_of(each, point) for each in documents for point in each["points"])

    @property
    def runs(self) -> tuple[Run, ...]:
        """Runs of the study in their planned order, including runs without results."""
        return tuple(map(run_of, self._source.runs))

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """Objectives of the study, with the outcome in each configuration."""
        return tuple(objective_of(self._source, each) for each in self._source.study_summary.objectives)

    @property
    def missed(self) -> tuple[Objective, ...]:
        """Objectives that are missed or undecided."""
        return tuple(objective for objective in self.objectives if not objective.met)

    @property
    def observations(self) -> tuple[str, ...]:
        """Observations, one sentence each, the most important first."""
        return tuple(str(each.get("text", "")) for each in self._source.summary.get("observations") or ())

    @property
    def diagnoses(self) -> Mapping[str, Diagnosis]:
        """Diagnosis of each configuration, by label: what limits the throughput, with the evidence. The configuration
        with the highest throughput comes first.
        """
        from towtank.analysis import Diagnoses  # noqa: PLC0415 - imports the analysis

        return MappingProxyType(dict(Diagnoses.of(self._source.configurations).by_label))

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Diagnosis of the configuration with the highest throughput: what limits the throughput, with the evidence.
        None if no configuration has results.
        """
        return next(iter(self.diagnoses.values()), None)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims of the study with their verdicts; empty if the study has no claims."""
        return tuple(map(claim_of, self._source.claims.claims))

    def compare(self, factor: str | None = None, *, metric: str | None = None) -> tuple[Comparison, ...]:
        """Return the comparisons of each level of a factor with its first level, at the same load and with all other
        factors equal.

        Parameters
        ----------
        factor : str, optional
            Name of the factor to compare; default: all factors.
        metric : str, optional
            Name of the metric to compare, for example `throughput_per_s`; default: all metrics.

        Returns
        -------
        tuple of Comparison
            Comparisons of valid and suspect runs; empty if no two levels have such runs at the same load.

        Raises
        ------
        StudyError
            If the study has no factor, or the comparisons have no metric, with this name.
        """
        from towtank.api.calls import refuse_unknown  # noqa: PLC0415 - imports the units
        from towtank.load_level import KINDS  # noqa: PLC0415

        found = [comparison_of(each) for each in self._source.study_summary.comparisons]
        factors = {name for run in self.runs for name in run.factors if name not in KINDS}
        metrics = {each.metric for each in found}
        names = {"factor": (factor, "a factor of the study other than the load", factors)}
        names |= {"metric": (metric, "a compared metric", metrics)} if found else {}
        refuse_unknown("Results.compare", names)
        return tuple(each for each in found if factor in (None, each.factor) and metric in (None, each.metric))

    def fit(self, curve: str = "auto", **options: Any) -> Fit:
        """Fit a model of throughput as a function of load to these results; see `towtank.fit` for the options.

        Raises
        ------
        StudyError
            If the study has several configurations and `configuration` does not select one.
        MeasurementError
            If no run is valid for a model.
        """
        from towtank.api.fits import fit  # noqa: PLC0415 - imports the models

        return fit(self.folder, curve, **options)

    @overload
    def predict(self, users: float, **options: Any) -> Prediction: ...
    @overload
    def predict(self, users: Sequence[float], **options: Any) -> tuple[Prediction, ...]: ...
    def predict(self, users: float | Sequence[float], **options: Any) -> Prediction | tuple[Prediction, ...]:
        """Predict throughput and response time at loads that were not measured, with the model of `fit`.

        Parameters
        ----------
        users : float or sequence of float
            Number of users [1], or arrival rate [1/s] if the study has an open load; or a sequence of loads.
        **options
            Options of `towtank.fit`.

        Returns
        -------
        Prediction, or tuple of Prediction
            One prediction for a number, a tuple for a sequence.
        """
        return self.fit(**options).predict(users)

    def size(self, **options: Any) -> Sizing:
        """Find the cheapest hardware that can serve a load; see `towtank.size` for the options."""
        from towtank.api.sizings import size  # noqa: PLC0415 - imports the models

        return size(self.folder, **options)

    def report(self, path: Path | str | None = None) -> Path:
        """Write the report as one self-contained HTML file.

        Parameters
        ----------
        path : Path or str, optional
            File to write; default: `report.html` in the results folder.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ReportError
            If the file cannot be written.
        """
        from towtank.report import write_report  # noqa: PLC0415 - heavy

        return write_report(self.folder, None if path is None else Path(path))

    def table(self) -> Frame:
        """Return the same table as `frame`."""
        return self.frame()

    def frame(self) -> Frame:
        """Return the table of results, with one row for each load point.

        Returns
        -------
        Frame
            The columns are the factors, `load`, `throughput_per_s` [1/s], `mean_s`, `p50_s`, `p90_s`, `p95_s`, `p99_s`
            [s], `errors_share` and `utilization TIER` [ratio], `verdicts` and `runs`. Throughput and times also have
            columns for the bounds of their intervals, such as `p95_s_low` and `p95_s_high`.
        """
        return Frame.of_rows([row_of(point) for point in self.points])

    def __repr__(self) -> str:
        runs = len(self._source.runs)
        return f"<Results of {self.title!r}: {self.verdict}, {runs} run{'s' if runs != 1 else ''}, in {self.folder}>"

    def _repr_html_(self) -> str:
        from towtank.report import throughput_figure  # noqa: PLC0415 - heavy, and only for notebooks

        columns = ("configuration", "load", "throughput", "mean", "p95", "verdict")
        rows = [
            (
                point.configuration,
                f"{point.load:g}",
                notebook.text(point.throughput_per_s),
                notebook.text(point.response_time_s.mean),
                notebook.text(point.response_time_s.p95),
                ", ".join(dict.fromkeys(point.verdicts)),
            )
            for point in self.points
        ]
        return notebook.page(
            notebook.heading(self.headline),
            notebook.verdict(self.verdict, (doubt.message for doubt in self.verdict.doubts)),
            notebook.picture(throughput_figure(self._source)),
            notebook.table(columns, rows),
        )


def open_results(folder: Path | str) -> Results:
    """Read the results of a study from a results folder.

    Parameters
    ----------
    folder : Path or str
        Results folder of a complete or interrupted study. Summaries that an older version of Towtank wrote are computed
        again; if the folder is read-only, they are not saved.

    Returns
    -------
    Results
        Results; `messages` lists results that could not be computed from the recordings.

    Raises
    ------
    StudyError
        If the folder is not a results folder.
    """
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.report import measured_results  # noqa: PLC0415 - imports the analysis

    path = Path(folder)
    with contained() as parts:
        found = measured_results(path)
    return Results(path, found, tuple(failed.sentence for failed in parts.failed))
