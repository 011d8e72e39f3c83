"""Finds the cheapest hardware that serves a load and meets the objectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from towtank.api import notebook
from towtank.api.calls import faults_of, refuse, texts
from towtank.api.quantity import RATIO, Quantity
from towtank.api.sized import (
    Cheaper,
    Due,
    Scenario,
    SizedTier,
    WhatIf,
    due_of,
    load_unit,
    quantity_of,
    scenario_of,
    tier_of,
    what_if_of,
)

if TYPE_CHECKING:
    from towtank.sizing import SizingResult

KEPT = "sizing.json"
Amount = float | str
ByName = Amount | Mapping[str, Amount] | Sequence[str]


@dataclass(frozen=True, repr=False)
class Sizing:
    """Result of a sizing.

    Attributes
    ----------
    source : Path
        Model file or results folder from which the hardware was sized.
    """

    source: Path
    _result: SizingResult = field(repr=False)

    @property
    def document(self) -> dict[str, object]:
        """Copy of the complete result as a dict, as `towtank size --json` prints it (`docs/reference/size.md`)."""
        return self._result.document()

    @property
    def found(self) -> bool:
        """True if some hardware meets the objectives."""
        return self._result.answer is not None

    @property
    def configuration(self) -> str:
        """Description of the hardware, for example `app 4 x 4 CPUs`; empty if no hardware meets the objectives."""
        return self._result.answer.configuration if self._result.answer else ""

    @property
    def tiers(self) -> Mapping[str, SizedTier]:
        """Hardware by tier; empty if no hardware meets the objectives."""
        found = self._result.answer.tiers if self._result.answer else {}
        return MappingProxyType({name: tier_of(name, each) for name, each in found.items()})

    @property
    def probability(self) -> Quantity | None:
        """Probability that all objectives are met, in [0, 1]; None if the model has no uncertainty. [ratio]"""
        found = self._result.answer
        return (
            None if found is None else quantity_of(found.probability, found.probability_interval, RATIO, "probability")
        )

    @property
    def load_at_limit(self) -> Quantity | None:
        """Highest load at which the hardware meets the objectives; None if no limit was found. [users, or 1/s]"""
        found = self._result.answer
        return (
            None
            if found is None
            else quantity_of(
                found.load_at_limit, found.load_at_limit_interval, load_unit(found.load_unit), "load at limit"
            )
        )

    @property
    def headroom(self) -> Quantity | None:
        """Spare load: `load_at_limit` divided by the required load, minus 1. [ratio]"""
        found = self._result.answer
        return None if found is None else quantity_of(found.headroom, found.headroom_interval, RATIO, "headroom")

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Predicted behaviour of the hardware: first while all nodes are up, then after the loss of nodes in each
        tier.
        """
        return tuple(map(scenario_of, self._result.answer.scenarios)) if self._result.answer else ()

    @property
    def cheaper(self) -> tuple[Cheaper, ...]:
        """Hardware that is slightly cheaper in one tier, with the reasons why it does not suffice."""
        return tuple(Cheaper(each.configuration, each.why_not) for each in self._result.neighbours)

    @property
    def what_if(self) -> tuple[WhatIf, ...]:
        """Effect of each what-if change; the first entry is the unchanged hardware of the model."""
        return tuple(map(what_if_of, self._result.what_if))

    @property
    def dates(self) -> tuple[Due, ...]:
        """First day on which the hardware no longer suffices; empty if no growth of the load is given."""
        return tuple(map(due_of, self._result.dates))

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Inputs of the sizing, each with its origin: measured, specified by the user, or assumed."""
        return tuple(f"{each.part}, {each.origin}: {each.text}" for each in self._result.trust.rests_on)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the sizing, each with the test that was made, if any."""
        return tuple(f"{each.assumes}; tested: {each.tested}" for each in self._result.trust.assumptions)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Doubts about the sizing result."""
        return self._result.trust.doubts

    @property
    def steps(self) -> tuple[str, ...]:
        """Lines of the calculation, each with a formula and its result."""
        from towtank.sizing import step_text  # noqa: PLC0415 - imports numpy

        return tuple(f"{each.step}: {each.formula} = {step_text(each)}" for each in self._result.steps)

    def __repr__(self) -> str:
        return f"<Sizing of {self.source}: {self.configuration or 'nothing meets the objectives'}>"

    def _repr_html_(self) -> str:
        columns = ("tier", "nodes", "CPUs", "machine", "utilization")
        rows = [
            (tier.name, tier.nodes, tier.cpus, tier.machine, ", ".join(map(str, tier.utilization.values())))
            for tier in self.tiers.values()
        ]
        facts = [
            (name, str(value))
            for name, value in (
                ("probability that all objectives hold", self.probability),
                ("load at the limit", self.load_at_limit),
                ("headroom", self.headroom),
            )
            if value is not None
        ]
        return notebook.page(
            notebook.heading(self.configuration or "No hardware meets the objectives."),
            notebook.table(columns, rows),
            notebook.table(("", ""), facts),
            notebook.verdict("doubts" if self.doubts else "no doubts", self.doubts),
        )


def size(
    source: Path | str,
    file: Path | str | None = None,
    *,
    users: ByName | None = None,
    rate: ByName | None = None,
    think: ByName | None = None,
    mix: Mapping[str, Amount] | None = None,
    objective: str | Sequence[str] | None = None,
    utilization: ByName | None = None,
    peak: float | None = None,
    growth: str | None = None,
    horizon: str | None = None,
    start: str | None = None,
    history: Path | str | None = None,
    profile: Path | str | None = None,
    headroom: Amount | None = None,
    nodes_lost: int | None = None,
    probability: Amount | None = None,
    cpus: Mapping[str, str | int | Sequence[int]] | None = None,
    nodes: Mapping[str, str | int | Sequence[int]] | None = None,
    machines: Sequence[str] | None = None,
    machine_files: Sequence[Path | str] = (),
    measured_on: str | None = None,
    uncertainty: Amount | None = None,
    what_if: Sequence[str] | None = None,
    configuration: str | None = None,
    servers: int | None = None,
    model: str = "auto",
    exhaustive: bool = False,
    simulation: bool = True,
    beyond: bool = False,
    keep: bool = False,
) -> Sizing:
    """Find the cheapest hardware that serves a load and meets the objectives.

    Parameters
    ----------
    source : Path or str
        Model file, or results folder of a study.
    file : Path or str, optional
        Sizing file (`docs/reference/size.md`); the other arguments override its values.
    users, rate, think : number, str, or mapping of str to these, optional
        Load to serve: number of users [1], arrival rate [1/s], and think time [s]; a mapping sets values by class.
    mix : mapping of str to number or str, optional
        Share of each class in the load, for example `0.7` or `"70 %"`. [ratio]
    objective : str or sequence of str, optional
        Objectives to meet, for example `"p95 < 500 ms"`.
    utilization : number, str, or mapping of str to these, optional
        Highest allowed utilization of all stations, for example `0.7` or `"70 %"`; a mapping sets it by station.
        [ratio]
    peak : float, optional
        Ratio of the peak load to the load in `users` or `rate`. [1]
    growth, horizon, start : str, optional
        Growth rate of the load, time for which the hardware must suffice, and date of the specified load, for example
        `"20 % / year"`, `"3 years"` and `"2026-01-31"`.
    history : Path or str, optional
        CSV file of past loads with columns `date` and `users`, from which the growth is estimated.
    profile : Path or str, optional
        CSV file of the load over a day, with columns `time` and `load`. The hardware for each interval of the day is in
        `document` under `profile`.
    headroom, probability, uncertainty : float or str, optional
        Spare load that the hardware must be able to serve, lowest accepted probability that all objectives are met, and
        relative standard deviation of the model's service demands, for example `0.2` or `"20 %"`. [ratio]
    nodes_lost : int, optional
        Number of nodes that any tier with several nodes may lose without missing an objective. [1]
    cpus, nodes : mapping of str to int, str or sequence of int, optional
        Allowed numbers of CPUs per node, and of nodes, by tier, for example `4`, `[2, 4, 8]` or `"2..8"`. [1]
    machines : sequence of str, optional
        Names of the machine types from which the sizing chooses.
    machine_files : sequence of Path or str
        Files with further machine types.
    measured_on : str, optional
        Name of the machine type on which the service demands were measured.
    what_if : sequence of str, optional
        What-if changes to evaluate, for example `"cpu x1.5"`.
    configuration : str, optional
        Label of the configuration to size, or a part of it; required if the results have several configurations.
    servers : int, optional
        Number of servers at the bottleneck, for a results folder. [1]
    model : str, default "auto"
        Model to fit to a results folder: `network` of all resources, or `curve` of throughput. `auto` selects the
        network if it distinguishes several resources and `servers` is not set, otherwise the curve.
    exhaustive : bool, default False
        If true, tries every hardware candidate in order of cost. By default, candidates that are in no respect stronger
        than a rejected candidate are skipped.
    simulation : bool, default True
        If true, percentiles that are close to their limits are computed by simulation.
    beyond : bool, default False
        If true, allows loads far beyond the measured loads.
    keep : bool, default False
        If true, saves the result in the results folder, so that the report includes it.

    Returns
    -------
    Sizing
        Result of the sizing; `found` is False if no hardware meets the objectives.

    Raises
    ------
    StudyError
        If an argument or a file is wrong; `faults` lists all faults.
    MeasurementError
        If the measured data do not suffice for a result, or if no run is valid.
    """
    from towtank.results import write_json  # noqa: PLC0415
    from towtank.sizing import MODEL_CHOICES, ModelChoice, SizingSettings, size_source, why_no_source  # noqa: PLC0415 - imports scipy

    path, call = Path(source), "towtank.size"
    if message := why_no_source(path):
        raise refuse(call, "source", message)
    if model not in MODEL_CHOICES:
        raise refuse(call, "model", f"must be one of {', '.join(MODEL_CHOICES)}, got {model!r} instead")
    if keep and not path.is_dir():
        raise refuse(call, "keep", f"must be given with a results folder, got {str(path)!r}")
    options = {
        "load.users": texts(users), "load.rate": texts(rate, "/s"), "load.think": texts(think, "s"),
        "load.mix": texts(_shares(mix)), "load.peak": peak, "load.growth": growth, "load.horizon": horizon,
        "load.start": start, "load.history.csv": _path(history), "load.profile.csv": _path(profile),
        "objectives": texts(objective), "utilization_at_most": texts(_shares(utilization)),
        "headroom": _share(headroom), "nodes_lost": nodes_lost, "probability": _share(probability),
        "uncertainty": _share(uncertainty), "cpus": texts(cpus), "nodes": texts(nodes), "machines": texts(machines),
        "machine_files": [str(Path(each).absolute()) for each in machine_files], "measured_on": measured_on,
        "what_if": texts(what_if),
    }  # fmt: skip
    with faults_of(call, {"--for": "file", "--lose": "nodes_lost", "--machine": "machines"}):
        choice, settings = ModelChoice(configuration, servers, model), SizingSettings(exhaustive, simulation, beyond)
        result = size_source(path, None if file is None else Path(file), options, choice, settings)
    if keep:
        write_json(path / KEPT, result.document())
    return Sizing(path, result)


def _path(value: Path | str | None) -> str | None:
    return None if value is None else str(Path(value).absolute())


def _shares(value: ByName | None) -> object:
    if isinstance(value, Mapping):
        return {name: _share(each) for name, each in value.items()}
    return _share(value) if isinstance(value, int | float) else value


def _share(value: Amount | None) -> str | None:
    """Return a ratio as written in a sizing file, for example 0.2 as `20 %`."""
    return f"{100 * value:.12g} %" if isinstance(value, int | float) else value
