"""Describes how far measurements support a sizing answer, and refuses answers without this support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from towtank.errors import MeasurementError
from towtank.estimates import few_digits, number_estimate, relative_error
from towtank.model import EXACT_PERCENTILES, MISS_LIMIT, FitAssumption, FittedFile, servers_of
from towtank.sizing.evaluate import COARSE, CORRECTED, Job, Outcome, outcomes
from towtank.sizing.growth import GrowthModel, HistoricGrowth
from towtank.sizing.interval import Interval, rate_text, share_text
from towtank.sizing.limit_search import Limits
from towtank.sizing.question import Question
from towtank.sizing.rests import rests_on
from towtank.sizing.result import MeasuredRange, TrustResult
from towtank.sizing.search import Found, Search
from towtank.sizing.settle import SizingProblem
from towtank.sizing.trend import SURE

FARTHEST_THROUGHPUT = 10.0
"""Highest throughput for which hardware is sized, relative to the highest measured throughput. [ratio]

This is a convention. The measured demands do not include effects (of locks, garbage collection, the network) that
appear only at far more work than was measured.
"""
FARTHEST_CPUS = 4.0
"""Largest ratio of recommended to measured CPUs that raises no doubt about contention between CPUs. [ratio]"""

FORMS_APART = 1.05
"""Ratio of the loads predicted by linear and exponential growth above which both loads are reported. [ratio]"""
LOSS_UNASKED = 0.001
"""Share of dropped arrivals above which a doubt is added, if no objective limits the losses. [ratio]"""
FARTHEST_HORIZON = 3.0
"""Longest horizon of a sizing that raises no doubt, relative to the length of the load history. [ratio]

