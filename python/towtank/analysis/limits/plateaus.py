"""Evaluates a plateau: decides whether the system sustained a stage of constant load in the search for the limit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from towtank.analysis import load as loads
from towtank.analysis import objective_scopes
from towtank.analysis.checks.generator import GENERATOR_BUSY, STALL_INVALID
from towtank.analysis.doubts import percent_text, seconds, signed_percent
from towtank.analysis.limits import silence
from towtank.analysis.limits.search import PlateauFailure, PlateauOutcome
from towtank.analysis.measurement import Floats, Mask, Measurement
from towtank.analysis.objective import Objective
from towtank.analysis.statistics import ERROR_AT_LEAST, error_of
from towtank.analysis.statistics.estimates import Estimate
from towtank.analysis.windows import by_stage
from towtank.analysis.windows.window import Window
from towtank.digging import dig
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
    objectives : sequence of Objective
        Objectives of the study that apply at every load; empty if the search ignores objectives.
    errors, achieved, grows : float or None
        Limits from `stop_when` of the search; None for a criterion that the search does not use. They are the largest
        share of failures, the smallest share of the arrival rate that must be completed, and the smallest share of
        ideal growth of throughput. [1]
    is_open : bool
        True for an open load.
    """

    objectives: Sequence[Objective] = ()
    errors: float | None = None
    achieved: float | None = None
    grows: float | None = None
    is_open: bool = False

    @classmethod
    def of(cls, search: Mapping[str, object], objectives: Iterable[Mapping[str, object]]) -> PlateauRules:
        """Derive the criteria from the entry `search` in the manifest of a run, and from the objectives of the
        study.
        """
        stops = dig(search, "stop_when") or {}
        read = map(Objective.read, objectives)
        usable = [each for each in read if each.load is None and each.phase in (None, "steady")]
        return cls(
            tuple(usable) if "objective_missed" in stops else (),
            errors=dig(stops, "errors"),
            achieved=dig(stops, "achieved"),
            grows=dig(stops, "throughput_grows"),
            is_open=search.get("of") == "rate",
        )


@dataclass(frozen=True)
class Failure:
    """Reason why a plateau failed, or why a search found its limit.

    Attributes
    ----------
    kind : PlateauFailure
    text : str
    seen, limit : float or None
        Measured value and limit, in the base unit of the quantity; None if the reason has no number.
    """

    kind: PlateauFailure
    text: str
    seen: float | None = None
    limit: float | None = None


@dataclass(frozen=True)
class Binding:
    """Objective with the largest margin at a plateau.

    Attributes
    ----------
    text, metric : str
    seen : float or None
        Measured value, in the base unit of the metric; None if requests were in flight for longer than the limit and
        none of them ended.
    limit : float
    """

    text: str
    metric: str
    seen: float | None
    limit: float


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
    failure : Failure or None
        First failure; None if the plateau passed.
    margin : float or None
        Largest log(measured value / limit) over all objectives; above 0 if an objective is missed. Infinite if requests
        were in flight for longer than the limit and none of them ended. None if no objective has a value.
    binding : Binding or None
        Objective that determines `margin`.
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
    response: loads.Distribution
    errors_share: float
    waiting: float
    in_flight: float
    failure: Failure | None
    margin: float | None
    binding: Binding | None
    settled: bool | None
    throughput_error: float | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None

    @property
    def outcome(self) -> PlateauOutcome:
        """Result of the plateau for the decisions of the search: level, kind of failure, and margin."""
        return PlateauOutcome(self.level, None if self.failure is None else self.failure.kind, self.margin)

    @property
    def whole_level(self) -> float:
        """Load level as summaries write it: an integer if it is a whole number. [1] or [1/s]"""
        return int(self.level) if self.level.is_integer() else self.level

    def document(self) -> dict[str, object]:
        """Return the plateau as JSON for a run summary: level, window, outcome and measured values."""
        return {
            "level": self.whole_level,
            "stage": self.stage,
            "start_s": self.window.start_s,
            "end_s": self.window.end_s,
            "left_out_s": self.window.start_s - self.window.asked_start_s,
            "passed": self.passed,
            "failure": written(self.failure),
            "settled": self.settled,
            "steady": self.window.steady,
            "throughput_per_s": self.throughput.document(),
            "response_time_s": {
                key: loads.estimate_in(self.response, key).document() for key in ("mean", "p50", "p95", "p99")
            },
            "errors_share": self.errors_share,
            "waiting_at_end": self.waiting,
            "objective": written(self.binding),
        }


