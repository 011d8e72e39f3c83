"""How fast the machine was over the window, by a fixed piece of work that the probe does on each CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from towtank.analysis.system.tiers import Observed

SAMPLES_AT_LEAST = 10
"""Samples that show how the speed is spread: fewer have no 10th percentile. [1]"""


def pace(observed: Observed, start_s: float, end_s: float) -> dict[str, Any] | None:
    """CPU time of the fixed piece of work on the CPUs of the tiers.

    Parameters
    ----------
    observed : Observed
        What was observed on the machine.
    start_s, end_s : float
        Window, in run time. [s]

    Returns
    -------
    dict or None
        `median_s`, `fast_s` and `slow_s` (10th and 90th percentile of the samples, each the mean over the CPUs) [s],
        `spread`, the share by which the slow time exceeds the fast one [1], and the number of `samples`; None with
        fewer than ten.

    Notes
    -----
    Other guests on the same core and a falling clock rate make a CPU slower without any steal time: the same work then
    takes more CPU time. The work runs in the first-level cache, so that slower memory does not show.
    """
    pinned = {str(cpu) for name, one in observed.tiers.items() if observed.where(name) is observed
              for cpu in one.get("cpus") or []}  # fmt: skip
    times_s = []
    samples = observed.samples
    for at, sample in zip(samples.times_s, samples.samples, strict=True):
        work = sample.get("probe", {}).get("work_s") or {}
        taken = [float(value) for cpu, value in work.items() if cpu in pinned or not pinned]
        if start_s <= at <= end_s and taken:
            times_s.append(sum(taken) / len(taken))
    if len(times_s) < SAMPLES_AT_LEAST:
        return None
    fast_s, median_s, slow_s = (float(value) for value in np.percentile(times_s, [10, 50, 90]))
    return {
        "median_s": median_s,
        "fast_s": fast_s,
        "slow_s": slow_s,
        "spread": slow_s / fast_s - 1,
        "samples": len(times_s),
    }
