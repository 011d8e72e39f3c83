"""Tests whether mix, pauses and arrivals of the recorded load have the distributions that the plan requests.

The plan is a file in the run folder; the recorded load comes from the engine's records. The audit uses the planned
steady stages, not the analysed window. The analysed window may begin later because of a transient, and its start then
depends on the measured values, which would bias counts in that window.

Transactions are counted if they *began* in the window. The kind of each transaction is drawn independently. Whether the
k-th transaction of a user begins in the window depends only on the user's earlier transactions, not on its own kind.
Whatever the system does, the counts of the kinds therefore deviate from their expected shares with the mean and the
variance of independent draws (Wald's equation and its companion for the variance [1]_).

Counts of transactions that *ended* in the window would be worse. They omit slow transactions at the end of the window
and include slow transactions from before its start, so they are biased at the start of a run. Near saturation, most
users have a transaction in progress, which adds noise: the standard deviation is about the square root of the number of
users.

References
----------
.. [1] A. Wald, "On cumulative sums of random variables", Annals of Mathematical Statistics 15(3), 283-296, 1944,
       doi:10.1214/aoms/1177731235.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from towtank.analysis.audit import asked
from towtank.analysis.audit.arrivals import StageOfArrivals, arrivals_of_stage
from towtank.analysis.audit.check import MIX, NO_ARRIVALS, SHARES, THINK, AuditTest, Check, Untested, merged
from towtank.analysis.laws import Accounting, Little
from towtank.analysis.measurement import Mask, Measurement
from towtank.analysis.statistics import goodness
from towtank.analysis.statistics.goodness import Distribution
from towtank.analysis.windows import window as windows
from towtank.results import RecordedInterval, names_of

LEVEL = 1e-4
"""Significance level of a single test of the audit, in (0, 1). A smaller p-value makes the run suspect."""
FAMILY_LEVEL = 1e-3
"""Largest probability that chance makes a run with the planned load suspect, over all tests of its audit, in (0, 1).

