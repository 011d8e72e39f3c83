"""Solves and simulates queueing networks."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from towtank.api import notebook
from towtank.api.calls import changes_of, faults_of, text
from towtank.api.frames import Frame
from towtank.api.quantity import COUNT, PER_SECOND, RATIO, SECONDS, Quantity, interval_of

if TYPE_CHECKING:
    from towtank.model import SolvedClass, SolvedNetwork, SolvedPart, SolvedPool, SolvedStation
    from towtank.yamlfile import Document

Quantities = Mapping[str, Quantity]
Model = Path | str | Mapping[str, Any]


@dataclass(frozen=True)
class ClassFigures:
    """Results of a queueing network for one class of jobs.

    Attributes
    ----------
    throughput_per_s : Quantity or None
        Rate of completed jobs. [1/s]
    response_time_s : Quantity or None
        Mean response time, without think time; None if no job is completed. [s]
    users_in_system : Quantity or None
        Mean number of jobs in the system, without thinking users. [1]
    dropped_per_s : Quantity or None
        Rate of arrivals that a full station rejects. [1/s]
    percentiles_s : mapping of str to Quantity
        Percentiles of the response time by name, for example `p95`; empty if the network was solved, not simulated. [s]
    """

    throughput_per_s: Quantity | None
    response_time_s: Quantity | None
    users_in_system: Quantity | None
    dropped_per_s: Quantity | None
    percentiles_s: Quantities


@dataclass(frozen=True)
class StationFigures:
    """Results of one station of a queueing network.

    Attributes
    ----------
    utilization : Quantity or None
        Busy share of all servers of the station, in [0, 1]. [ratio]
    queue_length : Quantity or None
        Mean number of jobs at the station, including those in service. [1]
    throughput_per_s : Quantity or None
        Rate of completed visits. [1/s]
    residence_time_s : mapping of str to Quantity
        Time of all visits to the station, by class; the mean over completed transactions. [s]
    utilization_by_class : mapping of str to Quantity
        Utilization by class, in [0, 1]. [ratio]
    """

    utilization: Quantity | None
    queue_length: Quantity | None
    throughput_per_s: Quantity | None
    residence_time_s: Quantities
    utilization_by_class: Quantities


@dataclass(frozen=True)
class PoolFigures:
    """Results of one pool, such as a connection pool, in a queueing network.

    Attributes
    ----------
    utilization : Quantity or None
        Share of the pool's units that are held, in [0, 1]. [ratio]
    held, waiting : Quantity or None
        Mean number of units held, and mean number of jobs that wait for a unit. [1]
    waiting_time_s : mapping of str to Quantity
        Mean time that a job waits for a unit, by class. [s]
    """

    utilization: Quantity | None
    held: Quantity | None
    waiting: Quantity | None
    waiting_time_s: Quantities


@dataclass(frozen=True, repr=False)
class Solution:
    """Results of a queueing network that was solved or simulated.

    Simulated values have the confidence interval of the simulation. Values solved from a model that was fitted to
    measurements have the interval of the fit. Other values have no interval.
    """

    _solved: SolvedNetwork = field(repr=False)

    @property
    def document(self) -> dict[str, object]:
        """Copy of the complete solution as a dict, as `towtank model solve --json` or `simulate --json` prints it."""
        return copy.deepcopy(self._solved.document())

    @property
    def classes(self) -> Mapping[str, ClassFigures]:
        """Results by class of jobs."""
        return MappingProxyType({name: _class(each) for name, each in self._solved.classes.items()})

    @property
    def stations(self) -> Mapping[str, StationFigures]:
        """Results by station of the network."""
        return MappingProxyType({name: _station(each) for name, each in self._solved.stations.items()})

    @property
    def pools(self) -> Mapping[str, PoolFigures]:
        """Results by pool of the network."""
        return MappingProxyType({name: _pool(each) for name, each in self._solved.pools.items()})

    @property
    def method(self) -> str:
        """Solution method, for example `exact MVA` or `discrete-event simulation`."""
        return self._solved.method

    @property
    def exact(self) -> bool:
        """True if the solution is exact."""
        return self._solved.exact

    @property
    def approximate_within(self) -> Quantity | None:
        """Largest relative deviation of a mean response time within its range, because the method is approximate; None
        if the method is exact. [ratio]

        It is at least 1 if a range has no upper bound. `document` contains the ranges of all values under `within`.
        """
        found = self._solved.approximate_within
        return None if found is None else Quantity(found, RATIO)

    @property
    def steady(self) -> bool:
        """True if the network has a steady state. `solve` refuses a network without one; `simulate` returns a
        result.
        """
        return self._solved.steady

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the bottleneck of the network."""
        return self._solved.warnings

    def frame(self) -> Frame:
        """Return one row for each class: `class`, `throughput_per_s` [1/s], `response_time_s` [s], `users_in_system`
        [1].
        """
        names = ("throughput_per_s", "response_time_s", "users_in_system")
        rows = [{"class": name, **{key: getattr(each, key) for key in names}} for name, each in self.classes.items()]
        return Frame.of_rows(rows)

    def __repr__(self) -> str:
        parts = [
            f"{name}: {each.throughput_per_s}, response time {each.response_time_s}"
            for name, each in self.classes.items()
        ]
        return f"<Solution by {self.method}, {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        classes = [
            (name, *map(_shown, (each.throughput_per_s, each.response_time_s, each.users_in_system)))
            for name, each in self.classes.items()
        ]
        stations = [
            (name, *map(_shown, (each.utilization, each.queue_length, each.throughput_per_s)))
            for name, each in self.stations.items()
        ]
        return notebook.page(
            notebook.heading(f"{self.method}{', exact' if self.exact else ''}"),
            notebook.table(("class", "throughput", "mean response time", "in system"), classes),
            notebook.table(("station", "utilization", "queue length", "throughput"), stations),
            "".join(notebook.heading(warning) for warning in self.warnings),
        )


