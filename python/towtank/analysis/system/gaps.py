"""Finds the times in a run at which a probe took no samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from towtank.analysis.system.entries import Gap
from towtank.analysis.system.rates import GAP_S
from towtank.analysis.system.tiers import Observed
from towtank.digging import dig
from towtank.results import THIS_MACHINE

_GAP_INTERVALS = 2.5
"""The time between two samples is a gap if it exceeds this number of sampling intervals. A single late sample is not a
gap. [1]
"""


def limit_s(observed: Observed) -> float:
    """Return the longest time between two samples that is not a gap. [s]"""
    header = observed.probe.header
    return max(GAP_S, _GAP_INTERVALS * ((header.interval_s if header else None) or 0.0))


def gaps(observed: Observed, name: str, end_s: float, *, ended: bool = False) -> list[Gap]:
    """Return the sampling gaps of one machine during a run.

    Parameters
    ----------
    observed : Observed
        Observations on the machine.
    name : str
        Name of the machine.
    end_s : float
        End of the run. [s]
    ended : bool, default False
        True if the probe ended before it was requested to stop. The time after its last sample is then a gap, however
        short.

    Notes
    -----
    A probe takes its first sample at most one interval after it writes its header, and its last sample when it is
    stopped.
    """
    header_ns = observed.probe.header.t_ns if observed.probe.header else None
    begins = [0.0] if header_ns is None else [(header_ns - observed.origin_ns) / 1e9]
    times_s = sorted([*begins, *observed.samples.all_times_s])
    limit = limit_s(observed)
    found = [(a, b) for a, b in itertools.pairwise(times_s) if b - a > limit]
    if end_s - times_s[-1] > (0.0 if ended or not observed.samples.samples else limit):
        found.append((times_s[-1], end_s))
    if times_s[0] > limit:
        found.insert(0, (0.0, times_s[0]))
    clipped = [Gap(name, max(a, 0.0), min(b, end_s)) for a, b in found]
    return [gap for gap in clipped if gap.end_s > gap.start_s]


def gaps_of_run(observed: Observed, end_s: float, events: Iterable[Mapping[str, object]]) -> list[Gap]:
    """Return the gaps of all probes of a run. A machine has no gaps if its probe was not started or left no record.

    Parameters
    ----------
    observed : Observed
        Observations on this machine, which include the observations of probes on other machines.
    end_s : float
        End of the run. [s]
    events : iterable of dict
        Events of the run. They record if a probe ended unexpectedly.
    """
    ended = failure(events) is not None
    found = gaps(observed, THIS_MACHINE, end_s, ended=ended) if observed.probe.header or observed.probe.samples else []
    return [*found, *(gap for name, remote in observed.remote.items() for gap in gaps(remote, name, end_s))]


def failure(events: Iterable[Mapping[str, object]]) -> str | None:
    """Return the recorded reason why the probe of this machine failed; None if it did not fail."""
    texts = (str(text) for event in events for text in dig(event, "failures") or ())
    return next((text.splitlines()[0] for text in texts if text.startswith("probe:")), None)
