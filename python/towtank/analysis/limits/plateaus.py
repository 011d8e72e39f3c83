"""Evaluates a plateau: decides whether the system sustained a stage of constant load in the search for the limit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from towtank.analysis import load as loads
from towtank.analysis import objective_scopes
from towtank.analysis.checks.generator import GENERATOR_BUSY, STALL_INVALID
from towtank.analysis.doubts import percent_text, seconds, signed_percent
from towtank.analysis.limits import silence
from towtank.analysis.limits.search import PlateauFailure, PlateauOutcome
from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.objective import COMPARISONS
from towtank.analysis.statistics import ERROR_AT_LEAST, error_of
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.windows import by_stage
from towtank.analysis.windows.window import Window
from towtank.estimates import few_digits

# Throughput fails only if it is below the arrival rate by more than this many standard deviations of a Poisson count,
# because random arrivals do not explain such a shortfall.
_CHANCE = 3.0
# One-sided 95 % quantile of the normal distribution, for the test whether throughput still grows with the load.
_CERTAIN = 1.645
# A plateau fails for lack of growth only if the growth of throughput is significantly less than this share of ideal
# growth, in (0, 1). If the error of the growth is large, the plateau does not fail.
_HALF = 0.5


@dataclass(frozen=True)
class PlateauRules:
    """Criteria by which a plateau (a stage of constant load) fails.

    Attributes
    ----------
    objectives : list of dict
        Objectives from the manifest of the study that apply at every load; empty if the search ignores objectives.
    errors, achieved, grows : float or None
        Limits from `stop_when` of the search; None for a criterion that the search does not use. They are the largest
        share of failures, the smallest share of the arrival rate that must be completed, and the smallest share of
        ideal growth of throughput. [1]
    is_open : bool
        True for an open load.
    """

    objectives: list[dict[str, Any]] = field(default_factory=list)
    errors: float | None = None
    achieved: float | None = None
    grows: float | None = None
    is_open: bool = False

    @classmethod
    def of(cls, search: dict[str, Any], objectives: Sequence[dict[str, Any]]) -> PlateauRules:
        """Derive the criteria from the entry `search` in the manifest of a run, and from the objectives of the
        study.
        """
        stops = search["stop_when"]
        usable = (
            [objective for objective in objectives if _is_searched(objective)] if "objective_missed" in stops else []
        )
        return cls(
            usable, stops.get("errors"), stops.get("achieved"), stops.get("throughput_grows"), search["of"] == "rate"
        )


def _is_searched(objective: dict[str, Any]) -> bool:
    at_a_load = objective.get("users") is not None or objective.get("rate") is not None
    return not at_a_load and objective.get("phase") in (None, "steady")


@dataclass(frozen=True)
class Plateau:
    """Measured values of one plateau (a stage of constant load), and the decision whether the plateau passed.

    Attributes
    ----------
    number : int
        Number of the plateau in the search, counted from 0.
    level : float
        Constant load of the plateau. [1] or [1/s]
    stage : str
        Name of the steady stage of the plateau.
    window : Window
        Analysed window within the steady stage.
    failure : dict or None
        `kind`, `text`, `seen` and `limit` of the first failure; None if the plateau passed.
    margin : float or None
        Largest log(measured value / limit) over all objectives; above 0 if an objective is missed. Infinite if requests
        were in flight for longer than the limit and none of them ended. None if no objective has a value.
    binding : dict or None
        Objective that determines `margin`: `text`, `metric`, `seen` (None if the margin is infinite) and `limit`.
    settled : bool or None
        True if the settle stage before the plateau ended because the system was steady; None if its length was fixed.
    waiting : float
        Number of arrivals that waited for a user at the end of the plateau. [1]
    in_flight : float
        Mean number of requests in flight. [1]
    throughput_error : float or None
        Standard error of the throughput, increased because the autocorrelation is unknown. None for a plateau of less
        than eight seconds. [1/s]
    """

    number: int
    level: float
    stage: str
    window: Window
    throughput: Estimate
    response: dict[str, Any]
    errors_share: float
    waiting: float
    in_flight: float
    failure: dict[str, Any] | None
    margin: float | None
    binding: dict[str, Any] | None
    settled: bool | None
    throughput_error: float | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None

    @property
    def outcome(self) -> PlateauOutcome:
        """Result of the plateau for the decisions of the search: level, kind of failure, and margin."""
        kind = None if self.failure is None else PlateauFailure(self.failure["kind"])
        return PlateauOutcome(self.level, kind, self.margin)

    def document(self) -> dict[str, Any]:
        """Return the plateau as JSON for a run summary: level, window, outcome and measured values."""
        return {
            "level": int(self.level) if self.level.is_integer() else self.level,
            "stage": self.stage,
            "start_s": self.window.start_s,
            "end_s": self.window.end_s,
            "left_out_s": self.window.start_s - self.window.asked_start_s,
            "passed": self.passed,
            "failure": self.failure,
            "settled": self.settled,
            "steady": self.window.steady,
            "throughput_per_s": self.throughput.document(),
            "response_time_s": {key: self.response[key] for key in ("mean", "p50", "p95", "p99")},
            "errors_share": self.errors_share,
            "waiting_at_end": self.waiting,
            "objective": self.binding,
        }


def judge_plateau(
    measurement: Measurement,
    stage: int,
    rules: PlateauRules,
    before: Sequence[Plateau],
    settled: bool | None = None,
) -> Plateau | None:
    """Evaluate a plateau: decide whether the system sustained its load.

    Parameters
    ----------
    measurement : Measurement
        Measurement of the run, or of this plateau alone.
    stage : int
        Number of the steady stage of the plateau.
    rules : PlateauRules
        Criteria of failure.
    before : sequence of Plateau
        All earlier plateaus of the search.
    settled : bool, optional
        True if the settle stage before the plateau ended because the system was steady.

    Returns
    -------
    Plateau or None
        None if no interval of the plateau was recorded.

    Notes
    -----
    If a plateau fails for several reasons, only the first reason in this order is reported: a saturated or stalled
    generator, errors, a missed objective, a server that does not respond, throughput below the arrival rate, a system
    that did not settle, throughput that no longer grows. The order matters: a saturated generator makes all other
    values useless, and failed requests distort response times.
    """
    window = by_stage.of_stage(measurement, stage, settled=settled is True)
    if window is None:
        return None
    chosen = measurement.inside(window.start_s, window.end_s)
    about = measurement.stages[stage]
    level = float(about["rate"] if rules.is_open else about["users"])
    every = measurement.transactions
    margins = list(_margins(rules, measurement, chosen))
    binding = max(margins, key=lambda pair: pair[0], default=None)
    waiting = measurement.waiting[np.flatnonzero(chosen)[-1]]
    draft = Plateau(
        number=len(before),
        level=level,
        stage=str(about["name"]),
        window=window,
        throughput=loads.throughput(every.ok, measurement, chosen),
        response=loads.distribution(
            every.response,
            every.response_sum_s,
            chosen,
            bin_s=measurement.bin_s,
            alike=loads.response_by_users(measurement, chosen),
        ),
        errors_share=loads.errors(every, chosen)["share"],
        waiting=float(waiting),
        in_flight=float(measurement.in_flight[chosen].mean()),
        failure=None,
        margin=None if binding is None else binding[0],
        binding=None if binding is None else binding[1],
        settled=settled,
        throughput_error=_throughput_error(every.ok[chosen], measurement.lengths[chosen]),
    )
    failure = next(_failures(draft, measurement, chosen, rules, before), None)
    return Plateau(**{**draft.__dict__, "failure": failure})


def _margins(rules: PlateauRules, measurement: Measurement, chosen: Mask) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield the margin of each objective, log(measured value / limit), and an entry for the run summary that describes
    the objective.
    """
    for objective in rules.objectives:
        seen, limit = _seen(objective, measurement, chosen), objective.get("value")
        if not isinstance(limit, int | float):
            continue
        upward = objective.get("comparison") in (">", ">=")
        entry = {"text": objective.get("text", ""), "metric": objective.get("metric", ""), "seen": seen, "limit": limit}
        if silence.is_missed(objective, measurement, chosen):
            yield math.inf, {**entry, "seen": None}
        elif seen is not None and seen > 0 and limit > 0:
            yield (math.log(limit / seen) if upward else math.log(seen / limit)), entry


