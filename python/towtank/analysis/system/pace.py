"""Measures the speed of a machine over the window. The measures are the CPU time of a fixed amount of work, which the
probe performs on each CPU, and of accesses to pages of memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from towtank.analysis.system.entries import Pace

if TYPE_CHECKING:
    from towtank.analysis.system.tiers import Observed

SAMPLES_AT_LEAST = 10
"""Smallest number of samples for which the speed is computed. Fewer samples have no 10th percentile. [1]"""
RESTED_PAGE_S = 2e-6
"""Largest CPU time, without a doubt, to access a page of memory that was last used a second ago. If the host does not
interfere, misses of the caches and of the TLB take a few tenths of a microsecond. [s]
"""


def pace(observed: Observed, start_s: float, end_s: float) -> Pace | None:
    """Return the CPU time of a fixed amount of work on the CPUs of the tiers, and the spread of this time.

    Parameters
    ----------
    observed : Observed
        Observations on the machine.
    start_s, end_s : float
        Start and end of the window, in run time. [s]

    Returns
    -------
    Pace or None
        Times as a mean over the CPUs. None if there are fewer than ten samples, or if all tiers are on other machines.

    Notes
    -----
    Other guests on the same core and a lower clock rate slow a CPU down without steal time: the same work then takes
    more CPU time. The work stays in the first-level cache, so it does not measure memory speed. Each sample of a CPU is
    divided by the median of this CPU. Otherwise, the machine would seem faster in seconds without a sample of a slow
    CPU.
    """
    if not _serves(observed):
        return None
    here = _tiers_here(observed)
    pinned = {str(cpu) for tier in here for cpu in tier["cpus"]} if all(tier.get("cpus") for tier in here) else set()
    taken = [
        {cpu: float(value) for cpu, value in (sample.get("probe", {}).get("work_s") or {}).items()}
        for at, sample in zip(observed.samples.times_s, observed.samples.samples, strict=True)
        if start_s <= at <= end_s
    ]
    cpus = {cpu for by_cpu in taken for cpu in by_cpu if not pinned or cpu in pinned}
    medians_s = {cpu: float(np.median([by_cpu[cpu] for by_cpu in taken if cpu in by_cpu])) for cpu in cpus}
    ratios = [
        sum(found) / len(found)
        for by_cpu in taken
        if (found := [by_cpu[cpu] / medians_s[cpu] for cpu in by_cpu.keys() & cpus])
    ]
    if len(ratios) < SAMPLES_AT_LEAST:
        return None
    usual_s = sum(medians_s.values()) / len(medians_s)
    fast_s, median_s, slow_s = (usual_s * float(ratio) for ratio in np.percentile(ratios, [10, 50, 90]))
    return Pace(median_s, fast_s, slow_s, slow_s / fast_s - 1, len(ratios))


def rested_page_s(observed: Observed, start_s: float, end_s: float) -> float | None:
    """Return the median CPU time to access a page of memory that was last used a second ago. [s]

    Parameters
    ----------
    observed : Observed
        Observations on the machine.
    start_s, end_s : float
        Start and end of the window, in run time. [s]

    Returns
    -------
    float or None
        None if there are fewer than ten samples, or if all tiers are on other machines.
    """
    if not _serves(observed):
        return None
    found = [value for value in observed.samples.gauge(start_s, end_s, "probe", "rested_page_s") if value > 0]
    return float(np.median(found)) if len(found) >= SAMPLES_AT_LEAST else None


def memory_differs(times_s: Iterable[float]) -> bool:
    """Return True if the longest of several times to access rested memory is at least twice the shortest, and longer by
    more than `RESTED_PAGE_S`.

    Notes
    -----
    Where the host of a virtual machine takes pages away, the time also varies while the machine stays as it is. It
    depends on the load, too: pages that many programs fetch at once wait for each other. So only large differences
    count.
    """
    found = list(times_s)
    return bool(found) and max(found) >= 2 * min(found) and max(found) - min(found) > RESTED_PAGE_S


def _tiers_here(observed: Observed) -> list[Mapping[str, Any]]:
    return [tier for name, tier in observed.tiers.items() if observed.where(name) is observed]


def _serves(observed: Observed) -> bool:
    """Return True if tiers are on the machine, or if no tiers are known."""
    return not observed.tiers or bool(_tiers_here(observed))
