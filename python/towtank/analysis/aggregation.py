"""Combines the runs that repeat one load level of one configuration.

The run is the unit of replication. With two or more runs, an interval is Student's t interval over one value per run;
the intervals within the runs are not used. With a single run, the interval within that run is used. The field `method`
of the estimate names the method. A percentile is computed from all requests of the runs together
(`merged_percentiles`), not as the mean of the percentiles of the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from towtank.analysis.combining import combined, counting
from towtank.analysis.elasticity import Elasticity, elasticity_of
from towtank.analysis.load import Distribution, Transaction
from towtank.analysis.merged_percentiles import of_all_requests, share_of
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics import t_interval_about
from towtank.analysis.statistics.estimates import Estimate, estimate_of
from towtank.analysis.system.disks import disks_counted_once
from towtank.analysis.system.entries import TierUse
from towtank.digging import dig
from towtank.documents import document_of
from towtank.over_runs import Range, ends

_WAITS = ("share_waited", "share_of_response_time", "mean", "p99")
RESPONSE_KEYS = ("mean", "p50", "p90", "p95", "p99", "p99.9")


def over_runs(runs: Sequence[object], *path: str) -> Estimate:
    """Combine one quantity of several runs into one estimate; `path` gives the keys of that quantity in a run summary.

    A percentile is computed from all requests of the runs together. `combined` describes the interval.
    """
    return combined([estimate_of(run, *path) for run in runs], of_all_requests(runs, *path), counting(runs, path))


def stage_named(run: RunSummary) -> str | None:
    """Return the names of the analysed load stages, joined by `and`, if the run was measured at several load levels.
    Return None for a run with one level and for a search.
    """
    held = dig(run.window, "load")
    return " and ".join(held["stages"]) if held and held["stretches"] > 1 and run.limit is None else None


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
    usable : list of RunSummary
        Summaries of the runs that are not invalid; summaries of all runs if all are invalid.
    """

    kind: str
    load: float
    runs: list[str]
    verdicts: list[str]
    usable: list[RunSummary]

    @cached_property
    def documents(self) -> list[dict[str, object]]:
        """Summaries of the usable runs as JSON."""
        return [run.document() for run in self.usable]

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
        return list(dict.fromkeys(name for run in self.usable for name in run.tiers))

    def utilization(self, tier: str) -> float | None:
        """Return the mean utilization of the CPUs allotted to a tier, in [0, 1]."""
        return plain_over_runs([found.utilization for found in self._uses(tier)]).value

    def _uses(self, tier: str) -> list[TierUse]:
        """Return the entry of a tier in each run that has the tier."""
        return [run.tiers[tier] for run in self.usable if tier in run.tiers]

    def shared_utilization_range(self, tier: str) -> Range | None:
        """Return the smallest and largest utilization among the runs, in [0, 1]. The utilization covers the tier and
        all tiers that share its CPUs. Return None for a single run.
        """
        both = self.sharing(tier)
        return self._ends_of_sums(
            [[run.tiers[name].utilization for name in both if name in run.tiers] for run in self.usable]
        )

    def shared_cpus_range(self, tier: str) -> Range | None:
        """Return the smallest and largest number of CPUs used among the runs, by the tier and all tiers that share its
        CPUs. Return None for a single run. [1]
        """
        both = self.sharing(tier)
        return self._ends_of_sums(
            [[run.tiers[name].cpus_used.value for name in both if name in run.tiers] for run in self.usable]
        )

    def _ends_of_sums(self, by_run: list[list[float | None]]) -> Range | None:
        """Add up the known values of each run, and return the smallest and largest of these sums; None for a single
        run.
        """
        known = [[value for value in values if value is not None] for values in by_run]
        return ends([sum(values) for values in known if values]) if len(self.usable) > 1 else None

    def sharing(self, tier: str) -> list[str]:
        """Return the names of all tiers in the CPU control group of a tier, including the tier itself."""
        groups = {name: figures.cpu_control_group for run in self.usable for name, figures in run.tiers.items()}
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
        hosts = [run.host for run in self.usable]
        used = plain_over_runs([host.cpus_used.value for host in hosts]).value
        cpus = next((float(host.cpus) for host in hosts if host.cpus), None)
        return None if used is None or cpus is None else (used, cpus)

    def machine_cpus_range(self) -> Range | None:
        """Return the smallest and largest number of CPUs among the runs that all programs on this machine used; None
        for a single run. [1]
        """
        return self._ends_of_sums([[run.host.cpus_used.value] for run in self.usable])

    @property
    def stage(self) -> str | None:
        """Names of the analysed load stages, if all runs have several load levels and equal stages; otherwise None."""
        names = {stage_named(run) for run in self.usable}
        return names.pop() if len(names) == 1 else None

    def think_s(self) -> float | None:
        """Return the mean think time per transaction over the runs. It comes from the check of Little's law in each
        run. [s]
        """
        return plain_over_runs([run.laws.little.z_s for run in self.usable if run.laws.little]).value

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
        return plain_over_runs([run.host.pace.median_s for run in self.usable if run.host.pace]).value

    def rested_page_s(self) -> float | None:
        """Return the CPU time to access a page of memory that was last used a second ago, as a mean over the runs.
        Return None if it was not measured. [s]
        """
        return plain_over_runs([run.host.rested_page_s for run in self.usable]).value

    @property
    def failed_share(self) -> float:
        """Share of failed transactions among all transactions of the runs, in [0, 1]; 0 if unknown."""
        return self._errors_share() or 0.0

    def _errors_share(self) -> float | None:
        """Return the share of failed transactions among all transactions of the runs. If no transaction ended, return
        the mean of the shares in the run summaries.
        """
        together = _error_share([entry for run in self.usable for entry in run.transactions.values()])
        return plain_over_runs([run.errors.share for run in self.usable]).value if together is None else together

    def thinks(self) -> tuple[float, float] | None:
        """Return the mean think time per transaction [s], and the number of transactions over which it was averaged
        [1]. Return None if fewer than one transaction was counted.
        """
        known = [(run.laws.little, run.window) for run in self.usable if run.laws.little and run.window]
        counts = [law.x_per_s * (window["end_s"] - window["start_s"]) for law, window in known]
        if sum(counts) < 1:
            return None
        thought = sum(law.z_s * count for (law, _), count in zip(known, counts, strict=True))
        return thought / sum(counts), sum(counts)

    def wait(self, name: str) -> float | None:
        """Return a statistic of the time that requests waited for a pooled connection; None without a pool. [s]

        A percentile covers all waits of the runs together; any other statistic is the mean over the runs.
        """
        if (together := of_all_requests(self.usable, "connections", "wait_time_s", name)) is not None:
            return together
        return plain_over_runs(self._waits_of_runs(name)).value

    def _waits_of_runs(self, name: str) -> list[float | None]:
        return [dig(run.connections.wait_time_s, name) for run in self.usable]

    def connections(self) -> dict[str, object]:
        """Return the statistics of the generator's connections, combined over the runs."""
        waits = {name: self.wait(name) for name in _WAITS}
        return {
            "open_mean": plain_over_runs([run.connections.open_mean for run in self.usable]).value,
            "opened_per_s": over_runs(self.usable, "connections", "opened_per_s").document(),
            "wait_time_s": waits if any(value is not None for value in waits.values()) else None,
        }

    def of_runs(self) -> dict[str, object] | None:
        """Return the smallest and largest value among the runs, for quantities without an interval; None for a single
        run.
        """
        if len(self.usable) < 2:
            return None
        return {
            "errors_share": _pair([run.errors.share for run in self.usable]),
            "response_time_s": self._percentiles_of_runs("response_time_s"),
            "transactions": {
                name: self._percentiles_of_runs("transactions", name, "response_time_s") for name in self._names()
            },
            "parts": {name: self._parts_of_runs(name) for name in self.tiers},
            "wait_time_s": {name: _pair(self._waits_of_runs(name)) for name in _WAITS},
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
        for use in self._uses(tier):
            used = use.cpus_used.value
            for name, part in use.parts.items():
                of_part = part.cpus_used.value
                share = of_part / used if of_part is not None and used is not None and used > 0 else None
                found.setdefault(name, []).append(share)
        return {part: _pair(shares) for part, shares in found.items()}

    def document(self) -> dict[str, object]:
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
                **_extremes([run.response_time_s for run in self.usable]),
            },
            "tiers": {name: self._tier(name) for name in self.tiers},
            "not_attributed": self._not_attributed(),
            "transactions": {name: self._transaction(name) for name in self._names()},
            "disk_read_bytes_per_s": self._disks("read_bytes_per_s"),
            "disk_write_bytes_per_s": self._disks("write_bytes_per_s"),
            "errors_share": self._errors_share(),
            "status_codes": self.status_codes(),
            "of_runs": self.of_runs(),
            "users_mean": plain_over_runs([run.users.mean for run in self.usable]).value,
            "think_time_s": self.think_s(),
            "elasticity": document_of(self.elasticity),
            "pace_s": self.pace_s(),
            "rested_page_s": self.rested_page_s(),
            "connections": self.connections(),
        }

    def status_codes(self) -> dict[str, dict[str, int]] | None:
        """Return counts of complete responses by transaction and status code; None if a run lacks status codes."""
        found: dict[str, dict[str, int]] = {}
        for run in self.usable:
            if run.status_codes is None:
                return None
            for name, transaction in run.transactions.items():
                counts = found.setdefault(name, {})
                for code, count in (transaction.status_codes or {}).items():
                    counts[code] = counts.get(code, 0) + count
        return found

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for run in self.usable for name in run.transactions))

    def _tier(self, name: str) -> dict[str, object]:
        uses = self._uses(name)
        return {
            "kind": uses[0].kind,
            "cpus_used": over_runs(self.usable, "tiers", name, "cpus_used").document(),
            "cpu_demand_s": over_runs(self.usable, "tiers", name, "cpu_demand_s").document(),
            "cpus_allotted": uses[0].cpus_allotted,
            "utilization": self.utilization(name),
            "parts": {
                part: {
                    key: over_runs(self.usable, "tiers", name, "parts", part, key).document()
                    for key in ("cpus_used", "cpu_demand_s")
                }
                for part in dict.fromkeys(part for use in uses for part in use.parts)
            },
        }

    def _not_attributed(self) -> dict[str, object]:
        """Return, for each machine, the number of CPUs used by processes that belong to no tier. Empty for run
        summaries that an older version of Towtank wrote. [1]
        """
        names = dict.fromkeys(name for run in self.usable for name in run.not_attributed)
        key = "cpus_used"
        return {name: {key: over_runs(self.usable, "not_attributed", name, key).document()} for name in names}

    def _transaction(self, name: str) -> dict[str, object]:
        having = [run.transactions[name] for run in self.usable if name in run.transactions]
        ramps = [found.phases["ramp_up"].mean_s for found in having if "ramp_up" in found.phases]
        path = ("transactions", name)
        return {
            "throughput_per_s": over_runs(self.usable, *path, "throughput_per_s").document(),
            **{f"{key}_s": over_runs(self.usable, *path, "response_time_s", key).document() for key in RESPONSE_KEYS},
            **{f"{key}_s": value for key, value in _extremes([found.response_time_s for found in having]).items()},
            "errors_share": _error_share(having),
            "ramp_up_mean_s": plain_over_runs(ramps).value,
        }

    def _disks(self, name: str) -> dict[str, object]:
        values = []
        for run in self.usable:
            disks = [
                found for disk in disks_counted_once(run.host.disks).values() if (found := dig(disk, name)) is not None
            ]
            values.append(sum(disks) if disks else None)
        return plain_over_runs(values).document()


def aggregate(kind: str, load: float, runs: Sequence[RunSummary]) -> Point:
    """Combine the repetitions of one load level; invalid runs are used only if all runs are invalid."""
    usable = [run for run in runs if run.verdict.level != "invalid"]
    return Point(kind, load, [run.run for run in runs], [run.verdict.level for run in runs], usable or list(runs))


def _pair(values: Sequence[float | None]) -> list[float] | None:
    found = ends(values)
    return None if found is None else list(found)


def _extremes(times: Sequence[Distribution]) -> dict[str, float | None]:
    """Return the shortest and longest response time of all runs; both are None if no time was recorded. [s]"""
    shortest, longest = (
        [found for of_run in times if isinstance(found := of_run.get(key), int | float)] for key in ("min", "max")
    )
    return {"min": min(shortest, default=None), "max": max(longest, default=None)}


def _error_share(found: Sequence[Transaction]) -> float | None:
    """Return the share of failed transactions, in [0, 1]; None if no transaction ended."""
    failed = sum(transaction.errors for transaction in found)
    ended = failed + sum(transaction.count for transaction in found)
    return failed / ended if ended else None