def _seen(objective: dict[str, Any], measurement: Measurement, chosen: Mask) -> float | None:
    """Return the measured value of an objective at a plateau. If the objective applies to windows, this is the value of
    the worst window.
    """
    metric = str(objective.get("metric"))
    column = objective_scopes.column_of(measurement, objective.get("transaction"))
    every = objective.get("every_s")
    if every is None:
        return objective_scopes.value(metric, column, measurement, chosen)
    values = [
        value
        for window in objective_scopes.windows_of(measurement, chosen, float(every))
        if (value := objective_scopes.value(metric, column, measurement, window)) is not None
    ]
    upward = objective.get("comparison") in (">", ">=")
    return (min if upward else max)(values, default=None)


def _failures(
    plateau: Plateau, measurement: Measurement, chosen: Mask, rules: PlateauRules, before: Sequence[Plateau]
) -> Iterator[dict[str, Any]]:
    yield from _generator(measurement, chosen)
    if rules.errors is not None and plateau.errors_share > rules.errors:
        text = f"{percent_text(plateau.errors_share)} of transactions failed, limit {percent_text(rules.errors)}"
        yield failure(PlateauFailure.ERRORS, text, plateau.errors_share, rules.errors)
    yield from _objectives(rules, measurement, chosen)
    yield from _silent(rules, measurement, chosen)
    yield from _achieved(plateau, rules)
    yield from _not_settled(plateau)
    yield from _flat(plateau, rules, before)


