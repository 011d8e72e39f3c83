"""Reads objectives: required response times, throughputs and error shares, as written in study files.

p95 of search < 1 s
mean < 500 ms at 300 users
throughput > 50 /s
errors of search < 0.1 %
p95 of search < 2 s in ramp_up
p95 of search < 1 s in every 10 s
stored.lost <= 0
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from towtank import units
from towtank.spelling import Misspelt, did_you_mean, meant, misnamed

TIMES = ("mean", "min", "p50", "p90", "p95", "p99", "p99.9", "max")
STORED = ("stored.lost", "stored.different", "stored.unreadable", "stored.unread")
"""Metrics that count stored items by the result of reading them back after the run. An item counts as stored if the
system acknowledged it; it may then be lost, different, unreadable, or not read.
"""
METRICS = (*TIMES, "throughput", "errors", *STORED)
LOSS_METRIC = "loss"
"""Metric for the share of arrivals that are lost because a station is full. Only a model evaluates this metric."""
WAIT_METRIC = "wait"
"""Prefix in the names of metrics for percentiles of the waiting time: `80 % wait` is read as `wait80`. Only a model
evaluates these metrics.
"""
PLANNED_METRICS = ("mean", "pNN", "throughput", LOSS_METRIC, f"NN % {WAIT_METRIC}")
"""Metrics of objectives that a model, such as a queueing network, can evaluate."""
PHASES = ("ramp_up", "settle", "steady", "ramp_down")
"""Names of the phases to which an objective may apply."""
# Shortest window of an objective with `in every TIME`. The engine records one interval per second. [s]
_LEAST_WINDOW_S = 1.0
_FORM = re.compile(
    r"\s*(?P<metric>[\w.]+)(?:\s+of\s+(?P<transaction>[A-Za-z][\w-]*))?\s*(?P<comparison><=|>=|<|>)\s*(?P<value>.+?)"
    r"(?P<scopes>(?:\s+(?:in|at)\s.*)?)"
)
_SCOPE = re.compile(
    r"\s+(?:in\s+every\s+(?P<every>[\d.]+\s*[a-z]+)|in\s+(?P<phase>\w+)|at\s+(?P<users>\d{1,9})\s+users"
    r"|at\s+(?P<of_limit>[\d.]+\s*%)\s+of\s+the\s+limit"
    r"|at\s+(?P<rate>[\d.]+\s*/\s*[a-z]+))(?=\s|$)"
)
_SHAPE = "METRIC [of TRANSACTION] < VALUE [in PHASE] [in every TIME] [at N users | at N /s | at N % of the limit]"


@dataclass(frozen=True)
class Objective:
    """Objective of a study.

    Attributes
    ----------
    text : str
        Text of the objective as written.
    metric : str
        One of `METRICS`.
    transaction : str or None
        Name of the transaction; None for all transactions.
    comparison : str
        `<`, `<=`, `>` or `>=`.
    value : float
        Limit in the base unit of the metric: seconds, one per second, or a ratio.
    users : int or None
        Number of users at which the objective must be met; None for every load.
    rate : float or None
        Arrival rate at which the objective must be met; None for every load. [1/s]
    phase : str or None
        One of `PHASES`. If None, the analysis chooses the interval, or uses all planned steady stages if `every_s` is
        set.
    every_s : float or None
        Length of windows; the objective must be met in each window. None for a single value over the phase. [s]
    of_limit : float or None
        Load at which the objective must be met, as a share of the load limit found by a pilot run. [1]
    """

    text: str
    metric: str
    transaction: str | None
    comparison: str
    value: float
    users: int | None
    rate: float | None = None
    phase: str | None = None
    every_s: float | None = None
    of_limit: float | None = None

    def resolved(self, users_at: Callable[[float], int]) -> Objective:
        """Convert the load of the objective from a share of the system's load limit to a number of users."""
        return self if self.of_limit is None else replace(self, users=users_at(self.of_limit))

    def document(self) -> dict[str, object]:
        """Return the objective as JSON for the manifest of a study."""
        return asdict(self)


