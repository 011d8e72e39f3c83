"""Estimates the relaxation time of a queue near saturation from the load alone."""

from __future__ import annotations

import math

RELAXATIONS = 8.0
"""Window length in relaxation times below which a change cannot be distinguished from a queue that returns to its mean.
[1]
"""


def relaxation_s(in_system: float, response_s: float) -> float:
    """Return the relaxation time of the M/M/1 queue with a given number in the system and response time. [s]

    Parameters
    ----------
    in_system : float
        Mean number N of transactions in the system, including waiting transactions, >= 0. [1]
    response_s : float
        Mean response time R. [s]

    Notes
    -----
    M/M/1 has N = rho / (1 - rho) and R = S / (1 - rho), so that rho = N / (1 + N) and S = R / (1 + N). Its relaxation
    time is S / (1 - sqrt(rho))^2 [1]_. Of all systems with the same N and R, M/M/1 has the longest relaxation time, so
    the result is an upper bound for systems with several servers or pure delays.

    References
    ----------
    .. [1] J. W. Cohen, *The Single Server Queue*, North-Holland, 1982, section II.2 (relaxation time of M/M/1).

    Examples
    --------
    At 95 % utilization and 50 ms of service N is 19 and R is 1 s:

    >>> round(relaxation_s(19.0, 1.0), 1)
    78.0
    """
    return response_s / (1 + in_system) / (1 - math.sqrt(in_system / (1 + in_system))) ** 2


def is_short(response_sum_s: float, ended: float, length_s: float) -> bool:
    """Return True if a window is shorter than `RELAXATIONS` relaxation times.

    Parameters
    ----------
    response_sum_s : float
        Sum of the response times of the window, which by Little's law is N times its length. [s]
    ended : float
        Number of these response times. [1]
    length_s : float
        Length of the window. [s]
    """
    if ended <= 0 or length_s <= 0:
        return False
    return length_s < RELAXATIONS * relaxation_s(response_sum_s / length_s, response_sum_s / ended)
