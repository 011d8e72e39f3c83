"""Exact throughput of a closed network of stations of one class, by convolution with positive terms only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from towtank.errors import ModelError
from towtank.model.fitting.observations import Floats

Rates = tuple[float, ...]
"""Speed of a station with 1, 2, ... jobs in units of one server, the last one for more. [1]"""
MOST_WITH_RATES = 20_000
"""A station with rates of its own takes a sum over all populations at each; above this it takes minutes. [1]"""


def network_throughput(users: int, stations: Sequence[tuple[float, int | Rates]], delay_s: float) -> Floats:
    """Return the exact throughput of a closed network of multi-server or load-dependent stations, for 1 to N users.

    Parameters
    ----------
    users : int
        N >= 1. [1]
    stations : sequence of (float, int or tuple)
        Service demand > 0 [s], and servers or rates of each station.
    delay_s : float
        Time of a cycle at delays, the think time among them, >= 0. [s]

    Returns
    -------
    ndarray of shape (N,)
        X(1), ..., X(N). [1/s]

    Notes
    -----
    Convolution of the normalising constants station by station, in logarithms. With f(j) = D^j / (r(1) ... r(j)) of a
    station of rates r,

        G_k(n) = sum_j f(j) G_{k-1}(n-j),        X(n) = G(n-1) / G(n).

    The generating function of an M/M/m station is sum_{j<m} f(j) (1 - j/m) z^j / (1 - (D/m) z), so that there

        G_k(n) = (D/m) G_k(n-1) + sum_{j<m} f(j) (1 - j/m) G_{k-1}(n-j).

    All terms are positive: nothing cancels, while the usual recursion by marginal probabilities loses all digits [1]_.

    References
    ----------
    .. [1] J. P. Buzen, "Computational algorithms for closed queueing networks with exponential servers",
           Communications of the ACM 16(9), 527-531, 1973, doi:10.1145/362342.362345.
    """
    counts = np.arange(users + 1)
    with np.errstate(divide="ignore"):
        constants = np.where(counts == 0, 0.0, counts * np.log(delay_s)) - scipy.special.gammaln(counts + 1.0)
    for demand, servers in stations:
        if isinstance(servers, tuple):
            constants = _with_rates(constants, demand, servers)
        else:
            constants = _with_servers(constants, demand, servers)
    return np.asarray(np.exp(constants[:-1] - constants[1:]), dtype=float)


def _with_servers(constants: Floats, demand: float, servers: int) -> Floats:
    """Return the logarithms of the constants with a station of equal servers more."""
    counts = np.arange(len(constants))
    fed = np.full(len(constants), -np.inf)
    for present in range(min(servers, len(constants))):
        term = present * math.log(demand) - math.lgamma(present + 1) + math.log1p(-present / servers)
        fed[present:] = np.logaddexp(fed[present:], term + constants[: len(constants) - present])
    step = math.log(demand / servers)
    # G(n) = d G(n-1) + c(n) is, over d^n, a running sum.
    return np.asarray(np.logaddexp.accumulate(fed - step * counts) + step * counts, dtype=float)


def _with_rates(constants: Floats, demand: float, rates: Rates) -> Floats:
    """Return the logarithms of the constants with a station of rates of its own more, by the sum as it stands."""
    users = len(constants) - 1
    if users > MOST_WITH_RATES:
        raise ModelError(f"a station with rates: users must be at most {MOST_WITH_RATES}, got {users} instead")
    speeds = np.array([rates[min(place, len(rates) - 1)] for place in range(users)])
    factors = np.concatenate([[0.0], np.cumsum(np.log(demand / speeds))])
    found = np.empty(users + 1)
    for number in range(users + 1):
        terms = factors[: number + 1] + constants[number::-1]
        largest = terms.max()
        found[number] = largest + math.log(np.exp(terms - largest).sum())
    return found