def failure(kind: PlateauFailure, text: str, seen: float | None = None, limit: float | None = None) -> dict[str, Any]:
    """Return a failure as JSON for a run summary."""
    return {"kind": str(kind), "text": text, "seen": seen, "limit": limit}


def _generator(measurement: Measurement, chosen: Mask) -> Iterator[dict[str, Any]]:
    threads, length = max(1, measurement.recording.workers), measurement.length_of(chosen)
    busy = float(measurement.cpu_s[chosen].sum()) / length / threads
    if busy > GENERATOR_BUSY:
        text = f"the generator's threads were busy for {percent_text(busy)}, limit {percent_text(GENERATOR_BUSY)}"
        yield failure(PlateauFailure.GENERATOR_SATURATED, text, busy, GENERATOR_BUSY)
    stalled = float(measurement.stalled_s[chosen].sum()) / length
    if stalled > STALL_INVALID:
        text = f"the generator stalled for {percent_text(stalled)} of the time, limit {percent_text(STALL_INVALID)}"
        yield failure(PlateauFailure.GENERATOR_SATURATED, text, stalled, STALL_INVALID)


def _objectives(rules: PlateauRules, measurement: Measurement, chosen: Mask) -> Iterator[dict[str, Any]]:
    for objective in rules.objectives:
        seen, limit = _seen(objective, measurement, chosen), objective.get("value")
        compare = COMPARISONS.get(str(objective.get("comparison")))
        if silence.is_missed(objective, measurement, chosen):
            text = f"{objective.get('text', '')}: no request ended, and some were in flight for longer than this limit"
            yield failure(PlateauFailure.OBJECTIVE_MISSED, text, None, float(objective["value"]))
        if seen is None or compare is None or not isinstance(limit, int | float) or compare(seen, limit):
            continue
        text = f"{objective.get('text', '')}: seen {_shown(str(objective.get('metric')), seen)}"
        yield failure(PlateauFailure.OBJECTIVE_MISSED, text, seen, float(limit))


