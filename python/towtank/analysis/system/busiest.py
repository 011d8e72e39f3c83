"""Finds the busiest process and the busiest thread of a tier.

A single process or thread that uses one CPU fully limits the tier even if other CPUs are idle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from towtank.analysis.system.entries import Busiest, BusyTask
from towtank.analysis.system.rates import Samples, lookup

FULL = 0.95
"""A process or thread uses one CPU fully if its CPU use in a sample is at least this. [CPUs]"""
_FEWEST = 3  # Smallest number of samples in the window. [1]


def busiest(samples: Samples, group: str, start_s: float, end_s: float) -> Busiest:
    """Return the CPU use of the busiest process and the busiest thread of a process group in a window.

    Parameters
    ----------
    samples : Samples
        Samples of the probe on the machine of the group.
    group : str
        Name of the group.
    start_s, end_s : float
        Start and end of the window, in run time. [s]

    Notes
    -----
    `name` and `pid` identify the process or thread that was the busiest in most samples. The other numbers are computed
    from the busiest process or thread of each sample: `cpus`, the mean CPU use [1]; `most`, the 95 % quantile of CPU
    use [1]; `share_of_time_full`, the share of samples with `FULL` or more. For threads, `waits` is the mean share of
    time in which a thread was ready to run but waited for a CPU.
    """
    process, thread = (
        _over_window(samples, group, f"busiest_{kind}", start_s, end_s) for kind in ("process", "thread")
    )
    return Busiest(process, thread)


def _over_window(samples: Samples, group: str, key: str, start_s: float, end_s: float) -> BusyTask | None:
    inside = [
        found
        for at, sample in zip(samples.times_s, samples.samples, strict=True)
        # A sample describes the time since the previous sample, so a sample at the start of the window is not used.
        if start_s < at <= end_s and isinstance(found := _group(sample, group).get(key), Mapping)
    ]
    if len(inside) < _FEWEST:
        return None
    cpus = np.array([lookup(found, ("cpus",)) or 0.0 for found in inside])
    who = Counter((str(found["name"]), found["pid"]) for found in inside)
    (name, pid), _ = who.most_common(1)[0]
    waits = [value for found in inside if (value := lookup(found, ("waits",))) is not None]
    full, most = float((cpus >= FULL).mean()), float(np.quantile(cpus, 0.95))
    return BusyTask(name, pid, float(cpus.mean()), most, full, float(np.mean(waits)) if waits else None)


def _group(sample: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = sample.get("groups", {}).get(name)
    return found if isinstance(found, Mapping) else {}
