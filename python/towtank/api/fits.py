"""Fits models of throughput as a function of load to results of Towtank or to CSV files."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from towtank.api import notebook
from towtank.api.calls import faults_of, refuse, text
from towtank.api.frames import Frame
from towtank.api.quantity import COUNT, PER_SECOND, RATIO, SECONDS, Quantity, interval_of

if TYPE_CHECKING:
    from towtank.api.sizings import Sizing
    from towtank.model import CurveAnswer, CurveCandidate
    from towtank.report import Figure

CURVES = ("auto", "usl", "amdahl", "linear", "closed", "load-dependent")
_PARAMETERS = (
    "lambda", "sigma", "kappa", "peak_load", "peak_throughput", "limit_throughput", "bottleneck_demand_s", "other_s",
    "background", "idle_ratio", "idle_demand_s", "demand_s", "largest_demand_s", "knee_load",
)  # fmt: skip


@dataclass(frozen=True)
class Prediction:
    """Prediction of a fitted model at one load.

    Attributes
    ----------
    load : float
        Number of users [1], or arrival rate [1/s].
    range : str
        Position of the load: `measured` at a measured load, `between` measured loads, or `beyond` the measured loads.
    throughput_per_s : Quantity or None
        Throughput with its 95 % confidence band; None if refused. [1/s]
    response_time_s : Quantity or None
        Mean response time with its 95 % confidence band; None if refused, or if the model has no response time. [s]
    refused : str
        Reason why there is no prediction; empty if there is a prediction.
    """

    load: float
    range: str
    throughput_per_s: Quantity | None
    response_time_s: Quantity | None
    refused: str = ""

    def _repr_html_(self) -> str:
        position = {"measured": "at a measured load", "between": "between measured loads"}.get(
            self.range, "beyond the measured loads"
        )
        values = (("throughput", self.throughput_per_s), ("mean response time", self.response_time_s))
        return notebook.page(
            notebook.heading(f"Prediction at load {self.load:g}, {position}"),
            notebook.verdict("refused", [self.refused]) if self.refused else "",
            notebook.table(("predicted", "with 95 % band"), [(name, notebook.text(value)) for name, value in values]),
        )


@dataclass(frozen=True, repr=False)
class Fit:
    """Model of throughput as a function of load, fitted to measurements.

    Attributes
    ----------
    source : Path
        Results folder or CSV file.
    """

    source: Path
    _answer: CurveAnswer = field(repr=False)

    @property
    def document(self) -> dict[str, Any]:
        """Copy of the complete fit as a dict, as `towtank model fit --json` prints it
        (`docs/reference/model-fit.md`).
        """
        return copy.deepcopy(self._answer.document)

    @property
    def curve(self) -> str | None:
        """Name of the curve, for example `usl` or `closed`; None if no curve describes the points."""
        return self._answer.fitted.curve

    @property
    def label(self) -> str:
        """Label of the configuration; empty for a CSV file."""
        return self._answer.fitted.label

    @property
    def verdict(self) -> str:
        """Verdict on the fit: `supported`, `doubtful` or `rejected`."""
        return self._answer.fitted.verdict.level

    @property
    def doubts(self) -> tuple[str, ...]:
        """Doubts about the fit, which led to the verdict."""
        return tuple(each.text for each in self._answer.fitted.verdict.reasons)

    @property
    def parameters(self) -> Mapping[str, Quantity]:
        """Parameters of the curve, and quantities derived from the parameters, with 95 % intervals. Times are in [s],
        rates in [1/s].
        """
        fitted = self._answer.fitted
        return MappingProxyType(
            {
                name: Quantity(value, _unit(name), interval_of(fitted.confidence_interval.get(name)))
                for name in _PARAMETERS
                if (value := fitted.parameter(name)) is not None
            }
        )

    @property
    def held_out_error(self) -> Quantity | None:
        """Largest relative error, with its confidence interval, of a fit to the lower loads that predicts the highest
        loads. None if no load was held out. [ratio]
        """
        held = self._answer.fitted.held_out
        if held is None:
            return None
        from towtank.model import error_of_band  # noqa: PLC0415 - numpy

        worst = held.worst
        interval = error_of_band(worst.throughput_band_95, worst.measured_throughput)
        return Quantity(worst.error, RATIO, interval_of(interval))

    @overload
    def predict(self, users: float) -> Prediction: ...
    @overload
    def predict(self, users: Sequence[float]) -> tuple[Prediction, ...]: ...
    def predict(self, users: float | Sequence[float]) -> Prediction | tuple[Prediction, ...]:
        """Predict throughput and response time at one load or several loads.

        Parameters
        ----------
        users : float or sequence of float
            Number of users [1], or arrival rate [1/s], above 0; or a sequence of loads.

        Raises
        ------
        MeasurementError
            If no curve describes the points.
        """
        from towtank.model import predict_curve  # noqa: PLC0415 - imports scipy

        several = isinstance(users, Sequence)
        loads = [float(load) for load in users] if isinstance(users, Sequence) else [float(users)]
        if not all(0 < load < 1e9 for load in loads):
            raise refuse("predict", "users", f"must be loads above 0, got {users!r} instead")
        found = tuple(
            _prediction(row.document()) for row in predict_curve(self._candidate, loads, self._answer.think_s)
        )
        return found if several else found[0]

    def size(self, **options: Any) -> Sizing:
        """Find the cheapest hardware that can serve a load; see `towtank.size` for the options.

        Raises
        ------
        ModelError
            If the curve is not `closed` or `load-dependent`.
        """
        import tempfile  # noqa: PLC0415 - only needed here

        from towtank.api.sizings import size  # noqa: PLC0415 - imports the models

        with tempfile.TemporaryDirectory() as folder:
            found = size(self.write(Path(folder) / "model.yaml"), **options)
        return replace(found, source=self.source, _result=found._result.model_copy(update={"source": str(self.source)}))

    def write(self, path: Path | str) -> Path:
        """Write the fitted curve as a model file of a closed queueing network, for functions such as `towtank.solve`.

        Raises
        ------
        ModelError
            If the curve is not `closed` or `load-dependent`, or if it is rejected.
        """
        from towtank.model import written_model  # noqa: PLC0415 - imports scipy

        written_model(self._answer, str(self.source), Path(path))
        return Path(path)

    def frame(self) -> Frame:
        """Return one row for each point: `load`, `throughput` [1/s], `response_s` [s], `fitted_throughput` [1/s].

        `fitted_low` and `fitted_high` are the bounds of the 95 % confidence band of the curve. [1/s]
        """
        rows = []
        for point in self._answer.fitted.points:
            row = dict(point)
            row["fitted_low"], row["fitted_high"] = row.pop("fitted_throughput_band_95")
            rows.append(row)
        return Frame.of_rows(rows)

    @property
    def _candidate(self) -> CurveCandidate:
        from towtank.errors import MeasurementError  # noqa: PLC0415
        from towtank.model import shown_candidate  # noqa: PLC0415 - imports scipy

        found = shown_candidate(self._answer)
        if found is None:
            raise MeasurementError(f"no curve describes the points of {self.source}: {self._answer.choice.why}")
        return found

    def __repr__(self) -> str:
        label = f" of {self.label}" if self.label else ""
        return f"<Fit {self.curve}{label}: {self.verdict}>"

    def _repr_html_(self) -> str:
        rows = [(name, str(value)) for name, value in self.parameters.items()]
        return notebook.page(
            notebook.heading(f"{self.label or self.source.name}: {self.curve or 'no curve'}"),
            notebook.verdict(self.verdict, self.doubts),
            notebook.picture(self._figure()),
            notebook.table(("parameter", "value"), rows),
        )

    def _figure(self) -> Figure | None:
        from towtank.model import CapacityModel, curve_grid  # noqa: PLC0415 - heavy, and only for notebooks
        from towtank.report import Results, capacity_figure  # noqa: PLC0415

        if self.curve is None:
            return None
        drawn = curve_grid(self._candidate, self._answer.think_s)
        document = {**self.document, "label": self.label or self.source.name, "grid": drawn, "refused": None}
        model = CapacityModel.model_validate({"configurations": [document]})
        return capacity_figure(Results(self.source.name, {}, {}, model=model))


def fit(
    source: Path | str,
    curve: str = "auto",
    *,
    configuration: str | None = None,
    servers: int | None = None,
    hold_out: int | None = None,
    think: float | str | None = None,
    x: str | None = None,
    y: str | None = None,
    response: str | None = None,
    error: str | None = None,
    busy: str | None = None,
) -> Fit:
    """Fit a model of throughput as a function of load.

    Parameters
    ----------
    source : Path or str
        Results folder of a study, or a CSV file.
    curve : str, default "auto"
        Curve to fit: `usl`, `amdahl`, `linear`, `closed`, `load-dependent`, or `auto` for the best of these.
    configuration : str, optional
        Label of the configuration to fit, or a part of it; required if the results have several configurations.
    servers : int, optional
        Number of servers at the bottleneck; default: the number of CPUs in the results, otherwise 1. [1]
    hold_out : int, optional
        Number of highest loads that the fit leaves out and predicts, as a test. By default, a separate fit without the
        highest load predicts that load, and the returned fit includes it. [1]
    think : float or str, optional
        Think time, for example `2.0` or `"2 s"`; for a CSV file also the name of the column that contains it. [s]
    x, y, response, error, busy : str, optional
        Names of the columns of a CSV file: load, throughput [1/s], mean response time [s], standard error of the
        throughput [1/s], and mean number of busy servers at the bottleneck [1].

    Raises
    ------
    StudyError
        If the source or an argument is wrong.
    MeasurementError
        If no point is valid for a model.
    ModelError
        If the curve cannot be fitted to the points.
    """
    from towtank import units  # noqa: PLC0415
    from towtank.errors import Fault, StudyError  # noqa: PLC0415
    from towtank.model import (  # noqa: PLC0415 - imports scipy
        FitRequest,
        PointColumns,
        fit_source,
        is_results,
        misplaced_options,
        only_answer,
        why_no_source,
    )

    path, call = Path(source), "towtank.fit"
    if message := why_no_source(path):
        raise refuse(call, "source", message)
    if curve not in CURVES:
        raise refuse(call, "curve", f"must be one of {', '.join(CURVES)}, got {curve!r} instead")
    for name, value in (("servers", servers), ("hold_out", hold_out)):
        if value is not None and value < 1:
            raise refuse(call, name, f"must be at least 1, got {value} instead")
    thinks = None if think is None else text(think, "s")
    try:
        think_s = units.duration(thinks) if thinks is not None and is_results(path) else None
    except ValueError as wrong:
        raise refuse(call, "think", str(wrong)) from None
    columns, request = (
        PointColumns(x, y, response, error, thinks, busy),
        FitRequest(curve, servers, None, hold_out, think_s),
    )
    with faults_of(call):
        if faults := misplaced_options(path, columns, configuration):
            raise StudyError([Fault.of_option(option, message) for option, message in faults])
        return Fit(path, only_answer(fit_source(path, columns, request, configuration)))


def _unit(name: str) -> str:
    if name.endswith("_s"):
        return SECONDS
    return PER_SECOND if name == "lambda" or name.endswith("throughput") else COUNT


def _prediction(row: Mapping[str, Any]) -> Prediction:
    at = f" predicted at load {row['load']:g}"
    return Prediction(
        float(row["load"]),
        str(row["range"]),
        _band(row.get("throughput"), PER_SECOND, f"throughput{at}"),
        _band(row.get("response_s"), SECONDS, f"mean response time{at}"),
        str(row.get("refused") or ""),
    )


def _band(found: Mapping[str, Any] | None, unit: str, about: str) -> Quantity | None:
    return None if found is None else Quantity(float(found["curve"]), unit, interval_of(found["band_95"]), about)
