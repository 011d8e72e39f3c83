"""Objectives: what the system should reach, as text that people write.

p95 of search < 1 s
mean < 500 ms at 300 users
throughput > 50 /s
errors < 1 %
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from towtank import units
from towtank.yamlfile import did_you_mean

TIMES = ("mean", "min", "p50", "p90", "p95", "p99", "p99.9", "max")
METRICS = (*TIMES, "throughput", "errors")
_FORM = re.compile(
    r"\s*(?P<metric>[\w.]+)(?:\s+of\s+(?P<transaction>[A-Za-z][\w-]*))?\s*(?P<comparison><=|>=|<|>)\s*(?P<value>.+?)"
    r"(?:\s+at\s+(?P<users>\d{1,9})\s+users)?\s*"
)


@dataclass(frozen=True)
class Objective:
    """One objective.

    Attributes
    ----------
    text : str
        As written.
    metric : str
        One of `METRICS`.
    transaction : str or None
        What it is about; None for all transactions.
    comparison : str
        `<`, `<=`, `>` or `>=`.
    value : float
        In the base unit of the metric: seconds, one per second, or a ratio.
    users : int or None
        Level at which it must hold; None for every level.
    """

    text: str
    metric: str
    transaction: str | None
    comparison: str
    value: float
    users: int | None

    def document(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)


def read_objective(text: str) -> Objective:
    """Read an objective.

    Raises
    ------
    ValueError
        If it is none; the message shows the form.

    Examples
    --------
    >>> read_objective("p95 of search < 1 s").value
    1.0
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(
            f"must be METRIC [of TRANSACTION] < VALUE [at N users], as 'p95 of search < 1 s', got {text!r} instead"
        )
    metric = match["metric"]
    if metric not in METRICS:
        allowed, near = ", ".join(METRICS), did_you_mean(metric, list(METRICS))
        raise ValueError(f"must be about one of {allowed}, got {metric!r} instead{near}")
    reader = units.rate if metric == "throughput" else units.share if metric == "errors" else units.duration
    users = int(match["users"]) if match["users"] else None
    return Objective(text.strip(), metric, match["transaction"], match["comparison"], reader(match["value"]), users)
