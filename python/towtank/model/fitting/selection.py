"""Chooses among several curves that were fitted to the same points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from towtank.distributions import f_quantile
from towtank.errors import ModelError
from towtank.estimates import relative_error
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curves import FARTHEST
from towtank.model.fitting.fit import Fit, curve_named, fit_curve, superlinear
from towtank.model.fitting.goodness import (
    FIT_REJECTED,
    MISS_LIMIT,
    HeldOut,
    Judgement,
    aicc,
    fit_below,
    joint_aicc,
    judge,
    predicted_against_measured,
)
from towtank.model.fitting.held_out import Interval, error_of_band, measured_again
from towtank.model.fitting.intervals import percentiles
from towtank.model.fitting.observations import Floats, Observations
from towtank.model.fitting.replicates import replicates
from towtank.model.fitting.utilization_law import judge_limit, judge_one_system

CLOSED_TOLERANCE = 1.5
"""Largest accepted ratio of the throughput limit of a closed curve to the upper bound that the measured busy servers
give. [ratio]
"""
COMPARABLE = 2.0
"""Difference of the corrected Akaike criterion up to which the data support two curves about equally.

Source: Burnham and Anderson, *Model Selection and Multimodel Inference*, 2nd ed., Springer, 2002, section
2.6, doi:10.1007/b97636.
"""
_CHANGE_LEVEL = 0.05
DEFAULT_HELD_OUT = 1
"""Number of highest load levels that are left out of a second fit, which tests how well each curve predicts these
levels. [1]
"""


@dataclass
class CurveCandidate:
    """Curve fitted to measured points, with the tests of this fit.

    Attributes
    ----------
    fit : Fit
        Fitted curve; its predictions are used.
    judgement : Judgement
        Verdict on the curve, with its reasons.
    aicc : float or None
        Corrected Akaike criterion of the fitted throughput; None if there are too few points.
    held_out : HeldOut or None
        Comparison of prediction and measurement at the held-out levels (the highest); None if no level was held out.
    refitted : bool
        True if `fit` uses all levels. False if `fit` leaves out the held-out levels, so that it is `tested` itself.
    joint_aicc : float or None
        Corrected Akaike criterion of throughput and utilization of the bottleneck together; None if utilization was not
        fitted, or if there are too few points.
    tested : Fit or None
        Fit without the held-out levels, whose predictions at these levels are compared with the measurement; None if no
        level was held out.
    above : Observations or None
        Points of the held-out levels.
    """

    fit: Fit
    judgement: Judgement
    aicc: float | None
    held_out: HeldOut | None
    refitted: bool
    joint_aicc: float | None = None
    tested: Fit | None = None
    above: Observations | None = None

    @property
    def name(self) -> str:
        """Name of the family of the fitted curve."""
        return self.fit.curve.name

    @cached_property
    def replicates(self) -> Floats:
        """Bootstrap replicates of the parameters of the fitted curve; computed at the first access."""
        return replicates(self.fit)

    @cached_property
    def measured_again(self) -> Floats | None:
        """Simulated throughputs of a repeated measurement at the held-out load levels. They come from a fit without
        these levels. [1/s]
        """
        return None if self.tested is None or self.above is None else measured_again(self.tested, self.above)

    @cached_property
    def held_out_interval(self) -> Interval | None:
        """Interval of the largest relative error of throughput at the held-out load levels; None if no level was held
        out. [ratio]
        """
        if self.held_out is None or self.measured_again is None:
            return None
        rows = zip(self.held_out.points, self.measured_again.T, strict=True)
        worst, again = max(rows, key=lambda row: abs(row[0].error))
        return error_of_band(percentiles(again), worst.measured_throughput)

    def held_out_text(self) -> str:
        """Render the largest error of throughput at the held-out load levels in per cent, with its interval; `-`
        without held-out levels.
        """
        return "-" if self.held_out is None else relative_error(self.held_out.worst_error, self.held_out_interval)


@dataclass(frozen=True)
class Choice:
    """Candidates in order of preference, with the chosen candidate.

    Attributes
    ----------
    chosen : CurveCandidate or None
        Chosen candidate; None if every family is rejected.
    refused : dict
        By name of a curve family, the reason why it could not be fitted.
    why : str
        Reason for the choice.
    """

    candidates: list[CurveCandidate]
    chosen: CurveCandidate | None
    refused: dict[str, str]
    why: str


def candidate(name: str, points: Observations, servers: int, think_s: float, held: int | None) -> CurveCandidate:
    """Fit a curve of a family to measured points and test the fit.

    The name is one of `fit.CURVES`; `servers` are those of the bottleneck of a closed curve [1]. `think_s` is the think
    time if the points have none [s]. The fit leaves out the `held` highest levels. With None, it uses all levels, and
    the test uses a second fit without the highest level. With 0, it uses all levels, and no prediction is tested.

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
        fit = superlinear(fit) or fit
        below: Fit | None = fit
    else:
        fit = fit_curve(curve, points)
        fit = superlinear(fit) or fit
        below = fit_below(fit, DEFAULT_HELD_OUT) if held is None else None
    return _tested(fit, below, points, held)


