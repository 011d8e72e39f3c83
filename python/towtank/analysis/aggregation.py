"""Combines the runs that repeat one load level of one configuration.

The run is the unit of replication. With two or more runs, an interval is Student's t interval over one value per run;
the intervals within the runs are not used. With a single run, the interval within that run is used. The field `method`
of the estimate names the method. A percentile is computed from all requests of the runs together
(`merged_percentiles`), not as the mean of the percentiles of the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from towtank.analysis.combining import combined, counting
from towtank.analysis.elasticity import Elasticity, elasticity_of
from towtank.analysis.merged_percentiles import of_all_requests, share_of
from towtank.analysis.statistics import t_interval_about
from towtank.analysis.statistics.estimates import Estimate, estimate_of
from towtank.analysis.system.disks import disks_counted_once
from towtank.over_runs import Range, ends

_WAITS = ("share_waited", "share_of_response_time", "mean", "p99")
RESPONSE_KEYS = ("mean", "p50", "p90", "p95", "p99", "p99.9")
Run = dict[str, Any]


def over_runs(runs: Sequence[Run], *path: str) -> Estimate:
    """Combine one quantity of several runs into one estimate; `path` gives the keys of that quantity in a run summary.

    A percentile is computed from all requests of the runs together. `combined` describes the interval.
    """
    return combined([estimate_of(run, *path) for run in runs], of_all_requests(runs, *path), counting(runs, path))


def several_loads(run: Run) -> dict[str, Any] | None:
    """Return the entry `window.load` of a run summary if the run was measured at several load levels. Return None for a
    run with one level and for a search.
    """
    held = (run.get("window") or {}).get("load")
    if not held or held["stretches"] < 2 or run.get("limit") is not None:
        return None
    return dict(held)


def stage_named(run: Run) -> str | None:
    """Return the names of the analysed load stages, joined by `and`, if the run has several load levels; otherwise
    None.
    """
    held = several_loads(run)
    return None if held is None else " and ".join(held["stages"])


def plain_over_runs(values: Sequence[float | None]) -> Estimate:
    """Return the mean over the runs, with Student's t interval if there are several runs."""
    return t_interval_about([value for value in values if value is not None]).of_quantity()


