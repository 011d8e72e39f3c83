"""The audit of the load: did the mix, the pauses and the arrivals come out as the plan asked for?

The plan in the run folder says what was asked, the engine's segments what was done. The audit takes the steady
window as asked, not as shortened by the tests for a transient: those look at the outcome, and a window that
depends on the outcome would bias the tests.

What is counted is what *began* in the window. Whether the k-th pick of a user is begun in the window depends on
the picks before it only, so the counts are those of independent draws whatever the system does (Wald's equation
and its companion for the variance [1]_). What *ended* in the window leaves out the slow ones of the end and takes
in those of the beginning: near saturation, where most users are in the middle of something, that adds noise of
the size of the number of users, and at the start of a run a bias.

References
----------
.. [1] A. Wald, "On cumulative sums of random variables", Annals of Mathematical Statistics 15(3), 283-296, 1944,
       doi:10.1214/aoms/1177731235.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from towtank.analysis import goodness, histograms
from towtank.analysis import window as windows
from towtank.analysis.goodness import Distribution, Goodness
from towtank.analysis.histograms import BadHistogramError, Histogram
from towtank.analysis.measurement import Mask, Measurement
from towtank.results.segments import Interval

LEVEL = 1e-4
"""A test with a smaller p-value makes the run suspect, in (0, 1)."""
FAMILY_LEVEL = 1e-3
"""Probability at most that any test of a run as asked makes it suspect; with more than ten tests each gets its
share of it (Bonferroni)."""
MIX, SHARES, THINK = "mix", "group shares", "think time"
NUMBER, GAPS, SECONDS = "number of arrivals", "gaps between arrivals", "arrivals per second"
# Lag of the starts may add so much to the index of dispersion, in its standard deviations.
_LAG_AT_MOST = 0.05


@dataclass(frozen=True)
class Check:
    """One test with what was asked and what was seen.

    Attributes
    ----------
    about : str
        One of the names above.
    group : str or None
        User group; None where it is about all.
    stage : str or None
        Stage of the load, of tests of arrivals.
    outcome : Goodness or None
        None where it could not be made; `why` says why.
    """

    about: str
    group: str | None = None
    stage: str | None = None
    asked: dict[str, Any] | None = None
    seen: dict[str, Any] | None = None
    outcome: Goodness | None = None
    why: str = ""

    def place(self) -> dict[str, Any]:
        """What it is about."""
        return {"test": self.about, "group": self.group, "stage": self.stage}

    def document(self, level: float) -> dict[str, Any]:
        """As it stands in a summary."""
        assert self.outcome is not None
        found = self.outcome
        return {
            **self.place(),
            "method": found.method,
            "statistic": found.statistic,
            "degrees_of_freedom": found.freedom,
            "p_value": found.p_value,
            "n": found.n,
            "asked": self.asked or {},
            "seen": self.seen or {},
            "verdict": "suspect" if found.p_value < level else "ok",
        }


def audit(
    plan: dict[str, Any] | None, measurement: Measurement, little: dict[str, Any] | None, accounting: dict[str, Any]
) -> dict[str, Any]:
    """Audit a run.

    Parameters
    ----------
    plan : dict or None
        `plan.json`; None where the run folder has none that can be read.
    measurement : Measurement
    little, accounting : dict
        What the summary says about Little's law and the accounting identity; they are part of the audit.

    Returns
    -------
    dict
        As `docs/reference/summary.md` describes under `audit`.
    """
    window = windows.asked(measurement)
    found: list[Check]
    if not _is_plan(plan):
        found, why = [], "the run folder has no plan that can be read"
    elif window is None:
        found, why = [], "nothing was recorded in a steady stage"
    else:
        found, why = _tests(_Load(plan or {}, measurement, window)), ""
    made = [one for one in found if one.outcome is not None]
    level = min(LEVEL, FAMILY_LEVEL / max(1, len(made)))
    tests = [one.document(level) for one in made]
    untested = [{**one.place(), "why": one.why} for one in found if one.outcome is None]
    if why:
        untested = [{"test": "all", "group": None, "stage": None, "why": why}]
    suspect = any(one["verdict"] == "suspect" for one in tests)
    return {
        "verdict": "suspect" if suspect else "ok" if tests else "untested",
        "level": level,
        "family_level": FAMILY_LEVEL,
        "window": None if window is None else {"start_s": window.asked_start_s, "end_s": window.asked_end_s},
        "tests": tests,
        "untested": untested,
        "accounting_holds": accounting.get("holds"),
        "little_holds": None if little is None else little.get("holds"),
    }


def _is_plan(plan: dict[str, Any] | None) -> bool:
    """Whether a document is a plan as far as the audit needs it; what reads it below may rely on this."""
    try:
        plan = plan or {}
        weights = [(int(one["transaction"]), float(one["weight"])) for group in plan["groups"] for one in group["mix"]]
        shares = [float(group["share"]) for group in plan["groups"]]
        rates = [float(stage.get("rate") or 0.0) for stage in plan["load"]["stages"]]
        names = [one["name"] for one in plan["transactions"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return bool(weights and shares and rates and names)


class _Load:
    """What was asked and what was done, in the steady window."""

    def __init__(self, plan: dict[str, Any], measurement: Measurement, window: windows.Window) -> None:
        self.plan = plan
        self.measurement = measurement
        self.window = window
        self.groups: list[dict[str, Any]] = plan["groups"]
        self.names = [str(one["name"]) for one in plan["transactions"]]
        self.is_open = plan["load"].get("kind") == "open"

    @cached_property
    def chosen(self) -> Mask:
        """Bins of the window."""
        return self.measurement.inside(self.window.asked_start_s, self.window.asked_end_s)

    @cached_property
    def intervals(self) -> list[Interval]:
        """Intervals of the window."""
        start, end = self.window.asked_start_s - 1e-6, self.window.asked_end_s + 1e-6
        return [one for one in self.measurement.recording.intervals if one.start_s >= start and one.end_s <= end]

    @cached_property
    def stages(self) -> dict[int, list[Interval]]:
        """Intervals of the window by number of the stage."""
        found: dict[int, list[Interval]] = defaultdict(list)
        for one in self.intervals:
            found[one.stage].append(one)
        return dict(found)

    @cached_property
    def counts_picks(self) -> bool:
        """Whether the engine counted picks."""
        every = (one for interval in self.measurement.recording.intervals for one in interval.series)
        return any(one.picked is not None for one in every)

    def counted(self, group: int) -> dict[int, float]:
        """Picks of each transaction by a group; what ended, where picks were not counted."""
        found: dict[int, float] = defaultdict(float)
        for one in (one for interval in self.intervals for one in interval.series if one.of == "transaction"):
            if one.group == group:
                found[one.number] += (one.picked or 0) if self.counts_picks else one.ok + sum(one.failed.values())
        return dict(found)

    def group_name(self, number: int) -> str:
        """Name of a group."""
        return str(self.groups[number].get("name") or f"group {number}")

    def name(self, transaction: int) -> str:
        """Name of a transaction."""
        return self.names[transaction] if transaction < len(self.names) else f"transaction {transaction}"


def _tests(load: _Load) -> list[Check]:
    found = [_mix(load, number) for number in range(len(load.groups))]
    if load.is_open:
        found += [_shares(load)] if len(load.groups) > 1 else []
        for stage in load.stages:
            found += _arrivals(load, stage)
        if len(load.stages) == 1:
            found = [replace(one, stage=None) for one in found]
        return found
    return found + [one for number in range(len(load.groups)) if (one := _think(load, number)) is not None]


def _mix(load: _Load, number: int) -> Check:
    """Whether the transactions of a group were picked by their weights."""
    weights: dict[int, float] = defaultdict(float)
    for one in load.groups[number]["mix"]:
        weights[int(one["transaction"])] += float(one["weight"])
    counted = load.counted(number)
    place = Check(MIX, load.group_name(number))
    if len(weights) < 2 and set(counted) <= set(weights):
        return replace(place, why="the mix is a single transaction")
    if not load.counts_picks:
        # `once` and `exit` of a group count as well where only ends were recorded.
        counted = {one: count for one, count in counted.items() if one in weights}
    numbers = sorted(set(weights) | set(counted))
    counts = [counted.get(one, 0.0) for one in numbers]
    asked = [weights.get(one, 0.0) for one in numbers]
    extra = None if load.counts_picks else _in_hand(load, numbers, asked)
    outcome = goodness.multinomial(counts, asked, extra)
    if outcome is None:
        return replace(place, why="too few transactions were begun for a test")
    if not load.counts_picks:
        outcome = replace(outcome, method="chi-square of what ended")
    return replace(
        place,
        asked={load.name(one): weight / sum(asked) for one, weight in zip(numbers, asked, strict=True)},
        seen={load.name(one): count / sum(counts) for one, count in zip(numbers, counts, strict=True)},
        outcome=outcome,
    )


def _in_hand(load: _Load, numbers: list[int], weights: list[float]) -> list[float]:
    """Variance of counts of ends by what is in hand at both edges of the window.

    In hand are on average sum(R) / T transactions at an edge, each of a kind with probability proportional to
    weight × mean response time; counts of them vary by no more than their mean.
    """
    columns, names = load.measurement.columns("transaction"), load.measurement.recording.header or {}
    known = list(names.get("transactions", []))
    spread = []
    for number in numbers:
        column = columns.get(known[number]) if number < len(known) else None
        spread.append(0.0 if column is None else float(column.response_sum_s[load.chosen].sum()))
    length = load.window.asked_end_s - load.window.asked_start_s
    return [2 * sum_s / length if weight else 0.0 for sum_s, weight in zip(spread, weights, strict=True)]


def _think(load: _Load, number: int) -> Check | None:
    """Whether the pauses of a group are drawn from the distribution asked for; None where no pause was asked."""
    group = load.groups[number]
    pause = group.get("think")
    place = Check(THINK, load.group_name(number))
    if group.get("pacing"):
        return replace(place, why="pacing makes the pauses longer than the think time asked")
    if not isinstance(pause, dict):
        return None
    if not any(one.thinks is not None for one in load.intervals):
        return replace(place, why="the engine that made the run did not record pauses by group")
    own = [one for interval in load.intervals for one in interval.thinks or () if one.group == number]
    merged = _merged([one.pause for one in own])
    try:
        law = distribution(pause)
    except (KeyError, TypeError, ValueError):
        return replace(place, why=f"the plan's pause cannot be read: {pause!r}")
    if merged is None:
        return replace(place, why="no pause began in the window")
    outcome = goodness.always(merged, law) if isinstance(law, float) else goodness.kolmogorov(merged, law)
    count = merged.total
    seen = {"mean_s": sum(one.sum_s for one in own) / count, "min_s": merged.minimum_s, "max_s": merged.maximum_s}
    return replace(place, asked=dict(pause), seen=seen, outcome=outcome)


def distribution(pause: dict[str, Any]) -> Distribution | float:
    """Distribution of a pause of the plan; the one value where it has only one. [s]

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no pause of a plan.
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
    """Whether arrivals went to the groups by their shares."""
    counts = np.zeros(len(load.groups))
    for one in load.intervals:
        counts[: len(one.arrivals)] += one.arrivals[: len(counts)]
    shares = [float(group["share"]) for group in load.groups]
    place = Check(SHARES)
    outcome = goodness.multinomial(counts, shares)
    if outcome is None:
        return replace(place, why=_NO_ARRIVALS if not counts.any() else "too few arrivals for a test")
    names = [load.group_name(number) for number in range(len(shares))]
    return replace(
        place,
        asked={name: share / sum(shares) for name, share in zip(names, shares, strict=True)},
        seen={name: float(count / counts.sum()) for name, count in zip(names, counts, strict=True)},
        outcome=outcome,
    )