def written(part: Failure | Binding | None) -> dict[str, object] | None:
    """Return a part of a plateau as JSON for a run summary; None if it is missing."""
    return None if part is None else asdict(part)


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
    level = float((about.rate if rules.is_open else about.users) or 0.0)
    every = measurement.transactions
    margins = list(_margins(rules, measurement, chosen))
    binding = max(margins, key=lambda pair: pair[0], default=None)
    waiting = measurement.waiting[np.flatnonzero(chosen)[-1]]
    draft = Plateau(
        number=len(before),
        level=level,
        stage=str(about.name),
        window=window,
        throughput=loads.throughput(every.ok, measurement, chosen),
        response=loads.distribution(
            every.response,
            every.response_sum_s,
            chosen,
            bin_s=measurement.bin_s,
            alike=loads.response_by_users(measurement, chosen),
        ),
        errors_share=loads.errors(every, chosen).share,
        waiting=float(waiting),
        in_flight=float(measurement.in_flight[chosen].mean()),
        failure=None,
        margin=None if binding is None else binding[0],
        binding=None if binding is None else binding[1],
        settled=settled,
        throughput_error=_throughput_error(every.ok[chosen], measurement.lengths[chosen]),
    )
    return replace(draft, failure=next(_failures(draft, measurement, chosen, rules, before), None))


def _margins(rules: PlateauRules, measurement: Measurement, chosen: Mask) -> Iterator[tuple[float, Binding]]:
    """Yield the margin of each objective, log(measured value / limit), and the objective with its measured value."""
    for objective in rules.objectives:
        seen, limit = _seen(objective, measurement, chosen), objective.limit
        if limit is None:
            continue
        binding = Binding(objective.text, objective.metric, seen, limit)
        if silence.is_missed(objective, measurement, chosen):
            yield math.inf, replace(binding, seen=None)
        elif seen is not None and seen > 0 and limit > 0:
            yield math.log(limit / seen if objective.is_upward else seen / limit), binding


def _seen(objective: Objective, measurement: Measurement, chosen: Mask) -> float | None:
    """Return the measured value of an objective at a plateau. If the objective applies to windows, this is the value of
    the worst window.
    """
    metric, column = objective.metric, objective_scopes.column_of(measurement, objective.transaction)
    if objective.every_s is None:
        return objective_scopes.value(metric, column, measurement, chosen)
    values = [
        value
        for window in objective_scopes.windows_of(measurement, chosen, objective.every_s)
        if (value := objective_scopes.value(metric, column, measurement, window)) is not None
    ]
    return (min if objective.is_upward else max)(values, default=None)


def _failures(
    plateau: Plateau, measurement: Measurement, chosen: Mask, rules: PlateauRules, before: Sequence[Plateau]
) -> Iterator[Failure]:
    yield from _generator(measurement, chosen)
    if rules.errors is not None and plateau.errors_share > rules.errors:
        text = f"{percent_text(plateau.errors_share)} of transactions failed, limit {percent_text(rules.errors)}"
        yield Failure(PlateauFailure.ERRORS, text, plateau.errors_share, rules.errors)
    yield from _objectives(rules, measurement, chosen)
    yield from _silent(rules, measurement, chosen)
    yield from _achieved(plateau, rules)
    yield from _not_settled(plateau)
    yield from _flat(plateau, rules, before)


