"""Throughput timers as the pacing of a group."""

from __future__ import annotations

from dataclasses import dataclass

from towtank.workload.importers.draft import Draft, seconds
from towtank.workload.importers.jmx.texts import Texts
from towtank.workload.importers.jmx.tree import Item

THROUGHPUT_TIMERS = frozenset({"ConstantThroughputTimer", "PreciseThroughputTimer"})
# calcMode of ConstantThroughputTimer: each thread has the throughput for itself.
_EACH_THREAD = "0"


@dataclass
class Paced:
    """A throughput timer, and the number of samplers per round that it applies to."""

    timer: Item
    samplers: int = 0


def pacing(paced: Paced, users: float, draft: Draft, texts: Texts) -> str | None:
    """Return the time from start to start of a round that gives the throughput of a timer.

    Parameters
    ----------
    paced : Paced
        The timer.
    users : float
        Threads of its group.
    draft : Draft
        Draft, to which the note is added.
    texts : Texts
        Resolves its numbers.

    Returns
    -------
    str or None
        None if the plan does not state the throughput before the run.
    """
    timer = paced.timer
    what = f"{timer.tag} {timer.name!r}"
    number = timer.number("throughput")
    rate = texts.number(number, timer.place, f"throughput of {timer.name!r}")
    period = texts.number(timer.text("throughputPeriod", "60"), timer.place, f"period of {timer.name!r}", 60)
    mode = timer.text("calcMode", _EACH_THREAD).strip() or _EACH_THREAD
    alone = timer.tag == "ConstantThroughputTimer" and mode == _EACH_THREAD
    if rate <= 0 or period <= 0 or paced.samplers == 0:
        timer.left_out = True
        draft.notes.add(timer.place, what, "left out: its throughput is not known before the run")
        return None
    sharing = 1.0 if alone else max(users, 1.0)
    length = seconds(paced.samplers * sharing * period / rate)
    whose = "each user" if alone else f"all {sharing:g} users together; with another number of users change the pacing"
    why = f"{rate:g} samples in {period:g} s by {whose}: pacing {length} for a round of {paced.samplers} samples"
    draft.notes.add(timer.place, what, why)
    return length
