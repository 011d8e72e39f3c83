"""Steers a load while it runs, by commands to the engine that end a stage or append stages.

The module reads the record while the engine writes it, and decides by functions of the package `analysis`. Each
decision is recorded as an event of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from towtank.analysis import Precision, Settling, SteadySeconds
from towtank.digging import dig
from towtank.engine import Frame
from towtank.plan import PlannedStage
from towtank.results import Follower, RecordedInterval, RunFolder
from towtank.study import SteadyUntil

# Shortest part of a second in a stage that counts as a whole second, as in the analysis. [s]
_WHOLE_SECOND = 0.5

Send = Callable[[Mapping[str, object]], None]
Note = Callable[[str], None]


class Steering(Protocol):
    """Controls a load by commands to the engine; called repeatedly while the engine runs."""

    def frame(self, frame: Frame) -> None:
        """Process a message that the engine sends during the load."""

    def look(self) -> None:
        """Read the new records of the engine, and send a command to the engine if the current stage can end."""


@dataclass
class StageSeconds:
    """Measured values of one stage for each second, summed over the load threads."""

    stage: int
    users: float | None
    _sums: dict[float, list[float]] = field(default_factory=dict)

    def add(self, interval: RecordedInterval) -> None:
        """Add the values that one load thread measured in an interval, if the interval belongs to this stage."""
        if interval.stage != self.stage:
            return
        sums = self._sums.setdefault(float(int((interval.start_s + interval.end_s) / 2)), [0.0] * 7)
        transactions = [series for series in interval.series if series.of == "transaction"]
        sums[0] = max(sums[0], interval.end_s)
        sums[1] = max(sums[1], interval.end_s - interval.start_s)
        sums[2] += sum(series.ok + sum(series.failed.values()) for series in transactions)
        sums[3] += sum(series.response_sum_s for series in transactions)
        sums[4] += interval.in_flight
        sums[5] += interval.waiting
        sums[6] += interval.user_s - interval.think_sum_s

    def until(self, recorded_s: float) -> SteadySeconds:
        """Return the values of the seconds that all load threads have recorded.

        A second of which less than `_WHOLE_SECOND` lies in the stage is left out.
        """
        whole = [
            sums for _, sums in sorted(self._sums.items()) if sums[0] <= recorded_s + 1e-6 and sums[1] >= _WHOLE_SECOND
        ]
        table = np.array(whole, dtype=float).reshape(-1, 7).T
        unpaused = None if self.users is None else table[6]
        return SteadySeconds(table[0], table[1], table[2], table[3], table[4], table[5], self.users, unpaused)


@dataclass
class StageUnderWay:
    """Stage of the load that currently runs, with its planned start and end in seconds since the start of the load."""

    index: int
    name: str
    start_s: float
    end_s: float
    about: PlannedStage


class StageSteering:
    """Steering that ends each settle or steady stage as soon as the stage has enough measured values."""

    def __init__(
        self,
        run: RunFolder,
        stages: list[PlannedStage],
        send: Send,
        note: Note,
        at_least_s: float = 0.0,
        *,
        steady: SteadyUntil | None = None,
    ) -> None:
        self.run, self.stages, self.send, self.note = run, stages, send, note
        self.at_least_s = at_least_s
        self.steady = steady
        self.follower = Follower(run.engine)
        self.under_way: StageUnderWay | None = None
        self.settled: dict[int, bool] = {}
        self._settling: tuple[Settling | Precision, StageSeconds, int] | None = None

    def frame(self, frame: Frame) -> None:
        """Process a message of the engine. Only messages about a new stage or a refused command have an effect."""
        if frame.get("k") == "refused":
            self.run.event("refused", do=frame.get("do"), why=frame.get("why"))
        if frame.get("k") != "stage" or not isinstance(frame.get("index"), int):
            return
        index = int(frame["index"])
        self._over()
        if index >= len(self.stages):
            self.under_way = None
            return
        start, end = (float(dig(frame, key) or 0.0) for key in ("t_s", "end_s"))
        self.under_way = StageUnderWay(index, str(frame.get("name", "")), start, end, self.stages[index])
        deciding = self._deciding(self.under_way.about)
        if deciding is not None:
            users = self.under_way.about.users
            seconds = StageSeconds(index, None if users is None else float(users))
            self._settling = (deciding, seconds, 0)

    def _deciding(self, stage: PlannedStage) -> Settling | Precision | None:
        """Return the statistical test that ends a stage; None if the stage ends at its planned time."""
        if self.is_settle(stage):
            return Settling(self.at_least_s)
        if self.steady is not None and stage.until is not None and stage.phase == "steady":
            return Precision(self.steady.to, self.steady.at_least)
        return None

    def is_settle(self, stage: PlannedStage) -> bool:
        """Return True if a stage lasts until the test of settling passes."""
        return stage.until is not None and stage.name.startswith("settle")

    def look(self) -> None:
        """Apply the test of the current stage to the new seconds of the record, and end the stage if the test
        passes.
        """
        new = self.follower.read()
        if self._settling is not None and self.under_way is not None:
            settling, seconds, seen = self._settling
            for interval in new:
                seconds.add(interval)
            record = seconds.until(self.follower.recorded_until)
            if len(record.ends_s) > seen:
                self._settling = (settling, seconds, len(record.ends_s))
                if settling.take(record):
                    self._end_stage(settling, record)
        self.follower.forget(self.keep_from_s())

    def keep_from_s(self) -> float:
        """Return the start of the oldest interval that is still needed. [s]"""
        return self.follower.recorded_until

    def _end_stage(self, deciding: Settling | Precision, record: SteadySeconds) -> None:
        assert self.under_way is not None and deciding.last is not None
        stage, after = self.under_way, float(record.lengths_s.sum())
        self._settling = None
        about = {"stage": stage.name, "stage_index": stage.index, "t_s": float(record.ends_s[-1]), "after_s": after}
        if isinstance(deciding, Precision):
            self.run.event("precise", **about, half_width=deciding.half_width)
        else:
            self.settled[stage.index] = True
            self.run.event("settled", **about, evidence=deciding.last.document())
        self.send({"do": "next", "stage": stage.index})

    def _over(self) -> None:
        """Record that a stage reached its longest duration before its test passed."""
        if self._settling is None or self.under_way is None:
            return
        stage, deciding = self.under_way, self._settling[0]
        self._settling = None
        if isinstance(deciding, Precision):
            self.run.event("not_precise", stage=stage.name, stage_index=stage.index, half_width=deciding.half_width)
            return
        last = deciding.last
        self.settled[stage.index] = False
        evidence = last.document() if last is not None else {"why": "nothing was recorded"}
        self.run.event("not_settled", stage=stage.name, stage_index=stage.index, t_s=stage.end_s, evidence=evidence)
        self.note(f"  {stage.name}: not settled after {stage.end_s - stage.start_s:.0f} s: {evidence['why']}")
