"""Repetitions of one load level of one configuration, brought together.

The unit of replication is the run: with two or more runs every interval is Student's t over their values,
whatever each run knows about itself. One run alone gives its own interval, and its method says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from scipy import stats

from towtank.analysis.statistics import standard_error_of, t_interval
from towtank.analysis.statistics.estimates import BINOMIAL, CONFIDENCE, Estimate, estimate_of
from towtank.analysis.system.disks import counted_once

RESPONSE_KEYS = ("mean", "p50", "p90", "p95", "p99", "p99.9")
Run = dict[str, Any]


def over_runs(runs: Sequence[Run], *path: str) -> Estimate:
    """Estimate at a path of keys of the run summaries, over the runs that have it."""
    return combined([estimate_of(run, *path) for run in runs])


def several_loads(run: Run) -> dict[str, Any] | None:
    """Return the analysed stretch of a run that goes through several loads; None for a search and for one load."""
    held = (run.get("window") or {}).get("load")
    if not held or held["stretches"] < 2 or run.get("limit") is not None:
        return None
    return dict(held)


def stage_named(run: Run) -> str | None:
    """Names of the analysed stages of a run that goes through several loads; None for any other run."""
    held = several_loads(run)
    return None if held is None else " and ".join(held["stages"])


def combined(of_runs: Sequence[Estimate]) -> Estimate:
    """Combine a quantity of several runs by Student's t, not below 0; the value of a single run keeps its interval.

    Notes
    -----
    Runs that agree by chance, or because their values are counts or buckets, know no more together than what each knows
    of itself allows: the interval is at least that of the mean of values with the errors of the runs, of shares the
    exact binomial one of all counts together. Equal values that know nothing of their errors have no interval.
    """
    found = [estimate for estimate in of_runs if estimate.value is not None]
    if len(found) == 1:
        return found[0]
    values = [estimate.value for estimate in found if estimate.value is not None]
    over = t_interval(values).of_quantity()
    within = _within(found, over.value)
    if over.low is None or over.high is None:
        return over
    if within is None:
        return over if over.low < over.high else Estimate(over.value, n=over.n)
    return replace(over, low=min(over.low, within[0]), high=max(over.high, within[1])).of_quantity()


def _is_share(estimate: Estimate) -> bool:
    """Whether an estimate is a share of what was counted; what was drawn from a sample of things is scaled."""
    if estimate.method != BINOMIAL or not 0 <= (estimate.value or 0.0) <= 1:
        return False
    seen = round((estimate.value or 0.0) * estimate.n)
    exact = stats.binomtest(seen, estimate.n).proportion_ci(estimate.confidence, method="exact")
    return math.isclose(float(exact.high), estimate.high or 0.0, rel_tol=1e-9)


def _within(found: Sequence[Estimate], mean: float | None) -> tuple[float, float] | None:
    """Interval of the mean by what the runs know of themselves; None if one of them knows nothing."""
    if mean is None or any(estimate.low is None for estimate in found):
        return None
    if all(_is_share(estimate) for estimate in found):
        ended = sum(estimate.n for estimate in found)
        failed = round(sum((estimate.value or 0.0) * estimate.n for estimate in found))
        bounds = stats.binomtest(failed, ended).proportion_ci(CONFIDENCE, method="exact")
        return float(bounds.low), float(bounds.high)
    errors = [standard_error_of(estimate) or 0.0 for estimate in found]
    freedom = max(1, sum(estimate.n - 1 for estimate in found))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * math.hypot(*errors) / len(found)
    return mean - half, mean + half


def plain_over_runs(values: Sequence[float | None]) -> Estimate:
    """Plain numbers of the runs; one alone has no interval."""
    return t_interval([value for value in values if value is not None]).of_quantity()


@dataclass
class Point:
    """One load level of one configuration.

    Attributes
    ----------
    kind : str
        `users` or `rate`: what the load counts.
    load : float
        Level of the load. [1] or [1/s]
    runs, verdicts : list of str
        All repetitions, and their verdicts.
    usable : list of dict
        Summaries that are not invalid; all where every one is.
    """

    kind: str
    load: float
    runs: list[str]
    verdicts: list[str]
    usable: list[Run]

    @property
    def is_valid(self) -> bool:
        """Whether any repetition may carry a conclusion."""
        return any(verdict != "invalid" for verdict in self.verdicts)

    @property
    def throughput(self) -> Estimate:
        """Transactions per second that ended well. [1/s]"""
        return over_runs(self.usable, "throughput_per_s")

    @property
    def tiers(self) -> list[str]:
        """Names of the tiers, in the order of the first run."""
        return list(dict.fromkeys(name for run in self.usable for name in run["tiers"]))

    def utilization(self, tier: str) -> float | None:
        """Mean utilization of a tier's allotted CPUs, in [0, 1]."""
        values = [run["tiers"].get(tier, {}).get("utilization") for run in self.usable]
        return plain_over_runs(values).value

    def machine_cpus(self) -> tuple[float, float] | None:
        """CPUs that all programs on this machine used, and CPUs that it has; None if they were not observed. [1]"""
        hosts = [run["host"] for run in self.usable]
        used = plain_over_runs([estimate_of(host, "cpus_used").value for host in hosts]).value
        cpus = next((float(host["cpus"]) for host in hosts if host.get("cpus")), None)
        return None if used is None or cpus is None else (used, cpus)

    @property
    def stage(self) -> str | None:
        """Name of the stage analysed if the runs went through several loads; None otherwise."""
        names = {stage_named(run) for run in self.usable}
        return names.pop() if len(names) == 1 else None

    def think_s(self) -> float | None:
        """Mean think time per transaction, from Little's law checks. [s]"""
        values = [run["laws"]["little"]["z_s"] for run in self.usable if run["laws"]["little"]]
        return plain_over_runs(values).value

    @property
    def response_mean(self) -> Estimate:
        """Mean response time of all transactions. [s]"""
        return over_runs(self.usable, "response_time_s", "mean")

    @property
    def failed_share(self) -> float:
        """Share of the transactions that failed; 0 if it is not known. In [0, 1]"""
        return plain_over_runs([run["errors"]["share"] for run in self.usable]).value or 0.0

    def thinks(self) -> tuple[float, float] | None:
        """Mean think time per transaction, and the number of transactions that it is the mean of. [s], [1]"""
        held = [(run["laws"]["little"], run.get("window")) for run in self.usable]
        told = [(law, window) for law, window in held if law and window]
        counts = [law["x_per_s"] * (window["end_s"] - window["start_s"]) for law, window in told]
        if sum(counts) < 1:
            return None
        thought = sum(law["z_s"] * count for (law, _), count in zip(told, counts, strict=True))
        return thought / sum(counts), sum(counts)

    def wait(self, name: str) -> float | None:
        """A number about the requests that waited for a connection of a pool, over the runs; None without a pool."""
        waits = [(run.get("connections") or {}).get("wait_time_s") for run in self.usable]
        return plain_over_runs([one.get(name) for one in waits if one]).value

    def connections(self) -> dict[str, Any]:
        """Connections of the generator, over the runs."""
        told = [run.get("connections") or {} for run in self.usable]
        waits = {name: self.wait(name) for name in ("share_waited", "share_of_response_time", "mean", "p99")}
        return {
            "open_mean": plain_over_runs([one.get("open_mean") for one in told]).value,
            "opened_per_s": over_runs(self.usable, "connections", "opened_per_s").document(),
            "wait_time_s": None if waits["share_waited"] is None else waits,
        }

    def document(self) -> dict[str, Any]:
        """As it stands in a study summary."""
        whole = int(self.load) if float(self.load).is_integer() else self.load
        return {
            self.kind: whole,
            "load": whole,
            "stage": self.stage,
            "runs": self.runs,
            "verdicts": self.verdicts,
            "throughput_per_s": self.throughput.document(),
            "response_time_s": {
                **{key: over_runs(self.usable, "response_time_s", key).document() for key in RESPONSE_KEYS},
                **_extremes([run["response_time_s"] for run in self.usable]),
            },
            "tiers": {name: self._tier(name) for name in self.tiers},
            "not_attributed": self._not_attributed(),
            "transactions": {name: self._transaction(name) for name in self._names()},
            "disk_read_bytes_per_s": self._disks("read_bytes_per_s"),
            "disk_write_bytes_per_s": self._disks("write_bytes_per_s"),
            "errors_share": plain_over_runs([run["errors"]["share"] for run in self.usable]).value,
            "users_mean": plain_over_runs([run["users"]["mean"] for run in self.usable]).value,
            "think_time_s": self.think_s(),
            "connections": self.connections(),
        }

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for run in self.usable for name in run["transactions"]))

    def _tier(self, name: str) -> dict[str, Any]:
        parts = dict.fromkeys(part for run in self.usable for part in run["tiers"].get(name, {}).get("parts", {}))
        kinds = [run["tiers"][name].get("kind") for run in self.usable if name in run["tiers"]]
        return {
            "kind": kinds[0] if kinds else None,
            "cpus_used": over_runs(self.usable, "tiers", name, "cpus_used").document(),
            "cpu_demand_s": over_runs(self.usable, "tiers", name, "cpu_demand_s").document(),
            "cpus_allotted": next(
                (run["tiers"][name].get("cpus_allotted") for run in self.usable if name in run["tiers"]), None
            ),
            "utilization": self.utilization(name),
            "parts": {
                part: {
                    key: over_runs(self.usable, "tiers", name, "parts", part, key).document()
                    for key in ("cpus_used", "cpu_demand_s")
                }
                for part in parts
            },
        }

    def _not_attributed(self) -> dict[str, Any]:
        """CPUs that no tier explains, by machine; older runs have none."""
        names = dict.fromkeys(name for run in self.usable for name in run.get("not_attributed") or {})
        key = "cpus_used"
        return {name: {key: over_runs(self.usable, "not_attributed", name, key).document()} for name in names}

    def _transaction(self, name: str) -> dict[str, Any]:
        ramps = [
            run["transactions"].get(name, {}).get("phases", {}).get("ramp_up", {}).get("mean_s") for run in self.usable
        ]
        path = ("transactions", name)
        times = [run["transactions"][name]["response_time_s"] for run in self.usable if name in run["transactions"]]
        return {
            "throughput_per_s": over_runs(self.usable, *path, "throughput_per_s").document(),
            **{f"{key}_s": over_runs(self.usable, *path, "response_time_s", key).document() for key in RESPONSE_KEYS},
            **{f"{key}_s": value for key, value in _extremes(times).items()},
            "errors_share": _error_share(self.usable, name),
            "ramp_up_mean_s": plain_over_runs(ramps).value,
        }

    def _disks(self, name: str) -> dict[str, Any]:
        values = []
        for run in self.usable:
            disks = [one[name] for one in counted_once(run["host"]["disks"]).values() if name in one]
            values.append(sum(disks) if disks else None)
        return plain_over_runs(values).document()


def aggregate(kind: str, load: float, runs: Sequence[Run]) -> Point:
    """Bring the repetitions of one load level together; invalid ones count only where there is no other."""
    usable = [run for run in runs if run["verdict"]["level"] != "invalid"]
    return Point(
        kind,
        load,
        [str(run["run"]) for run in runs],
        [str(run["verdict"]["level"]) for run in runs],
        usable or list(runs),
    )


def _extremes(times: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Shortest and longest time of all runs together; None where nothing was timed."""
    shortest = [float(one["min"]) for one in times if one.get("min") is not None]
    longest = [float(one["max"]) for one in times if one.get("max") is not None]
    return {"min": min(shortest, default=None), "max": max(longest, default=None)}


def _error_share(runs: Sequence[Run], name: str) -> float | None:
    """Share of a transaction that failed, over all runs together, in [0, 1]."""
    told = [run["transactions"][name] for run in runs if name in run["transactions"]]
    failed = sum(one["errors"] for one in told)
    ended = failed + sum(one["count"] for one in told)
    return failed / ended if ended else None
