"""Several curves on the same points, and which of them to use."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from towtank.errors import ModelError
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curves import FARTHEST
from towtank.model.fitting.fit import Fit, curve_named, fit_curve
from towtank.model.fitting.goodness import (
    MISS_LIMIT,
    REJECTED,
    Judgement,
    aicc,
    fit_below,
    joint_aicc,
    judge,
    predicted_against_measured,
)
from towtank.model.fitting.observations import Floats, Observations
from towtank.model.fitting.replicates import replicates
from towtank.model.fitting.utilization_law import judge_limit, judge_one_system

COMPARABLE = 2.0
"""Curves whose AICc is within this of the best are supported about as well (Burnham and Anderson, *Model Selection
and Multimodel Inference*, 2nd ed., Springer, 2002, section 2.6, doi:10.1007/b97636)."""
_CHANGE_LEVEL = 0.05
DEFAULT_HELD_OUT = 1
"""Highest levels that every fit is tested on, in a second fit without them. [1]"""


@dataclass
class Candidate:
    """One fitted curve with all that is known of its worth.

    Attributes
    ----------
    fit : Fit
    judgement : Judgement
    aicc : float or None
    held_out : dict or None
        Predicted against measured at the highest levels.
    refitted : bool
        Whether the held-out levels took part in the final fit after they had served as a test.
    joint_aicc : float or None
        Criterion of throughput and use of the bottleneck together.
    tested : Fit or None
        The fit that predicted the held-out levels.
    """

    fit: Fit
    judgement: Judgement
    aicc: float | None
    held_out: dict[str, Any] | None
    refitted: bool
    joint_aicc: float | None = None
    tested: Fit | None = None

    @property
    def name(self) -> str:
        """Of the family."""
        return self.fit.curve.name

    @cached_property
    def replicates(self) -> Floats:
        """Bootstrap replicates of the parameters, made once."""
        return replicates(self.fit)


@dataclass(frozen=True)
class Choice:
    """All candidates, the best first, and what was decided.

    Attributes
    ----------
    chosen : Candidate or None
        None where every family is rejected.
    refused : dict
        Families that could not be fitted, and why.
    why : str
        The decision in words.
    """

    candidates: list[Candidate]
    chosen: Candidate | None
    refused: dict[str, str]
    why: str


def candidate(name: str, points: Observations, servers: int, think_s: float, held: int | None) -> Candidate:
    """Fit one family.

    Parameters
    ----------
    name : str
        One of `fit.CURVES`.
    points : Observations
    servers : int
        Of the bottleneck of the closed curve. [1]
    think_s : float
        Think time where points have none. [s]
    held : int or None
        Highest levels to leave out of the fit. None fits all of them, after a fit without the highest one has been
        tested on it.

    Raises
    ------
    ModelError
        If there are too few levels.
    """
    curve = curve_named(name, servers, think_s, points)
    if held:
        if held >= len(points.levels):
            raise ModelError(f"held out: must be fewer than the {len(points.levels)} levels, got {held} instead")
        fit = fit_curve(curve, points.split(held)[0])
        below: Fit | None = fit
    else:
        fit = fit_curve(curve, points)
        below = fit_below(fit, DEFAULT_HELD_OUT) if held is None else None
    return _tested(fit, below, points, held)


def _tested(fit: Fit, below: Fit | None, points: Observations, held: int | None) -> Candidate:
    """A candidate with the test that a fit to the lower levels makes of it."""
    highest = held or DEFAULT_HELD_OUT
    told = None if below is None else predicted_against_measured(below, points.split(highest)[1], highest)
    return Candidate(fit, judge(fit, told), aicc(fit), told, not held, joint_aicc(fit), below)


def choose(names: tuple[str, ...], points: Observations, servers: int, think_s: float, held: int | None) -> Choice:
    """Fit several families and choose.

    Notes
    -----
    Rejected families are out. Of the rest the smallest AICc counts; among those within 2 of it, the one that
    predicts the highest level best when that is left out of its fit, for this is what the curve is wanted for. With so
    few points that AICc cannot be had of all of them, that test alone decides.
    """
    candidates, refused = [], {}
    for name in names:
        try:
            candidates.append(candidate(name, points, servers, think_s, held))
        except ModelError as error:
            refused[name] = str(error).split("\n", maxsplit=1)[0]
    for fitted in candidates:
        _judge_by_servers(fitted, points, servers)
        judge_one_system(fitted.judgement, points)
    candidates.sort(key=_rank)
    set_aside = _one_closed(candidates, points, held)
    able = [one for one in candidates if one.judgement.level != REJECTED and one.name not in set_aside]
    if not able:
        return Choice(candidates, None, refused, _no_choice(candidates, refused))
    if any(one.aicc is None for one in able):
        return _with(set_aside, _without_criterion(candidates, able, refused))
    best = able[0].aicc or 0.0
    close = [one for one in able if one.aicc is not None and one.aicc - best <= COMPARABLE]
    tested = [one for one in close if one.held_out is not None]
    chosen = min(tested, key=_held_out_error) if tested else able[0]
    return _with(set_aside, Choice(candidates, chosen, refused, _because(chosen, able, close)))


def _judge_by_servers(one: Candidate, points: Observations, servers: int) -> None:
    """Reject a law of scalability that exceeds the utilization law; a closed curve contains the servers already.

    Notes
    -----
    A curve without a peak or an asymptote is judged at the farthest load that it may predict.
    """
    fit = one.fit
    if isinstance(fit.curve, ClosedCurve):
        return
    found = fit.curve.derived(fit.parameters[None, :])
    for name in ("peak_throughput", "limit_throughput"):
        if math.isfinite(found[name][0]):
            judge_limit(one.judgement, "its limit", float(found[name][0]), points, servers)
            return
    load = FARTHEST * float(fit.points.load.max())
    highest = float(fit.throughput(np.array([load]))[0])
    judge_limit(one.judgement, f"its prediction at a load of {load:g}", highest, points, servers)


def _with(set_aside: dict[str, str], choice: Choice) -> Choice:
    """A choice that also tells why one of the two closed curves took no part in it."""
    told = "; ".join(f"{name} set aside: {why}" for name, why in set_aside.items())
    return replace(choice, why=f"{choice.why}; {told}") if told else choice


def _one_closed(candidates: list[Candidate], points: Observations, held: int | None) -> dict[str, str]:
    """Decide between the closed curves with constant and with load-dependent demand; the one set aside, and why.

    Notes
    -----
    Throughput below saturation hardly tells the two apart; the use of the bottleneck at each level does, so the
    criterion is that of both together. They have as many parameters: background on one side, the change of the demand
    on the other. A demand is taken to change only where the constant one misses by more than chance makes of either, so
    that a handful of levels does not decide by its noise. The error at the held-out level
    is that of the curve which the levels below would have chosen by themselves, so that what is held out has no part in
    the choice that it tests.
    """
    pair = {one.name: one for one in candidates if one.joint_aicc is not None}
    plain, changing = pair.get("closed"), pair.get("load-dependent")
    if plain is None or changing is None:
        return {}
    rejected = {name for name, one in pair.items() if one.judgement.level == REJECTED}
    changes = "load-dependent" not in rejected and _changes(plain.fit, changing.fit)
    best = changing if changes or "closed" in rejected else plain
    other = plain if best is changing else changing
    if held is None and plain.tested is not None and changing.tested is not None:
        first = changing.tested if _changes(plain.tested, changing.tested) else plain.tested
        if first is not best.tested:
            # The levels below would have chosen otherwise: that is the prediction they would have made.
            place = next(number for number, one in enumerate(candidates) if one is best)
            candidates[place] = _tested(best.fit, first, points, held)
    if other.name in rejected:
        return {other.name: "rejected"}
    gap = (other.joint_aicc or 0.0) - (best.joint_aicc or 0.0)
    words = (
        f"AICc of throughput and use of the bottleneck together is {abs(gap):.2g} {'higher' if gap > 0 else 'lower'}"
    )
    return {other.name: words + ("" if gap > 0 else f", which chance explains up to {_credible_gap(changing.fit):.2g}")}


def _changes(plain: Fit, changing: Fit) -> bool:
    """Whether use and throughput together say that the demand changes with the load.

    Notes
    -----
    The misses of the constant curve over those of the other must pass the quantile of F with the degrees of freedom of
    both, as two independent variances would: n ln F in the criterion. Misses of curves on the same points resemble each
    other, so chance passes it less often than the level says.
    """
    constant, dependent = joint_aicc(plain), joint_aicc(changing)
    if constant is None or dependent is None:
        return False
    return constant - dependent > _credible_gap(changing)


def _credible_gap(fit: Fit) -> float:
    """Difference of the joint criterion beyond which chance does not explain it."""
    values = 2 * fit.points.count
    freedom = values - len(fit.parameters)
    return float(values * math.log(stats.f.ppf(1 - _CHANGE_LEVEL, freedom, freedom)))


def _without_criterion(candidates: list[Candidate], able: list[Candidate], refused: dict[str, str]) -> Choice:
    """Too few points for AICc to compare all: what predicts the highest level is left to decide.

    Where none of those that could be tested predicts it within `MISS_LIMIT`, a closed curve that has too few levels to
    leave one out is better founded than they are: it met the use of the bottleneck at each level as well.
    """
    tested = [one for one in able if one.held_out is not None]
    founded = [one for one in able if one.held_out is None and one.joint_aicc is not None]
    if founded and all(_held_out_error(one) > MISS_LIMIT for one in tested):
        others = "".join(f"; {one.name} misses it by {100 * _held_out_error(one):.2g} %" for one in tested)
        why = f"{founded[0].name}: too few levels to leave the highest out{others}"
        return Choice(candidates, founded[0], refused, why)
    if not tested:
        why = "every curve is rejected: too few points for AICc, and for leaving the highest level out"
        return Choice(candidates, None, refused, why)
    chosen = min(tested, key=_held_out_error)
    others = "; ".join(
        f"{one.name} {100 * one.held_out['worst_error']:+.2g} %" for one in tested if one.held_out and one is not chosen
    )
    error = 100 * chosen.held_out["worst_error"] if chosen.held_out else 0.0
    why = (
        f"{chosen.name}: there are too few points for AICc; it predicts the highest load, left out of its fit, best "
        f"({error:+.2g} %{f'; {others}' if others else ''})"
    )
    return Choice(candidates, chosen, refused, why)


def _rank(one: Candidate) -> float:
    return float("inf") if one.aicc is None else one.aicc


def _held_out_error(one: Candidate) -> float:
    return abs(one.held_out["worst_error"]) if one.held_out else float("inf")


def _because(chosen: Candidate, able: list[Candidate], close: list[Candidate]) -> str:
    if len(close) == 1:
        others = [one for one in able if one is not chosen]
        if not others:
            return f"{chosen.name}: the only curve that is not rejected"
        gap = (others[0].aicc or 0.0) - (chosen.aicc or 0.0)
        return f"{chosen.name}: smallest AICc, {gap:.3g} below {others[0].name}"
    names = ", ".join(one.name for one in close if one is not chosen)
    if chosen.held_out is None:
        return f"{chosen.name}: smallest AICc; {names} within {COMPARABLE:g} of it"
    return (
        f"{chosen.name}: AICc cannot tell it from {names}; it predicts the highest load, left out of its fit, best "
        f"({100 * chosen.held_out['worst_error']:+.2g} %)"
    )


def _no_choice(candidates: list[Candidate], refused: dict[str, str]) -> str:
    told = [f"{one.name}: {next(text for level, text in one.judgement.reasons if level == REJECTED)}"
            for one in candidates if one.judgement.level == REJECTED]  # fmt: skip
    told += list(refused.values())
    return "every curve is rejected: " + "; ".join(told)
