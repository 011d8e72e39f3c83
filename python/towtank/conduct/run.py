"""Conducts one run: starts the system, observes it, applies the load, stops the system, and records everything.

A failure of the system under test or of the engine, or a stop by the user, raises no exception. It is recorded in
`run.json` as `status` and `reason`, and all other records are kept.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from towtank import marking
from towtank.conduct.aborting import Aborting
from towtank.conduct.display import Display
from towtank.conduct.envelope import generator_facts
from towtank.conduct.events import Events
from towtank.conduct.live_sending import LiveSending
from towtank.conduct.log_growth import LogGrowth
from towtank.conduct.pinning import Pinning, on_generator
from towtank.conduct.reading_back import ReadBack, read_back
from towtank.conduct.stopping import StopRequest
from towtank.conduct.targets_here import watching_targets
from towtank.conduct.watching import STOPPING_S, Watch
from towtank.documents import plain
from towtank.engine import EngineProcess
from towtank.errors import EngineError, Stopped, StudyError, TargetError, TowtankError
from towtank.plan import Plan
from towtank.results import GENERATOR_GROUP, RunFolder
from towtank.system import EndedService, Endpoints, GeneratorPlace, HostEntry, System, describe_status, log_tail

if TYPE_CHECKING:
    from towtank.conduct.steering import Steering
    from towtank.study import Event, Objective

ENGINE_LOG = "engine.log"
# Exit status of the engine if it cannot write its results (EX_IOERR of sysexits(3)).
ENGINE_DISK_FULL = 74


class Observing(Protocol):
    """Observation of a started system, to which processes can be added during the load."""

    def failures(self) -> list[str]:
        """Return one sentence for each metric or process that could not be observed."""

    def add_group(self, name: str, pid: int) -> None:
        """Observe this process and its descendants from this call on."""


Steer = Callable[[Plan, Callable[[Mapping[str, object]], None]], "Steering"]


@dataclass(frozen=True)
class RunTask:
    """Description of one run, with functions that create the system, the plan and the observation.

    Attributes
    ----------
    run : RunFolder
        Folder of the record.
    title : str
        Name of the run in messages.
    system : callable
        Function that creates the system, without starting it, from the run's log folder.
    plan : callable
        Function that creates the engine's plan from the endpoints of the system.
    observe : callable
        Function that creates the observation from the run folder and the endpoints of the system.
    pinning : Pinning
        CPUs of system and generator.
    steer : callable, optional
        Function that returns the steering, which changes the load while it runs. Its arguments are the plan and a
        function that sends a command to the engine. By default the load follows the plan.
    lasts : callable, optional
        Function that returns the shortest and longest duration of a load whose stages depend on its results. [s]
    live_sending : LiveSending
        Receivers to which results are sent during the run.
    events : mapping of str to Event
        Changes of the system during the load, such as failures of services, by name.
    read_back : ReadBack, optional
        Settings of the read-back after the load; by default nothing is read back.
    """

    run: RunFolder
    title: str
    system: Callable[[Path], System]
    plan: Callable[[Endpoints], Plan]
    observe: Callable[[RunFolder, Endpoints], AbstractContextManager[Observing]]
    pinning: Pinning
    steer: Steer | None = None
    lasts: Callable[[], tuple[float, float]] | None = None
    live_sending: LiveSending = field(default_factory=LiveSending)
    events: Mapping[str, Event] = field(default_factory=dict)
    read_back: ReadBack | None = None


@dataclass
class RunOutcome:
    """Result of a run: its status and the reason for its failure as in `run.json`, and messages for the user.

    `came_up` is True if all services of the system started, and `disk_full` if the disk became full, so that further
    runs would fail as well. `died` describes the death of each service that died during the load. `aborted` is the
    objective of `--abort-on` that ended the load early, with the value.
    """

    status: str = "complete"
    reason: str | None = None
    came_up: bool = False
    disk_full: bool = False
    died: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    aborted: str | None = None

    def fail(self, reason: str) -> None:
        """Mark the run as failed; keep the reason of an earlier failure."""
        self.status, self.reason = "failed", self.reason or reason


def conduct_run(task: RunTask, stop: StopRequest, display: Display) -> RunOutcome:
    """Conduct one run, and record its outcome in the run folder.

    Raises
    ------
    StudyError
        If the study's files do not fit the running system; every other run of the study would fail as well.
    """
    run, outcome = task.run, RunOutcome()
    run.update(status="running", started_wall_ns=time.time_ns(), pinning=task.pinning.document())
    with marking.marked(run.path), on_generator(task.pinning):
        try:
            _with_system(task, outcome, stop, display)
        except TargetError as error:
            outcome.fail(str(error))
        except Stopped:
            outcome.status = "stopped"
        # Such a fault of the study is detected only while the system runs.
        except StudyError as error:
            outcome.fail(str(error))
            _close(run, outcome)
            raise
        except TowtankError as error:
            outcome.fail(str(error))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            outcome.fail(f"the disk is full: {error}")
            outcome.disk_full = True
    if not outcome.disk_full:
        _close(run, outcome)
    display.run_ends(outcome.status if outcome.reason is None else f"{outcome.status}: {outcome.reason}")
    return outcome


def _close(run: RunFolder, outcome: RunOutcome) -> None:
    run.event("run_ended", status=outcome.status, reason=outcome.reason)
    reason = {} if outcome.reason is None else {"reason": outcome.reason}
    run.update(status=outcome.status, ended_wall_ns=time.time_ns(), **reason)


def _with_system(task: RunTask, outcome: RunOutcome, stop: StopRequest, display: Display) -> None:
    run = task.run
    run.event("system_starting")
    system = task.system(run.logs)
    with system:
        try:
            endpoints = system.up()
        except TargetError as error:
            run.event("system_failed", reason=str(error))
            raise
        outcome.came_up = True
        run.event("system_up", addresses=endpoints.addresses)
        run.update(tiers=plain(endpoints.tiers), settings=endpoints.settings, hosts=endpoints.hosts)
        plan = task.plan(endpoints)
        run.write_plan(plan.document())
        with (
            task.observe(run, endpoints) as observation,
            task.live_sending.open(run, display, outcome.notes),
            watching_targets(run, plan, endpoints.groups, observation.add_group, endpoints.watched),
        ):
            run.event("observation_started")
            # The engine is observed as well, in order to detect a CPU limit that slows it down.
            watched = GENERATOR_GROUP not in endpoints.groups
            drive_engine(
                run,
                task.title,
                plan,
                ended=system.ended,
                held=system.held,
                outcome=outcome,
                stop=stop,
                display=display,
                started=(lambda pid: observation.add_group(GENERATOR_GROUP, pid)) if watched else None,
                steer=task.steer,
                lasts=task.lasts,
                events=Events(task.run, task.events, plan.load.stages, system, observation.add_group, display.note)
                if task.events
                else None,
                place=endpoints.generator,
            )
        run.event("observation_stopped", failures=observation.failures())
        if task.read_back is not None and not outcome.disk_full:
            read_back(task.read_back, run, system, endpoints, stop=stop, display=display)
    run.event("system_down")


def drive_engine(
    run: RunFolder,
    title: str,
    plan: Plan,
    *,
    ended: Callable[[], list[EndedService]],
    outcome: RunOutcome,
    stop: StopRequest,
    display: Display,
    held: Callable[[], list[str]] = list,
    started: Callable[[int], None] | None = None,
    steer: Steer | None = None,
    lasts: Callable[[], tuple[float, float]] | None = None,
    events: Events | None = None,
    place: GeneratorPlace | None = None,
    abort_on: Sequence[Objective] = (),
) -> None:
    """Run the engine with the plan of the run folder, and watch the engine and the services until the engine ends.

    `outcome` is updated. `ended` and `held` return the service processes that ended unexpectedly, and those that a
    signal stopped; `started` is called with the process id of the engine; `steer` returns the steering that changes the
    load while it runs, which otherwise follows the plan; `lasts` returns the shortest and longest duration of a load
    whose stages depend on its results [s]. The engine runs on the host and in the network namespace `place`, by default
    those of this process. The load ends early if it clearly misses an objective of `abort_on`.
    """
    entry = HostEntry() if place is None else place.entry()
    run.update(**generator_facts(plan, place))
    if lasts is None:
        display.run_starts(title, plan.load.planned_s)
    else:
        least_s, most_s = lasts()
        display.run_starts(title, most_s, least_s)
    environment = {**marking.environment(), **entry.environment}
    growth = LogGrowth(run.logs)
    engine = EngineProcess(run.plan, run.logs / ENGINE_LOG, control=True, enter=entry.command, environment=environment)
    stop.on_second = engine.stop
    stop.waits_for = f"up to {min(plan.drain_s, STOPPING_S):g} s for pending responses, then results are finished"
    try:
        run.event("engine_started", pid=engine.pid, log_bytes=growth.at_start)
        if started is not None:
            started(engine.pid)
        watch = Watch(run=run, engine=engine, ended=ended, outcome=outcome, stop=stop, display=display)
        watch.held = held
        watch.steering = None if steer is None else steer(plan, engine.send)
        watch.events, watch.growth = events, growth
        watch.aborting = Aborting(run, abort_on) if abort_on else None
        watch.until_end(plan.load.planned_s, plan.drain_s)
    finally:
        stop.on_second = None
        if events is not None:
            events.finish()
            outcome.notes += events.failures
        engine.close()
    run.event("engine_ended", status=engine.status(), log_bytes=growth.at_end(), log_growth=growth.document())
    _judge(run, engine.status(), outcome, stop)


def _judge(run: RunFolder, status: int | None, outcome: RunOutcome, stop: StopRequest) -> None:
    """Set status and reason of the run from the engine's exit status and the services that died."""
    if status == ENGINE_DISK_FULL:
        outcome.disk_full = True
    for tier, text in outcome.died.items():
        outcome.fail(f"service {tier} {text}")
    if status != 0:
        outcome.fail(f"the engine ended {describe_status(status)}{engine_words(run.logs / ENGINE_LOG)}")
    if (stop.requested or outcome.aborted) and outcome.status == "complete":
        outcome.status, outcome.reason = "stopped", outcome.aborted


def disk_is_full(folder: Path, hint: str = "free some space, then repeat the command") -> EngineError:
    """Return the error for a disk that is full."""
    return EngineError(f"the disk is full: nothing more can be written to {folder}; the record is kept", hint=hint)


def engine_words(log: Path) -> str:
    """Return the last lines of the engine's log, indented, to be appended to a message."""
    return "".join(f"\n  {line}" for line in log_tail(log, 5))
