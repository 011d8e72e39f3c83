"""Where a claim looks: the runs at a place of the design, and a quantity there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scipy import stats

from towtank.analysis.aggregation import combined
from towtank.analysis.statistics import estimates, ratio_interval
from towtank.analysis.statistics.estimates import BINOMIAL, Estimate
from towtank.analysis.statistics.run_to_run import ASSUMED_SHARE, with_run_to_run
from towtank.analysis.system.disks import counted_once
from towtank.study.claim_checks import ALL
from towtank.study.claim_metrics import EACH, LOAD, read_metric

COUNTED = "stored"
"""What stands below this was counted one by one: a number of it is exact."""
DISKS = "disks"
EXACT = "count"
"""Method of such a number."""
Json = Mapping[str, Any]
Levels = dict[str, str]


class UntestableError(Exception):
    """The runs cannot tell; the message says why."""


@dataclass
class Places:
    """The runs of a study by their levels, and which of them a claim leans on.

    Attributes
    ----------
    factors : list of dict
        `name`, `levels`, `numeric`, as the manifest has them.
    runs : list of dict
        Summaries of all runs.
    run_to_run : float
        Standard deviation from run to run, relative to the value, that is assumed of a place with one run. [1]
    assumed : bool
        Whether any place looked at had one run only.
    used : dict of str to dict
        Runs that were looked at and count, by name.
    left_out : list of str
        Why places that were asked for do not count.
    """

    factors: Sequence[Json]
    runs: Sequence[Json]
    run_to_run: float = ASSUMED_SHARE
    assumed: bool = False
    used: dict[str, Json] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def levels_of(self, factor: str) -> list[str]:
        """Levels of a factor, in the order of the study."""
        for one in self.factors:
            if one["name"] == factor:
                return [str(level) for level in one["levels"]]
        raise UntestableError(f"{factor} is no factor of this preset")

    def resolved(self, factor: str, written: str | list[str]) -> list[str]:
        """The levels that are meant, with words put in place."""
        if isinstance(written, list):
            return list(dict.fromkeys(level for one in written for level in self.resolved(factor, one)))
        levels = self.levels_of(factor)
        if written in levels:
            return [written]
        by_value = self._by_value(factor, levels)
        words = {
            "first": levels[:1],
            "last": levels[-1:],
            "lowest": by_value[:1],
            "highest": by_value[-1:],
            ALL: levels,
        }
        if written not in words:
            raise UntestableError(f"{factor} {written} is not in this preset")
        return words[written]

    def _by_value(self, factor: str, levels: list[str]) -> list[str]:
        """Levels by their numbers, where they are numbers; else in the order of the study."""
        numeric = next((one.get("numeric") for one in self.factors if one["name"] == factor), None)
        if not numeric:
            return levels
        return [level for _, level in sorted(zip(numeric, levels, strict=True))]

    def one_place(self, written: Mapping[str, str | list[str]]) -> Levels:
        """A place that names one level of each factor."""
        return {factor: self.resolved(factor, level)[0] for factor, level in written.items()}

    def quantity(self, of: str, per: str | None, place: Levels) -> Estimate:
        """A quantity at a place, over its runs that are not invalid.

        Raises
        ------
        UntestableError
            If there is no such run, or none of them has the quantity.
        """
        where = ", ".join(f"{name} {level}" for name, level in place.items()) or "any level"
        there = [run for run in self.runs if all(str(run["factors"].get(name)) == place[name] for name in place)]
        usable = [run for run in there if run["verdict"]["level"] != "invalid"]
        if not there:
            raise UntestableError(f"no run at {where}")
        if not usable:
            raise UntestableError(f"every run at {where} is invalid ({', '.join(str(run['run']) for run in there)})")
        told = [one for run in usable if (one := in_run(run, of, per)).value is not None]
        if not told:
            raise UntestableError(f"{of}{f' per {per}' if per else ''} was not measured at {where}")
        found = combined(told)
        # What was counted one by one is what happened, and no sample of anything.
        if len(told) == 1 and found.method != EXACT and found.low is not None:
            found = with_run_to_run(found, self.run_to_run)
            self.assumed = True
        self.used |= {str(run["run"]): run for run in usable}
        return found

    @property
    def suspects(self) -> list[str]:
        """Suspect runs among those used."""
        return sorted(name for name, run in self.used.items() if run["verdict"]["level"] == "suspect")


def in_run(run: Json, of: str, per: str | None) -> Estimate:
    """A quantity in one run, divided by another where one is named."""
    path = read_metric(of)
    found = _sum(leaves(run, path))
    if path[0] == COUNTED and found.value is not None and found.low is None:
        found = Estimate(found.value, found.value, found.value, EXACT, 1)
    if per is None or found.value is None:
        return found
    if per == LOAD:
        asked = (run.get("users") or {}).get("asked") or run.get("rate")
        return found.scaled(1 / float(asked)) if asked else estimates.NOTHING
    return ratio_interval(found, _sum(leaves(run, read_metric(per))))


def leaves(found: Any, path: Sequence[str]) -> list[Any]:
    """What stands at a path of a summary, `*` for any name; empty where nothing does."""
    if not path:
        return [found]
    if not isinstance(found, Mapping):
        return []
    if path == ("errors_share",):
        return [_share_failed([found])]
    if path == ("errors", "share") and "transactions" in found:
        return [_share_failed(list(found["transactions"].values()))]
    names = list(found) if path[0] == EACH else [path[0]]
    if tuple(path[:2]) == (DISKS, EACH) and DISKS in found:
        found = {DISKS: counted_once(found[DISKS])}
    return [leaf for name in names if name in found for leaf in leaves(found[name], path[1:])]


def _share_failed(transactions: Sequence[Json]) -> Estimate:
    """Share that failed, with the exact interval of a binomial share: as if each failed for itself.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
           binomial", Biometrika 26(4), 404-413, 1934, doi:10.1093/biomet/26.4.404.
    """
    failed = sum(one.get("errors", 0) for one in transactions)
    ended = failed + sum(one.get("count", 0) for one in transactions)
    if not ended:
        return estimates.NOTHING
    bounds = stats.binomtest(failed, ended).proportion_ci(estimates.CONFIDENCE, method="exact")
    return Estimate(failed / ended, float(bounds.low), float(bounds.high), BINOMIAL, ended)


def _sum(found: Sequence[Any]) -> Estimate:
    """Sum of several quantities; bounds add up, which holds whatever their errors have to do with each other."""
    read = [_read(one) for one in found]
    if len(read) == 1:
        return read[0]
    values = [one.value for one in read if one.value is not None]
    if not read or len(values) < len(read):
        return estimates.NOTHING
    lows = [one.low for one in read if one.low is not None]
    highs = [one.high for one in read if one.high is not None]
    if len(lows) < len(read) or len(highs) < len(read):
        return Estimate(sum(values), n=1)
    return Estimate(sum(values), sum(lows), sum(highs), read[0].method, min(one.n for one in read))


def _read(leaf: Any) -> Estimate:
    if isinstance(leaf, Estimate):
        return leaf
    if isinstance(leaf, Mapping):
        return estimates.from_document(dict(leaf))
    is_number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
    return Estimate(float(leaf), n=1) if is_number else estimates.NOTHING
