"""Computes users, throughput and response times of each user group of a closed load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from towtank.analysis.measurement import Mask, Measurement
from towtank.digging import dig
from towtank.results import names_of

_UNIFORM, _FIXED = "uniform", "fixed"


@dataclass(frozen=True)
class _Group:
    """User group in the plan of the engine: its share of the users relative to other groups [1], the numbers of its
    transactions, think time and pace as in the plan, and the mean time between the starts of a user's transactions;
    None without a pace. [s]
    """

    name: str
    share: float
    kinds: frozenset[int]
    pauses: tuple[object, object]
    pace_s: float | None
    pace_is_fixed: bool

    @classmethod
    def read(cls, number: int, group: object) -> _Group:
        if not isinstance(group, Mapping):
            raise TypeError(f"user group {number} is no object")
        pace = group.get("pacing")
        return cls(
            str(dig(group, "name") or f"group {number}"),
            float(1.0 if dig(group, "share") is None else dig(group, "share")),
            frozenset(int(entry["transaction"]) for entry in dig(group, "mix") or ()),
            (dig(group, "think"), pace),
            _mean_s(pace),
            _is_fixed(group),
        )


@dataclass(frozen=True)
class UserGroup:
    """Results of groups with a common transaction in a run summary: users [1], throughput [1/s], response time and pace
    [s].
    """

    names: tuple[str, ...]
    users: float
    throughput_per_s: float
    response_time_s: float
    pace_s: float | None
    pace_is_fixed: bool


def user_groups(
    plan: Mapping[str, object] | None, measurement: Measurement, chosen: Mask
) -> tuple[UserGroup, ...] | None:
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
    tuple of UserGroup or None
        One entry per group. Groups with a common transaction and equal pauses share an entry.

        None in two cases: groups with different pauses have a common transaction, because the engine does not count
        transactions by group; or the groups in the plan cannot be read. Empty for an open load, without a plan, or if
        no bin is chosen.
    """
    if plan is None or measurement.arrivals[chosen].any() or measurement.length_of(chosen) <= 0:
        return ()
    try:
        groups = [_Group.read(number, group) for number, group in enumerate(dig(plan, "groups") or ())]
        counted = _counted(groups, _users(plan, groups, measurement, chosen), measurement, chosen)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return None if counted is None else tuple(counted)


def paces_are_fixed(plan: Mapping[str, object] | None) -> bool:
    """Return True if a user group in the plan keeps a constant pace; False if the plan cannot be read."""
    groups = dig(plan, "groups")
    return isinstance(groups, list) and any(map(_is_fixed, groups))


def _is_fixed(group: object) -> bool:
    return bool(dig(group, "pacing", "dist") == _FIXED)


def _counted(
    groups: Sequence[_Group], users: Sequence[float], measurement: Measurement, chosen: Mask
) -> list[UserGroup] | None:
    names = list(names_of(measurement.recording, "transaction"))
    columns, found = measurement.columns("transaction"), []
    for together in _together(groups):
        some = [groups[number] for number in together]
        if any(group.pauses != some[0].pauses for group in some):
            return None
        kinds = {names[kind] for group in some for kind in group.kinds if kind < len(names)}
        own = [columns[name] for name in sorted(kinds) if name in columns]
        ended = sum(float(column.ended[chosen].sum()) for column in own)
        timed = sum(float(column.response.counts[chosen].sum()) for column in own)
        if ended and timed:
            found.append(
                UserGroup(
                    tuple(group.name for group in some),
                    sum(users[number] for number in together),
                    ended / measurement.length_of(chosen),
                    sum(float(column.response_sum_s[chosen].sum()) for column in own) / timed,
                    some[0].pace_s,
                    some[0].pace_is_fixed,
                )
            )
    return found


def _users(plan: Mapping[str, object], groups: Sequence[_Group], measurement: Measurement, chosen: Mask) -> list[float]:
    """Return the mean number of users of each group. [1]

    In each stage, the active users are divided among the groups in proportion to the planned numbers or shares.
    """
    stages = list(dig(plan, "load", "stages") or ())
    found = np.zeros(len(groups))
    for number in {int(stage) for stage in measurement.stage[chosen]}:
        bins = chosen & (measurement.stage == number)
        given = dig(stages[number], "users_by_group") if 0 <= number < len(stages) else None
        parts = np.array(given or [group.share for group in groups], dtype=float)
        if parts.sum() > 0:
            found += float(measurement.user_s[bins].sum()) * parts / parts.sum()
    return [float(user_s) / measurement.length_of(chosen) for user_s in found]


def _together(groups: Sequence[_Group]) -> Iterator[list[int]]:
    """Yield lists of numbers of user groups. The groups in a list are connected by common transactions, directly or
    through other groups in the list.
    """
    left = list(range(len(groups)))
    while left:
        mine = [left.pop(0)]
        kinds = groups[mine[0]].kinds
        while more := [number for number in left if groups[number].kinds & kinds]:
            mine += more
            left = [number for number in left if number not in more]
            kinds = kinds.union(*(groups[number].kinds for number in more))
        yield sorted(mine)


def _mean_s(pause: object) -> float | None:
    """Return the mean length of a pause in the plan; None without a pause. [s]"""
    if not pause:
        return None
    if dig(pause, "dist") == _UNIFORM:
        return (float(dig(pause, "min_s")) + float(dig(pause, "max_s"))) / 2
    return float(dig(pause, "mean_s"))
