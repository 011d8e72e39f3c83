"""Computes percentiles of all requests of several runs from merged histograms.

A percentile over several runs is not the mean of their percentiles [1]_. Example: in the first of two runs all requests
take 1 ms; in the second, a fifth of the requests take 380 ms. The p95 of the runs are 1 ms and 380 ms. The p95 of all
requests is 380 ms, but the mean of the two p95 is 190 ms, and no request took 190 ms.

References
----------
.. [1] G. Tene, "How NOT to Measure Latency", Strange Loop, 2015: percentiles cannot be averaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from towtank.analysis.statistics import histograms
from towtank.analysis.statistics.histograms import BadHistogramError

HISTOGRAM = "histogram"
"""Key of the histogram of all values in a run summary. The histogram is stored beside the percentiles, encoded as
HdrHistogram V2.
"""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""Quantiles that are reported for every distribution: their names, and the shares of values below them, in (0, 1)."""
# All percentiles of a study are computed from the same histograms, so each histogram is decoded once.
_decoded = lru_cache(maxsize=1024)(histograms.decode)


def share_of(name: str) -> float | None:
    """Return the share of values that the name of a percentile stands for, such as 0.95 for `p95` and `p95_s`.

    None for other names.
    """
    return QUANTILES.get(name.removesuffix("_s"))


def of_all_requests(runs: Sequence[Mapping[str, Any]], *path: str) -> float | None:
    """Return a percentile over all requests of several runs. [s]

    Parameters
    ----------
    runs : sequence of dict
        Run summaries. Every request of every run has the same weight.
    path : str
        Keys of the percentile in each summary.

    Returns
    -------
    float or None
        None if the path does not lead to a percentile, or if a run with the percentile lacks its histogram, as in
        summaries of older versions.
    """
    share = share_of(path[-1]) if path else None
    if share is None:
        return None
    beside = [_at(run, path[:-1]) for run in runs]
    having = [entry for entry in beside if _is_known(entry.get(path[-1]))]
    return percentile([entry.get(HISTOGRAM) for entry in having], share)


def percentile(encoded: Sequence[Any], share: float) -> float | None:
    """Return a percentile of the merged values of encoded histograms; None if a histogram cannot be read. [s]"""
    if not all(isinstance(text, str) for text in encoded):
        return None
    try:
        merged = histograms.merge(_decoded(text) for text in encoded)
    except BadHistogramError:
        return None
    return merged.quantile(share) if merged is not None and merged.total else None


def count_above(encoded: Any, value_s: float) -> tuple[int, int] | None:
    """Return the number of requests whose response time exceeded a limit, and the number of all requests. [1]

    None if the histogram cannot be read.
    """
    if not isinstance(encoded, str):
        return None
    try:
        found = _decoded(encoded)
    except BadHistogramError:
        return None
    return (found.count_above(value_s), found.total) if found.total else None


def _at(run: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    """Return the object that a summary contains under a path of keys; an empty object if a key is missing."""
    found: Any = run
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _is_known(value: Any) -> bool:
    return (value.get("value") if isinstance(value, Mapping) else value) is not None