def _generator(measurement: Measurement, chosen: Mask) -> Iterator[Failure]:
    threads, length = max(1, measurement.recording.workers), measurement.length_of(chosen)
    busy = float(measurement.cpu_s[chosen].sum()) / length / threads
    if busy > GENERATOR_BUSY:
        text = f"the generator's threads were busy for {percent_text(busy)}, limit {percent_text(GENERATOR_BUSY)}"
        yield Failure(PlateauFailure.GENERATOR_SATURATED, text, busy, GENERATOR_BUSY)
    stalled = float(measurement.stalled_s[chosen].sum()) / length
    if stalled > STALL_INVALID:
        text = f"the generator stalled for {percent_text(stalled)} of the time, limit {percent_text(STALL_INVALID)}"
        yield Failure(PlateauFailure.GENERATOR_SATURATED, text, stalled, STALL_INVALID)


def _objectives(rules: PlateauRules, measurement: Measurement, chosen: Mask) -> Iterator[Failure]:
    for objective in rules.objectives:
        seen, limit = _seen(objective, measurement, chosen), objective.limit
        if limit is None:
            continue
        if silence.is_missed(objective, measurement, chosen):
            text = f"{objective.text}: no request ended, and some were in flight for longer than this limit"
            yield Failure(PlateauFailure.OBJECTIVE_MISSED, text, None, limit)
        if seen is not None and not objective.compare(seen, limit):
            text = f"{objective.text}: seen {_shown(objective.metric, seen)}"
            yield Failure(PlateauFailure.OBJECTIVE_MISSED, text, seen, limit)


def _silent(rules: PlateauRules, measurement: Measurement, chosen: Mask) -> Iterator[Failure]:
    """Yield a failure if requests were in flight for a long time but no request ended. The stop criteria of the search
    do not affect this failure.
    """
    waited = silence.waited_for(rules.objectives, measurement, chosen)
    if waited is not None:
        text = (
            f"no request ended in {seconds(measurement.length_of(chosen))}, although some were in flight for more than "
        )
        yield Failure(PlateauFailure.ACHIEVED_BELOW_OFFERED, f"{text}{seconds(waited)}", 0.0, rules.achieved)


def _shown(metric: str, value: float) -> str:
    return (
        percent_text(value)
        if metric == "errors"
        else f"{few_digits(value, 4)} /s"
        if metric == "throughput"
        else seconds(value)
    )


def _achieved(plateau: Plateau, rules: PlateauRules) -> Iterator[Failure]:
    if not rules.is_open or rules.achieved is None or plateau.throughput.value is None:
        return
    length = plateau.window.length_s
    failed = plateau.errors_share / max(1 - plateau.errors_share, 1e-9)
    ended = plateau.throughput.value * (1 + failed)
    share = ended / plateau.level
    missing = (plateau.level - ended) * length
    if share < rules.achieved and missing > _CHANCE * math.sqrt(plateau.level * length):
        text = f"{few_digits(ended, 4)} /s of the offered {plateau.level:g} /s ended ({percent_text(share)}), "
        yield Failure(
            PlateauFailure.ACHIEVED_BELOW_OFFERED, f"{text}limit {percent_text(rules.achieved)}", share, rules.achieved
        )


def _not_settled(plateau: Plateau) -> Iterator[Failure]:
    """Yield a failure for each measured value that still changes. Only gross changes count, unless the settle stage
    ended without a steady state.
    """
    for change in plateau.window.changes:
        if plateau.settled is False or change.is_gross:
            text = f"{change.text} still changes by {signed_percent(change.share)} over the steady stage"
            yield Failure(PlateauFailure.NOT_SETTLED, text, abs(change.share), change.tolerance)


def _flat(plateau: Plateau, rules: PlateauRules, before: Sequence[Plateau]) -> Iterator[Failure]:
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
        yield Failure(PlateauFailure.THROUGHPUT_PLATEAU, text, gain, rules.grows)


def _throughput_error(counts: Floats, lengths: Floats) -> float | None:
    """Return the standard error of the throughput; None if too few intervals were recorded. [1/s]"""
    error = error_of(counts, lengths)
    return None if error is None or len(counts) < ERROR_AT_LEAST else error.standard_error


def _error(plateau: Plateau) -> float:
    """Return the standard error of the throughput of a plateau; infinite if unknown, so that no test is significant.
    [1/s]
    """
    return math.inf if plateau.throughput_error is None else plateau.throughput_error
