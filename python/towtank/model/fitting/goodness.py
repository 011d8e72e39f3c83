"""Checks how well a curve fits the measured points: fit error, scatter, pattern of the residuals, held-out levels.

A least-squares fit finds the best curve of a family, but the whole family may be wrong. Each check here can reject the
curve and states the reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from towtank.analysis import percent_text
from towtank.distributions import f_tail
from towtank.documents import Sparse, document_of
from towtank.errors import ModelError
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.curves import WIDER, ScalabilityLaw
from towtank.model.fitting.fit import Fit, fit_curve, levels_needed, shape_parameters
from towtank.model.fitting.observations import Floats, Observations

FIT_SUPPORTED, FIT_DOUBTFUL, FIT_REJECTED = "supported", "doubtful", "rejected"
LEVEL = 0.01
"""Significance level of the tests of a curve. Each test rejects a correct curve in one of a hundred fits."""
MISS_LIMIT = 0.20
"""Relative error of the fitted throughput above which a curve is useless for sizing, even if it passes all tests.
[ratio]
"""
MATTERS = 0.05
"""Mean relative error up to which a significantly wrong shape makes a curve only doubtful, not rejected. [ratio]

Every model is approximate, and capacity figures need no higher accuracy than this.
"""
HELD_OUT_LIMIT = 0.10
"""Relative error of the throughput that was predicted for the highest load level, left out of the fit. Above this
limit, a curve is doubtful. [ratio]
"""
FEW_POINTS = 6
"""Number of load levels below which measurements cannot confirm the shape of a curve. [1]"""
# Residuals below this share of the throughput are rounding errors: the points lie exactly on the curve. [ratio]
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FitTest:
    """Significance test of a fit: name, test statistic, degrees of freedom or sample sizes, and p-value."""

    test: str
    statistic: float
    freedom: tuple[int, int]
    p_value: float


@dataclass(frozen=True)
class HeldOutPoint(Sparse):
    """Point that was left out of a fit, with the prediction of the fit.

    Attributes
    ----------
    load : float
        Load. [1] or [1/s]
    measured_throughput, predicted_throughput : float
        [1/s]
    error : float
        Relative error of the predicted throughput. [ratio]
    measured_response_s, predicted_response_s, response_error : float or None
        Response times [s] and relative error [ratio]; None if response times or think times are unknown.
    """

    load: float
    measured_throughput: float
    predicted_throughput: float
    error: float
    measured_response_s: float | None = None
    predicted_response_s: float | None = None
    response_error: float | None = None


@dataclass(frozen=True)
class HeldOut:
    """Comparison of a prediction with measurements at the highest loads, which were left out of the fit: number of
    these levels [1], name of the family of curves, and largest relative error of throughput, with its sign [ratio].
    """

    levels: int
    curve: str
    worst_error: float
    points: tuple[HeldOutPoint, ...]


@dataclass
class Judgement:
    """Verdict on a fitted curve, with the reasons and the tests behind it.

    Attributes
    ----------
    reasons : list of (str, str)
        Level (`doubtful` or `rejected`) and sentence.
    """

    reasons: list[tuple[str, str]] = field(default_factory=list)
    tests: list[FitTest] = field(default_factory=list)

    @property
    def level(self) -> str:
        """Level of the verdict on a curve: the worst level among its reasons."""
        levels = {level for level, _ in self.reasons}
        return FIT_REJECTED if FIT_REJECTED in levels else FIT_DOUBTFUL if FIT_DOUBTFUL in levels else FIT_SUPPORTED

    def shape(self, fit: Fit, sentence: str) -> None:
        """Record that the shape of the curve is wrong. This is a reason to reject the curve if its mean error is large,
        and otherwise a doubt.
        """
        size = float(np.sqrt(np.mean(fit.relative_misses**2)))
        if size > MATTERS:
            self.reject(f"{sentence}; on average by {percent_text(size)}")
        else:
            self.doubt(f"{sentence}, but only by {percent_text(size)} on average")

    def doubt(self, sentence: str) -> None:
        """Add a reason that makes the verdict `doubtful`."""
        self.reasons.append((FIT_DOUBTFUL, sentence))

    def reject(self, sentence: str) -> None:
        """Add a reason that makes the verdict `rejected`."""
        self.reasons.append((FIT_REJECTED, sentence))

    def document(self, doubts: Iterable[str] = ()) -> dict[str, object]:
        """Return the verdict as a JSON object: level, reasons and tests. Each of `doubts` is a further reason, which
        makes the verdict `doubtful` unless it is `rejected`.
        """
        further = [(FIT_DOUBTFUL, text) for text in doubts]
        level = FIT_DOUBTFUL if further and self.level != FIT_REJECTED else self.level
        reasons = [{"level": each, "text": text} for each, text in [*self.reasons, *further]]
        return {"level": level, "reasons": reasons, "tests": [document_of(test) for test in self.tests]}


def aicc(fit: Fit) -> float | None:
    """Return Akaike's information criterion of the fitted throughput, corrected for few points.

    Smaller is better. The result is None if there are too few points for the correction.

    Notes
    -----
    n ln(S / n) + 2 k + 2 k (k + 1) / (n - k - 1), where k counts the parameters and the variance [1]_. Values are
    comparable only among curves fitted to the same points with the same weights.

    References
    ----------
    .. [1] C. M. Hurvich and C.-L. Tsai, "Regression and time series model selection in small samples", Biometrika
           76(2), 297-307, 1989, doi:10.1093/biomet/76.2.297.
    """
    count, size = fit.points.count, shape_parameters(fit.curve) + 1
    if count - size - 1 <= 0:
        return None
    squares = float(fit.misses @ fit.misses)
    least = float(np.sum((_ROUNDING * fit.points.throughput / fit.points.deviations) ** 2))
    return count * math.log(max(squares, least) / count) + 2 * size + 2 * size * (size + 1) / (count - size - 1)


def joint_aicc(fit: Fit) -> float | None:
    """Return the corrected Akaike criterion of throughput and bottleneck utilization together; None if utilization was
    not fitted, or there are too few points.

    If busy time is not proportional to throughput, the cause is background work or a changing demand. Only utilization
    can distinguish the two.
    """
    if not fit.problem.uses_busy:
        return None
    count, size = 2 * fit.points.count, len(fit.parameters) + 1
    if count - size - 1 <= 0:
        return None
    points = fit.points.count
    rows = fit.solution.residuals
    squares = float(rows[:points] @ rows[:points] + rows[-points:] @ rows[-points:])
    least = float(2 * np.sum((_ROUNDING * fit.points.throughput / fit.points.deviations) ** 2))
    return count * math.log(max(squares, least) / count) + 2 * size + 2 * size * (size + 1) / (count - size - 1)


def judge(fit: Fit, held_out: HeldOut | None) -> Judgement:
    """Run all checks of goodness of fit on a curve, and return the verdict."""
    judgement = Judgement()
    _count(fit, judgement)
    _held(fit, judgement)
    _size_of_misses(fit, judgement)
    _lack_of_fit(fit, judgement)
    _pattern(fit, judgement)
    _wider(fit, judgement)
    if isinstance(fit.curve, ScalabilityLaw) and fit.curve.superlinear:
        judgement.doubt(
            f"the throughput grows more than in proportion to the load (sigma = {fit.parameters[1]:.3g}), for example "
            "because load fills a cache, requests share work, or the lowest levels include a warm-up; find the cause "
            "before you extrapolate the curve"
        )
    if held_out and abs(held_out.worst_error) > HELD_OUT_LIMIT:
        judgement.doubt(
            f"fitted without the highest load, the curve predicts the throughput there with an error of "
            f"{percent_text(held_out.worst_error)}, limit {percent_text(HELD_OUT_LIMIT)}"
        )
    return judgement


def _count(fit: Fit, judgement: Judgement) -> None:
    if fit.freedom < 2:
        judgement.reject(
            f"{fit.points.count} points for {len(fit.parameters)} parameters leave {fit.freedom} degree"
            f"{'' if fit.freedom == 1 else 's'} of freedom: any such points lie on some curve of this family"
        )
    elif len(fit.points.levels) < FEW_POINTS:
        judgement.doubt(
            f"{len(fit.points.levels)} load levels hardly determine the shape; {FEW_POINTS} or more are needed"
        )
    if fit.points.load.min() > 2 and fit.curve.name in WIDER:
        judgement.doubt(
            f"the lowest load is {fit.points.load.min():g}: lambda, the throughput at load 1, is extrapolated"
        )


def _held(fit: Fit, judgement: Judgement) -> None:
    for name, held, value in zip(fit.curve.parameters, fit.held, fit.parameters, strict=True):
        if not held:
            continue
        if name == "kappa":
            judgement.reject(
                "kappa is at its bound 0: throughput does not fall at high load, and the curve is Amdahl's law"
            )
        elif name == "sigma" and value == 0:
            # No family of curves has kappa alone, so that this curve is the law for points without contention.
            judgement.doubt("sigma is at its bound 0: the points show no contention")
        # A system may really have no time outside the bottleneck, or no background work, so 0 is a valid value.
        elif name not in ("other_s", "background"):
            judgement.reject(f"{name} is at its bound {value:.3g}")


def _size_of_misses(fit: Fit, judgement: Judgement) -> None:
    misses = np.abs(fit.relative_misses)
    worst = int(np.argmax(misses))
    # With up to 30 points, the largest error is tested. With more points, a single large error may be chance, so the
    # root mean square of all errors is tested.
    size = float(misses[worst]) if fit.points.count <= 30 else float(np.sqrt(np.mean(misses**2)))
    if size > MISS_LIMIT:
        where = f"at load {fit.points.load[worst]:g}" if fit.points.count <= 30 else "on average"
        text = f"by {percent_text(size)} {where}, limit {percent_text(MISS_LIMIT)}"
        judgement.reject(f"the curve misses the points {text}")


def _lack_of_fit(fit: Fit, judgement: Judgement) -> None:
    """Test for lack of fit with an F test: the deviation of the level means from the curve, against the scatter of
    repetitions.

    Notes
    -----
    N. R. Draper and H. Smith, *Applied Regression Analysis*, 3rd ed., Wiley, 1998, section 2.1.
    """
    levels, places = np.unique(fit.points.load, return_inverse=True)
    pure_freedom = fit.points.count - len(levels)
    lack_freedom = len(levels) - len(fit.parameters)
    if pure_freedom < 2 or lack_freedom < 1:
        return
    weights = 1 / fit.points.deviations**2
    sums = np.bincount(places, weights * fit.points.throughput) / np.bincount(places, weights)
    pure = float(np.sum(weights * (fit.points.throughput - sums[places]) ** 2))
    lack = float(fit.misses @ fit.misses) - pure
    if pure <= 0:
        return
    statistic = max(0.0, lack / lack_freedom / (pure / pure_freedom))
    p_value = f_tail(statistic, lack_freedom, pure_freedom)
    judgement.tests.append(FitTest("lack of fit", statistic, (lack_freedom, pure_freedom), p_value))
    if p_value < LEVEL:
        judgement.shape(
            fit,
            f"the levels deviate from the curve by more than the scatter of repetitions (lack of fit "
            f"F = {statistic:.3g}, p = {p_value:.2g})",
        )


def _pattern(fit: Fit, judgement: Judgement) -> None:
    """Test the residuals in the order of load for a pattern: too few runs of equal signs to be random."""
    signs = fit.misses > 0
    above, runs = int(signs.sum()), 1 + int(np.count_nonzero(signs[1:] != signs[:-1]))
    below = len(signs) - above
    if min(above, below) < 2:
        return
    p_value = at_most_runs(above, below, runs)
    judgement.tests.append(FitTest("runs of signs", runs, (above, below), p_value))
    if p_value < LEVEL:
        judgement.shape(
            fit,
            f"the points lie above and below the curve in {runs} stretches rather than at random (p = {p_value:.2g}): "
            f"the curve has the wrong shape",
        )


@lru_cache(maxsize=512)
def at_most_runs(above: int, below: int, runs: int) -> float:
    """Return the probability of at most `runs` runs of equal signs if the signs are in random order.

    Notes
    -----
    Exact, by counting [1]_: of the C(a + b, a) orders of a positive and b negative signs, 2 C(a-1, k-1) C(b-1, k-1)
    have 2 k runs, and C(a-1, k-1) C(b-1, k) + C(a-1, k) C(b-1, k-1) have 2 k + 1 runs.

    References
    ----------
    .. [1] A. Wald and J. Wolfowitz, "On a test whether two samples are from the same population", Annals of
           Mathematical Statistics 11(2), 147-162, 1940, doi:10.1214/aoms/1177731909.
    """
    total = 0
    for number in range(2, runs + 1):
        half = number // 2
        if number % 2 == 0:
            total += 2 * math.comb(above - 1, half - 1) * math.comb(below - 1, half - 1)
        else:
            total += math.comb(above - 1, half - 1) * math.comb(below - 1, half)
            total += math.comb(above - 1, half) * math.comb(below - 1, half - 1)
    return total / math.comb(above + below, above)


def _wider(fit: Fit, judgement: Judgement) -> None:
    """Compare the curve with the next larger family of curves, which has more free parameters, by an F test."""
    wider = WIDER.get(fit.curve.name)
    if wider is None or (fit.curve.name == "usl" and not fit.held.any()):
        return
    try:
        larger = fit_curve(
            wider, fit.points, [*fit.parameters, *([0.0] * (len(wider.parameters) - len(fit.parameters)))]
        )
    except ModelError:
        return
    extra = len(wider.parameters) - len(fit.parameters) or int(fit.held.sum())
    if larger.freedom < 1:
        return
    gained = fit.solution.sum_of_squares - larger.solution.sum_of_squares
    # If the larger family fits exactly, the F ratio only reflects rounding errors.
    left = larger.solution.sum_of_squares / larger.freedom
    if gained <= 0 or left <= 0:
        return
    statistic = gained / extra / left
    p_value = f_tail(statistic, extra, larger.freedom)
    judgement.tests.append(FitTest(f"against {wider.name}", statistic, (extra, larger.freedom), p_value))
    values = dict(zip(wider.parameters, larger.parameters, strict=True))
    if fit.curve.name == "usl":
        shown = ", ".join(f"{name} = {values[name]:.3g}" for name in ("sigma", "kappa"))
        judgement.doubt(f"without bounds the best fit has {shown} (p = {p_value:.2g}): this may be chance")
    elif p_value < LEVEL:
        judgement.shape(fit, f"{wider.name} describes the points better than chance explains (p = {p_value:.2g})")


def fit_below(fit: Fit, highest: int) -> Fit | None:
    """Fit the curve to the points without the `highest` load levels; None if too few levels remain."""
    if len(fit.points.levels) - highest < levels_needed(fit.curve):
        return None
    below, _ = fit.points.split(highest)
    try:
        return fit_curve(fit.curve, below, [float(parameter) for parameter in fit.parameters])
    except ModelError:
        return None


def _as_it_was(fit: Fit, parameters: Floats, above: Observations) -> tuple[Floats, Floats | None]:
    """Return the throughput of the fitted curve at points that were not part of the fit, and the think times of these
    points.

    Users, think time, transaction mix and other programs are inputs of the system and not results, so their
    measured values are used.
    """
    if isinstance(fit.curve, ClosedCurve):
        asked = above.conditions(fit.curve.think_s)
        return fit.curve.throughput_in(parameters, above.load, asked), asked.think_s
    return fit.curve.throughput(parameters, above.load), above.think


def predicted_against_measured(fit: Fit, above: Observations, levels: int) -> HeldOut:
    """Compare the prediction of a fit with the measured points at higher loads, which were left out of the fit."""
    every, think = _as_it_was(fit, fit.parameters[None, :], above)
    predicted = every[0]
    errors = predicted / above.throughput - 1
    rows = []
    for number in range(above.count):
        load, rate = float(above.load[number]), float(predicted[number])
        point = HeldOutPoint(load, float(above.throughput[number]), rate, float(errors[number]))
        if above.response is not None and think is not None:
            response, measured = float(load / predicted[number] - think[number]), float(above.response[number])
            error = response / measured - 1
            point = replace(point, measured_response_s=measured, predicted_response_s=response, response_error=error)
        rows.append(point)
    return HeldOut(levels, fit.curve.name, float(errors[np.argmax(np.abs(errors))]), tuple(rows))
