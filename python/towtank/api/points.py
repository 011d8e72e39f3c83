"""Results of a study: its load points and its runs."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from towtank.api import notebook
from towtank.api.frames import Frame
from towtank.api.measured import Tier, Times, Transaction, Verdict, tiers
from towtank.api.quantity import PER_SECOND, RATIO, Quantity, estimate, number

if TYPE_CHECKING:
    from towtank.report import RunResult

Json = Mapping[str, Any]
_PERCENTILES = ("mean", "p50", "p90", "p95", "p99")


@dataclass(frozen=True)
class Point:
    """Load point: results of one configuration at one load, over all runs at this load.

    Attributes
    ----------
    configuration : str
        Label of the configuration; empty if load is the only factor.
    factors : mapping of str to str
        Levels of all factors except the load.
    load : float
        Number of users [1], or arrival rate [1/s].
    throughput_per_s : Quantity or None
        Rate of completed transactions. [1/s]
    response_time_s : Times
        Response times of all transactions together. [s]
    errors_share : Quantity or None
        Share of failed transactions in all ended transactions, in [0, 1]. [ratio]
    transactions, tiers : mapping of str to Transaction or Tier
        Results of each transaction and of each tier, by name.
    runs, verdicts : tuple of str
        Names of the runs, and the verdict on each run.
    """

    configuration: str
    factors: Mapping[str, str]
    load: float
    throughput_per_s: Quantity | None
    response_time_s: Times
    errors_share: Quantity | None
    transactions: Mapping[str, Transaction]
    tiers: Mapping[str, Tier]
    runs: tuple[str, ...]
    verdicts: tuple[str, ...]

    def __repr__(self) -> str:
        where = f"{self.configuration}, " if self.configuration else ""
        return f"<Point {where}load {self.load:g}: {self.throughput_per_s}, p95 {self.response_time_s.p95}>"


@dataclass(frozen=True, repr=False)
class Run:
    """Run of a study.

    Attributes
    ----------
    name : str
        Name of the run and of its folder.
    factors : mapping of str to str
        Level of each factor.
    load : float or None
        Number of users [1], or arrival rate [1/s].
    status : str
        `complete`, `failed`, `stopped`, `running` (also if its process ended abnormally), `planned` or `missing`.
    verdict : Verdict
        Verdict on the run.
    throughput_per_s : Quantity or None
        Rate of completed transactions. [1/s]
    response_time_s : Times
        Response times of all transactions together. [s]
    errors : int or None
        Number of failed transactions. [1]
    errors_share : Quantity or None
        Share of failed transactions in all ended transactions, in [0, 1]. [ratio]
    tiers : mapping of str to Tier
        Results of each tier, by name.
    """

    name: str
    factors: Mapping[str, str]
    load: float | None
    status: str
    verdict: Verdict
    throughput_per_s: Quantity | None
    response_time_s: Times
    errors: int | None
    errors_share: Quantity | None
    tiers: Mapping[str, Tier]
    _summary: Json = field(repr=False)

    @property
    def summary(self) -> dict[str, Any]:
        """Copy of the run summary as a dict (`docs/reference/summary.md`); empty if the summary could not be
        computed.
        """
        return copy.deepcopy(dict(self._summary))

    def frame(self) -> Frame:
        """Return the results of each second of the run.

        Returns
        -------
        Frame
            `t_s` (end of each second since the start of the run), `users`, `throughput_per_s`, `response_mean_s`,
            `p50_s`, `p95_s`, `errors_per_s`, and `cpus_used TIER` for each tier. [s], [1], [1/s]
        """
        timeline = self._summary.get("timeline") or {}
        names = ("t_s", "users", "throughput_per_s", "response_mean_s", "p50_s", "p95_s", "errors_per_s")
        columns = {name: timeline.get(name) or () for name in names}
        used = timeline.get("tiers_cpus_used") or {}
        return Frame.of({**columns, **{f"cpus_used {tier}": values for tier, values in used.items()}})

    def __repr__(self) -> str:
        return f"<Run {self._title}: {self.verdict}>"

    @property
    def _title(self) -> str:
        factors = ", ".join(f"{name} {level}" for name, level in self.factors.items())
        return f"{self.name} ({factors})"

    def _repr_html_(self) -> str:
        from towtank.report import RunResult, run_figure  # noqa: PLC0415 - heavy, and only for notebooks

        return notebook.page(
            notebook.heading(f"{self._title}: {notebook.text(self.throughput_per_s)}, {self.status}"),
            notebook.verdict(self.verdict, (doubt.message for doubt in self.verdict.doubts)),
            notebook.picture(run_figure(RunResult(self.name, {}, self._summary))),
            notebook.times(self.response_time_s),
        )


def point_of(configuration: Json, point: Json) -> Point:
    """Read a load point from a study summary."""
    label, load = str(configuration.get("label") or ""), float(point["load"])
    where = f" at load {load:g}{f' with {label}' if label else ''}"
    return Point(
        label,
        MappingProxyType({str(key): str(level) for key, level in (configuration.get("key") or {}).items()}),
        load,
        estimate(point.get("throughput_per_s"), PER_SECOND, f"throughput{where}"),
        Times.of(point.get("response_time_s"), where),
        number(point.get("errors_share"), RATIO, f"share of errors{where}"),
        MappingProxyType(
            {
                name: Transaction(
                    name,
                    estimate(each.get("throughput_per_s"), PER_SECOND, f"throughput of {name}{where}"),
                    Times.of(each, f" of {name}{where}", "_s"),
                    number(each.get("errors_share"), RATIO, f"share of errors of {name}{where}"),
                )
                for name, each in (point.get("transactions") or {}).items()
            }
        ),
        MappingProxyType(tiers(point.get("tiers"))),
        tuple(map(str, point.get("runs") or ())),
        tuple(map(str, point.get("verdicts") or ())),
    )


def run_of(run: RunResult) -> Run:
    """Read a run from its manifest and its summary."""
    summary, about = run.summary, f" of {run.run_id}, which is {run.verdict}"
    errors = summary.get("errors") or {}
    level = Verdict.of(summary.get("verdict"))
    return Run(
        run.run_id,
        MappingProxyType(run.factors),
        run.load,
        run.status,
        level,
        estimate(summary.get("throughput_per_s"), PER_SECOND, f"throughput{about}"),
        Times.of(summary.get("response_time_s"), about),
        errors.get("count"),
        number(errors.get("share"), RATIO, f"share of errors{about}"),
        MappingProxyType(tiers(summary.get("tiers"))),
        summary,
    )


def row_of(point: Point) -> dict[str, Any]:
    """Return a load point as a row of the table of results: values by column."""
    times = {f"{name}_s": getattr(point.response_time_s, name) for name in _PERCENTILES}
    row: dict[str, Any] = {**point.factors, "load": point.load}
    for name, value in {"throughput_per_s": point.throughput_per_s, **times}.items():
        low, high = (None, None) if value is None else (value.low, value.high)
        row |= {name: value, f"{name}_low": low, f"{name}_high": high}
    row["errors_share"] = point.errors_share
    row |= {f"utilization {name}": tier.utilization for name, tier in point.tiers.items()}
    return {**row, "verdicts": ", ".join(point.verdicts), "runs": ", ".join(point.runs)}