def _silent(rules: PlateauRules, measurement: Measurement, chosen: Mask) -> Iterator[dict[str, Any]]:
    """Yield a failure if requests were in flight for a long time but no request ended. The stop criteria of the search
    do not affect this failure.
    """
    waited = silence.waited_for(rules.objectives, measurement, chosen)
    if waited is not None:
        text = (
            f"no request ended in {seconds(measurement.length_of(chosen))}, although some were in flight for more than "
        )
        yield failure(PlateauFailure.ACHIEVED_BELOW_OFFERED, f"{text}{seconds(waited)}", 0.0, rules.achieved)


def _shown(metric: str, value: float) -> str:
    return (
        percent_text(value)
        if metric == "errors"
        else f"{few_digits(value, 4)} /s"
        if metric == "throughput"
        else seconds(value)
    )


def _achieved(plateau: Plateau, rules: PlateauRules) -> Iterator[dict[str, Any]]:
    if not rules.is_open or rules.achieved is None or plateau.throughput.value is None:
        return
    length = plateau.window.length_s
    failed = plateau.errors_share / max(1 - plateau.errors_share, 1e-9)
    ended = plateau.throughput.value * (1 + failed)
    share = ended / plateau.level
    missing = (plateau.level - ended) * length
    if share < rules.achieved and missing > _CHANCE * math.sqrt(plateau.level * length):
        text = f"{few_digits(ended, 4)} /s of the offered {plateau.level:g} /s ended ({percent_text(share)}), "
        yield failure(
            PlateauFailure.ACHIEVED_BELOW_OFFERED, f"{text}limit {percent_text(rules.achieved)}", share, rules.achieved
        )


def _not_settled(plateau: Plateau) -> Iterator[dict[str, Any]]:
    """Yield a failure for each measured value that still changes. Only gross changes count, unless the settle stage
    ended without a steady state.
    """
    for change in plateau.window.changes:
        if plateau.settled is False or change.is_gross:
            text = f"{change.text} still changes by {signed_percent(change.share)} over the steady stage"
            yield failure(PlateauFailure.NOT_SETTLED, text, abs(change.share), change.tolerance)


def _flat(plateau: Plateau, rules: PlateauRules, before: Sequence[Plateau]) -> Iterator[dict[str, Any]]:
    """Yield a failure if throughput grew too little, compared with the highest passed level below this plateau. The
    growth must be below the required share of ideal growth, and significantly below the share `_HALF`.
    """
    lower = [
        earlier for earlier in before if earlier.passed and earlier.level < plateau.level and earlier.throughput.value
    ]
    if rules.grows is None or not lower or plateau.throughput.value is None:
        return
    other = max(lower, key=lambda candidate: (candidate.level, candidate.number))
    first, second = other.throughput.value or 0.0, plateau.throughput.value
    ideal = first * (plateau.level / other.level - 1)
    gain = (second - first) / ideal
    error = math.hypot(*(_error(side) for side in (other, plateau))) / ideal
    if gain < rules.grows and gain + _CERTAIN * error < _HALF:
        text = f"throughput changes from {few_digits(first, 4)} /s at {other.level:g} "
        text += f"to {few_digits(second, 4)} /s at {plateau.level:g}: "
        text += f"{percent_text(gain)} of ideal growth, limit {percent_text(rules.grows)}"
        yield failure(PlateauFailure.THROUGHPUT_PLATEAU, text, gain, rules.grows)


def _throughput_error(counts: Floats, lengths: Floats) -> float | None:
    """Return the standard error of the throughput; None if too few intervals were recorded. [1/s]"""
    error = error_of(counts, lengths)
    return None if error is None or len(counts) < ERROR_AT_LEAST else error.standard_error


def _error(plateau: Plateau) -> float:
    """Return the standard error of the throughput of a plateau; infinite if unknown, so that no test is significant.
    [1/s]
    """
    return math.inf if plateau.throughput_error is None else plateau.throughput_error
