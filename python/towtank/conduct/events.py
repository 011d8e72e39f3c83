"""Carries out the events of a study, such as the failure of a service, during the load.

Each event runs in a separate thread, so that it does not delay the checks of engine and services. The thread records
the event when it happens. An event with a duration ends at the end of the load at the latest, even if the run ends
early.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from towtank.errors import TowtankError
from towtank.plan import PlannedStage
from towtank.results import Follower, RunFolder
from towtank.study import Event
from towtank.system import Hosts

_NANOSECONDS = 1_000_000_000
# Longest wait for the end of all events after the load; long enough for a service to start. [s]
_END_WITHIN_S = 90.0


class EventTarget(Protocol):
    """Running system whose services and hosts are changed by events."""

    @property
    def hosts(self) -> Hosts:
        """Hosts of the running system, on which events may interrupt networks and fill disks."""

    def processes_of(self, name: str) -> list[str]:
        """Return the names of all processes of a service. The name of a single process is returned as it is."""

    def signal(self, name: str, what: str) -> None:
        """Kill, pause or resume a process of the system by a signal."""

    def stop(self, name: str) -> None:
        """Shut down a process as its service prescribes."""

    def start(self, name: str) -> dict[str, int]:
        """Start a process of the system again; return the process ids of the new processes by name."""


@dataclass
class Events:
    """Events that a study defines for its runs, such as failures of services, with the threads that carry them out.

    The folder of the run records `event_begins`, `event_ends` and `event_failed`. `watch` is called with the name and
    process id of every process that an event starts, and `note` shows a message to the user.
    """

    run: RunFolder
    events: Mapping[str, Event]
    stages: Sequence[PlannedStage]
    system: EventTarget
    watch: Callable[[str, int], None]
    note: Callable[[str], None]
    failures: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: dict[str, threading.Thread] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stage(self, name: str, start_s: float) -> None:
        """Start the clocks of the events that count from the start of a stage of the load, `start_s` after the start of
        the load [s]. The first stage also starts the clocks of the events that count from the start of the load.
        """
        phase = next((stage.phase for stage in self.stages if stage.name == name), name)
        for title, event in self.events.items():
            wanted = event.at.stage
            named = any(stage.name == wanted for stage in self.stages)
            of_this = wanted is None or wanted == name or (wanted == phase and not named)
            if of_this and title not in self._begun:
                self._begun.add(title)
                self._set_clock(title, event, (0.0 if wanted is None else start_s) + event.at.after_s)

    def _set_clock(self, title: str, event: Event, at_s: float) -> None:
        # As a daemon, the thread does not prevent Towtank from exiting if an event never ends, for example because a
        # disk hangs.
        work = threading.Thread(
            target=self._happen, args=(title, event, at_s), name=f"towtank-event-{title}", daemon=True
        )
        self._threads[title] = work
        work.start()

    def finish(self) -> None:
        """End the events that are still in effect, and wait until their threads have ended."""
        self._over.set()
        deadline = time.monotonic() + _END_WITHIN_S
        for title, thread in self._threads.items():
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                self._failed(
                    title, self.events[title], f"it did not end within {_END_WITHIN_S:g} s after the end of the load"
                )
        for title, event in self.events.items():
            if title not in self._begun:
                self._failed(title, event, "the stage in which it was planned did not begin")

    def _happen(self, title: str, event: Event, at_s: float) -> None:
        try:
            due_ns = self._origin_ns() + round(at_s * _NANOSECONDS)
            if self._over.wait(max(0.0, (due_ns - time.monotonic_ns()) / _NANOSECONDS)):
                self._failed(title, event, "the load ended before the planned time")
                return
            self.note(f"  event {title}: {event.do} {event.on}")
            self._do(title, event)
        # The error ends the thread of this event only, and is recorded.
        except Exception as error:
            self._failed(title, event, str(error) or type(error).__name__)

    def _origin_ns(self) -> int:
        """Return the start of the load on the monotonic clock of this machine, from the engine's record. [ns]"""
        follower = Follower(self.run.engine)
        for _ in range(40):
            follower.read()
            if follower.header is not None and follower.header.monotonic_ns is not None:
                return follower.header.monotonic_ns
            if self._over.wait(0.05):
                break
        started = [event["t_ns"] for event in self.run.events() if event["k"] == "engine_started"]
        return int(started[-1]) if started else time.monotonic_ns()

    def _do(self, title: str, event: Event) -> None:
        service, host = event.service or "", event.host or ""
        if event.service is not None and event.do != "pause":
            self._tell("event_begins", title, event, processes=self.system.processes_of(service))
        if event.do in ("kill", "restart"):
            self.system.signal(service, "kill")
            if event.do == "restart":
                self._over.wait(event.for_ or 0.0)
                self._start(service)
        elif event.do == "stop":
            self.system.stop(service)
        elif event.do == "start":
            self._start(service)
        elif event.do == "pause":
            self._last(title, event, lambda: self.system.signal(service, "hold"), self._going_on(service))
        elif event.do == "cut":
            broken = self.system.hosts.breakable(host)
            self._last(title, event, broken.cut, broken.mend)
        else:
            self._fill(title, event)
        if event.do not in ("pause", "cut", "fill"):
            self._tell("event_ends", title, event)

    def _going_on(self, service: str) -> Callable[[], None]:
        def go_on() -> None:
            # A server that died during the event cannot be resumed. The checks of the services report its death.
            with suppress(TowtankError):
                self.system.signal(service, "go on")

        return go_on

    def _start(self, service: str) -> None:
        for name, pid in self.system.start(service).items():
            self.watch(name, pid)

    def _last(self, title: str, event: Event, begin: Callable[[], Any], end: Callable[[], None]) -> None:
        """Begin an event with a duration, and end it when the duration has passed or the load has ended."""
        self._tell("event_begins", title, event)
        try:
            begin()
            self._over.wait(event.for_)
        finally:
            end()
        self._tell("event_ends", title, event)

    def _fill(self, title: str, event: Event) -> None:
        broken, disk = self.system.hosts.breakable(event.host or ""), event.disk or ""
        self._tell("event_begins", title, event)
        try:
            left = broken.fill(disk, event.leave_bytes, event.leave_files)
            self._tell("event_filled", title, event, **left)
            self._over.wait(event.for_)
        finally:
            broken.release(disk)
        self._tell("event_ends", title, event)

    def _failed(self, title: str, event: Event, reason: str) -> None:
        message = f"event {title} ({event.do} {event.on}) was not carried out as planned: {reason}"
        with self._lock:
            self.failures.append(message)
        self._tell("event_failed", title, event, reason=reason, message=message)
        self.note(f"  {message}")

    def _tell(self, kind: str, title: str, event: Event, **more: Any) -> None:
        with self._lock:
            self.run.event(kind, event=title, do=event.do, on=event.on, **more)
