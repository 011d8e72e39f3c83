"""Computes percentiles of all requests of several runs from merged histograms.

A percentile over several runs is not the mean of their percentiles [1]_. For example, all requests of a first run take
1 ms. In a second run a fifth of the requests take 380 ms, and the others 1 ms. The p95 is 1 ms in the first run, 380 ms
in the second, and 380 ms for all requests together. The mean of both p95 is 190 ms, a time that no request took.

References
----------
.. [1] G. Tene, "How NOT to Measure Latency", Strange Loop, 2015: percentiles cannot be averaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from towtank.analysis.statistics import histograms
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.statistics.histograms import BadHistogramError
from towtank.digging import dig

HISTOGRAM = "histogram"
"""Key in a run summary beside the percentiles of a time. The value is the histogram of all these times, encoded as
HdrHistogram V2.
"""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""Quantiles that are reported for every distribution: name, and share of the values below the quantile, in (0, 1)."""
# Several percentiles are computed from the same histogram. The cache avoids decoding it several times.
_decoded = lru_cache(maxsize=1024)(histograms.decode)


def share_of(name: str) -> float | None:
    """Return the share of values below a percentile, in (0, 1), such as 0.95 for the names `p95` and `p95_s`. Return
    None for other names.
    """
    return QUANTILES.get(name.removesuffix("_s"))


def of_all_requests(runs: Sequence[object], *path: str) -> float | None:
    """Return a percentile over all requests of several runs. [s]

    Parameters
    ----------
    runs : sequence of RunSummary or dict
        Run summaries. Every request of every run has the same weight.
    path : str
        Keys of the percentile in each summary.

    Returns
    -------
    float or None
        None if `path` is not that of a percentile. None also if a summary contains the percentile without its
        histogram, as in older versions.
    """
    share = share_of(path[-1]) if path else None
    if share is None:
        return None
    beside = [dig(run, *path[:-1]) for run in runs]
    having = [entry for entry in beside if _is_known(dig(entry, path[-1]))]
    return percentile([dig(entry, HISTOGRAM) for entry in having], share)


def percentile(encoded: Sequence[Any], share: float) -> float | None:
    """Return a percentile of all values in several encoded histograms. Return None if a histogram cannot be read, or if
    all are empty. [s]
    """
    if not all(isinstance(text, str) for text in encoded):
        return None
    try:
        merged = histograms.merge(_decoded(text) for text in encoded)
    except BadHistogramError:
        return None
    return merged.quantile(share) if merged is not None and merged.total else None


def count_above(encoded: Any, value_s: float) -> tuple[int, int] | None:
    """Return the number of requests with a response time above a limit, and the number of all requests. Return None if
    the histogram is empty or cannot be read. [1]
    """
    if not isinstance(encoded, str):
        return None
    try:
        found = _decoded(encoded)
    except BadHistogramError:
        return None
    return (found.count_above(value_s), found.total) if found.total else None


def _is_known(value: Any) -> bool:
    return (dig(value, "value") if isinstance(value, Mapping | Estimate) else value) is not None