def read_objective(text: str) -> Objective:
    """Read an objective from its text.

    Raises
    ------
    ValueError
        If the text is not an objective; the message shows the expected form.

    Examples
    --------
    >>> read_objective("p95 of search < 1 s").value
    1.0
    >>> read_objective("errors of search < 0.1 % in ramp_up in every 10 s at 300 users").every_s
    10.0
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"must be {_SHAPE}, such as 'p95 of search < 1 s', got {text!r} instead")
    metric = match["metric"]
    if metric not in METRICS:
        raise ValueError(misnamed(f"about one of {', '.join(METRICS)}", metric, METRICS, is_form=True))
    value = _reader(metric)(match["value"].strip())
    scopes = _scopes(text, match["scopes"])
    if metric in STORED and (match["transaction"] or {"phase", "every"} & set(scopes)):
        raise ValueError(f"must apply to whole runs and all transactions for {metric}, got {text!r} instead")
    return Objective(
        text.strip(),
        metric,
        match["transaction"],
        match["comparison"],
        value,
        int(scopes["users"]) if "users" in scopes else None,
        units.rate(scopes["rate"]) if "rate" in scopes else None,
        _phase(scopes.get("phase")),
        _window(scopes.get("every")),
        units.share(scopes["of_limit"]) if "of_limit" in scopes else None,
    )


_WAIT = re.compile(r"\s*(\d{1,2}(?:\.\d{1,6})?)\s*%\s*wait\b(.*)", re.DOTALL)
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,6})?)")


def read_planned_objective(text: str) -> Objective:
    """Read an objective that a model evaluates.

    Besides the metrics of study files, the objective may use any percentile, the waiting time or the loss.

    Raises
    ------
    ValueError
        If the text is not an objective for a model; the message shows the expected form.

    Examples
    --------
    >>> read_planned_objective("80 % wait of calls < 20 s").metric
    'wait80'
    >>> read_planned_objective("loss < 1 %").value
    0.01
    >>> read_planned_objective("p80 < 2 s").metric
    'p80'
    """
    waits = _WAIT.fullmatch(text)
    if waits is not None:
        found = read_objective(f"mean{waits[2]}")
        return replace(found, text=text.strip(), metric=f"{WAIT_METRIC}{_share(waits[1], text)}")
    match = _FORM.fullmatch(text)
    percentile = _PERCENTILE.fullmatch(match[1]) if match is not None else None
    if match is None or (match[1] != LOSS_METRIC and percentile is None):
        return read_objective(text)
    start, end = match.span(1)
    known = "errors" if percentile is None else "mean"
    found = read_objective(text[:start] + known + text[end:])
    metric = LOSS_METRIC if percentile is None else f"p{_share(percentile[1], text)}"
    return replace(found, text=text.strip(), metric=metric)


def _share(digits: str, text: str) -> str:
    """Return the number of a percentile in its shortest form, such as `99.9`."""
    if float(digits) <= 0:
        raise ValueError(f"must be about a percentile above 0 and below 100, got {text!r} instead")
    return f"{float(digits):g}"


def _reader(metric: str) -> Callable[[str], float]:
    if metric in STORED:
        return _count
    return {"throughput": units.rate, "errors": units.share}.get(metric, units.duration)


def _count(text: str) -> float:
    if not text.isdecimal():
        raise ValueError(f"must be a whole number of items, got {text!r} instead")
    return float(text)


def _scopes(text: str, scopes: str) -> dict[str, str]:
    """Read the conditions after the value of an objective, such as the phase or the load.

    Each condition may occur once; the order is free.
    """
    found: dict[str, str] = {}
    at, end = 0, len(scopes.rstrip())
    while at < end:
        match = _SCOPE.match(scopes, at)
        if match is None:
            raise ValueError(f"must be {_SHAPE}, such as 'p95 of search < 1 s', got {text!r} instead")
        for name, value in match.groupdict().items():
            if value is not None and name in found:
                raise ValueError(
                    f"must state each condition once, got {match[0].strip()!r} besides {found[name]!r} instead"
                )
            if value is not None:
                found[name] = value
        at = match.end()
    if len({"users", "rate", "of_limit"} & set(found)) > 1:
        raise ValueError(f"must hold at one load (users, a rate or a share of the limit), got two in {text!r} instead")
    return found


def _phase(name: str | None) -> str | None:
    if name is not None and name not in PHASES:
        near = did_you_mean(name, list(PHASES))
        message = f"must hold in one of {', '.join(PHASES)}, or in every TIME, got {name!r} instead{near}"
        raise ValueError(Misspelt.of(message, meant(name, PHASES, is_form=True)))
    return name


def _window(text: str | None) -> float | None:
    """Read the length of a window in whole seconds; the engine records one interval per second. [s]"""
    if text is None:
        return None
    length = units.duration(text)
    if length < _LEAST_WINDOW_S or not length.is_integer():
        raise ValueError(f"must hold in windows of whole seconds, at least 1 s, got {text!r} instead")
    return length
