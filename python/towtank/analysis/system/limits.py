"""Open files, processes and threads of a tier, with the limits of the kernel."""

from __future__ import annotations

from typing import Any

from towtank.analysis.system.tiers import Observed

# The guard in the group of each tier, and the command. The limit of open files holds for each process, so it cannot be
# compared with a sum over more processes.
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
        `open_files` of the process that is closest to its limit, and `threads` of the tier with the limit of
        processes of its user. Each has `most` and `limit`, None if unknown; `limit` is also None if unlimited.
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

    Records of older probes have the sum over the tier only. It is used if the tier has a single process.
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
