"""Computes the disk reads that cache misses cause."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CacheDisk:
    """Disk that serves the misses of a cache.

    Attributes
    ----------
    reads : float, default 1.0
        Number of references that one transaction makes to the cache, > 0. With 1, visits and service demands are per
        reference. [1]
    time_s : float or None, default None
        Service time of a miss; if None, only visits are computed. [s]
    """

    reads: float = 1.0
    time_s: float | None = None

    def visits(self, miss_ratio: float) -> float:
        """Return the mean number of disk visits V of a transaction: miss ratio times `reads`. [1]

        Examples
        --------
        >>> CacheDisk(reads=3, time_s=0.005).visits(0.2)
        0.6000000000000001
        """
        return miss_ratio * self.reads

    def figures(self, miss_ratio: float, references_per_s: float | None) -> dict[str, float]:
        """Return a document with the mean number of disk visits of a transaction.

        If `time_s` is given, the document also has the service demand (visits times `time_s`). If the rate of
        references is given too, it has the utilization of the disk (rate of misses times `time_s`).
        """
        visits = self.visits(miss_ratio)
        found = {"disk_visits": visits}
        if self.time_s is not None:
            found["disk_demand_s"] = visits * self.time_s
            if references_per_s is not None:
                found["disk_utilization"] = references_per_s * miss_ratio * self.time_s
        return found