def solve(model: Model, *, changes: Mapping[str, object] | None = None, method: str = "auto") -> Solution:
    """Solve a queueing network.

    Parameters
    ----------
    model : Path, str or mapping
        Model file, or its content as a mapping (`docs/reference/model.md`).
    changes : mapping of str to object, optional
        Values to change, by dotted path, for example `{"stations.cpu.servers": 8}`.
    method : str, default "auto"
        Solution method: `auto`, `exact`, `bard-schweitzer` or `linearizer`.

    Raises
    ------
    StudyError
        If the model is wrong (`faults` lists all faults), if a station has no steady state, or if the method does not
        apply.

    Examples
    --------
    >>> import towtank
    >>> web = {"classes": {"web": {"rate": "8 /s"}}, "stations": {"cpu": {"demand": {"web": "100 ms"}}}}
    >>> towtank.solve(web).classes["web"].response_time_s, towtank.solve(web).stations["cpu"].utilization
    (500 ms, 80 %)
    """
    from towtank.errors import StudyError  # noqa: PLC0415
    from towtank.model import SOLVING_METHODS, ModelPoint, solve_points  # noqa: PLC0415 - imports pydantic

    with faults_of("towtank.solve"):
        if method not in SOLVING_METHODS:
            message = f"must be one of {', '.join(SOLVING_METHODS)}, got {method!r} instead"
            raise StudyError.at("towtank.solve()", message, where="method")
        return Solution(
            solve_points(_document(model), [ModelPoint({}, changes_of(changes))], method)[0].answer_or_refuse()
        )