@dataclass
class Point:
    """One load level of one configuration, with all its runs.

    Attributes
    ----------
    kind : str
        Quantity of the load: `users` or `rate`.
    load : float
        Level of the load. [1] or [1/s]
    runs, verdicts : list of str
        Names of all runs at this level, and their verdicts.
    usable : list of dict
        Summaries of the runs that are not invalid; summaries of all runs if all are invalid.
    """

    kind: str
    load: float
    runs: list[str]
    verdicts: list[str]
    usable: list[Run]

    @property
    def is_valid(self) -> bool:
        """True if at least one run at this load level is not invalid."""
        return any(verdict != "invalid" for verdict in self.verdicts)

    @property
    def whole_load(self) -> int | float:
        """Level of the load, without a fraction if it is a whole number. [1] or [1/s]"""
        return int(self.load) if float(self.load).is_integer() else self.load

    @property
    def throughput(self) -> Estimate:
        """Throughput of successful transactions, combined over the runs. [1/s]"""
        return over_runs(self.usable, "throughput_per_s")

    @property
    def tiers(self) -> list[str]:
        """Names of all tiers that occur in a run, in the order of their first occurrence."""
        return list(dict.fromkeys(name for run in self.usable for name in run["tiers"]))

    def utilization(self, tier: str) -> float | None:
        """Return the mean utilization of the CPUs allotted to a tier, in [0, 1]."""
        values = [run["tiers"].get(tier, {}).get("utilization") for run in self.usable]
        return plain_over_runs(values).value

    def shared_utilization_range(self, tier: str) -> Range | None:
        """Return the smallest and largest utilization among the runs, in [0, 1]. The utilization covers the tier and
        all tiers that share its CPUs. Return None for a single run.
        """
        both = self.sharing(tier)
        return self._ends_of_sums(
            [[run["tiers"].get(name, {}).get("utilization") for name in both] for run in self.usable]
        )

    def shared_cpus_range(self, tier: str) -> Range | None:
        """Return the smallest and largest number of CPUs used among the runs, by the tier and all tiers that share its
        CPUs. Return None for a single run. [1]
        """
        both = self.sharing(tier)
        return self._ends_of_sums(
            [[estimate_of(run, "tiers", name, "cpus_used").value for name in both] for run in self.usable]
        )

    def _ends_of_sums(self, by_run: list[list[float | None]]) -> Range | None:
        """Add up the known values of each run, and return the smallest and largest of these sums; None for a single
        run.
        """
        known = [[value for value in values if value is not None] for values in by_run]
        return ends([sum(values) for values in known if values]) if len(self.usable) > 1 else None

    def sharing(self, tier: str) -> list[str]:
        """Return the names of all tiers in the CPU control group of a tier, including the tier itself."""
        groups = {
            name: figures.get("cpu_control_group") for run in self.usable for name, figures in run["tiers"].items()
        }
        group = groups.get(tier)
        return [tier] if group is None else [name for name in self.tiers if groups.get(name) == group]

    def shared_utilization(self, tier: str) -> float | None:
        """Return the mean utilization of the CPUs allotted to a tier, in [0, 1]. CPU use by the tier and by all tiers
        that share these CPUs counts.
        """
        found = [self.utilization(name) for name in self.sharing(tier)]
        known = [value for value in found if value is not None]
        return sum(known) if self.utilization(tier) is not None else None

    def machine_cpus(self) -> tuple[float, float] | None:
        """Return two numbers: the CPUs that all programs on this machine used, and the CPUs that this machine has.
        Return None if they were not observed. [1]
        """
        hosts = [run["host"] for run in self.usable]
        used = plain_over_runs([estimate_of(host, "cpus_used").value for host in hosts]).value
        cpus = next((float(host["cpus"]) for host in hosts if host.get("cpus")), None)
        return None if used is None or cpus is None else (used, cpus)

    def machine_cpus_range(self) -> Range | None:
        """Return the smallest and largest number of CPUs among the runs that all programs on this machine used; None
        for a single run. [1]
        """
        return self._ends_of_sums([[estimate_of(run["host"], "cpus_used").value] for run in self.usable])

    @property
    def stage(self) -> str | None:
        """Names of the analysed load stages, if all runs have several load levels and equal stages; otherwise None."""
        names = {stage_named(run) for run in self.usable}
        return names.pop() if len(names) == 1 else None

    def think_s(self) -> float | None:
        """Return the mean think time per transaction over the runs. It comes from the check of Little's law in each
        run. [s]
        """
        values = [run["laws"]["little"]["z_s"] for run in self.usable if run["laws"]["little"]]
        return plain_over_runs(values).value

    @property
    def response_mean(self) -> Estimate:
        """Mean response time of all transactions. [s]"""
        return over_runs(self.usable, "response_time_s", "mean")

    @property
    def elasticity(self) -> Elasticity:
        """Elasticities of response time, throughput and utilization with respect to service times, averaged over the
        runs.
        """
        found = [elasticity_of(run) for run in self.usable]
        return Elasticity(
            sum(each.response_time for each in found) / len(found),
            sum(each.throughput for each in found) / len(found),
            sum(each.utilization for each in found) / len(found),
        )

    def pace_s(self) -> float | None:
        """Return the CPU time that the probe measured for a fixed amount of work, as a mean over the runs. A change
        between runs shows that the speed of the machine changed. Return None if it was not measured. [s]
        """
        return plain_over_runs([(run["host"].get("pace") or {}).get("median_s") for run in self.usable]).value

    @property
    def failed_share(self) -> float:
        """Share of failed transactions among all transactions of the runs, in [0, 1]; 0 if unknown."""
        return self._errors_share() or 0.0

    def _errors_share(self) -> float | None:
        """Return the share of failed transactions among all transactions of the runs. If no transaction ended, return
        the mean of the shares in the run summaries.
        """
        together = _error_share(self.usable)
        said = [run["errors"]["share"] for run in self.usable]
        return plain_over_runs(said).value if together is None else together

    def thinks(self) -> tuple[float, float] | None:
        """Return the mean think time per transaction [s], and the number of transactions over which it was averaged
        [1]. Return None if fewer than one transaction was counted.
        """
        held = [(run["laws"]["little"], run.get("window")) for run in self.usable]
        known = [(law, window) for law, window in held if law and window]
        counts = [law["x_per_s"] * (window["end_s"] - window["start_s"]) for law, window in known]
        if sum(counts) < 1:
            return None
        thought = sum(law["z_s"] * count for (law, _), count in zip(known, counts, strict=True))
        return thought / sum(counts), sum(counts)

    def wait(self, name: str) -> float | None:
        """Return a statistic of the time that requests waited for a pooled connection; None without a pool. [s]

        A percentile covers all waits of the runs together; any other statistic is the mean over the runs.
        """
        if (together := of_all_requests(self.usable, "connections", "wait_time_s", name)) is not None:
            return together
        waits = [counted.get("wait_time_s") for counted in self._connections()]
        return plain_over_runs([wait.get(name) for wait in waits if wait]).value

    def _connections(self) -> list[Mapping[str, Any]]:
        return [run.get("connections") or {} for run in self.usable]

    def connections(self) -> Mapping[str, Any]:
        """Return the statistics of the generator's connections, combined over the runs."""
        by_run = self._connections()
        waits = {name: self.wait(name) for name in _WAITS}
        return {
            "open_mean": plain_over_runs([counted.get("open_mean") for counted in by_run]).value,
            "opened_per_s": over_runs(self.usable, "connections", "opened_per_s").document(),
            "wait_time_s": waits if any(value is not None for value in waits.values()) else None,
        }

    def of_runs(self) -> dict[str, Any] | None:
        """Return the smallest and largest value among the runs, for quantities without an interval; None for a single
        run.
        """
        if len(self.usable) < 2:
            return None
        waits = [counted.get("wait_time_s") or {} for counted in self._connections()]
        return {
            "errors_share": _pair([run["errors"]["share"] for run in self.usable]),
            "response_time_s": self._percentiles_of_runs("response_time_s"),
            "transactions": {
                name: self._percentiles_of_runs("transactions", name, "response_time_s") for name in self._names()
            },
            "parts": {name: self._parts_of_runs(name) for name in self.tiers},
            "wait_time_s": {name: _pair([wait.get(name) for wait in waits]) for name in _WAITS},
        }

    def _percentiles_of_runs(self, *path: str) -> dict[str, list[float] | None]:
        """Return the smallest and largest value among the runs for each percentile. [s]"""
        keys = [key for key in RESPONSE_KEYS if share_of(key) is not None]
        return {key: _pair([estimate_of(run, *path, key).value for run in self.usable]) for key in keys}

    def _parts_of_runs(self, tier: str) -> dict[str, list[float] | None]:
        """Return the smallest and largest share of each embedded component (part) in the CPU use of a tier, among the
        runs.
        """
        found: dict[str, list[float | None]] = {}
        for run in self.usable:
            used = estimate_of(run, "tiers", tier, "cpus_used").value
            for part in run["tiers"].get(tier, {}).get("parts", {}):
                part_used = estimate_of(run, "tiers", tier, "parts", part, "cpus_used").value
                share = part_used / used if part_used is not None and used is not None and used > 0 else None
                found.setdefault(part, []).append(share)
        return {part: _pair(shares) for part, shares in found.items()}

    def document(self) -> dict[str, Any]:
        """Return the load level as JSON for a study summary: load, runs, and values combined over the runs."""
        return {
            self.kind: self.whole_load,
            "load": self.whole_load,
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
            "errors_share": self._errors_share(),
            "status_codes": self.status_codes(),
            "of_runs": self.of_runs(),
            "users_mean": plain_over_runs([run["users"]["mean"] for run in self.usable]).value,
            "think_time_s": self.think_s(),
            "elasticity": self.elasticity.document(),
            "pace_s": self.pace_s(),
            "connections": self.connections(),
        }

    def status_codes(self) -> dict[str, dict[str, int]] | None:
        """Return counts of complete responses by transaction and status code; None if a run lacks status codes."""
        found: dict[str, dict[str, int]] = {}
        for run in self.usable:
            if run.get("status_codes") is None:
                return None
            for name, transaction in run["transactions"].items():
                counts = found.setdefault(name, {})
                for code, count in (transaction["status_codes"] or {}).items():
                    counts[code] = counts.get(code, 0) + count
        return found

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
        """Return, for each machine, the number of CPUs used by processes that belong to no tier. Empty for run
        summaries that an older version of Towtank wrote. [1]
        """
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
            disks = [disk[name] for disk in disks_counted_once(run["host"]["disks"]).values() if name in disk]
            values.append(sum(disks) if disks else None)
        return plain_over_runs(values).document()


