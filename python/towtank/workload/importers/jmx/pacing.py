"""Converts throughput timers to the pacing of groups, which is the interval between the starts of a
virtual user's transactions.

A throughput applies to one thread, to the threads of a group, or to the threads of all groups in the test plan. The
pacing of a group is therefore known only after all groups have been read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from towtank.workload.importers.draft import ImportDraft, seconds
from towtank.workload.importers.jmx.texts import Texts
from towtank.workload.importers.jmx.tree import Item

THROUGHPUT_TIMERS = frozenset({"ConstantThroughputTimer", "PreciseThroughputTimer"})
# Values of `calcMode` of ConstantThroughputTimer, and the texts that stand for them in old test plans (JMeter 5.5).
_THREAD, _ALL, _GROUP, _ALL_SHARED, _GROUP_SHARED, _PRECISE = range(6)
_MODES = {
    "this thread only": _THREAD,
    "all active threads": _ALL,
    "all active threads in current thread group": _GROUP,
    "all active threads (shared)": _ALL_SHARED,
    "all active threads in current thread group (shared)": _GROUP_SHARED,
}
_WHOSE = {
    _THREAD: "each user",
    _ALL: "all {threads:g} users of the plan together",
    _GROUP: "all {users:g} users of the group together",
    _ALL_SHARED: "all {sharing:g} users of the groups with this mode together",
    _GROUP_SHARED: "all {users:g} users of the group together",
    _PRECISE: "all {users:g} users of the group together",
}


@dataclass
class Paced:
    """Throughput timer. `samplers` is the mean number of samples that a thread makes per round in the scope of the
    timer.
    """

    timer: Item
    samplers: float = 0.0


@dataclass(frozen=True)
class _Limit:
    """Limit that a throughput timer sets for a group: mode, samplers per round, and interval between samples [s]."""

    timer: Item
    mode: int
    samplers: float
    interval: float
    stated: str


@dataclass
class _Group:
    """Thread group with its number of threads and its timers."""

    name: str
    users: float
    limits: list[_Limit] = field(default_factory=list)

    def of(self, mode: int) -> list[_Limit]:
        """Return the timers of this group that have the given mode."""
        return [limit for limit in self.limits if limit.mode == mode]


class Pacing:
    """Computes the pacing of groups from their throughput timers.

    Notes
    -----
    ConstantThroughputTimer and PreciseThroughputTimer of JMeter 5.5 make a thread wait n T between two samples. T is
    the inverse of the throughput. Depending on the mode, n is 1, the number of threads of the group, or the number of
    all running threads, including groups without a timer. In the shared modes, all threads wait in one queue, from
    which one sample is released after each T; every thread is served once before any thread is served again. A precise
    timer has one schedule for each group.
    """

    def __init__(self, draft: ImportDraft, texts: Texts) -> None:
        self.draft = draft
        self.texts = texts
        self.groups: list[_Group] = []

    def add(self, name: str, users: float, timers: list[Paced]) -> None:
        """Add a group of the draft with its number of threads and its timers."""
        group = _Group(name, max(users, 1.0))
        group.limits = [limit for paced in timers if (limit := self._limit(paced)) is not None]
        self.groups.append(group)

    def _limit(self, paced: Paced) -> _Limit | None:
        """Read a throughput timer; return None if it applies to no sampler of a round, or if its throughput is not
        known before the run.
        """
        timer = paced.timer
        precise = timer.tag == "PreciseThroughputTimer"
        # Default throughput and unit of time of PreciseThroughputTimer and ConstantThroughputTimer (JMeter 5.5).
        number = timer.number("throughput", "100" if precise else "0")
        rate = self.texts.number(number, timer.place, f"throughput of {timer.name!r}")
        per = timer.text("throughputPeriod", "3600") if precise else "60"
        period = self.texts.number(per, timer.place, f"period of {timer.name!r}", 60)
        mode = _PRECISE if precise else self._mode(timer)
        if rate > 0 and period > 0 and paced.samplers > 0:
            return _Limit(timer, mode, paced.samplers, period / rate, f"{rate:g} samples in {period:g} s")
        timer.left_out = True
        unknown = "its throughput is not known before the run"
        why = "it applies to no sampler of a round" if rate > 0 and period > 0 else unknown
        self._note(timer, f"left out: {why}")
        return None

    def _mode(self, timer: Item) -> int:
        """Return the mode of a throughput timer. As in JMeter, an unknown text selects the first mode."""
        text = self.texts.static(timer.text("calcMode", "0")).strip() or "0"
        if text.isdecimal() and int(text) in _MODES.values():
            return int(text)
        if text.lower() not in _MODES:
            self._note(timer, f"calcMode {text[:40]!r} is not known: the throughput is applied to each thread")
        return _MODES.get(text.lower(), _THREAD)

    def _note(self, timer: Item, why: str) -> None:
        self.draft.notes.add(timer.place, f"{timer.tag} {timer.name!r}", why)

    def finish(self, threads: float) -> None:
        """Set the pacing of all groups, after all groups have been added. `threads` counts the threads of all groups in
        the test plan, including groups that were left out. [1]
        """
        for group in self.groups:
            lengths = [self._length(group, limit, threads) for limit in group.limits]
            if lengths:
                self.draft.groups[group.name].pacing = seconds(max(lengths))

    def _length(self, group: _Group, limit: _Limit, threads: float) -> float:
        """Return the duration of a round that a throughput timer (`limit`) enforces, and add a note about it. [s]"""
        queued = [each for each in self.groups if each.of(_ALL_SHARED)]
        same = group.of(limit.mode)
        if limit.mode == _ALL_SHARED:
            turn = sum(each.users * _mean_interval(each.of(_ALL_SHARED)) for each in queued)
            length = turn * sum(each.samplers for each in same)
        elif limit.mode == _GROUP_SHARED:
            length = group.users * sum(each.samplers * each.interval for each in same)
        elif limit.mode == _PRECISE:
            # The first timer defines the schedule of the group, which all further timers use.
            length = group.users * sum(each.samplers for each in same) * same[0].interval
        else:
            sharing = {_ALL: max(threads, 1.0), _GROUP: group.users}.get(limit.mode, 1.0)
            length = limit.samplers * sharing * limit.interval
        names = {"threads": threads, "users": group.users, "sharing": sum(each.users for each in queued)}
        whose = _WHOSE[limit.mode].format(**names)
        change = "" if limit.mode == _THREAD else "; change the pacing if you change the number of users"
        made = f"pacing {seconds(length)} of group {group.name} for a round of {limit.samplers:g} samples"
        several = f"; the longest pacing of {len(group.limits)} timers is used" if len(group.limits) > 1 else ""
        self._note(limit.timer, f"{limit.stated} by {whose}{change}: {made}{several}")
        return length


def _mean_interval(limits: list[_Limit]) -> float:
    """Return the mean interval of timers that share a schedule, weighted by their numbers of samplers. [s]"""
    samplers = sum(limit.samplers for limit in limits)
    return sum(limit.samplers * limit.interval for limit in limits) / samplers
