"""Computes users, throughput and response times of each user group of a closed load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from towtank.analysis.measurement import Mask, Measurement

Json = Mapping[str, Any]
_UNIFORM, _FIXED = "uniform", "fixed"


def user_groups(plan: Json | None, measurement: Measurement, chosen: Mask) -> list[dict[str, Any]] | None:
    """Return users, throughput and response times of each user group in the chosen bins.

    Parameters
    ----------
    plan : dict or None
        Plan of the engine.
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.

    Returns
    -------
    list of dict or None
        One entry per group. Groups with a common transaction and equal pauses share an entry. The keys are `names` of
        the groups, `users` [1], `throughput_per_s` [1/s], `response_time_s` [s], `pace_s` [s] and `pace_is_fixed`.
        `pace_s` is the mean time between the starts of a user's transactions, and None without a pace. `pace_is_fixed`
        is True if this time is constant.

        None in two cases: groups with different pauses have a common transaction, because the engine does not count
        transactions by group; or the groups in the plan cannot be read. Empty for an open load, without a plan, or if
        no bin is chosen.
    """
    if plan is None or measurement.arrivals[chosen].any() or measurement.length_of(chosen) <= 0:
        return []
    try:
        return _counted(plan, measurement, chosen)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def paces_are_fixed(plan: Json | None) -> bool:
    """Return True if a user group in the plan keeps a constant pace; False if the plan cannot be read."""
    try:
        return any(_is_fixed(group.get("pacing")) for group in (plan or {}).get("groups") or ())
    except (AttributeError, TypeError):
        return False


def _is_fixed(pace: Json | None) -> bool:
    return bool(pace) and pace is not None and pace.get("dist") == _FIXED


def _counted(plan: Json, measurement: Measurement, chosen: Mask) -> list[dict[str, Any]] | None:
    length, groups = measurement.length_of(chosen), list(plan.get("groups") or ())
    users = _users(plan, measurement, chosen, len(groups))
    names = list((measurement.recording.header or {}).get("transactions", []))
    columns, found = measurement.columns("transaction"), []
    for together in _together(groups):
        pauses = [(groups[number].get("think"), groups[number].get("pacing")) for number in together]
        if any(pause != pauses[0] for pause in pauses):
            return None
        kinds = {names[kind] for number in together for kind in _kinds(groups[number]) if kind < len(names)}
        own = [columns[name] for name in sorted(kinds) if name in columns]
        ended = sum(float(column.ended[chosen].sum()) for column in own)
        timed = sum(float(column.response.counts[chosen].sum()) for column in own)
        if ended and timed:
            response_s = sum(float(column.response_sum_s[chosen].sum()) for column in own) / timed
            pace = groups[together[0]].get("pacing")
            found.append(
                {
                    "names": [str(groups[number].get("name") or f"group {number}") for number in together],
                    "users": sum(users[number] for number in together),
                    "throughput_per_s": ended / length,
                    "response_time_s": response_s,
                    "pace_s": _mean_s(pace),
                    "pace_is_fixed": _is_fixed(pace),
                }
            )
    return found


def _users(plan: Json, measurement: Measurement, chosen: Mask, count: int) -> list[float]:
    """Return the mean number of users of each group. [1]

    In each stage, the active users are divided among the groups in proportion to the planned numbers or shares.
    """
    stages = list((plan.get("load") or {}).get("stages") or ())
    found = np.zeros(count)
    for number in {int(stage) for stage in measurement.stage[chosen]}:
        bins = chosen & (measurement.stage == number)
        given = stages[number].get("users_by_group") if 0 <= number < len(stages) else None
        parts = np.array(given or [float(group.get("share", 1.0)) for group in plan["groups"]], dtype=float)
        if parts.sum() > 0:
            found += float(measurement.user_s[bins].sum()) * parts / parts.sum()
    return [float(user_s) / measurement.length_of(chosen) for user_s in found]


def _together(groups: Sequence[Json]) -> Iterable[list[int]]:
    """Yield lists of numbers of user groups. The groups in a list are connected by common transactions, directly or
    through other groups in the list.
    """
    left = list(range(len(groups)))
    while left:
        mine = [left.pop(0)]
        kinds = _kinds(groups[mine[0]])
        while more := [number for number in left if _kinds(groups[number]) & kinds]:
            mine += more
            left = [number for number in left if number not in more]
            kinds = kinds.union(*(_kinds(groups[number]) for number in more))
        yield sorted(mine)


def _kinds(group: Json) -> set[int]:
    return {int(entry["transaction"]) for entry in group.get("mix") or ()}


def _mean_s(pause: Json | None) -> float | None:
    """Return the mean length of a pause in the plan; None without a pause. [s]"""
    if not pause:
        return None
    if pause.get("dist") == _UNIFORM:
        return (float(pause["min_s"]) + float(pause["max_s"])) / 2
    return float(pause["mean_s"])