If the audit has more than ten tests, this probability is divided equally among the tests (Bonferroni).
"""


@dataclass(frozen=True)
class TestedWindow:
    """Start and end of the time that the audit tested, in run time. [s]"""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class Audit:
    """Entry `audit` of a run summary: verdict `ok`, `suspect` or `untested`, and the significance levels of each test
    and of all tests together, in (0, 1).
    """

    verdict: str
    level: float
    family_level: float
    window: TestedWindow | None = None
    tests: tuple[AuditTest, ...] = ()
    untested: tuple[Untested, ...] = ()
    accounting_holds: bool | None = None
    little_holds: bool | None = None


def audit(
    plan: dict[str, Any] | None, measurement: Measurement, little: Little | None, accounting: Accounting
) -> Audit:
    """Test whether the recorded load of a run agrees with its plan.

    Parameters
    ----------
    plan : dict or None
        Content of `plan.json`; None if the run folder has no readable plan.
    measurement : Measurement
    little, accounting : Little or None, Accounting
        Results of the checks of Little's law and of request counts, from the run summary. The audit only repeats these
        results.
    """
    window = windows.asked(measurement)
    found: list[Check]
    if not _is_plan(plan):
        found, why = [], "the run folder has no readable plan"
    elif window is None:
        found, why = [], "nothing was recorded in a steady stage"
    else:
        found, why = _tests(_Load(plan or {}, measurement, window)), ""
    made = [test for test in found if test.outcome is not None]
    level = min(LEVEL, FAMILY_LEVEL / max(1, len(made)))
    tests = tuple(test.tested(level) for test in made)
    untested = tuple(Untested(test.about, test.group, test.stage, test.why) for test in found if test.outcome is None)
    suspect = any(test.verdict == "suspect" for test in tests)
    return Audit(
        verdict="suspect" if suspect else "ok" if tests else "untested",
        level=level,
        family_level=FAMILY_LEVEL,
        window=None if window is None else TestedWindow(window.asked_start_s, window.asked_end_s),
        tests=tests,
        untested=(Untested("all", None, None, why),) if why else untested,
        accounting_holds=accounting.holds,
        little_holds=None if little is None else little.holds,
    )


def _is_plan(plan: dict[str, Any] | None) -> bool:
    """Return True if a document has all entries that the audit reads from a plan."""
    try:
        plan = plan or {}
        weights = [
            (int(entry["transaction"]), float(entry["weight"])) for group in plan["groups"] for entry in group["mix"]
        ]
        shares = [float(group["share"]) for group in plan["groups"]]
        rates = [float(stage.get("rate") or 0.0) for stage in plan["load"]["stages"]]
        names = [transaction["name"] for transaction in plan["transactions"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return bool(weights and shares and rates and names)


class _Load:
    """Planned and recorded load in the planned steady stages, called the window here."""

    def __init__(self, plan: dict[str, Any], measurement: Measurement, window: windows.Window) -> None:
        self.plan = plan
        self.measurement = measurement
        self.window = window
        self.groups: list[dict[str, Any]] = plan["groups"]
        self.names = [str(transaction["name"]) for transaction in plan["transactions"]]
        self.is_open = plan["load"].get("kind") == "open"

    @cached_property
    def chosen(self) -> Mask:
        """Mask of the bins in the window."""
        return self.measurement.inside(self.window.asked_start_s, self.window.asked_end_s)

    @cached_property
    def intervals(self) -> list[RecordedInterval]:
        """Intervals of load threads that lie in the window."""
        start, end = self.window.asked_start_s - 1e-6, self.window.asked_end_s + 1e-6
        return [
            interval
            for interval in self.measurement.recording.intervals
            if interval.start_s >= start and interval.end_s <= end
        ]

    @cached_property
    def stages(self) -> dict[int, list[RecordedInterval]]:
        """Intervals of load threads in the window, by the number of their stage."""
        found: dict[int, list[RecordedInterval]] = defaultdict(list)
        for interval in self.intervals:
            found[interval.stage].append(interval)
        return dict(found)

    @property
    def asks_shares(self) -> bool:
        """True if each user group receives a share of a common arrival rate; False if each group has its own arrival
        rates.
        """
        return not any("rates_by_group" in stage for stage in self.plan["load"]["stages"])

    def stage(self, number: int) -> StageOfArrivals:
        """Return the planned and the recorded arrivals of a stage, as input of the tests of arrivals."""
        recorded, planned = self.measurement.stages, self.plan["load"]["stages"]
        names = [*(stage.get("name") for stage in planned), *(stage.name for stage in recorded[len(planned) :])]
        return StageOfArrivals(
            name=str(names[number] or number) if number < len(names) else str(number),
            asked=asked.of_stage(self.plan, recorded, number),
            groups=[self.group_name(group) for group in range(len(self.groups))],
            is_poisson=self.plan["load"].get("arrivals") == "poisson",
            measurement=self.measurement,
            mask=self.chosen & (self.measurement.stage == number),
            intervals=self.stages[number],
        )

    @cached_property
    def counts_picks(self) -> bool:
        """True if the engine counted how often users chose each transaction of their mix."""
        every = (series for interval in self.measurement.recording.intervals for series in interval.series)
        return any(series.picked is not None for series in every)

    def counted(self, group: int) -> dict[int, float]:
        """Return how often the users of a group chose each transaction; by number of the transaction. [1]

        If the engine did not count the choices, return the number of transactions that ended.
        """
        found: dict[int, float] = defaultdict(float)
        for series in (
            series for interval in self.intervals for series in interval.series if series.of == "transaction"
        ):
            if series.group == group:
                found[series.number] += (
                    (series.picked or 0) if self.counts_picks else series.ok + sum(series.failed.values())
                )
        return dict(found)

    def group_name(self, number: int) -> str:
        """Return the name of a user group; `group N` if it has no name."""
        return str(self.groups[number].get("name") or f"group {number}")

    def name(self, transaction: int) -> str:
        """Return the name of a transaction; `transaction N` if it has no name."""
        return self.names[transaction] if transaction < len(self.names) else f"transaction {transaction}"


def _tests(load: _Load) -> list[Check]:
    found = [_mix(load, number) for number in range(len(load.groups))]
    if load.is_open:
        found += [_shares(load)] if len(load.groups) > 1 and load.asks_shares else []
        for number in load.stages:
            found += arrivals_of_stage(load.stage(number))
        if len(load.stages) == 1:
            found = [replace(test, stage=None) for test in found]
        return found
    return found + [test for number in range(len(load.groups)) if (test := _think(load, number)) is not None]


def _mix(load: _Load, number: int) -> Check:
    """Test whether the users of a group chose transactions in proportion to the planned weights."""
    weights: dict[int, float] = defaultdict(float)
    for entry in load.groups[number]["mix"]:
        weights[int(entry["transaction"])] += float(entry["weight"])
    counted = load.counted(number)
    place = Check(MIX, load.group_name(number))
    if len(weights) < 2 and set(counted) <= set(weights):
        return replace(place, why="the mix contains a single transaction")
    if not load.counts_picks:
        # Older recordings count only transactions that ended. These counts include transactions of the kinds `once` and
        # `exit`, which are not part of the mix.
        counted = {index: count for index, count in counted.items() if index in weights}
    numbers = sorted(set(weights) | set(counted))
    counts = [counted.get(index, 0.0) for index in numbers]
    asked = [weights.get(index, 0.0) for index in numbers]
    extra = None if load.counts_picks else _in_hand(load, numbers, asked)
    outcome = goodness.multinomial(counts, asked, extra)
    if outcome is None:
        return replace(place, why="too few transactions began for a test")
    if not load.counts_picks:
        outcome = replace(outcome, method="chi-square of ended transactions")
    return replace(
        place,
        asked={load.name(index): weight / sum(asked) for index, weight in zip(numbers, asked, strict=True)},
        seen={load.name(index): count / sum(counts) for index, count in zip(numbers, counts, strict=True)},
        outcome=outcome,
    )


def _in_hand(load: _Load, numbers: list[int], weights: list[float]) -> list[float]:
    """Return upper bounds of the variance that unfinished transactions add to the counts of ended transactions, for
    each kind of transaction. [1]

    At the start and at the end of the window, some transactions are in progress. For each kind of transaction, their
    mean number is sum(R) / T, with the response times R and the length T of the window. The variance of this number is
    at most its mean. The factor 2 counts the start and the end of the window.
    """
    columns, known = load.measurement.columns("transaction"), list(names_of(load.measurement.recording, "transaction"))
    spread = []
    for number in numbers:
        column = columns.get(known[number]) if number < len(known) else None
        spread.append(0.0 if column is None else float(column.response_sum_s[load.chosen].sum()))
    length = load.window.asked_end_s - load.window.asked_start_s
    return [2 * sum_s / length if weight else 0.0 for sum_s, weight in zip(spread, weights, strict=True)]


def _think(load: _Load, number: int) -> Check | None:
    """Test whether the pauses of a user group have the planned distribution; None if the group has no pauses."""
    group = load.groups[number]
    pause = group.get("think")
    place = Check(THINK, load.group_name(number))
    if group.get("pacing"):
        return replace(place, why="pacing makes the pauses longer than the requested think time")
    if not isinstance(pause, dict):
        return None
    if not any(interval.thinks is not None for interval in load.intervals):
        return replace(place, why="the engine version of this run did not record pauses by group")
    own = [pauses for interval in load.intervals for pauses in interval.thinks or () if pauses.group == number]
    found = merged([pauses.pause for pauses in own])
    try:
        law = distribution(pause)
    except (KeyError, TypeError, ValueError):
        return replace(place, why=f"the plan's pause cannot be read: {pause!r}")
    if found is None:
        return replace(place, why="no pause began in the window")
    outcome = goodness.always(found, law) if isinstance(law, float) else goodness.kolmogorov(found, law)
    count = found.total
    seen = {"mean_s": sum(pauses.sum_s for pauses in own) / count, "min_s": found.minimum_s, "max_s": found.maximum_s}
    return replace(place, asked=dict(pause), seen=seen, outcome=outcome)


def distribution(pause: dict[str, Any]) -> Distribution | float:
    """Return the planned distribution of a pause; its length if it is constant. [s]

    Raises
    ------
    KeyError, TypeError, ValueError
        If `pause` is not a pause of a plan.
    """
    kind = pause["dist"]
    if kind == "uniform":
        least, most = float(pause["min_s"]), float(pause["max_s"])
        return goodness.uniform(least, most) if most > least else least
    mean = float(pause["mean_s"])
    if kind == "fixed":
        return mean
    if kind == "exponential":
        return goodness.exponential(mean) if mean > 0 else mean
    if kind == "normal":
        least, most, deviation = (float(pause[key]) for key in ("min_s", "max_s", "sd_s"))
        if most <= least or deviation <= 0:
            return min(max(mean, least), most)
        return goodness.truncated_normal(mean, deviation, least, most)
    raise ValueError(f"unknown distribution {kind!r}")


def _shares(load: _Load) -> Check:
    """Test whether the user groups received the planned shares of all arrivals."""
    counts = np.zeros(len(load.groups))
    for interval in load.intervals:
        counts[: len(interval.arrivals)] += interval.arrivals[: len(counts)]
    shares = [float(group["share"]) for group in load.groups]
    place = Check(SHARES)
    outcome = goodness.multinomial(counts, shares)
    if outcome is None:
        return replace(place, why=NO_ARRIVALS if not counts.any() else "too few arrivals for a test")
    names = [load.group_name(number) for number in range(len(shares))]
    return replace(
        place,
        asked={name: share / sum(shares) for name, share in zip(names, shares, strict=True)},
        seen={name: float(count / counts.sum()) for name, count in zip(names, counts, strict=True)},
        outcome=outcome,
    )
