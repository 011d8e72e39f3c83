"""Detects coordinated omission: a load with a constant rate that stops while the system does not respond.

If a generator with a constant rate waits for slow responses, it sends nothing during this time. The omitted requests
would have been slow as well, so the longest response times are missing from the file [1]_.

References
----------
.. [1] G. Tene, "How NOT to Measure Latency", Strange Loop, 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towtank.analysis.measurement import Floats
from towtank.foreign import Requests

# A load has a constant rate if at least the share `_REGULAR_SHARE` of the gaps between starts lies between
# `_REGULAR_LOW` and `_REGULAR_HIGH` times the median gap. For independent arrivals, this share is 46 %.
_REGULAR_SHARE, _REGULAR_LOW, _REGULAR_HIGH = 0.8, 0.5, 2.0
# A gap between starts is a stop if two conditions hold: it is more than `_STOP` times as long as the median gap, and
# requests are in progress for at least the share `_SPANNED` of the gap.
_STOP = 5.0
_SPANNED = 0.8
# A start was triggered by a response if it follows the response within this multiple of the median gap. Closed users
# without think time send in this way, so their load has no constant rate. [1]
_IDLE_AT_LEAST = 0.1
_REQUESTS_AT_LEAST = 100  # Files with fewer requests are not tested. [1]
_TAIL = 0.99


@dataclass(frozen=True)
class Omission:
    """Requests that a load with a constant rate omitted while it waited for responses.

    Attributes
    ----------
    stops : int
        Number of times that the load stopped. [1]
    longest_s : float
        Length of the longest stop. [s]
    missing : int
        Number of requests that would have been sent during the stops. [1]
    share : float
        Missing requests, divided by the sum of missing and recorded requests. [1]
    p99_s, corrected_p99_s : float
        p99 of the response times in the file, and p99 if the missing requests had started at their planned times. [s]
    """

    stops: int
    longest_s: float
    missing: int
    share: float
    p99_s: float
    corrected_p99_s: float


def omission_of(requests: Requests) -> Omission | None:
    """Return the requests that a load with a constant rate omitted. Return None if the load has no constant rate, or if
    no request is missing.

    Notes
    -----
    A stop of length g, during which a request is in progress, hides g / m - 1 requests, where m is the median gap. Each
    of them would have waited from its planned start to the end of the stop: g - m, g - 2 m, ... HdrHistogram makes the
    same correction (`recordValueWithExpectedInterval`).
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
    """Return True if most requests start immediately after a response. Responses then determine the starts, so the load
    has no constant rate.
    """
    ends = np.sort(requests.end_s)
    places = np.searchsorted(ends, requests.start_s[1:], side="right")
    since = requests.start_s[1:] - ends[np.maximum(places, 1) - 1]
    follows = (places > 0) & (since < _IDLE_AT_LEAST * usual)
    return float(follows[gaps <= _STOP * usual].mean()) > 0.5
