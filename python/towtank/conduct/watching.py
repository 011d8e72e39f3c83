"""Watches a load while it runs: engine, services, steering, objectives that end it early, and the user's stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from towtank.conduct.aborting import Aborting
from towtank.conduct.display import Display
from towtank.conduct.events import Events
from towtank.conduct.log_growth import LogGrowth
from towtank.conduct.stopping import StopRequest
from towtank.engine import EngineProcess
from towtank.results import RunFolder
from towtank.system import EndedService

if TYPE_CHECKING:
    from towtank.conduct.run import RunOutcome
    from towtank.conduct.steering import Steering

# Longest wait for the next message of the engine. The services are checked after each wait. [s]
_LOOK_EVERY_S = 0.25
# Interval between checks for services that are stopped by a signal; each check reads a few files per service. A shorter
# interruption looks like a slow response. [s]
_HELD_EVERY_S = 1.0
# Time after the planned end of a run, including the wait for pending responses, at which an engine that still runs is
# killed. [s]
_MARGIN_S = 30.0
# Longest time that the engine waits for pending responses if the run is stopped early. [s]
STOPPING_S = 5.0


@dataclass
class Watch:
    """Watches the engine, the services and the user's request to stop until the engine ends."""

    run: RunFolder
    engine: EngineProcess
    ended: Callable[[], list[EndedService]]
    outcome: RunOutcome
    stop: StopRequest
    display: Display
    stage: str = ""
    asked: bool = False
    hastened: bool = False
    held: Callable[[], list[str]] = list
    holding: frozenset[str] = frozenset()
    held_looked_at: float = -math.inf
    steering: Steering | None = None
    events: Events | None = None
    growth: LogGrowth | None = None
    begun: float = 0.0
    deadline: float = 0.0
    drain: float = 0.0
    enough: float = math.inf
    aborting: Aborting | None = None

    def until_end(self, planned: float, drain: float) -> None:
        """Handle messages and events of the run until the engine has ended: after the planned length of the load, and
        at most `drain` for pending responses. [s]
        """
        self.begun, self.drain = time.monotonic(), drain
        self._allow(planned)
        while self.engine.status() is None:
            self._frames(_LOOK_EVERY_S)
            self._services()
            self._stopped_services()
            if self.growth is not None:
                self.growth.look()
            if self.steering is not None and not self.asked:
                self.steering.look()
            if self.aborting is not None and not self.asked:
                self.outcome.aborted = self.aborting.look()
            if (self.stop.requested or self.outcome.died or self.outcome.aborted) and not self.asked:
                self._ask(drain)
                self.deadline = min(self.deadline, time.monotonic() + drain + _MARGIN_S)
            if self.stop.requested and not self.hastened:
                self.hastened, self.enough = True, time.monotonic() + min(drain, STOPPING_S)
            if time.monotonic() > self.enough:
                self.enough = math.inf
                self.run.event("engine_asked_to_stop", why="responses take too long", drain_s=0.0)
                self.engine.stop()
            if time.monotonic() > self.deadline:
                # If a service died, its death is reported as the reason instead.
                if not self.outcome.died:
                    self.outcome.fail("the engine did not end in time and was killed")
                self.engine.kill()
        self._frames(0.0)

    def _allow(self, planned: float) -> None:
        """Set the time at which the engine is killed, from the planned length of its stages."""
        self.deadline = self.begun + planned + self.drain + _MARGIN_S

    def _frames(self, wait_s: float) -> None:
        for frame in self.engine.frames(wait_s):
            if frame.get("k") == "stage":
                self.stage = str(frame.get("name", ""))
                self.run.event("stage", name=self.stage, engine_t_s=frame.get("t_s"))
                if self.events is not None:
                    self.events.stage(self.stage, float(frame.get("t_s") or 0.0))
            elif frame.get("k") == "appended" and not self.asked:
                self._allow(float(frame["end_s"]))
            if self.steering is not None:
                self.steering.frame(frame)
            self.display.frame(frame)

    def _services(self) -> None:
        for ended in self.ended():
            if ended.tier not in self.outcome.died:
                where = f" in stage {self.stage}" if self.stage else ""
                self.outcome.died[ended.tier] = ended.text + where + ended.last_lines
                message = f"service {ended.tier} {self.outcome.died[ended.tier]}"
                self.run.event("service_died", service=ended.tier, reason=ended.text, stage=self.stage, message=message)
                self.display.note(message)

    def _stopped_services(self) -> None:
        now = time.monotonic()
        if now - self.held_looked_at < _HELD_EVERY_S:
            return
        self.held_looked_at = now
        held = frozenset(self.held())
        for name in sorted(held - self.holding):
            self.run.event("service_held", service=name, stage=self.stage)
            self.display.note(f"service {name} is stopped by a signal")
        for name in sorted(self.holding - held):
            self.run.event("service_goes_on", service=name, stage=self.stage)
        self.holding = held

    def _ask(self, drain: float) -> None:
        """Ask the engine to stop early: a service died, an objective is missed, or the user requested a stop."""
        self.asked = True
        why = "a service died" if self.outcome.died else self.outcome.aborted or "the user asked"
        if self.stop.requested:
            drain = min(drain, STOPPING_S)
        self.run.event("engine_asked_to_stop", why=why, drain_s=drain)
        self.engine.stop()
