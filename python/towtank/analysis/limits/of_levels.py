"""Decides from the measured load levels whether a configuration reached its limit, and renders the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from towtank.analysis.aggregation import Point, over_runs
from towtank.analysis.capacity import busiest_tier, knee, saturated_tier
from towtank.analysis.checks.generator import CONNECTION_WAIT_SHARE
from towtank.analysis.doubts import DoubtKind
from towtank.analysis.ideal import share_of_ideal
from towtank.analysis.load_point import IdealScaling, LeavesIdeal, LimitKind, LimitOfLevels
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.system.limited_disks import AT_LIMIT, limited_disks
from towtank.digging import dig
from towtank.estimates import interval_texts
from towtank.over_runs import alike, merged, words

SHORTFALL = 0.10
"""Throughput is low if it is below the line of ideal scaling by more than this share, in (0, 1)."""


_CHANGES = (DoubtKind.NO_STEADY_STATE, DoubtKind.NOT_SETTLED, DoubtKind.BACKLOG)
"""Kinds of doubts about a system that changes during the measurement. Such changes are expected under an open load
beyond the limit.
"""
_REACHED = {LimitKind.NONE: False, LimitKind.UNDECIDED: None}


@dataclass(frozen=True)
class Level:
    """Load level with a valid run, compared with ideal scaling.

    Attributes
    ----------
    point : Point
        Values over all runs at this level.
    of_ideal : Estimate
        Throughput divided by the throughput of ideal scaling at the same load. [1]
    tier : str or None
        Name of the saturated tier; None if no tier is saturated.
    """

    point: Point
    of_ideal: Estimate
    tier: str | None

    @property
    def is_low(self) -> bool:
        """True if throughput is below the line of ideal scaling by more than the share `SHORTFALL`. The difference need
        not be significant.
        """
        return self.of_ideal.value is not None and self.of_ideal.value < 1 - SHORTFALL

    @property
    def is_short(self) -> bool:
        """True if throughput is low, and if the shortfall is significant or a tier is saturated.

        The shortfall is significant if the whole interval is more than half of `SHORTFALL` below the line of ideal
        scaling.
        """
        certain = self.of_ideal.high is not None and self.of_ideal.high < 1 - SHORTFALL / 2
        return self.is_low and (certain or self.tier is not None)

    @property
    def grows(self) -> bool:
        """True if the load is open, and if the number of transactions in the system grew significantly."""
        if self.point.kind != "rate":
            return False
        return any(dig(run.window, "growth", "is_significant") for run in self.point.usable)

    @property
    def load(self) -> str:
        """Load with its unit, as text."""
        return f"{self.point.load:,.10g} {'users' if self.point.kind == 'users' else 'arrivals per second'}"

    @property
    def below(self) -> str:
        """Shortfall from the line of ideal scaling in per cent, as text. It includes the interval if it is known."""
        share = self.of_ideal
        value = 1 - (share.value or 0.0)
        if share.low is None or share.high is None:
            return f"{100 * value:.0f} %"
        shown, low, high = interval_texts(100 * value, 100 * (1 - share.high), 100 * (1 - share.low))
        return f"{shown} % ({low} to {high} %)"


def limit(points: Sequence[Point], ideal: IdealScaling | None) -> LimitOfLevels:
    """Decide whether the system reached its limit. If so, also determine the load and the limiting resource.

    Parameters
    ----------
    points : sequence of Point
        Load levels of one configuration, in ascending order.
    ideal : IdealScaling or None

    Notes
    -----
    At load N with throughput X(N), the share of ideal scaling is X(N) / (N x), where x is the throughput per user of
    the ideal line. Both X(N) and x have errors, so the share has the interval of a ratio. A level counts as short if
    its share is more than `SHORTFALL` below 1, and if one of two further conditions holds. Either the whole interval of
    the share is more than half of `SHORTFALL` below 1, which allows for the error of x that all levels have in common.
    Or a tier used at least `capacity.SATURATED` of its CPUs.

    The knee is the number of users N* = (D + Z) / D_max at which the asymptotic bounds cross [1]_, computed from the
    lowest load level.

    References
    ----------
    .. [1] E. D. Lazowska, J. Zahorjan, G. S. Graham and K. C. Sevcik, *Quantitative System Performance*,
           Prentice-Hall, 1984, chapter 5.
    """
    usable = [point for point in points if point.is_valid and point.throughput.value and point.load]
    if not usable or ideal is None:
        return LimitOfLevels(kind=LimitKind.UNDECIDED, evidence="no valid run")
    levels = _levels(usable, ideal)
    kind, level, evidence = _conclusion(levels, [point for point in points if point.load > usable[-1].load])
    return LimitOfLevels(
        kind=kind,
        reached=_REACHED.get(kind, True),
        resource=level.tier if level is not None and kind is LimitKind.CPU else None,
        evidence=evidence,
        knee_users=knee(usable),
        leaves_ideal_at=_leaves_between(usable, [short for short in levels if short.is_short]),
        peak_throughput_per_s=max((point.throughput for point in usable), key=lambda found: found.value or 0.0),
    )


def _levels(usable: Sequence[Point], ideal: IdealScaling) -> list[Level]:
    first = usable[0]
    above = [
        Level(point, share_of_ideal(ideal.slope, point.throughput, point.load), saturated_tier(point))
        for point in usable[1:]
    ]
    # The ideal line begins at the lowest level, so the share of this level is 1 by definition.
    return [Level(first, Estimate(1.0), saturated_tier(first)), *above]


def _conclusion(levels: list[Level], above: list[Point]) -> tuple[LimitKind, Level | None, str]:
    """Return the kind of limit, the load level that shows the limit (None if no single level does), and the
    evidence.
    """
    short = [level for level in levels if level.is_short]
    full = next((level for level in short if level.tier is not None), None)
    if full is not None:
        return LimitKind.CPU, full, _cpu_evidence(full)
    failing = next((point for point in above if _fails(point)), None)
    if failing is not None:
        return LimitKind.ERRORS, None, _failing_evidence(levels[-1], failing)
    growing = next((level for level in levels if level.grows), None)
    if growing is not None:
        text = f"at {growing.load} arrivals exceed throughput: {_changing(growing.point)} ({_observed(growing.point)})"
        return LimitKind.OVERLOAD, growing, text
    if short:
        kind = LimitKind.OVERLOAD if short[0].point.kind == "rate" else LimitKind.UNKNOWN
        return kind, short[0], _short_evidence(short[0], levels[-1])
    return _without_shortfall(levels, above)


def _without_shortfall(levels: list[Level], above: list[Point]) -> tuple[LimitKind, Level | None, str]:
    top, low = levels[-1], next((level for level in levels if level.is_low), None)
    busiest = _observed(top.point)
    if low is not None:
        text = f"not decided: at {low.load} throughput is {low.below} below the ideal line, which may be chance"
        return LimitKind.UNDECIDED, low, f"{text} ({busiest})"
    if above:
        return LimitKind.UNDECIDED, None, f"not decided: no run above {top.load} is valid ({busiest})"
    if (changing := _changing(top.point)) is not None:
        return LimitKind.UNDECIDED, None, f"not decided: at {top.load} the system was not steady: {changing}"
    if top.tier is not None:
        left = 100 * (1 / (top.point.shared_utilization(top.tier) or 1.0) - 1)
        text = (
            f"nearly reached: {busiest} at {top.load}; the remaining CPU time is enough for {max(left, 0):.0f} % more "
            "transactions"
        )
        return LimitKind.UNDECIDED, top, text
    if len(levels) == 1:
        return LimitKind.UNDECIDED, None, f"not found: one load level only ({busiest})"
    reason = "think time limits the load" if top.point.kind == "users" else "every arrival was served"
    shortfall = f"throughput is within {100 * SHORTFALL:.0f} % of the ideal line"
    return LimitKind.NONE, None, f"not found: {reason}; at {top.load} {shortfall} ({busiest})"


def _fails(point: Point) -> bool:
    """Return True if every run at a load level is invalid because transactions failed, and if no other cause of the
    failures is apparent.

    Beyond the limit, doubts about a changing system are expected. With any other doubt, such as a saturated generator,
    the system might have served the failed transactions.
    """
    kinds = [{kind for kind, _ in _doubts(run, "invalid")} for run in point.usable]
    of_system = {str(DoubtKind.ERRORS_ABOVE_LIMIT), *map(str, _CHANGES)}
    return (
        not point.is_valid
        and bool(kinds)
        and all(str(DoubtKind.ERRORS_ABOVE_LIMIT) in found and found <= of_system for found in kinds)
    )


def _doubts(run: RunSummary, *levels: str) -> Iterator[tuple[str, str]]:
    """Yield kind and message of each doubt about a run that has one of the given levels."""
    for doubt in run.verdict.reasons:
        if dig(doubt, "level") in levels:
            yield str(dig(doubt, "kind")), str(dig(doubt, "message"))


def _changing(point: Point) -> str | None:
    """Render the doubts about the steady state at a load level: the first message, merged with similar messages of
    other runs. Return None if no run has such a doubt.
    """
    found = [doubt for run in point.usable for doubt in _doubts(run, "suspect", "invalid")]
    return _first([message for kind, message in found if kind in _CHANGES])


def _first(messages: list[str]) -> str | None:
    """Return the first message, merged with all messages that differ from it in numbers only: each number is replaced
    by its range. Return None if there are no messages.
    """
    return merged([text for text in messages if alike(text, messages[0])]) if messages else None


def _leaves_between(usable: list[Point], short: list[Level]) -> LeavesIdeal | None:
    if not short:
        return None
    first = short[0].point.load
    below = [point.load for point in usable if point.load < first]
    return LeavesIdeal(after=below[-1] if below else None, at=first)


def _cpu_evidence(level: Level) -> str:
    point, tier = level.point, str(level.tier)
    both = point.sharing(tier)
    used = sum(over_runs(point.usable, "tiers", name, "cpus_used").value or 0.0 for name in both)
    cpus = words(point.shared_cpus_range(tier), used, "{:.2f} CPUs".format)
    who = f"{tier} uses" if len(both) == 1 else f"{_listed(both)} together use"
    whose = "its" if len(both) == 1 else "their common"
    busy = _busy(point, tier, point.shared_utilization(tier) or 0.0)
    below = f"at {level.load} throughput is {level.below} below the ideal line"
    return f"{below} while {who} {cpus}, {busy} of {whose} CPUs"


def _busy(point: Point, tier: str, utilization: float) -> str:
    """Render the utilization of the CPUs of a tier. For several runs, this is a range such as `88 to 97 %`."""
    found = point.shared_utilization_range(tier)
    return words(found, utilization, lambda share: f"{100 * share:.0f} %")


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _failing_evidence(top: Level, failing: Point) -> str:
    messages = [message for run in failing.usable for _, message in _doubts(run, "invalid")]
    beyond = f"{failing.load:,.10g} {'users' if failing.kind == 'users' else 'arrivals per second'}"
    highest = f"{top.load} is the highest valid level ({_observed(top.point)})"
    return f"at {beyond} too many transactions fail ({_first(messages)}); {highest}"


def _short_evidence(level: Level, top: Level) -> str:
    text = f"at {level.load} throughput is {level.below} below the ideal line"
    full = [disk for run in level.point.documents for disk in limited_disks(run) if disk.utilization >= AT_LIMIT]
    if full:
        return f"{text}; {full[0].text}"
    if not level.point.tiers:
        return f"{text}; the limiting resource was not observed ({_observed(top.point)}){_pool(level.point)}"
    return (
        f"{text}, but no observed tier is saturated ({_observed(top.point)}): a lock, a pool, a single thread "
        f"or a resource that was not observed may limit it{_pool(level.point)}"
    )


def _pool(point: Point) -> str:
    """Render the generator's connection pool as a possible limit; empty if requests waited only briefly for a
    connection.
    """
    share = point.wait("share_of_response_time") or 0.0
    if share <= CONNECTION_WAIT_SHARE:
        return ""
    found = dig(point.of_runs(), "wait_time_s", "share_of_response_time")
    waits = words(found, share, lambda value: f"{100 * value:.0f} %")
    return f", or the generator's connection pool: requests wait for a connection for {waits} of response time"


def _observed(point: Point) -> str:
    """Render the CPU use of the busiest tier; if no tier was observed, the CPU use of this machine."""
    busiest = busiest_tier(point)
    if busiest is not None:
        return f"{busiest[0]} at {_busy(point, *busiest)} of its CPUs"
    machine = point.machine_cpus()
    if machine is None:
        return "no tier was observed"
    used = words(point.machine_cpus_range(), machine[0], "{:.2f}".format)
    return f"no tier was observed; this machine used {used} of {machine[1]:g} CPUs"
