"""The limit of a run that searched for it: its plateaus judged again from what was recorded, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from towtank.analysis.limits.estimate import LimitEstimate, estimate_limit
from towtank.analysis.limits.plateaus import Plateau, Rules, failure, judge
from towtank.analysis.limits.search import LOWER_BOUNDS, Decision, Ended, Failure, SearchPlan, decide, plan_of
from towtank.analysis.measurement import Measurement
from towtank.analysis.windows.stretch import STEADY_PHASE

# A stage that was cut off is no plateau.
_WHOLE = 0.98


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes
    ----------
    of : str
        `users` or `rate`.
    plateaus : list of Plateau
        In the order they were made.
    decision : Decision
        The last one; its end is `interrupted` where the search would have gone on.
    estimate : LimitEstimate
    """

    of: str
    plan: SearchPlan
    plateaus: list[Plateau]
    decision: Decision
    estimate: LimitEstimate
    failure: dict[str, Any] | None

    @property
    def best(self) -> Plateau | None:
        """The plateau that the run is summarised by: the last passed one at the highest level that passes; the first of
        all where none does."""
        passed = [one for one in self.plateaus if one.passed and one.level == self.decision.low]
        return passed[-1] if passed else (self.plateaus[0] if self.plateaus else None)

    def document(self) -> dict[str, Any]:
        """As it stands in a run summary."""
        estimate = self.estimate.document()
        if self.of == "users":
            # Whole users, inwards for the value and outwards for the interval, so that nothing is claimed too much.
            estimate |= {key: _whole(estimate[key]) for key in ("value", "low", "high")}
        best = self.best
        return {
            "of": self.of,
            **estimate,
            "is_lower_bound": self.decision.ended in LOWER_BOUNDS,
            "ended": str(self.decision.ended),
            "why": self.decision.why,
            "failure": self.failure,
            "binding": next((one.binding for one in reversed(self.plateaus) if one.binding), None),
            "window_level": None if best is None else best.document()["level"],
            "plateaus": [one.document() for one in self.plateaus],
        }


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value + 1e-9)


def search_of(
    measurement: Measurement,
    search: dict[str, Any],
    objectives: Sequence[dict[str, Any]],
    events: Sequence[dict[str, Any]],
) -> Found:
    """Judge all plateaus of a run, in their order, and say what the search found.

    Parameters
    ----------
    measurement : Measurement
    search : dict
        As the manifest of the run has it.
    objectives : sequence of dict
        Of the study.
    events : sequence of dict
        Of the run; they tell which settle stages ended on evidence, and whether a service died.
    """
    rules, plan = Rules.of(search, objectives), plan_of(search)
    plateaus: list[Plateau] = []
    for number, stage in enumerate(measurement.stages):
        if stage.get("phase") != STEADY_PHASE:
            continue
        one = judge(measurement, number, rules, plateaus, settled_before(number, events))
        if one is None or one.window.asked_end_s - stage["start_s"] < _WHOLE * (stage["end_s"] - stage["start_s"]):
            break
        plateaus.append(one)
    return conclude(search["of"], plan, plateaus, died=_died(events))


def settled_before(stage: int, events: Sequence[dict[str, Any]]) -> bool | None:
    """Whether the settle stage before a steady one ended on evidence; None where none was asked for."""
    for event in events:
        if event.get("k") in ("settled", "not_settled") and event.get("stage_index") == stage - 1:
            return bool(event["k"] == "settled")
    return None


def _died(events: Sequence[dict[str, Any]]) -> str | None:
    return next((str(one.get("message", "")) for one in events if one.get("k") == "service_died"), None)


def conclude(of: str, plan: SearchPlan, plateaus: list[Plateau], died: str | None = None) -> Found:
    """Say what the search found from its plateaus."""
    outcomes = [one.outcome for one in plateaus]
    decision = decide(plan, outcomes)
    if decision.ended is None:
        ended = Ended.SERVICE_DIED if died else Ended.INTERRUPTED
        decision = Decision(None, ended, decision.low, decision.high, died or "the run ended before the search did")
    return Found(of, plan, plateaus, decision, _estimate(plateaus, decision), _failure(plan, plateaus, decision, died))


def _estimate(plateaus: list[Plateau], decision: Decision) -> LimitEstimate:
    margins = [one.margin for one in plateaus]
    if not any(_missed(one) for one in plateaus if one.level == decision.high):
        margins = [None] * len(plateaus)  # what failed is no objective, so no margin tells of it
    return estimate_limit([one.level for one in plateaus], margins, decision.low, decision.high)


def _missed(plateau: Plateau) -> bool:
    return plateau.failure is not None and plateau.failure["kind"] == Failure.OBJECTIVE_MISSED


def _failure(plan: SearchPlan, plateaus: list[Plateau], decision: Decision, died: str | None) -> dict[str, Any] | None:
    """What the limit is made of: the failure of the lowest level that fails."""
    if decision.ended is Ended.SERVICE_DIED and died is not None:
        return failure(Failure.SERVICE_DIED, died)
    if decision.ended is Ended.AT_MOST:
        text = f"the highest level allowed, {plan.at_most:g}, passes"
        return failure(Failure.AT_MOST_REACHED, text, decision.low, plan.at_most)
    if decision.ended is Ended.CONTRADICTORY:
        return failure(Failure.CONTRADICTORY, decision.why)
    failed = [one.failure for one in plateaus if one.level == decision.high and one.failure is not None]
    return failed[-1] if failed else None


def stage_of(measurement: Measurement, plateau: Plateau) -> int | None:
    """Number of the steady stage of a plateau."""
    start = plateau.window.asked_start_s
    numbers = [
        number
        for number, one in enumerate(measurement.stages)
        if one.get("phase") == STEADY_PHASE and abs(one["start_s"] - start) < 1e-6
    ]
    return numbers[0] if numbers else None
