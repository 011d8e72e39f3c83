"""Computes the utilization of a host's disk, either from the limits of the host's control group or from the busy time
of the disk. Also reads disks with such a limit from a run summary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from towtank.digging import dig
from towtank.units import data_rate, format_data_rate, rate

BUSY = "busy"
"""Name of the utilization that is computed from busy time: the time in which the device processed at least one
request.
"""
AT_LIMIT = 0.90
"""A disk has reached a limit if it uses at least this share of the limit, in (0, 1]."""
BUSY_SHARE = "busy_share"
"""Key of the share of the time in which the disk was busy. The share is in [0, 1]."""


@dataclass(frozen=True)
class DiskLimit:
    """Kind of speed limit that a disk may have.

    Attributes
    ----------
    rate : str
        Key of the measured rate to which the limit applies.
    read : function
        Function that reads the limit from its text in `run.json`. [1/s] or [byte/s]
    text : function
        Function that renders the limit with its unit.
    """

    rate: str
    read: Callable[[object], float]
    text: Callable[[float], str]


LIMITS: dict[str, DiskLimit] = {
    "read_rate": DiskLimit("read_bytes_per_s", data_rate, lambda limit: f"{format_data_rate(limit)} read"),
    "write_rate": DiskLimit("write_bytes_per_s", data_rate, lambda limit: f"{format_data_rate(limit)} written"),
    "read_operations": DiskLimit("read_operations_per_s", rate, lambda limit: f"{limit:g} reads/s"),
    "write_operations": DiskLimit("write_operations_per_s", rate, lambda limit: f"{limit:g} writes/s"),
}
"""Kinds of speed limits of a disk, by their keys in the system file."""


@dataclass(frozen=True)
class Utilization:
    """Utilization of a disk, and the limit to which it refers. The names of the fields are those of the keys in a run
    summary.

    Attributes
    ----------
    utilization : float or None
        Largest ratio of a rate to its limit. The share of busy time is used instead in two cases: no limit was
        measured, or no limit was reached and the share of busy time is larger. None if nothing was measured. [1]
    utilization_of : str or None
        Key of the limit in the system file, or `busy`.
    utilization_limit : float or None
        Limit, summed over all images of the disk; None for `busy`. [1/s] or [byte/s]
    """

    utilization: float | None = None
    utilization_of: str | None = None
    utilization_limit: float | None = None


@dataclass(frozen=True)
class LimitedDisk:
    """Use of a disk whose speed is limited by a control group.

    Attributes
    ----------
    host, name : str
        Name of the host, and name of the disk on this host.
    utilization : float
        Share of the limit that was used. [1]
    limit : float
        Limit of the disk. [1/s] or [byte/s]
    of : str
        Key of the limit in the system file, such as `read_operations`.
    """

    host: str
    name: str
    utilization: float
    limit: float
    of: str

    @property
    def text(self) -> str:
        """Disk, host and use as text, such as `disk data of host server uses 98 % of its limit of 150 reads/s`."""
        limit = LIMITS[self.of].text(self.limit)
        return f"disk {self.name} of host {self.host} uses {100 * self.utilization:.0f} % of its limit of {limit}"


def utilization(rates: Mapping[str, float | None], declared: Mapping[str, Any]) -> Utilization:
    """Return the utilization of a disk: the largest ratio of a rate to its limit, or the share of busy time.

    Parameters
    ----------
    rates : mapping
        Rates of the disk over the window: operations and bytes per second, and `busy_share`.
    declared : mapping
        Entry of the disk in `run.json`: its limits, and the number of `images`, each of which has these limits.

    Notes
    -----
    A control group delays requests before they reach the device. If a disk is at its limit, the device is therefore
    idle most of the time, so busy time does not show that requests wait. The counters of the device count requests
    after neighbouring requests were merged, but the limit counts them before. If requests are merged, a disk at its
    limit may therefore have a utilization below 1.
    """
    images = dig(declared, "images") or 1
    shares: list[tuple[float, str, float | None]] = []
    busy = rates.get(BUSY_SHARE)
    if busy is not None:
        shares.append((busy, BUSY, None))
    for name, kind in LIMITS.items():
        measured, limit = rates.get(kind.rate), _number(declared.get(name), kind.read)
        if measured is not None and limit:
            shares.append((measured / (images * limit), name, images * limit))
    # A limit that was reached takes precedence over a larger share of busy time, because the limit delays requests.
    most = max(shares, key=lambda share: (_is_reached(share[1], share[0]), share[0], share[1] != BUSY), default=None)
    return Utilization() if most is None else Utilization(*most)


def limited_disks(summary: Mapping[str, Any]) -> Iterator[LimitedDisk]:
    """Yield each disk in a run summary whose utilization was measured against a speed limit."""
    for host, about in (dig(summary, "hosts") or {}).items():
        for name, disk in (dig(about, "disks") or {}).items():
            share, limit, of = (dig(disk, key) for key in ("utilization", "utilization_limit", "utilization_of"))
            if of in LIMITS and isinstance(share, int | float) and isinstance(limit, int | float):
                yield LimitedDisk(host, name, float(share), float(limit), str(of))


def _is_reached(measure: str, share: float) -> bool:
    return measure != BUSY and share >= AT_LIMIT


def _number(value: object, read: Callable[[object], float]) -> float | None:
    """Return a limit as a number; None if there is no limit, or if it cannot be read."""
    try:
        return None if value is None else read(value)
    except ValueError:
        return None
