"""Extracts the use of resources that belong to no single tier: network links with a rate limit, and CPUs that tiers on
several hosts share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from towtank.analysis.system.entries import Consumer
from towtank.analysis.system.rates import lookup
from towtank.digging import dig
from towtank.units import format_data_rate

_DIRECTIONS = {"receive_bytes_per_s": "received", "transmit_bytes_per_s": "sent"}
"""Keys of the data rates of a host's link in a run summary, and the direction of each rate as text."""


@dataclass(frozen=True)
class LimitedLink:
    """Use of a host's network link with a rate limit, in the direction with the higher data rate.

    Attributes
    ----------
    host : str
        Name of the host.
    direction : str
        `sent` or `received` by the host.
    used, limit : float
        Mean data rate over the window in this direction, and limit of the data rate in each direction. [byte/s]
    """

    host: str
    direction: str
    used: float
    limit: float

    @property
    def utilization(self) -> float:
        """Data rate divided by the limit. [1]"""
        return self.used / self.limit

    @property
    def text(self) -> str:
        """Host and use of its link as text, such as `host web sent 11.8 MiB/s, 99 % of its link's 11.9 MiB/s`."""
        used, limit = format_data_rate(self.used), format_data_rate(self.limit)
        return f"host {self.host} {self.direction} {used}, {100 * self.utilization:.0f} % of its link's {limit}"


@dataclass(frozen=True)
class SharedCpus:
    """Use of CPUs to which tiers on several hosts are pinned.

    Attributes
    ----------
    cpus, used : float
        Number of these CPUs, and CPU use of the tiers together. [1]
    tiers : tuple of str
        Names of the tiers that account for at least the share `_PART_OF_USE` of the use.
    """

    cpus: float
    used: float
    tiers: tuple[str, ...]

    @property
    def utilization(self) -> float:
        """Share of the CPUs that was used. [1]"""
        return self.used / self.cpus

    @property
    def text(self) -> str:
        """Tiers and use as text, such as `batch and web together use 0.97 of the 1 CPUs that their hosts share`."""
        return f"{self.names} together use {self.used:.2f} of the {self.cpus:g} CPUs that their hosts share"

    @property
    def names(self) -> str:
        """Names of the tiers as text, in alphabetical order."""
        return " and ".join(sorted(self.tiers))


_PART_OF_USE = 0.05
"""Smallest share of the use of shared CPUs with which a tier counts as a user of them, in (0, 1)."""
_CONSUMER = tuple(field.name for field in fields(Consumer))


def limited_links(summary: Mapping[str, Any]) -> Iterator[LimitedLink]:
    """Yield the use of each network link of a host with a rate limit, in the direction with the higher data rate."""
    for host in dig(summary, "hosts") or {}:
        limit = lookup(summary, ("hosts", host, "link_bytes_per_s"))
        rates = {said: lookup(summary, ("hosts", host, key)) for key, said in _DIRECTIONS.items()}
        known = [(used, said) for said, used in rates.items() if used is not None]
        if limit and known:
            used, said = max(known)
            yield LimitedLink(host, said, used, limit)


def shared_cpus(summary: Mapping[str, Any]) -> SharedCpus | None:
    """Return the use of the CPUs that tiers on several hosts share. Return None if no CPUs are shared, or if their use
    is unknown.

    Tiers share CPUs if they are pinned to overlapping lists of CPUs. The overlap may be indirect, through the list of a
    third tier. If there are several groups of such tiers, the use of the busiest group is returned.
    """
    groups: list[tuple[set[int], list[Consumer]]] = []
    for each in dig(summary, "machine", "consumers") or ():
        consumer = Consumer(*(dig(each, key) for key in _CONSUMER))
        own = set(consumer.cpus or ())
        overlapping = [group for group in groups if own & group[0]]
        groups = [group for group in groups if group not in overlapping]
        if own:
            tiers = [tier for _, others in overlapping for tier in others]
            groups.append((own.union(*(cpus for cpus, _ in overlapping)), [*tiers, consumer]))
    found = [shared for cpus, group in groups if (shared := _shared_by(len(cpus), group)) is not None]
    return max(found, key=lambda shared: shared.utilization, default=None)


def _shared_by(cpus: int, group: Sequence[Consumer]) -> SharedCpus | None:
    used = sum(consumer.cpus_used or 0.0 for consumer in group)
    counting = [consumer for consumer in group if used and (consumer.cpus_used or 0.0) >= _PART_OF_USE * used]
    if len({consumer.host for consumer in counting}) < 2:
        return None
    return SharedCpus(cpus, used, tuple(consumer.tier for consumer in counting))
