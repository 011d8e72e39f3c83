"""Lists the inputs on which a sizing answer depends. Each input is measured, given or assumed. Each entry states
whether the probability of the answer includes the uncertainty of the input.
"""

from __future__ import annotations

from towtank.estimates import share_estimate
from towtank.sizing.growth import HistoricGrowth
from towtank.sizing.interval import number_text, rate_text
from towtank.sizing.quantities import YEAR_D
from towtank.sizing.result import Rest
from towtank.sizing.settle import SizingProblem

MEASURED, GIVEN, ASSUMED = "measured", "given", "assumed"


def rests_on(settled: SizingProblem) -> tuple[Rest, ...]:
    """Return entries for load, growth, demands, stations and machines, each with the origin of the input."""
    counted = settled.question.counted
    parts = {
        "load": _load(settled),
        "growth": _growth(settled),
        "demands": _demands(settled),
        "stations": _stations(settled),
        "machines": _machines(settled),
    }
    return tuple(
        Rest(part=name, origin=origin, text=text, counted=name in counted) for name, (origin, text) in parts.items()
    )


def _load(settled: SizingProblem) -> tuple[str, str]:
    total, unit = settled.now.total
    asked = settled.question.file.load
    amount = number_text(total, None, unit) if unit == "users" else rate_text(total)
    if asked.users is None and asked.rate is None:
        origin = MEASURED if settled.question.basis.fitted is not None else GIVEN
        return origin, f"{amount} from the model, taken as the load of {settled.start_is}"
    return GIVEN, f"{amount}, taken as the load of {settled.start_is}"


def _growth(settled: SizingProblem) -> tuple[str, str]:
    growing = settled.growing
    if growing is None:
        return ASSUMED, "none"
    if isinstance(growing, HistoricGrowth):
        low, high = growing.history.yearly_interval
        share = share_estimate(growing.yearly - 1, low - 1, high - 1)
        how = (
            "a year"
            if growing.history.trend.form == "exponential"
            else "in the year after it, by the same amount a year"
        )
        return MEASURED, f"{growing.source}: {share} {how}"
    yearly = f"{100 * (growing.yearly - 1):+.4g} % a year"
    if growing.certain:
        return GIVEN, f"{yearly}, without uncertainty"
    low, high = (100 * (end - 1) for end in growing.interval(YEAR_D))
    return GIVEN, f"{yearly}, with its interval [{low:.4g}, {high:.4g}] %"


def _demands(settled: SizingProblem) -> tuple[str, str]:
    basis = settled.question.basis
    if basis.fitted is not None:
        return MEASURED, f"fitted to {basis.fitted.source}"
    unsure = settled.question.file.uncertainty
    spread = f", with an assumed standard deviation of {100 * unsure:.3g} %" if unsure else ""
    return GIVEN, f"taken from the model{spread}"


def _stations(settled: SizingProblem) -> tuple[str, str]:
    basis = settled.question.basis
    if basis.kind == "network":
        return MEASURED, "resources that were observed"
    if basis.kind == "curve":
        return ASSUMED, "one bottleneck behind the curve; the rest of the response time is independent of the load"
    return GIVEN, "taken from the model"


def _machines(settled: SizingProblem) -> tuple[str, str]:
    options = [option for tier in settled.question.tiers for option in tier.options]
    names = sorted({option.machine for option in options if option.machine is not None})
    if names:
        return GIVEN, f"ratings of {', '.join(names)} over {settled.question.file.measured_on}"
    return ASSUMED, "CPUs as fast as in the model, for any number of CPUs in a node"
