"""Measures the memory of tiers. If the records allow it, memory that several processes share is counted once."""

from __future__ import annotations

import numpy as np

from towtank.analysis.system.rates import Samples
from towtank.tier_memory import RESIDENT_SETS

PROPORTIONAL = "proportional sets"
CONTROL_GROUP = "control group"


def memory(samples: Samples, group: str, start_s: float, end_s: float) -> tuple[float | None, str | None, float | None]:
    """Return the memory use of a process group in a window, and the method that measured it.

    Parameters
    ----------
    samples : Samples
        Samples of the probe on the machine of the group.
    group : str
        Name of the group.
    start_s, end_s : float
        Start and end of the window, in run time. [s]

    Returns
    -------
    memory, how, resident_sets : float, str, float
        Memory [byte], its method, and the sum of resident sets [byte]. The method is the first of these for which
        values were recorded: `proportional sets`, `control group` (memory of the group minus reclaimable memory), `sum
        of resident sets`. All are None if no values were recorded.
    """

    def mean(*path: str) -> float | None:
        return samples.mean_gauge(start_s, end_s, "groups", group, *path)

    resident = mean("resident_sets_bytes")
    found = {
        PROPORTIONAL: _in_rounds(samples, group, "memory_bytes", start_s, end_s),
        CONTROL_GROUP: mean("own_cgroup", "memory_bytes"),
        # Runs of older versions of Towtank recorded the sum of resident sets under another name.
        RESIDENT_SETS: mean("resident_bytes") if resident is None else resident,
    }
    how = next((how for how, value in found.items() if value is not None), None)
    return None if how is None else found[how], how, found[RESIDENT_SETS]


def anonymous_bytes(samples: Samples, group: str, start_s: float, end_s: float) -> float | None:
    """Return anonymous and shared memory of a process group in a window, with shared pages counted once. Return None if
    unknown. [byte]
    """
    return _in_rounds(samples, group, "memory_anonymous_bytes", start_s, end_s)


def _in_rounds(samples: Samples, group: str, key: str, start_s: float, end_s: float) -> float | None:
    """Return the mean over a window of a memory gauge that the probe reads only in some samples. Return None if
    unknown. [byte]

    The sum of resident sets is known for each sample. The gauge is computed as this sum, multiplied by the ratio of the
    gauge to the sum. The ratio is interpolated linearly between readings of the gauge. Before the first and after the
    last reading, it is constant.
    """
    rounds = samples.pairs("groups", group, key)
    resident = samples.pairs("groups", group, "resident_sets_bytes")
    at_round = dict(resident)
    ratios = [(at, value / at_round[at]) for at, value in rounds if at_round.get(at)]
    inside = [(at, size) for at, size in resident if start_s <= at <= end_s]
    if not ratios or not inside:
        return None
    at_rounds, of_resident = np.array(ratios).T
    times, sizes = np.array(inside).T
    return float(np.mean(sizes * np.interp(times, at_rounds, of_resident)))
