"""What the processes of a tier had open and running, beside the limits that the kernel sets them."""

from __future__ import annotations

from typing import Any

from towtank.analysis.system.tiers import Observed

# The guard that belongs to the group of each tier, and the command: the sum over more processes cannot be compared with
# the limit of open files, which holds for each.
_GUARD_AND_COMMAND = 2


def tier_limits(observed: Observed, name: str, start_s: float, end_s: float) -> dict[str, dict[str, float | None]]:
    """Return the most that a tier used of each limited resource, and the limit.

    Parameters
    ----------
    observed : Observed
        All streams of the observers.
    name : str
        The tier.
    start_s, end_s : float
        The window, on the clock of the run. [s]

    Returns
    -------
    dict
        `open_files` of the process that is closest to its limit, and `threads` of the tier beside the processes
        that its user may have; each with `most` and `limit`, None if unknown or, of a limit, if there is none.
    """
    stated = observed.tiers.get(name, {}).get("limits")
    stated = stated if isinstance(stated, dict) else {}
    gauge = observed.where(name).samples.gauge
    most, limit = _fullest(observed, name, start_s, end_s)
    return {
        "open_files": {"most": most, "limit": _number(stated.get("open_files")) if limit is None else limit},
        "threads": {
            "most": max(gauge(start_s, end_s, "groups", name, "threads"), default=None),
            "limit": _number(stated.get("processes")),
        },
    }


def _fullest(observed: Observed, name: str, start_s: float, end_s: float) -> tuple[float | None, float | None]:
    """Open files of the process closest to its limit, and that limit.

    A record without them, as older probes write it, has the sum over the tier only, which is that of the process
    if there is no other.
    """
    gauge = observed.where(name).samples.gauge
    files = gauge(start_s, end_s, "groups", name, "open_files_of_fullest")
    limits = gauge(start_s, end_s, "groups", name, "open_files_limit")
    if files and len(files) == len(limits):
        return max(zip(files, limits, strict=True), key=lambda pair: pair[0] / pair[1] if pair[1] else 0.0)
    processes = max(gauge(start_s, end_s, "groups", name, "processes"), default=0.0)
    alone = gauge(start_s, end_s, "groups", name, "open_files") if processes <= _GUARD_AND_COMMAND else []
    return max(alone, default=None), None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
