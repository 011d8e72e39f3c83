"""Describes how evenly users are distributed among the services of a target, if each user always uses the same
service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.statistics import ratio_of_sums
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.statistics.fairness import fairness_of
from towtank.digging import dig


@dataclass(frozen=True)
class SpreadMember:
    """Transactions of the users of a service: number [1], throughput [1/s], and shares in [0, 1]."""

    transactions: float
    throughput_per_s: Estimate
    share: Estimate
    errors_share: float | None


@dataclass(frozen=True)
class Spread:
    """Distribution of users among the services of a target. Shares and fairness are in [0, 1]."""

    members: dict[str, SpreadMember]
    even_share: float
    fairness: Estimate


def spread(plan: Mapping[str, object] | None, measurement: Measurement, chosen: Mask) -> dict[str, Spread]:
    """Describe the distribution of users for every target at which each user always uses the same service.

    Parameters
    ----------
    plan : dict or None
        Plan of the engine, which names the service at each address.
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.

    Returns
    -------
    dict
        Distributions by name of the target.
    """
    found = {}
    lengths = measurement.lengths[chosen]
    for name, services, places in _targets(plan or {}):
        if measurement.places_ok.shape[1] < places.stop:
            continue  # Skip a target without counts by address, or without ended transactions.
        ok = _by_service(measurement.places_ok[chosen, places], services)
        failed = _by_service(measurement.places_failed[chosen, places], services)
        found[name] = _describe(ok, failed, lengths, measurement.bin_s)
    return found


def _targets(plan: Mapping[str, object]) -> Iterator[tuple[str, list[str], slice]]:
    """Yield each target at which each user always uses the same address. The values are the name of the target, the
    service at each address, and the columns of `places_ok` and `places_failed` that belong to the target.
    """
    first = 0
    for target in dig(plan, "targets") or ():
        addresses = target.get("addresses", [])
        if target.get("balance") == "user" and addresses:
            yield target["name"], target.get("services") or addresses, slice(first, first + len(addresses))
            first += len(addresses)


def _by_service(counts: Floats, services: list[str]) -> dict[str, Floats]:
    """Return the sum of the counts of all addresses of each service; arrays of shape (n_bins,). [1]"""
    names = list(dict.fromkeys(services))
    return {name: counts[:, [service == name for service in services]].sum(axis=1) for name in names}


def _describe(ok: dict[str, Floats], failed: dict[str, Floats], lengths: Floats, bin_s: float) -> Spread:
    together = np.sum(list(ok.values()), axis=0)
    members = {}
    for name, counts in ok.items():
        done, lost = float(counts.sum()), float(failed[name].sum())
        members[name] = SpreadMember(
            done,
            ratio_of_sums(counts, lengths, bin_s=bin_s)[0],
            ratio_of_sums(counts, together, bin_s=bin_s)[0],
            lost / (done + lost) if done + lost else None,
        )
    return Spread(members, 1 / len(ok), fairness_of(np.column_stack(list(ok.values())), lengths))