_NO_ARRIVALS = "no arrivals were recorded"


def _arrivals(load: _Load, number: int) -> Iterator[Check]:
    """Whether the arrivals of one steady stage are as asked: their number, their gaps, their spread."""
    stage = load.plan["load"]["stages"][number] if number < len(load.plan["load"]["stages"]) else {}
    own, rate = load.stages[number], float(stage.get("rate") or 0.0)
    name = str(stage.get("name") or number)
    count = sum(sum(one.arrivals) for one in own)
    if not count or rate <= 0:
        yield Check(NUMBER, stage=name, why=_NO_ARRIVALS if rate > 0 else "the rate asked for is zero")
        return
    is_poisson = load.plan["load"].get("arrivals") == "poisson"
    mask = load.chosen & (load.measurement.stage == number)
    length = float(load.measurement.lengths[mask].sum())
    place = Check(NUMBER, stage=name, asked={"rate_per_s": rate}, seen={"rate_per_s": count / length})
    yield replace(place, outcome=_number(load, mask, count, rate * length, is_poisson))
    gaps = _merged([one.gaps for one in own if one.gaps])
    place = Check(GAPS, stage=name, asked={"dist": "exponential" if is_poisson else "fixed", "mean_s": 1 / rate})
    if gaps is None:
        yield replace(place, why="no gap was recorded")
    else:
        # The first gap of a stage belongs to the rate before as well.
        fit = goodness.kolmogorov(gaps, goodness.exponential(1 / rate)) if is_poisson else None
        seen = {"mean_s": sum(one.gaps_sum_s for one in own) / gaps.total}
        yield replace(place, seen=seen, outcome=fit or goodness.always(gaps, 1 / rate, exempt=1))
    if is_poisson:
        yield _seconds(load, mask, name, rate)