def simulate(
    model: Model,
    *,
    seed: int = 1,
    changes: Mapping[str, object] | None = None,
    precision: float | str = 0.01,
    confidence: float | str = 0.95,
    replications: int = 10,
    events: int = 1_000_000_000,
    time: float | str | None = None,
    threads: int | None = None,
) -> Solution:
    """Simulate a queueing network.

    Parameters
    ----------
    model : Path, str or mapping
        Model file, or its content as a mapping.
    seed : int, default 1
        Seed of the random generator; the same seed gives the same result.
    changes : mapping of str to object, optional
        Values to change, by dotted path.
    precision : float or str, default 0.01
        Relative half-width of the confidence interval that every class must reach before the simulation stops. [ratio]
    confidence : float or str, default 0.95
        Confidence level of the intervals. [ratio]
    replications : int, default 10
        Number of independent runs, at least 2. [1]
    events : int, default 1,000,000,000
        Largest number of simulated events of all runs together. [1]
    time : float or str, optional
        Time limit of the computation, for example `30` or `"30 s"`. If it is reached, the result is not reproducible.
        [s]
    threads : int, optional
        Number of threads; does not change the result. Default: all processors. [1]

    Raises
    ------
    StudyError
        If the model or an argument is wrong; `faults` lists all faults.
    """
    from towtank.model import checked_simulation_settings, simulate_variants  # noqa: PLC0415 - imports pydantic

    ratios = {"--precision": _percent(precision), "--confidence": _percent(confidence)}
    with faults_of("towtank.simulate"):
        settings = checked_simulation_settings(
            ratios,
            replications=replications,
            events=events,
            time=None if time is None else text(time, "s"),
            seed=seed,
            threads=threads,
        )
        outcome = simulate_variants([(_document(model), changes_of(changes))], settings)
    return Solution(outcome.answers[0])


def _document(model: Model) -> Document:
    """Read a model from a file, or from a mapping with the content of a model file."""
    from towtank import yamlfile  # noqa: PLC0415 - imports ruamel

    if isinstance(model, Mapping):
        return yamlfile.read(json.dumps(model, default=_plain), "<model>")
    return yamlfile.load(model)


def _plain(value: Any) -> Any:
    """Convert a value that JSON does not support, such as a NumPy number or a read-only mapping."""
    return dict(value) if isinstance(value, Mapping) else value.item() if hasattr(value, "item") else str(value)


def _percent(value: float | str) -> str:
    return value if isinstance(value, str) else f"{100 * value:.12g} %"


def _shown(value: Quantity | None) -> str:
    return notebook.ABSENT if value is None else str(value)


def _figure(part: SolvedPart, value: float | None, name: str, unit: str) -> Quantity | None:
    return None if value is None else Quantity(value, unit, interval_of(part.confidence_interval.get(name)), name)


def _figures(
    part: SolvedPart, values: Mapping[str, float | None], name: str, unit: str, prefix: str | None = None
) -> Quantities:
    """Return results by their keys, such as classes. Their confidence intervals have the keys `PREFIX` + `KEY`; the
    default prefix is `NAME.`.
    """
    known, before = part.confidence_interval, f"{name}." if prefix is None else prefix
    return MappingProxyType(
        {
            key: Quantity(value, unit, interval_of(known.get(f"{before}{key}")), f"{name} of {key}")
            for key, value in values.items()
            if value is not None
        }
    )


def _class(found: SolvedClass) -> ClassFigures:
    return ClassFigures(
        _figure(found, found.throughput_per_s, "throughput_per_s", PER_SECOND),
        _figure(found, found.response_time_s, "response_time_s", SECONDS),
        _figure(found, found.users_in_system, "users_in_system", COUNT),
        _figure(found, found.dropped_per_s, "dropped_per_s", PER_SECOND),
        _figures(found, found.response_time_percentiles_s, "response_time_percentiles_s", SECONDS, ""),
    )


def _station(found: SolvedStation) -> StationFigures:
    return StationFigures(
        _figure(found, found.utilization, "utilization", RATIO),
        _figure(found, found.queue_length, "queue_length", COUNT),
        _figure(found, found.throughput_per_s, "throughput_per_s", PER_SECOND),
        _figures(found, found.residence_time_s, "residence_time_s", SECONDS),
        _figures(found, found.utilization_by_class, "utilization_by_class", RATIO),
    )


def _pool(found: SolvedPool) -> PoolFigures:
    return PoolFigures(
        _figure(found, found.utilization, "utilization", RATIO),
        _figure(found, found.held, "held", COUNT),
        _figure(found, found.waiting, "waiting", COUNT),
        _figures(found, found.waiting_time_s, "waiting_time_s", SECONDS),
    )
