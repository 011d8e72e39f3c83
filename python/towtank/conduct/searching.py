"""Searches for the load limit while the engine runs: evaluates each plateau at its end, and appends the next
plateau.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from towtank.analysis import (
    STEADY_PHASE,
    FoundLimit,
    Measurement,
    Plateau,
    PlateauRules,
    SearchDecision,
    SearchEnd,
    conclude_search,
    decide_search,
    judge_plateau,
    search_plan_of,
)
from towtank.conduct.pilot_levels import is_beyond, next_level
from towtank.conduct.steering import Note, Send, StageSteering, StageUnderWay
from towtank.engine import Frame
from towtank.estimates import few_digits
from towtank.plan import PlannedStage
from towtank.results import RunFolder
from towtank.study import DECIDE_STAGE, RELIEVE_SHARE, RELIEVE_STAGE, FindLimit, plateau_stages, stages_after_search


class SearchSteering(StageSteering):
    """Steering that searches for the load limit, and ends each settle stage as soon as it has enough measured
    values.
    """

    def __init__(
        self,
        run: RunFolder,
        stages: list[PlannedStage],
        send: Send,
        note: Note,
        at_least_s: float,
        *,
        load: FindLimit,
        objectives: Sequence[Mapping[str, object]],
    ) -> None:
        super().__init__(run, stages, send, note, at_least_s)
        self.load = load
        self.rules, self.plan = PlateauRules.of(load.document(), objectives), search_plan_of(load.document())
        self.plateaus: list[Plateau] = []
        self.is_over = False
        self._asked: tuple[int, list[PlannedStage]] | None = None
        self._steady: StageUnderWay | None = None
        self._told: set[int] = set()

    def frame(self, frame: Frame) -> None:
        """Process a message of the engine: the start of a stage, or the reply to a request to append stages."""
        if frame.get("k") == "appended" and self._asked is not None:
            stage, stages = self._asked
            self._asked = None
            self.stages += stages
            self._next(stage)
        if frame.get("k") == "refused" and frame.get("do") == "append" and self._asked is not None:
            self._asked = None
            self.is_over = True
            self.note(f"  the search ends: the engine refused further stages: {frame.get('why')}")
        super().frame(frame)
        if self.under_way is not None and self.under_way.about.phase == STEADY_PHASE:
            self._steady = self.under_way

    def look(self) -> None:
        """Evaluate the plateau that has just ended. End a relief stage (low load after a failed plateau) if the backlog
        of requests has drained.
        """
        super().look()
        if self.under_way is not None and not self.is_over and self._asked is None:
            name = self.under_way.name.partition(" ")[0]
            recorded = self.follower.recorded_until - self.under_way.start_s
            if name == DECIDE_STAGE and self._steady is not None and recorded > -1e-6:
                self._judge(self._steady, self.under_way)
            elif name == RELIEVE_STAGE and self.under_way.index not in self._told and recorded > 1.0:
                self._relieve(self.under_way, recorded)

    def keep_from_s(self) -> float:
        """Return the start of the oldest interval that is still needed, which is that of the next plateau to evaluate.
        [s]
        """
        return self.follower.recorded_until - 2.0 if self._steady is None else self._steady.start_s

    def _next(self, stage: int) -> None:
        self._told.add(stage)
        self.send({"do": "next", "stage": stage})

    def _judge(self, steady: StageUnderWay, under_way: StageUnderWay) -> None:
        measurement = Measurement(self.follower.recording())
        plateau = judge_plateau(
            measurement, steady.index, self.rules, self.plateaus, self.settled.get(steady.index - 1)
        )
        self._steady = None
        if plateau is None:
            self.is_over = True
            self.note("  the search ends: nothing was recorded during the plateau")
            return
        self.plateaus.append(plateau)
        decision = self._decide()
        self._say(plateau, decision)
        self._go_on(plateau, decision, under_way.index)

    def _decide(self) -> SearchDecision:
        """Return the decision on the next level, or on the end of the search."""
        return decide_search(self.plan, [plateau.outcome for plateau in self.plateaus])

    def _go_on(self, plateau: Plateau, decision: SearchDecision, stage: int) -> None:
        number = len(self.plateaus)
        if decision.level is None:
            self.is_over = True
            stages = stages_after_search(self.load, number - 1, plateau.level)
        else:
            again = sum(earlier.level == decision.level for earlier in self.plateaus)
            relieve = decision.level * RELIEVE_SHARE if self._backlog(plateau, decision.level) else None
            stages = plateau_stages(self.load, number, plateau.level, decision.level, again=again, relieve_at=relieve)
        if stages:
            self._asked = (stage, stages)
            self.send({"do": "append", "stages": [each.document() for each in stages]})
        else:
            self._next(stage)

    def _backlog(self, plateau: Plateau, level: float) -> bool:
        """Return True if a backlog of requests may delay the next plateau.

        This is the case if the last plateau failed, and the next one has no higher arrival rate. A closed load leaves
        no backlog, because the pending request of a user is cancelled when the user leaves.
        """
        return self.rules.is_open and level <= plateau.level and not plateau.passed

    def _relieve(self, stage: StageUnderWay, recorded_s: float) -> None:
        """End the relief stage (low load after a failed plateau) if the backlog has drained.

        The backlog has drained when no arrival waits, and the number of requests in flight is not significantly larger
        than at the highest level that passed.
        """
        last = {
            interval.worker: interval
            for interval in self.follower.intervals
            if interval.end_s > self.follower.recorded_until - 0.5
        }
        waiting, in_flight = (
            sum(getattr(interval, key) for interval in last.values()) for key in ("waiting", "in_flight")
        )
        passed = [plateau for plateau in self.plateaus if plateau.passed]
        needs = max(passed, key=lambda plateau: plateau.level).in_flight if passed else math.inf
        if last and waiting == 0 and in_flight <= needs + math.sqrt(max(needs, 1.0)):
            self.run.event("relieved", stage=stage.name, stage_index=stage.index, after_s=recorded_s)
            self._next(stage.index)

    def _end(self, decision: SearchDecision) -> str:
        """Describe the result of the search."""
        found = conclude_search(self.load.of, self.plan, self.plateaus).document()
        return f"{decision.ended}: limit {FoundLimit.model_validate(found).in_words}"

    def _say(self, plateau: Plateau, decision: SearchDecision) -> None:
        unit = "users" if self.load.of == "users" else "/s"
        what = "passed" if plateau.failure is None else f"failed: {plateau.failure.text}"
        if decision.level is not None:
            after = f"next {decision.level:g} {unit} ({decision.why})"
        else:
            after = self._end(decision)
            self.run.event(
                "search_ended", ended=str(decision.ended), why=decision.why, low=decision.low, high=decision.high
            )
        self.run.event(
            "plateau",
            level=plateau.whole_level,
            stage=plateau.stage,
            passed=plateau.passed,
            failure=None if plateau.failure is None else asdict(plateau.failure),
            next=decision.level,
        )
        binding = plateau.binding
        shown = "" if binding is None else "no response" if binding.seen is None else few_digits(binding.seen)
        margin = "" if binding is None else f", {binding.text}: {shown}"
        rate = np.nan if plateau.throughput.value is None else plateau.throughput.value
        self.note(f"  {plateau.level:g} {unit} {what} ({few_digits(rate, 4)} /s{margin}); {after}")


class PilotSteering(SearchSteering):
    """Steering that raises the load of a pilot run until throughput no longer grows in proportion to the load."""

    def _decide(self) -> SearchDecision:
        level = next_level(self.plateaus, self.plan.steps[0].times or 2.0, self.plan.at_most)
        if level is None:
            why = "the limit is exceeded" if is_beyond(self.plateaus) else "the last level"
            return SearchDecision(None, SearchEnd.BRACKETED, why=why)
        return SearchDecision(
            level, why="raised" if level > self.plateaus[-1].level else "lowered: the first level was beyond the limit"
        )

    def _end(self, decision: SearchDecision) -> str:
        return decision.why
