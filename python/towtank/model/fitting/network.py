"""Computes the exact throughput of a closed network with a single class by convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from towtank.errors import ModelError
from towtank.model.fitting.observations import Floats

Rates = tuple[float, ...]
"""Speeds of a station with 1, 2, ... jobs, as multiples of the speed of one server. The last speed also holds for more
jobs. [1]
"""
MOST_WITH_RATES = 20_000
"""Highest number of users of a network with load-dependent stations. [1]

Each load-dependent station needs a sum for every number of users, so more users would take minutes.
"""


def network_throughput(users: int, stations: Sequence[tuple[float, int | Rates]], delay_s: float) -> Floats:
    """Return the exact throughput of a closed network of multi-server or load-dependent stations, for 1 to N
    users.

    Parameters
    ----------
    users : int
        N >= 1. [1]
    stations : sequence of (float, int or tuple)
        Service demand > 0 [s], and number of servers or speeds, for each station.
    delay_s : float
        Time per cycle of a user that is spent without waiting, including think time, >= 0. [s]

    Returns
    -------
    ndarray of shape (N,)
        X(1), ..., X(N). [1/s]

    Notes
    -----
    The normalising constants G_k of the first k stations are computed by convolution, in logarithms. With f(j) = D^j /
    (r(1) ... r(j)) for a station with speeds r,

        G_k(n) = sum_j f(j) G_{k-1}(n-j),        X(n) = G(n-1) / G(n).

    For an M/M/m station the generating function is sum_{j<m} f(j) (1 - j/m) z^j / (1 - (D/m) z), so that

        G_k(n) = (D/m) G_k(n-1) + sum_{j<m} f(j) (1 - j/m) G_{k-1}(n-j).

    All terms are positive, so no digits cancel; the usual recursion by marginal probabilities loses all digits [1]_.

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
    """Return the logarithms of the network's normalising constants after a multi-server station is added."""
    counts = np.arange(len(constants))
    fed = np.full(len(constants), -np.inf)
    for present in range(min(servers, len(constants))):
        term = present * math.log(demand) - math.lgamma(present + 1) + math.log1p(-present / servers)
        fed[present:] = np.logaddexp(fed[present:], term + constants[: len(constants) - present])
    step = math.log(demand / servers)
    # The recursion of the normalising constants is G(n) = d G(n-1) + c(n). Divided by d^n, it becomes a running sum.
    # Here d is demand over servers, and c(n) is the contribution of states with an idle server.
    return np.asarray(np.logaddexp.accumulate(fed - step * counts) + step * counts, dtype=float)


def _with_rates(constants: Floats, demand: float, rates: Rates) -> Floats:
    """Return the logarithms of the network's normalising constants after a load-dependent station is added. The
    constants are computed by direct summation.
    """
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
