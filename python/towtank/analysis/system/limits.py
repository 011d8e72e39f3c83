"""Compares the open files, the processes and threads, and the local ports of a tier with the limits of the kernel."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from towtank.analysis.system.entries import LimitUse, PortUse, TierLimits

if TYPE_CHECKING:
    from towtank.analysis.system.tiers import Observed

EXHAUSTED_SHARE = 0.95
"""A limit counts as reached if at least this share of it is used, in (0, 1]. It is below 1 because samples may miss the
time of the largest use.
"""
# A tier with a single service process has at most this number of processes: the guard process and the command. In a
# larger group, the sum of open files cannot be compared with the limit, which applies to each process.
_GUARD_AND_COMMAND = 2
_Stated = Mapping[str, object]


def tier_limits(
    observed: Observed, name: str, start_s: float, end_s: float, targets: Collection[str] = ()
) -> TierLimits:
    """Return the largest use of each resource that the kernel limits for a tier, with the limit.

    Parameters
    ----------
    observed : Observed
        Streams of all probes and scrapers.
    name : str
        Name of the tier.
    start_s, end_s : float
        Start and end of the window, in run time. [s]
    targets : collection of str
        Addresses of the targets of the generator. Local ports of connections to these addresses belong to the
        generator.

    Notes
    -----
    If an entry is `known`, a `limit` of None means that no limit exists, and a `most` of None means that the use was
    far below the limit.
    """
    stated = observed.tiers.get(name, {}).get("limits")
    stated = stated if isinstance(stated, dict) else {}
    group = _Group(observed, name, start_s, end_s)
    ports = _ports(group, stated, targets)
    return TierLimits(_open_files(group, stated), _threads(group, stated), _control_group(group), ports)


class _Group:
    """Samples of the process group of a tier within the window."""

    def __init__(self, observed: Observed, name: str, start_s: float, end_s: float) -> None:
        self._samples = observed.where(name).samples
        self._name, self._start_s, self._end_s = name, start_s, end_s

    def gauge(self, *path: str) -> list[float]:
        return self._samples.gauge(self._start_s, self._end_s, "groups", self._name, *path)

    def pairs(self, *paths: tuple[str, ...]) -> list[tuple[float, ...]]:
        """Return the values of several gauges, one tuple for each sample. Empty unless all gauges have the same number
        of samples.
        """
        columns = [self.gauge(*path) for path in paths]
        return list(zip(*columns, strict=True)) if len({len(column) for column in columns}) == 1 else []

    def towards(self) -> list[dict[str, float]]:
        """Return the numbers of local ports by destination, one mapping for each sample that contains them."""
        times = zip(self._samples.times_s, self._samples.samples, strict=True)
        groups = (
            sample.get("groups", {}).get(self._name, {}) for at, sample in times if self._start_s <= at <= self._end_s
        )
        ports = (group.get("ports") for group in groups if isinstance(group, dict))
        listed = (each.get("towards") for each in ports if isinstance(each, dict))
        return [each for each in listed if isinstance(each, dict)]


def _fullest(pairs: list[tuple[float, ...]]) -> tuple[float, ...] | None:
    return max(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] else 0.0, default=None)


def _open_files(group: _Group, stated: _Stated) -> LimitUse:
    """Return the number of open files of the process that is closest to its limit, and this limit.

    Probes of older versions of Towtank recorded only the sum over the tier. This sum is used if the tier has a single
    service process.
    """
    if pair := _fullest(group.pairs(("open_files_of_fullest",), ("open_files_limit",))):
        return LimitUse(pair[0], pair[1], known=True)
    processes = max(group.gauge("processes"), default=0.0)
    alone = group.gauge("open_files") if processes <= _GUARD_AND_COMMAND else []
    most = max(alone, default=None)
    return LimitUse(most, _number(stated.get("open_files")), _is_known(most, stated, "open_files"))


def _threads(group: _Group, stated: _Stated) -> LimitUse:
    """Return the number of processes and threads of the operating-system user under which a tier runs, and the limit of
    this number.

    The probe counts all of them only if their number is near the limit. Otherwise, the result is the number of
    processes and threads of the tier.
    """
    if counted := group.gauge("user_tasks"):
        limits = group.gauge("user_tasks_limit")
        return LimitUse(max(counted), min(limits, default=None), known=True)
    most = max(group.gauge("threads"), default=None)
    return LimitUse(most, _number(stated.get("processes")), _is_known(most, stated, "processes"))


def _control_group(group: _Group) -> LimitUse:
    pair = _fullest(group.pairs(("pids", "tasks"), ("pids", "limit")))
    most, limit = pair if pair is not None else (None, None)
    return LimitUse(most, limit, bool(group.gauge("pids", "levels")))


def _ports(group: _Group, stated: _Stated, targets: Collection[str]) -> PortUse:
    """Return the number of local ports for the destination that needs most of them, and the limit of ports for one
    destination.

    The probe lists ports by destination only if the number of all sockets is near the limit.
    """
    limit, sockets, listed = _number(stated.get("ports")), group.gauge("ports", "sockets"), group.towards()
    used = [(ports, towards) for each in listed for towards, ports in each.items() if towards not in targets]
    most, towards = max(used, default=(None, None))
    few = limit is not None and bool(sockets) and max(sockets) < EXHAUSTED_SHARE * limit
    known = limit is not None and bool(sockets) and (few or bool(listed))
    return PortUse(_number(most), limit, towards, known)


def _is_known(most: float | None, stated: _Stated, key: str) -> bool:
    return most is not None and key in stated


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