def _tested(fit: Fit, below: Fit | None, points: Observations, held: int | None) -> CurveCandidate:
    """Return a candidate for a fit. It is tested by the predictions of `below`, a fit to the lower load levels only."""
    highest = held or DEFAULT_HELD_OUT
    above = None if below is None else points.split(highest)[1]
    compared = None if below is None or above is None else predicted_against_measured(below, above, highest)
    return CurveCandidate(fit, judge(fit, compared), aicc(fit), compared, not held, joint_aicc(fit), below, above)


def choose(names: tuple[str, ...], points: Observations, servers: int, think_s: float, held: int | None) -> Choice:
    """Fit several curve families and choose one of them.

    Notes
    -----
    Rejected families are excluded. Families whose AICc is within 2 of the smallest AICc are compared: each of these
    families is fitted without the highest level, and the family that predicts this level best is chosen, because curves
    are used for prediction. If a family has too few points for its AICc, only the predictions are compared.
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
    candidates.sort(key=lambda fitted: float("inf") if fitted.aicc is None else fitted.aicc)
    set_aside = _one_closed(candidates, points, held)
    able = [
        contender
        for contender in candidates
        if contender.judgement.level != FIT_REJECTED and contender.name not in set_aside
    ]
    if not able:
        return Choice(candidates, None, refused, _no_choice(candidates, refused))
    if any(contender.aicc is None for contender in able):
        return _with(set_aside, _without_criterion(candidates, able, refused))
    best = able[0].aicc or 0.0
    close = [contender for contender in able if contender.aicc is not None and contender.aicc - best <= COMPARABLE]
    tested = [contender for contender in close if contender.held_out is not None]
    chosen = min(tested, key=_held_out_error) if tested else able[0]
    return _with(set_aside, Choice(candidates, chosen, refused, _because(chosen, able, close)))


def _judge_by_servers(contender: CurveCandidate, points: Observations, servers: int) -> None:
    """Reject a curve whose throughput contradicts the utilization law.

    Notes
    -----
    A curve without a peak or an asymptote is judged at the highest load for which predictions are allowed. The demand
    of a closed curve is fitted to the busy servers too, so only a limit far above the bound from the busy servers shows
    a fault. Such a limit occurs if the points lie on a line: they do not determine the demand, and the fit takes all
    busy servers as background.
    """
    fit = contender.fit
    tolerance = CLOSED_TOLERANCE if isinstance(fit.curve, ClosedCurve) else 1.0
    found = fit.curve.derived(fit.parameters[None, :])
    for name in ("peak_throughput", "limit_throughput"):
        if name in found and math.isfinite(found[name][0]):
            limit = float(found[name][0])
            judge_limit(contender.judgement, "its limit", limit, points, servers, tolerance=tolerance)
            return
    load = FARTHEST * float(fit.points.load.max())
    highest = float(fit.throughput(np.array([load]))[0])
    judge_limit(
        contender.judgement, f"its prediction at a load of {load:g}", highest, points, servers, tolerance=tolerance
    )


def _with(set_aside: dict[str, str], choice: Choice) -> Choice:
    """Return a choice whose reason also states why curves were set aside."""
    reasons = "; ".join(f"{name} set aside: {why}" for name, why in set_aside.items())
    return replace(choice, why=f"{choice.why}; {reasons}") if reasons else choice


def _one_closed(candidates: list[CurveCandidate], points: Observations, held: int | None) -> dict[str, str]:
    """Choose between constant and load-dependent demand in the curve of a closed system.

    Return the name of the curve that was not chosen, with the reason; an empty dict unless both curves were fitted.

    Notes
    -----
    Throughput below saturation hardly distinguishes the two curves, but the utilization of the bottleneck does. The
    criterion therefore combines throughput and utilization. Both curves have the same number of parameters: the third
    is the background, or the change of the demand with the load. The demand is considered load-dependent only if chance
    does not explain the errors of the constant demand. The held-out level must not influence the choice of the curve
    that it tests. It therefore tests the curve that the lower levels alone would have chosen.
    """
    pair = {contender.name: contender for contender in candidates if contender.joint_aicc is not None}
    plain, changing = pair.get("closed"), pair.get("load-dependent")
    if plain is None or changing is None:
        return {}
    rejected = {name for name, contender in pair.items() if contender.judgement.level == FIT_REJECTED}
    changes = "load-dependent" not in rejected and _changes(plain.fit, changing.fit)
    best = changing if changes or "closed" in rejected else plain
    other = plain if best is changing else changing
    if held is None and plain.tested is not None and changing.tested is not None:
        first = changing.tested if _changes(plain.tested, changing.tested) else plain.tested
        if first is not best.tested:
            # The lower levels alone would have chosen the other closed curve, so the prediction of the other curve is
            # tested.
            place = next(number for number, contender in enumerate(candidates) if contender is best)
            candidates[place] = _tested(best.fit, first, points, held)
    if other.name in rejected:
        return {other.name: "rejected"}
    gap = (other.joint_aicc or 0.0) - (best.joint_aicc or 0.0)
    words = (
        f"AICc of throughput and bottleneck utilization together is {abs(gap):.2g} {'higher' if gap > 0 else 'lower'}"
    )
    return {
        other.name: words
        + ("" if gap > 0 else f", and chance explains differences up to {_credible_gap(changing.fit):.2g}")
    }


def _changes(plain: Fit, changing: Fit) -> bool:
    """Return True if utilization and throughput together show that the demand changes with the load.

    Notes
    -----
    Let F be the quantile for two independent variances with the degrees of freedom of the two curves. The residual
    variance with constant demand must be more than F times the residual variance with changing demand. The difference
    of the criterion must then exceed n ln F. Residuals of curves on the same points are correlated, so the error rate
    is below the nominal level.
    """
    constant, dependent = joint_aicc(plain), joint_aicc(changing)
    if constant is None or dependent is None:
        return False
    return constant - dependent > _credible_gap(changing)


def _credible_gap(fit: Fit) -> float:
    """Return the largest difference of the joint criterion that chance explains, for two closed curves on the same
    points.
    """
    values = 2 * fit.points.count
    freedom = values - len(fit.parameters)
    return float(values * math.log(f_quantile(1 - _CHANGE_LEVEL, freedom, freedom)))


def _without_criterion(candidates: list[CurveCandidate], able: list[CurveCandidate], refused: dict[str, str]) -> Choice:
    """Choose a curve if there are too few points for AICc.

    The curve that best predicts the highest load level, left out of its fit, is chosen. If no curve predicts this level
    within `MISS_LIMIT`, a closed curve with too few levels for the prediction is preferred, because its fit includes
    the utilization of the bottleneck.
    """
    tested = [contender for contender in able if contender.held_out is not None]
    founded = [contender for contender in able if contender.held_out is None and contender.joint_aicc is not None]
    if founded and all(_held_out_error(contender) > MISS_LIMIT for contender in tested):
        others = "".join(
            f"; the error of {contender.name} there is {contender.held_out_text()}" for contender in tested
        )
        why = f"{founded[0].name}: too few levels to leave out the highest level{others}"
        return Choice(candidates, founded[0], refused, why)
    if not tested:
        why = "every curve is rejected: too few points for AICc, and for a fit without the highest level"
        return Choice(candidates, None, refused, why)
    chosen = min(tested, key=_held_out_error)
    others = "; ".join(
        f"{contender.name} {contender.held_out_text()}" for contender in tested if contender is not chosen
    )
    why = (
        f"{chosen.name}: too few points for AICc; it predicts the highest load, left out of its fit, best "
        f"({chosen.held_out_text()}{f'; {others}' if others else ''})"
    )
    return Choice(candidates, chosen, refused, why)


def _held_out_error(contender: CurveCandidate) -> float:
    return abs(contender.held_out.worst_error) if contender.held_out else float("inf")


def _because(chosen: CurveCandidate, able: list[CurveCandidate], close: list[CurveCandidate]) -> str:
    if len(close) == 1:
        others = [contender for contender in able if contender is not chosen]
        if not others:
            return f"{chosen.name}: the only curve that is not rejected"
        gap = (others[0].aicc or 0.0) - (chosen.aicc or 0.0)
        return f"{chosen.name}: smallest AICc, {gap:.3g} below {others[0].name}"
    names = ", ".join(contender.name for contender in close if contender is not chosen)
    if chosen.held_out is None:
        return f"{chosen.name}: smallest AICc; {names} within {COMPARABLE:g} of it"
    return (
        f"{chosen.name}: AICc does not distinguish it from {names}; it predicts the held-out highest load best "
        f"({chosen.held_out_text()})"
    )


def _no_choice(candidates: list[CurveCandidate], refused: dict[str, str]) -> str:
    reasons = [f"{contender.name}: {next(text for level, text in contender.judgement.reasons if level == FIT_REJECTED)}"
            for contender in candidates if contender.judgement.level == FIT_REJECTED]  # fmt: skip
    reasons += list(refused.values())
    return "every curve is rejected: " + "; ".join(reasons)
