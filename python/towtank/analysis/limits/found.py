"""Repeats a search on recorded data: evaluates its plateaus (stages of constant load), and derives the limit of the
system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from towtank.analysis.limits.estimate import LimitEstimate, estimate_limit
from towtank.analysis.limits.plateaus import Failure, Plateau, PlateauRules, judge_plateau, written
from towtank.analysis.limits.search import (
    LOWER_BOUNDS,
    PlateauFailure,
    SearchDecision,
    SearchEnd,
    SearchPlan,
    decide_search,
    search_plan_of,
)
from towtank.analysis.measurement import Measurement
from towtank.analysis.windows.stretch import STEADY_PHASE

# A stage counts as a plateau only if its recording covers at least this share of its planned length, in (0, 1).
_WHOLE = 0.98


@dataclass(frozen=True)
class Found:
    """Outcome of a search for the highest sustainable load.

    Attributes
    ----------
    of : str
        Quantity of the load: `users` or `rate`.
    plan : SearchPlan
        Settings of the search.
    plateaus : list of Plateau
        Plateaus in the order of measurement.
    decision : SearchDecision
        Final decision; `ended` is `interrupted` if the search was not finished.
    estimate : LimitEstimate
        Highest sustainable load.
    failure : Failure or None
        Failure that determined the limit.
    """

    of: str
    plan: SearchPlan
    plateaus: list[Plateau]
    decision: SearchDecision
    estimate: LimitEstimate
    failure: Failure | None

    @property
    def best(self) -> Plateau | None:
        """Plateau whose results represent the run in the run summary: the last passing plateau at the highest passing
        level. If no level passed, it is the first plateau.
        """
        passed = [plateau for plateau in self.plateaus if plateau.passed and plateau.level == self.decision.low]
        return passed[-1] if passed else (self.plateaus[0] if self.plateaus else None)

    def document(self) -> dict[str, object]:
        """Return the search as JSON for a run summary: limit, reason for the end of the search, and plateaus."""
        best = self.best
        return {
            "of": self.of,
            # A limit in users is rounded down to a whole number, so that it is not overstated.
            **vars(self.estimate.whole() if self.of == "users" else self.estimate),
            "is_lower_bound": self.decision.ended in LOWER_BOUNDS,
            "ended": str(self.decision.ended),
            "why": self.decision.why,
            "failure": written(self.failure),
            "binding": written(next((each.binding for each in reversed(self.plateaus) if each.binding), None)),
            "window_level": None if best is None else best.whole_level,
            "plateaus": [plateau.document() for plateau in self.plateaus],
        }


def search_of_run(
    measurement: Measurement,
    search: Mapping[str, object],
    objectives: Iterable[Mapping[str, object]],
    events: Sequence[Mapping[str, object]],
) -> Found:
    """Evaluate the plateaus of a run in their order, and derive the limit.

    Parameters
    ----------
    measurement : Measurement
    search : dict
        Entry `search` of the manifest of the run.
    objectives : sequence of dict
        Objectives of the study.
    events : sequence of dict
        Events of the run. They include the results of settle stages, and the death of a service.
    """
    rules, plan = PlateauRules.of(search, objectives), search_plan_of(search)
    plateaus: list[Plateau] = []
    for number, stage in enumerate(measurement.stages):
        if stage.phase != STEADY_PHASE:
            continue
        plateau = judge_plateau(measurement, number, rules, plateaus, settled_before(number, events))
        whole_s = _WHOLE * (stage.end_s - stage.start_s)
        if plateau is None or plateau.window.asked_end_s - stage.start_s < whole_s:
            break
        plateaus.append(plateau)
    died = next((str(event.get("message", "")) for event in events if event.get("k") == "service_died"), None)
    return conclude_search(str(search["of"]), plan, plateaus, died=died)


def settled_before(stage: int, events: Sequence[Mapping[str, object]]) -> bool | None:
    """Return True if the settle stage before a given stage ended in a steady state, and False if it did not. Return
    None if there is no record of this.
    """
    for event in events:
        if event.get("k") in ("settled", "not_settled") and event.get("stage_index") == stage - 1:
            return bool(event["k"] == "settled")
    return None


def conclude_search(of: str, plan: SearchPlan, plateaus: list[Plateau], died: str | None = None) -> Found:
    """Return the outcome of a search: how it ended, and the limit with its interval."""
    outcomes = [plateau.outcome for plateau in plateaus]
    decision = decide_search(plan, outcomes)
    if decision.ended is None:
        ended = SearchEnd.SERVICE_DIED if died else SearchEnd.INTERRUPTED
        decision = SearchDecision(
            None, ended, decision.low, decision.high, died or "the run ended before the search was complete"
        )
    return Found(of, plan, plateaus, decision, _estimate(plateaus, decision), _failure(plan, plateaus, decision, died))


def _estimate(plateaus: list[Plateau], decision: SearchDecision) -> LimitEstimate:
    margins = [plateau.margin for plateau in plateaus]
    if not any(_missed(plateau) for plateau in plateaus if plateau.level == decision.high):
        # The lowest failing level failed for another reason than an objective. Margins describe objectives only, so
        # they are not used.
        margins = [None] * len(plateaus)
    return estimate_limit([plateau.level for plateau in plateaus], margins, decision.low, decision.high)


def _missed(plateau: Plateau) -> bool:
    return plateau.failure is not None and plateau.failure.kind is PlateauFailure.OBJECTIVE_MISSED


def _failure(plan: SearchPlan, plateaus: list[Plateau], decision: SearchDecision, died: str | None) -> Failure | None:
    """Return the failure that determines the limit: the reason for the end of the search, or else the last failure at
    the lowest failing load level.
    """
    if decision.ended is SearchEnd.SERVICE_DIED and died is not None:
        return Failure(PlateauFailure.SERVICE_DIED, died)
    if decision.ended is SearchEnd.AT_MOST:
        text = f"the highest allowed level, {plan.at_most:g}, passes"
        return Failure(PlateauFailure.AT_MOST_REACHED, text, decision.low, plan.at_most)
    if decision.ended is SearchEnd.CONTRADICTORY:
        return Failure(PlateauFailure.CONTRADICTORY, decision.why)
    failed = [plateau.failure for plateau in plateaus if plateau.level == decision.high and plateau.failure is not None]
    return failed[-1] if failed else None


def stage_of(measurement: Measurement, plateau: Plateau) -> int | None:
    """Return the number of the steady stage in which a plateau was measured; None if it is not found."""
    start = plateau.window.asked_start_s
    numbers = [
        number
        for number, stage in enumerate(measurement.stages)
        if stage.phase == STEADY_PHASE and abs(stage.start_s - start) < 1e-6
    ]
    return numbers[0] if numbers else None