def aggregate(kind: str, load: float, runs: Sequence[Run]) -> Point:
    """Combine the repetitions of one load level; invalid runs are used only if all runs are invalid."""
    usable = [run for run in runs if run["verdict"]["level"] != "invalid"]
    return Point(
        kind,
        load,
        [str(run["run"]) for run in runs],
        [str(run["verdict"]["level"]) for run in runs],
        usable or list(runs),
    )


def _pair(values: Sequence[float | None]) -> list[float] | None:
    found = ends(values)
    return None if found is None else list(found)


def _extremes(times: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Return the shortest and longest response time of all runs; both are None if no time was recorded. [s]"""
    shortest = [float(of_run["min"]) for of_run in times if of_run.get("min") is not None]
    longest = [float(of_run["max"]) for of_run in times if of_run.get("max") is not None]
    return {"min": min(shortest, default=None), "max": max(longest, default=None)}


def _error_share(runs: Sequence[Run], name: str | None = None) -> float | None:
    """Return the share of failed transactions among all transactions of the runs, in [0, 1]; None if no transaction
    ended. `name` restricts the share to the transactions of that name.
    """
    by_run = [run["transactions"] for run in runs]
    found = [entry for each in by_run for key, entry in each.items() if name in (None, key)]
    failed = sum(transaction["errors"] for transaction in found)
    ended = failed + sum(transaction["count"] for transaction in found)
    return failed / ended if ended else None
