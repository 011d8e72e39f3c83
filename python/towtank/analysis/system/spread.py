"""Describes how evenly users are distributed among the services of a target, if each user always uses the same
service.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.statistics import ratio_of_sums
from towtank.analysis.statistics.fairness import fairness_of


def spread(plan: dict[str, Any] | None, measurement: Measurement, chosen: Mask) -> dict[str, Any]:
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
        Entries of the run summary by name of the target, as `docs/reference/summary.md` describes.
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


def _targets(plan: dict[str, Any]) -> Iterator[tuple[str, list[str], slice]]:
    """Yield each target at which each user always uses the same address. The values are the name of the target, the
    service at each address, and the columns of `places_ok` and `places_failed` that belong to the target.
    """
    first = 0
    for target in plan.get("targets", []):
        addresses = target.get("addresses", [])
        if target.get("balance") == "user" and addresses:
            yield target["name"], target.get("services") or addresses, slice(first, first + len(addresses))
            first += len(addresses)


def _by_service(counts: Floats, services: list[str]) -> dict[str, Floats]:
    """Return the sum of the counts of all addresses of each service; arrays of shape (n_bins,). [1]"""
    names = list(dict.fromkeys(services))
    return {name: counts[:, [service == name for service in services]].sum(axis=1) for name in names}


def _describe(ok: dict[str, Floats], failed: dict[str, Floats], lengths: Floats, bin_s: float) -> dict[str, Any]:
    together = np.sum(list(ok.values()), axis=0)
    members = {}
    for name, counts in ok.items():
        done, lost = float(counts.sum()), float(failed[name].sum())
        members[name] = {
            "transactions": done,
            "throughput_per_s": ratio_of_sums(counts, lengths, bin_s=bin_s)[0].document(),
            "share": ratio_of_sums(counts, together, bin_s=bin_s)[0].document(),
            "errors_share": lost / (done + lost) if done + lost else None,
        }
    return {
        "members": members,
        "even_share": 1 / len(ok),
        "fairness": fairness_of(np.column_stack(list(ok.values())), lengths).document(),
    }
