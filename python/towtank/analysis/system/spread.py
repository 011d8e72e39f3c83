"""How evenly users that stay with one service of several got their transactions done: the services' fairness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.statistics import ratio_of_sums
from towtank.analysis.statistics.estimates import NOTHING, Estimate
from towtank.analysis.system.balance import fairness


def spread(plan: dict[str, Any] | None, measurement: Measurement, chosen: Mask) -> dict[str, Any]:
    """Describe every target of which each user stays with one service.

    Parameters
    ----------
    plan : dict or None
        The engine's plan; it tells which service is at which address.
    measurement : Measurement
    chosen : ndarray of bool of shape (n_bins,)
        Bins of the window.

    Returns
    -------
    dict
        By name of the target, as `docs/reference/summary.md` describes.
    """
    found = {}
    lengths = measurement.lengths[chosen]
    for name, services, places in _targets(plan or {}):
        if measurement.places_ok.shape[1] < places.stop:
            continue  # an engine that did not count them, or nothing ended
        ok = _by_service(measurement.places_ok[chosen, places], services)
        failed = _by_service(measurement.places_failed[chosen, places], services)
        found[name] = _describe(ok, failed, lengths)
    return found


def _targets(plan: dict[str, Any]) -> Iterator[tuple[str, list[str], slice]]:
    """Targets whose users stay with an address: name, service at each address, and where their counts lie."""
    first = 0
    for target in plan.get("targets", []):
        addresses = target.get("addresses", [])
        if target.get("balance") == "user" and addresses:
            yield target["name"], target.get("services") or addresses, slice(first, first + len(addresses))
            first += len(addresses)


def _by_service(counts: Floats, services: list[str]) -> dict[str, Floats]:
    """Columns of counts added up by service, each of shape (n_bins,)."""
    names = list(dict.fromkeys(services))
    return {name: counts[:, [one == name for one in services]].sum(axis=1) for name in names}


def _describe(ok: dict[str, Floats], failed: dict[str, Floats], lengths: Floats) -> dict[str, Any]:
    together = np.sum(list(ok.values()), axis=0)
    members = {}
    for name, counts in ok.items():
        done, lost = float(counts.sum()), float(failed[name].sum())
        members[name] = {
            "transactions": done,
            "throughput_per_s": ratio_of_sums(counts, lengths)[0].document(),
            "share": ratio_of_sums(counts, together)[0].document(),
            "errors_share": lost / (done + lost) if done + lost else None,
        }
    return {
        "members": members,
        "even_share": 1 / len(ok),
        "fairness": fairness_of(np.column_stack(list(ok.values())), lengths).document(),
    }


def fairness_of(counts: Floats, lengths: Floats) -> Estimate:
    """Jain's index of fairness of the rates of several, with an interval.

    Parameters
    ----------
    counts : ndarray of shape (n_bins, n_members)
        What each got done in each interval. [1]
    lengths : ndarray of shape (n_bins,)
        Lengths of the intervals. [s]

    Returns
    -------
    Estimate
        Without an interval where there are too few intervals.

    Notes
    -----
    With X_i the sum of member i, S = sum X_i and Q = sum X_i^2, the index is J = S^2 / (n Q), equation 1 of [1]_. To
    first order a change of X_i moves it by dJ/dX_i = 2 S (1 - S X_i / Q) / (n Q), so that J is the mean of the series
    J l_t / T + sum_i dJ/dX_i x_it over the time, T being the length of all intervals l_t, and sum_i X_i dJ/dX_i zero.
    Its error is that of a mean of batches. Where all got very nearly the same the derivatives vanish, and the interval
    leaves out what is of second order: about the squared coefficient of variation of what chance gives one member.

    References
    ----------
    .. [1] R. Jain, D.-M. Chiu and W. Hawe, *A Quantitative Measure of Fairness and Discrimination for Resource
           Allocation in Shared Computer Systems*, DEC Research Report TR-301, 1984.

    Examples
    --------
    >>> fairness_of(np.full((20, 2), [3.0, 1.0]), np.ones(20)).value
    0.8
    """
    sums = counts.sum(axis=0)
    value = fairness(sums)
    if value is None:
        return NOTHING
    total, squares = float(sums.sum()), float(np.square(sums).sum())
    slopes = 2 * total * (1 - total * sums / squares) / (len(sums) * squares)
    found, _ = ratio_of_sums(value * lengths + float(lengths.sum()) * (counts @ slopes), lengths)
    high = None if found.high is None else min(1.0, found.high)
    low = None if found.low is None else max(1 / len(sums), found.low)
    return Estimate(value, low, high, found.method, found.n, found.confidence)