This is a convention. A short history does not show if its growth continues.
"""


def refuse_a_guess(question: Question, *, beyond: bool) -> None:
    """Refuse to size for a load that the measurements do not support, unless `beyond` is set.

    Raises
    ------
    MeasurementError
        If it is unknown what limited the measured load, or if the load is too far beyond the measured range.
    """
    fitted = question.basis.fitted
    if fitted is None or beyond:
        return
    if question.basis.guess and not question.basis.asserted:
        raise MeasurementError(
            f"{question.basis.source}: {question.basis.guess}",
            hint="observe the tiers of the system, give --servers N if you know that N CPUs are the limit, or give "
            "--beyond to get an uncertain answer",
        )
    asked = _asked(question)
    if asked > FARTHEST_THROUGHPUT * fitted.throughput:
        raise MeasurementError(
            f"the load requires {few_digits(asked, 4)} /s, {asked / fitted.throughput:.3g} times the highest "
            f"throughput measured "
            f"({few_digits(fitted.throughput, 4)} /s); above {FARTHEST_THROUGHPUT:g} times, the answer would be a "
            "guess",
            hint="measure at a higher load, or give --beyond to get an uncertain answer",
        )


def _asked(question: Question) -> float:
    """Return the throughput that the strongest hardware has at the requested load. [1/s]"""
    strongest = tuple(tier.strongest for tier in question.tiers)
    return sum(outcomes(question, [Job(strongest, question.load)])[0].throughput.values())


def no_probability(question: Question) -> str:
    """Return the reason why no probability can be computed for the answer; an empty text if it can be computed."""
    basis, fitted = question.basis, question.basis.fitted
    if basis.guess or fitted is None:
        return basis.guess
    missed = abs(fitted.held_out_error or 0.0) > MISS_LIMIT
    if not (missed or basis.unreached) or _asked(question) <= fitted.throughput:
        return ""
    if missed:
        return (
            f"the load is above the highest throughput measured, which the model missed by "
            f"{relative_error(fitted.held_out_error or 0.0, fitted.held_out_interval)}"
        )
    return "the load is above the highest throughput measured, at which no limit was reached"


def without_draws(question: Question) -> Question:
    """Return the sizing question without random draws. Only best estimates are then computed."""
    return replace(question, draws=(), speed_draws={}, growth_shares=(), growth_draws=(), corrections={}, counted=())


def trust(settled: SizingProblem, search: Search, limits: Limits | None, more: Sequence[str] = ()) -> TrustResult:
    """Return how far measurements support the sizing answer: range, errors, assumptions and doubts. `limits` are the
    load limits of the answer; `more` are further doubts.
    """
    question = settled.question
    fitted = question.basis.fitted
    doubts = (*_doubts(question, search.answer, settled.growing), *more)
    if fitted is None:
        doubts = ("the model file contains no measurements: its numbers are taken as given", *doubts)
    found = TrustResult(
        measured=None,
        range="unknown",
        held_out_error=fitted and fitted.held_out_error,
        held_out_interval=fitted and fitted.held_out_interval,
        assumptions=_assumptions(question),
        model=question.basis.kind,
        model_why=question.basis.why or None,
        rests_on=rests_on(settled),
        no_interval=_no_interval(question, search.answer),
        no_limit_interval=(limits and limits.why_no_interval) or None,
        draws=len(question.draws),
        counted=question.counted,
        doubts=doubts,
    )
    return found if fitted is None else _with_range(found, fitted, search.answer)


def _with_range(found: TrustResult, fitted: FittedFile, answer: Found | None) -> TrustResult:
    """Return the result with a comparison of the load with the measured range."""
    asked = sum(answer.outcomes[0].throughput.values()) if answer else None
    return found.model_copy(
        update={
            "measured": MeasuredRange(source=fitted.source, users=fitted.users, throughput_per_s=fitted.throughput),
            "range": "unknown" if asked is None else "inside" if asked <= fitted.throughput else "beyond",
            "times_measured": None if asked is None else asked / fitted.throughput,
            "times_measured_interval": answer and _times(answer, fitted.throughput),
            "verdict": fitted.verdict,
        }
    )


def _no_interval(question: Question, answer: Found | None) -> str | None:
    """Return the reason why the values of an answer have no intervals; None if they have intervals."""
    if question.draws:
        return None
    reason = no_probability(question) or "the model's demands are given without error"
    simulated = answer is not None and any(
        simulation is not None and simulation.values for simulation in answer.simulated
    )
    return f"{reason}; intervals in brackets include only the error of the simulation" if simulated else reason


def _times(answer: Found, highest: float) -> Interval | None:
    """Return the interval of the throughput of the answer, relative to the highest measured throughput; None without
    random draws.
    """
    if answer.drawn is None:
        return None
    return answer.drawn.interval(lambda group: sum(group[0].throughput.values())).times(1 / highest)


def _doubts(question: Question, answer: Found | None, growing: GrowthModel | None) -> list[str]:
    doubts = list(question.basis.not_used)
    fitted = question.basis.fitted
    if fitted is not None and fitted.verdict != "supported":
        doubts += question.basis.doubts or ["the points support the model only with doubts: see `towtank model fit`"]
    unknown = no_probability(question)
    if unknown:
        doubts.append(f"the probability is unknown: {unknown}")
    elif "demands" not in question.counted:
        left = (
            f"the probability includes only the uncertainty of {' and '.join(question.counted)}"
            if question.draws
            else "no probability"
        )
        doubts.append(f"the uncertainty of the demands is unknown, so {left}: give `uncertainty`")
    if question.file.data is not None and question.file.load.horizon:
        doubts.append(
            "the growth of the data is taken as given: disks, memory and the probability do not include its error"
        )
    if answer is not None:
        doubts += _doubts_of(question, answer)
    return doubts + (_growth_doubts(question, growing) if growing is not None else [])


def _growth_doubts(question: Question, growing: GrowthModel) -> list[str]:
    doubts = list(growing.notes)
    horizon = question.file.load.horizon
    if growing.certain and horizon:
        doubts.append(
            "the uncertainty of the growth is unknown, so the probability does not include it: give growth_interval"
        )
    if not isinstance(growing, HistoricGrowth):
        return doubts
    length = growing.history.length_d
    if horizon > FARTHEST_HORIZON * length:
        doubts.append(
            f"the horizon of {horizon:.0f} days is {horizon / length:.3g} times the {length} days of the history, more "
            f"than {FARTHEST_HORIZON:g} times: the history does not show whether growth continues so long"
        )
    doubts += _form_doubts(growing, horizon)
    if growing.history.season == "yearly" and not question.file.load.start:
        doubts.append(
            f"the given load is taken as a load of {growing.start:%B}: give `start` if it belongs to another month"
        )
    return doubts


def _form_doubts(growing: HistoricGrowth, horizon: float) -> list[str]:
    """Return a doubt about the form of the growth, with the loads at the horizon for linear and for exponential growth;
    an empty list if the two loads are almost equal.
    """
    history, other = growing.history, growing.otherwise
    if other is None or not horizon:
        return []
    factors = [each.factor(horizon) for each in (growing, other)]
    if max(factors) < FORMS_APART * min(factors):
        return []
    form, otherwise = history.trend.form, other.history.trend.form
    if abs(history.margin) > SURE:
        why = f"{form} growth fits the history better than {otherwise} growth"
    else:
        why = f"the history does not show whether the growth is linear or exponential; {form} growth is assumed"
    return [
        f"{why}: after {horizon:.0f} days the load is {factors[0]:.3g} times the load of today, with {otherwise} "
        "growth "
        f"{factors[1]:.3g} times; choose the form with `trend` of the history"
    ]


def _doubts_of(question: Question, answer: Found) -> list[str]:
    doubts = []
    stations = question.basis.stations
    for tier, option in zip(question.tiers, answer.candidate, strict=True):
        measured = max(servers_of(stations[name]) or 1 for name in tier.stations)
        if option.cpus > FARTHEST_CPUS * measured:
            doubts.append(
                f"{tier.name}: {option.cpus} {tier.unit}s in a node are {option.cpus / measured:.3g} times "
                f"the {measured} of the model, whose demands do not include contention between so many"
            )
        if question.file.nodes_lost and not tier.scales:
            doubts.append(f"{tier.name} has one node: the check with nodes lost does not cover the loss of this node")
        if tier.beyond_room:
            doubts.append(
                f"{tier.name}: {tier.beyond_room} options were left out because they have more {tier.unit}s than the "
                "`capacity` of the station: raise `capacity` in the model if it grows with the number of servers"
            )
    first = answer.outcomes[0]
    doubts = _losses(question, first) + doubts
    if not first.exact:
        doubts.append(f"the network has no exact solution: the answer is an approximation{_stated(answer)}")
    if not question.draws:
        doubts += dict.fromkeys(text for outcome in answer.outcomes for text in outcome.near_limits(question))
    doubts += _doubts_of_simulations(question, answer)
    simulated = any(simulation is not None for simulation in answer.simulated)
    if first.method and first.method not in (EXACT_PERCENTILES, CORRECTED) and not simulated:
        doubts.append(f"percentiles are approximate ({first.method}) and were not simulated")
    return doubts


def _losses(question: Question, outcome: Outcome) -> list[str]:
    """Return a doubt for each class that loses more than `LOSS_UNASKED` of its arrivals at full stations, if no
    objective limits this loss.
    """
    limited = {check.name for check in question.checks if check.is_loss}
    return [
        f"{name}: full stations drop {share_text(loss)} of the arrivals, so {rate_text(outcome.throughput[name])} of "
        f"{rate_text(outcome.throughput[name] / (1 - loss))} are served, and no objective limits the loss: "
        "give `loss < 1 %`"
        for name, loss in outcome.loss.items()
        if loss > LOSS_UNASKED and name not in limited
    ]


def _stated(answer: Found) -> str:
    """Describe the known error of an approximate solution, and whether intervals include it; an empty text without
    error.
    """
    within = max(outcome.within for outcome in answer.outcomes)
    if not within:
        return ""
    if within < 1:
        stated = f", whose mean response times were up to {100 * within:.0f} % off in networks of this kind"
    else:
        # If a computed time is too small, its error is below 100 %. An error of 100 % or more therefore gives no upper
        # bound of the true time.
        stated = ", whose mean response times may be many times too small or too large"
    if within <= COARSE:
        return stated
    simulated = any(simulation is not None and simulation.values for simulation in answer.simulated)
    left = "; only simulated values do not have this error" if simulated else "; no interval includes this error"
    return f"{stated}{left}"


def _doubts_of_simulations(question: Question, answer: Found) -> list[str]:
    """Return the warnings of the simulator about the answer as doubts."""
    doubts: list[str] = []
    for outcome, found in zip(answer.outcomes, answer.simulated, strict=False):
        if found is None or not found.doubts:
            continue
        lost = outcome.job.lost
        where = f" with {question.file.nodes_lost} of the nodes of {lost} lost" if lost else ""
        kept = f"; percentiles stay approximate ({outcome.method})" if found.too_short else ""
        doubts.append(f"simulation{where}: {'; '.join(found.doubts)}{kept}")
    return doubts


def _assumptions(question: Question) -> tuple[FitAssumption, ...]:
    known = list(question.basis.assumptions) or [
        FitAssumption(assumes="demands do not depend on the load", tested="no: they come from a model file")
    ]
    several = any(tier.scales for tier in question.tiers)
    if several:
        known.append(
            FitAssumption(
                assumes="the balancer sends every visit to each node with the same probability",
                tested="no: a balancer that considers the queues does better",
            )
        )
    percentiles = [check for check in question.checks if check.is_percentile]
    corrected = [check for check in percentiles if question.correction(check) is not None]
    if corrected:
        corrections = ", ".join(
            f"{check.name} {check.objective.metric} {number_estimate(*ratios)}"
            for check in corrected
            if (ratios := question.correction(check)) is not None
        )
        known.append(
            FitAssumption(
                assumes="computed percentiles are multiplied by the ratio of measured to computed percentiles: "
                f"{corrections}",
                tested="at the measured levels",
            )
        )
    if len(corrected) < len(percentiles):
        known.append(
            FitAssumption(assumes="service times vary as the model states: exponentially by default", tested="no")
        )
    return tuple(known)
