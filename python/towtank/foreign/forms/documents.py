"""Reads JSON documents with summaries, and combines the percentiles of several distributions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from towtank.foreign.source import Source

WANTED = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
"""Percentiles of a summary: name, and fraction of the values below the percentile. [ratio]"""


def document(source: Source) -> Mapping[str, Any]:
    """Return the JSON object that a file contains; text before the object is ignored.

    Raises
    ------
    ValueError
        If the file contains no complete JSON object.
    """
    text = source.text()
    begin = text.find("{")
    try:
        found, _ = json.JSONDecoder().raw_decode(text, max(begin, 0))
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"a JSON document that is damaged or cut off ({fault})") from None
    if not isinstance(found, dict):
        raise ValueError("a JSON document that is not an object")
    return found


def number_at(found: Mapping[str, Any], *path: str) -> float | None:
    """Return the number at a path of keys in a JSON document; None if the path does not exist or has no finite
    number.
    """
    place: Any = found
    for key in path:
        place = place.get(key) if isinstance(place, Mapping) else None
    is_number = isinstance(place, int | float) and not isinstance(place, bool) and math.isfinite(place)
    return float(place) if is_number else None


def table_at(found: Mapping[str, Any], *path: str) -> dict[str, float]:
    """Return the finite numbers of the JSON object at a path of keys, by name; empty if the path has no object."""
    place: Any = found
    for key in path:
        place = place.get(key) if isinstance(place, Mapping) else None
    names = list(place) if isinstance(place, Mapping) else []
    return {name: value for name in names if (value := number_at(place, name)) is not None}


def fraction(name: str) -> float | None:
    """Return the fraction of a percentile from its name, such as 0.99 for `p99`; None if the name is no percentile."""
    try:
        return float(name.removeprefix("p")) / 100 if name.startswith("p") else None
    except ValueError:
        return None


def together(parts: Sequence[tuple[float, Mapping[float, float]]]) -> dict[str, float]:
    """Combine distributions of which only a few quantiles are known, and return percentiles of the combined values.

    Parameters
    ----------
    parts : sequence of (float, dict)
        For each distribution, its number of values [1], and its quantiles [any unit] by their fraction in [0, 1].

    Returns
    -------
    dict
        Percentiles of `WANTED` by name, up to the highest fraction in `parts`. The values of each distribution are
        assumed to be spread evenly between its quantiles; a quantile of a single distribution is returned unchanged.

    Examples
    --------
    >>> quantiles = {0.0: 0.0, 0.5: 1.0, 0.9: 2.0, 0.95: 3.0, 0.99: 4.0, 1.0: 8.0}
    >>> together([(10, quantiles)])
    {'p50': 1.0, 'p90': 2.0, 'p95': 3.0, 'p99': 4.0}
    >>> round(together([(1, {0.0: 0.0, 1.0: 1.0}), (1, {0.0: 1.0, 1.0: 2.0})])["p50"], 6)
    1.0
    """
    known = [(count, dict(sorted(quantiles.items()))) for count, quantiles in parts if count > 0 and quantiles]
    if not known:
        return {}
    if len(known) == 1:
        shares, values = list(known[0][1]), list(known[0][1].values())
        return {
            name: float(np.interp(share, shares, values))
            for name, share in WANTED.items()
            if shares[0] <= share <= shares[-1]
        }
    total = sum(count for count, _ in known)
    points = sorted({value for _, quantiles in known for value in quantiles.values()})
    below = np.zeros(len(points))
    for count, quantiles in known:
        below += count / total * np.interp(points, list(quantiles.values()), list(quantiles), left=0.0, right=1.0)
    return {name: float(np.interp(share, below, points)) for name, share in WANTED.items() if share <= below[-1]}
