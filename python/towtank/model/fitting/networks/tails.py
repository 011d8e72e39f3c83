"""Percentiles of a network held against those that were measured: by how much they must be corrected."""

from __future__ import annotations

from typing import Any

import numpy as np

from towtank.analysis.statistics.estimates import from_document
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.networks.closed import CLASS, Solved, class_names
from towtank.model.fitting.networks.seconds import Measured
from towtank.model.percentiles import response_percentiles
from towtank.model.stations import stations_of

Json = dict[str, Any]
SHARE = 0.95
FAR_FROM_ONE = 1.5
"""A measured percentile that is so many times the one worked out, or as many times less, is doubted. [ratio]"""


def corrections(one: Configuration, of: Measured, solved: Solved) -> dict[str, Json]:
    """Measured over worked-out 95th percentile, where it was measured, by the name in the model.

    Returns
    -------
    dict of str to dict
        That of the class is for all together. `ratio`, the geometric mean over the levels, each as heavy as the others;
        `low` and `high`, the least and the largest ratio that the intervals measured at any level allow; `by_level`.

    Notes
    -----
    The network tells means; the forms of response times are gamma distributions with the variances of the stations.
    What the system does beyond that (service times that vary more, pauses, retries) is in the ratio.
    """
    points = {float(point["load"]): point for point in one.points}
    found: dict[str, Json] = {}
    for name, key in ((None, CLASS), *zip(of.classes, class_names(of), strict=True)):
        rows = []
        for place, load in enumerate(of.loads):
            point = points[float(load)]
            told = point["response_time_s"]["p95"] if name is None else point["transactions"][name]["p95_s"]
            measured = from_document(told)
            model, answer = solved.models[place], solved.answers[place]
            worked_out = response_percentiles(model, answer, stations_of(answer), key)[0](SHARE)
            if measured.value and worked_out > 0:
                ends = [measured.value if end is None else end for end in (measured.low, measured.high)]
                rows.append((float(load), measured.value / worked_out, *(end / worked_out for end in ends)))
        if rows:
            table = np.array(rows)
            found[key] = {
                "ratio": float(np.exp(np.log(table[:, 1]).mean())),
                "low": float(table[:, 2].min()),
                "high": float(table[:, 3].max()),
                "by_level": [{"load": load, "ratio": ratio} for load, ratio, *_ in rows],
            }
    return found


def doubts(found: dict[str, Json]) -> list[str]:
    """Where the form of response times is far from what was measured."""
    far = [
        f"{name} {one['ratio']:.2g}"
        for name, one in found.items()
        if not 1 / FAR_FROM_ONE <= one["ratio"] <= FAR_FROM_ONE
    ]
    if not far:
        return []
    return [
        f"95th percentiles measured are far from those worked out, {', '.join(far)} times as large; they are corrected "
        f"by that factor, which need not hold at other loads"
    ]
