"""Describes how evenly load balancers distributed requests among their members (the servers behind them) in a
window.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.statistics.estimates import NO_ESTIMATE, Estimate
from towtank.analysis.statistics.fairness import fairness
from towtank.analysis.system.tiers import Observed, ratio
from towtank.results import MEMBER_REQUESTS

_MEMBER = re.compile(rf'{MEMBER_REQUESTS}\{{member="((?:[^"\\]|\\.)*)"\}}')


@dataclass(frozen=True)
class BalancedMember:
    """Number of requests that a member of a load balancer received, and their share in all requests. [1]"""

    requests: float
    share: Estimate


@dataclass(frozen=True)
class Balance:
    """Distribution of requests among the members of a load balancer. Shares and fairness are in [0, 1]."""

    members: dict[str, BalancedMember]
    requests: float
    even_share: float
    fairness: float | None


def balance(observed: Observed, measurement: Measurement, chosen: Mask) -> dict[str, Balance]:
    """Describe how load balancers distributed requests. A load balancer must report the number of requests of each
    member.

    Returns
    -------
    dict
        Distributions by service name. Balancers with a single member are not included.
    """
    found = {}
    for service, samples in observed.metrics.items():
        keys = {
            match[1]: key for sample in samples.samples for key in sample["values"] if (match := _MEMBER.fullmatch(key))
        }
        if len(keys) < 2:
            continue
        bins = {
            name: samples.track("values", key).by_bin(measurement.starts, measurement.ends)
            for name, key in sorted(keys.items())
        }
        found[service] = _describe(bins, chosen, measurement.bin_s)
    return found


def _describe(bins: dict[str, Floats], chosen: Mask, bin_s: float) -> Balance:
    together = np.sum(list(bins.values()), axis=0)
    usable = chosen & np.isfinite(together)
    counts = np.array([float(counted[usable].sum()) for counted in bins.values()])
    # If less than half of the window was observed, `ratio` returns no share.
    shares = {
        name: ratio(counted, together, chosen, bin_s=bin_s) if usable.any() else NO_ESTIMATE
        for name, counted in bins.items()
    }
    members = {name: BalancedMember(count, shares[name]) for name, count in zip(bins, counts.tolist(), strict=True)}
    return Balance(members, float(counts.sum()), 1 / len(bins), fairness(counts))