def _number(load: _Load, mask: Mask, count: int, expected: float, is_poisson: bool) -> Goodness:
    if is_poisson:
        return goodness.poisson_number(count, expected)
    # An arrival counts when it is handled: what comes late at an edge counts on the other side of it.
    lag = load.measurement.lag.merged(mask)
    slack = 1.0 + (lag.maximum_s if lag else 0.0) * expected / float(load.measurement.lengths[mask].sum())
    return Goodness("exact", float(count), 1.0 if abs(count - expected) <= slack else 0.0, count)


def _seconds(load: _Load, mask: Mask, name: str, rate: float) -> Check:
    """Whether arrivals of the seconds scatter as Poisson counts do."""
    place = Check(SECONDS, stage=name, asked={"dispersion": 1.0})
    counts, lengths = load.measurement.arrivals[mask], load.measurement.lengths[mask]
    lag = load.measurement.lag.merged(mask)
    if lag is not None:
        # Arrivals count in the second in which they are handled. A lag at an edge moves rate × lag of them, which
        # adds 2 (rate × lag)² / (rate × length) to a term of the index.
        squares = lag.variance_s2 + lag.mean_s**2
        added = float((2 * rate * squares / lengths).sum())
        if added > _LAG_AT_MOST * float(np.sqrt(2 * len(lengths))):
            return replace(place, why="starts lagged, so counts per second show the lag more than the arrivals")
    outcome = goodness.dispersion(counts, lengths)
    if outcome is None:
        return replace(place, why="too few arrivals for a test")
    statistic, freedom = outcome.statistic, outcome.freedom
    seen = None if statistic is None or not freedom else {"dispersion": statistic / freedom}
    return replace(place, seen=seen, outcome=outcome)


def _merged(encoded: list[str]) -> Histogram | None:
    """Values of all histograms that can be read; damage is told elsewhere."""
    found: list[Histogram] = []
    for text in encoded:
        try:
            one = histograms.decode(text)
        except BadHistogramError:
            continue
        if not found or one.layout == found[0].layout:
            found.append(one)
    merged = histograms.merge(found)
    return merged if merged is not None and merged.total else None
