"""Coordinated omission as the data show it: a load of fixed rate that stops while the system does not answer.

A generator of fixed rate that waits for slow answers sends nothing meanwhile. The requests that it left out would have
been slow, too, so the slowest times are missing from the file [1]_.

References
----------
.. [1] G. Tene, "How NOT to Measure Latency", Strange Loop, 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.analysis.measurement import Floats
from towtank.foreign import Requests

# A fixed rate: this share of the gaps between starts lies within these factors of their median. The gaps of independent
# arrivals (exponential) do so in 53 % of cases, those of closed users with random times seldom.
_REGULAR_SHARE, _REGULAR_LOW, _REGULAR_HIGH = 0.8, 0.5, 2.0
# A gap this many times the usual one is a stop, if a response time spans it.
_STOP = 5.0
_SPANNED = 0.8
# A closed user without think time sends when the answer comes: it has no rate of its own.
_IDLE_AT_LEAST = 0.1
_REQUESTS_AT_LEAST = 100
_TAIL = 0.99


@dataclass(frozen=True)
class Omission:
    """Requests that a load of fixed rate left out while it waited.

    Attributes
    ----------
    stops : int
        Number of times that the load stopped. [1]
    longest_s : float
        Longest stop. [s]
    missing : int
        Requests that the rate would have sent meanwhile. [1]
    share : float
        Missing requests relative to all that the rate would have sent. [1]
    p99_s, corrected_p99_s : float
        p99 of the file, and with the missing requests, each started at its time of the rate. [s]
    """

    stops: int
    longest_s: float
    missing: int
    share: float
    p99_s: float
    corrected_p99_s: float


def omission_of(requests: Requests) -> Omission | None:
    """Return what a load of fixed rate left out; None for another load, or if nothing is missing.

    Notes
    -----
    Each stop of length g that a response time spans stands for g / m - 1 requests with m the usual gap, whose times
    would have been the rest of the stop: g - m, g - 2 m, ... (the correction of HdrHistogram for an expected interval,
    `recordValueWithExpectedInterval`).
    """
    if len(requests) < _REQUESTS_AT_LEAST:
        return None
    gaps = np.diff(requests.start_s)
    usual = float(np.median(gaps))
    if usual <= 0 or not _is_regular(gaps, usual) or _is_closed(requests, gaps, usual):
        return None
    ends_until = np.maximum.accumulate(requests.end_s)[:-1]
    spanned = np.minimum(ends_until - requests.start_s[:-1], gaps)
    stops = gaps[(gaps > _STOP * usual) & (spanned >= _SPANNED * gaps)]
    if not len(stops):
        return None
    left_out = [gap - usual * np.arange(1, int(gap / usual)) for gap in stops]
    times = np.concatenate(left_out)
    if not len(times):
        return None
    before = float(np.quantile(requests.elapsed_s, _TAIL, method="inverted_cdf"))
    after = float(np.quantile(np.concatenate([requests.elapsed_s, times]), _TAIL, method="inverted_cdf"))
    share = len(times) / (len(times) + len(requests))
    return Omission(len(stops), float(stops.max()), len(times), share, before, after)


def _is_regular(gaps: Floats, usual: float) -> bool:
    near = (gaps >= _REGULAR_LOW * usual) & (gaps <= _REGULAR_HIGH * usual)
    return float(near.mean()) >= _REGULAR_SHARE


def _is_closed(requests: Requests, gaps: Floats, usual: float) -> bool:
    """Return True if a start usually follows at once upon an answer, so that answers, not a rate, time the load."""
    ends = np.sort(requests.end_s)
    places = np.searchsorted(ends, requests.start_s[1:], side="right")
    since = requests.start_s[1:] - ends[np.maximum(places, 1) - 1]
    follows = (places > 0) & (since < _IDLE_AT_LEAST * usual)
    return float(follows[gaps <= _STOP * usual].mean()) > 0.5
