"""Finds the time spans of a run that a probe did not sample."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from towtank.analysis.system.rates import GAP_S, lookup
from towtank.analysis.system.tiers import Observed
from towtank.results import THIS_MACHINE

_GAP_INTERVALS = 2.5
"""A time between two samples counts as a gap if it is longer than this many sampling intervals. A single late sample
does not cause a gap. [1]
"""


@dataclass(frozen=True)
class Gap:
    """Time span of a run without samples from a probe.

    Attributes
    ----------
    host : str
        Name of the machine; `this_machine` for the machine that runs Towtank.
    start_s, end_s : float
        Start and end, in run time. [s]
    """

    host: str
    start_s: float
    end_s: float

    def within_s(self, start_s: float, end_s: float) -> float:
        """Return the length of the part of the gap that lies within a time span. [s]"""
        return max(0.0, min(self.end_s, end_s) - max(self.start_s, start_s))

    def document(self) -> dict[str, Any]:
        """Return the gap as JSON for `observation.gaps` of a summary: host, start and end of the gap."""
        return {"host": self.host, "start_s": self.start_s, "end_s": self.end_s}


def limit_s(observed: Observed) -> float:
    """Return the longest time between two samples that does not count as a gap. [s]"""
    return max(GAP_S, _GAP_INTERVALS * (lookup(observed.probe.header, ("interval_s",)) or 0.0))


def gaps(observed: Observed, name: str, end_s: float, *, ended: bool = False) -> list[Gap]:
    """Return the sampling gaps of one machine between start and end of a run.

    Parameters
    ----------
    observed : Observed
        Observations on the machine.
    name : str
        Name of the machine.
    end_s : float
        End of the run. [s]
    ended : bool, default False
        Whether the probe ended before it was requested to stop. If so, all time after its last sample is a gap, however
        short.

    Notes
    -----
    A probe takes its first sample at most one interval after it writes its header, and its last sample when it is
    stopped.
    """
    header_ns = lookup(observed.probe.header, ("t_ns",))
    begins = [0.0] if header_ns is None else [(header_ns - observed.origin_ns) / 1e9]
    times_s = sorted([*begins, *observed.samples.times_s])
    limit = limit_s(observed)
    found = [(a, b) for a, b in itertools.pairwise(times_s) if b - a > limit]
    if end_s - times_s[-1] > (0.0 if ended or not observed.samples.samples else limit):
        found.append((times_s[-1], end_s))
    if times_s[0] > limit:
        found.insert(0, (0.0, times_s[0]))
    clipped = [Gap(name, max(a, 0.0), min(b, end_s)) for a, b in found]
    return [gap for gap in clipped if gap.end_s > gap.start_s]


def gaps_of_run(observed: Observed, end_s: float, events: Iterable[dict[str, Any]]) -> list[Gap]:
    """Return the gaps of all probes of a run.

    A machine whose probe was not started or left no record has no gaps.

    Parameters
    ----------
    observed : Observed
        Observations on this machine; they include those of the probes on other machines.
    end_s : float
        End of the run. [s]
    events : iterable of dict
        Events of the run, which record a probe that ended unexpectedly.
    """
    ended = failure(events) is not None
    found = gaps(observed, THIS_MACHINE, end_s, ended=ended) if observed.probe.header or observed.probe.samples else []
    return [*found, *(gap for name, remote in observed.remote.items() for gap in gaps(remote, name, end_s))]


def failure(events: Iterable[dict[str, Any]]) -> str | None:
    """Return the recorded reason why the probe of this machine failed; None if the probe did not fail."""
    texts = (str(text) for event in events for text in event.get("failures") or ())
    return next((text.splitlines()[0] for text in texts if text.startswith("probe:")), None)
