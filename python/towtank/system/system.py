"""Starts and stops the services of a system under test.

The method `down` removes everything that `up` created. If this process dies, the guard processes end the services.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from towtank.engine import binary
from towtank.errors import EngineError, TargetError
from towtank.secrets import make_private_folder
from towtank.system.hosts.group import Hosts
from towtank.system.hosts.host import Enterable, Host, HostSettings
from towtank.system.process import Check, HostEntry, Note, Process, no_check, no_note
from towtank.system.scratch import make_scratch
from towtank.system.service import Place, Service, scrapers_of

T = TypeVar("T")
_POLL_S = 0.1
_IN_FOREGROUND = "a program that puts itself into the background must be started in the foreground"
# Time limit for the end of a killed process tree, which usually takes milliseconds but may be blocked by a disk. The
# grace time of the process is added. [s]
_KILLED_WITHIN_S = 10.0


@dataclass(frozen=True)
class GeneratorPlace:
    """Host in whose network the load generator runs, with its name; None if the generator runs outside all hosts."""

    host: Enterable | None = None
    name: str | None = None

    def entry(self) -> HostEntry:
        """Return the command prefix and the environment that make a command run in the network of the load
        generator.
        """
        return HostEntry() if self.host is None else self.host.entry()

    def within(self, work: Callable[[], T]) -> T:
        """Call a function in the network of the load generator, and return the result."""
        return work() if self.host is None else self.host.within(work)


@dataclass(frozen=True)
class Tier:
    """Process of a service, or packet relay: its host, the CPUs to which it is pinned, and its resource limits if it is
    a process.
    """

    kind: str
    host: str | None
    cpus: list[int]
    limits: dict[str, int | None] | None = None

    def document(self) -> dict[str, object]:
        """Return the tier as in the manifest of a run."""
        limits = {} if self.limits is None else {"limits": self.limits}
        return {"kind": self.kind, "host": self.host, "cpus": self.cpus, **limits}


@dataclass(frozen=True)
class Endpoints:
    """Addresses, processes and other properties of a running system.

    Attributes
    ----------
    addresses : dict
        Addresses `host:port` for virtual users, by service.
    groups : dict
        Root process id of each tier on this machine, by name of the tier (a process of a service or a packet
        relay).
    tiers : dict
        All tiers of the system, by name.
    settings : dict
        Effective settings of each service, by name.
    scrapers : list
        Scrapers of the services and hosts.
    exports : dict
        Files that workloads may use, by service and name of the file.
    hosts : dict
        Provider, address and limits of each host, by name.
    probes : list
        Probes on other machines.
    watched : dict
        Ids of processes on this machine that Towtank did not start, by the service to which they belong.
    generator : GeneratorPlace
        Host in whose network the load generator runs.
    """

    addresses: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    tiers: dict[str, Tier] = field(default_factory=dict)
    settings: dict[str, dict[str, object]] = field(default_factory=dict)
    scrapers: list[Any] = field(default_factory=list)
    exports: dict[str, dict[str, Path]] = field(default_factory=dict)
    hosts: dict[str, object] = field(default_factory=dict)
    probes: list[Any] = field(default_factory=list)
    watched: dict[str, list[int]] = field(default_factory=dict)
    generator: GeneratorPlace = field(default_factory=GeneratorPlace)


@dataclass(frozen=True)
class EndedService:
    """Process of a service that ended unexpectedly: its name, how it ended, and the last lines of its log, indented."""

    tier: str
    text: str
    last_lines: str = ""


def program_folders() -> list[Path]:
    """Return the folders of the programs that Towtank runs: the Python interpreter, its modules, and the engine."""
    folders = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).parent]
    folders += [Path(path) for path in sys.path if os.path.isdir(path)]  # noqa: PTH112 - false without permission
    with suppress(EngineError):
        folders.append(binary().absolute().parent)
    return folders


def in_order(services: list[Service]) -> list[Service]:
    """Return the services and all services that they require, without duplicates, and with required services first."""
    ordered: list[Service] = []
    for service in services:
        for each in (*in_order(service.requires()), service):
            if each not in ordered:
                ordered.append(each)
    return ordered


def _ask_to_end(service: Service, own: list[Process]) -> None:
    """Ask a service with a running process to shut down; it will not be started again."""
    if any(process.status() is None for process in own):
        service.stopping(for_good=True)


class System:
    """System under test with all its services.

    Parameters
    ----------
    services : list of Service
        Services in the order of their start. Services that they require are added, and start earlier.
    data : Path
        Folder that remains after the run, for populations. Only one system may use it at a time.
    logs : Path
        Folder for the logs of the run.
    hosts : Hosts, optional
        Hosts of the services; by default all services run on this machine.
    generator : Host, optional
        Host of the load generator; by default it runs on this machine, outside all hosts.
    kept : tuple of Path
        Further folders of this machine that must be visible on every host.
    cpus : list of int, optional
        CPUs that the system may use; by default all.
    check, note : callable
        Functions that are called repeatedly during waits, and with the description of each step; see `Place`.
    """

    def __init__(
        self,
        services: list[Service],
        data: Path,
        logs: Path,
        *,
        hosts: Hosts | None = None,
        generator: Host | None = None,
        kept: tuple[Path, ...] = (),
        cpus: list[int] | None = None,
        check: Check = no_check,
        note: Note = no_note,
    ) -> None:
        self._services = in_order(services)
        self._data, self._logs, self._cpus = data, logs, cpus
        self._hosts, self._kept = hosts or Hosts(), kept
        self._generator = generator
        self._check, self._note = check, note
        self._processes: list[tuple[Service, Process]] = []
        self._prepared: list[Service] = []
        # Protects the lists of services and processes, because events start processes in other threads, possibly while
        # this thread stops the system.
        self._registering = threading.Lock()
        # Names of processes that an event has ended. Their end is expected.
        self._taken_down: set[str] = set()
        self._held: set[str] = set()
        self._scratch: Path | None = None
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    def up(self) -> Endpoints:
        """Start all services in order. Each service starts when the previous one is ready.

        Raises
        ------
        TargetError
            If a requirement is missing or a service does not start. All services are then stopped.
        """
        missing = self._hosts.lacks()
        missing += [text for service in self._services if (text := service.missing())]
        if missing:
            raise TargetError("\n".join(missing))
        try:
            self._take_data()
            self._hosts.watch()
            self._scratch = make_scratch()
            # Other users can enter this folder but not list it, as servers need that do not run as root.
            self._scratch.chmod(0o711)
            self._hosts.prepare(
                HostSettings(self._scratch, self._folders_to_see(), self._check, tuple(self._cpus or ()))
            )
            for service in self._services:
                self._bring_up(service)
            self._hosts.confine(self._folders_on)
        except BaseException:
            self.down()
            raise
        return self._endpoints()

    def _take_data(self) -> None:
        """Lock the data folder against other systems, which could reset a population while this system uses it."""
        self._data.mkdir(parents=True, exist_ok=True)
        self._lock = (self._data / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            hint = "run `towtank system down`, wait for the other study, or set TOWTANK_STATE to another folder"
            raise TargetError(f"{self._data} is in use by another running system", hint=hint) from error

    def _folders_to_see(self) -> tuple[Path, ...]:
        """Return the folders of this machine that must be visible on every host."""
        assert self._scratch is not None
        self._logs.mkdir(parents=True, exist_ok=True)
        own = [folder for service in self._services for folder in service.folders()]
        folders = (self._data, self._scratch, self._logs, *self._kept, *own, *program_folders())
        return tuple(dict.fromkeys(folder.absolute() for folder in folders))

    def _folders_on(self, host: Host) -> list[Path]:
        """Return the folders of this machine with the files of the services on a host."""
        assert self._scratch is not None
        own = [service.name for service in self._services if host in (service.host, *service.hosts)]
        return [base / name for name in own for base in (self._data, self._scratch)]

    def _place(self, service: Service) -> Place:
        assert self._scratch is not None
        scratch = self._scratch / service.name
        make_private_folder(scratch)
        return Place(self._data / service.name, scratch, self._logs, self._cpus, self._check, self._note, service.host)

    def _bring_up(self, service: Service) -> None:
        place = self._place(service)
        self._check()
        self._prepared.append(service)
        service.prepare(place)
        for spec in service.processes(place):
            process = (spec.host or service.host).process(spec, self._logs / f"{spec.name}.log", self._cpus)
            self._processes.append((service, process))
            service.starting(spec.name)
            process.start()
        self._await(service, [process for owner, process in self._processes if owner is service], service.ready)

    def _await(self, service: Service, own: list[Process], ready: Callable[[], str | None]) -> None:
        """Wait until a service is ready; raise an error if one of its processes ends or it takes too long."""
        deadline = time.monotonic() + service.ready_within_s
        while True:
            reason = ready()
            self._check()
            # The processes are checked even if the service responds, because the response may come from another program
            # that listens on the same port.
            for process in own:
                if process.status() is not None:
                    reported = f"{process.spec.name} {process.ended_text()} before it was ready{process.last_lines()}"
                    raise TargetError(reported, hint=_IN_FOREGROUND if process.status() == 0 else None)
            if reason is None:
                return
            if time.monotonic() > deadline:
                raise TargetError(self._late(service, reason))
            time.sleep(_POLL_S)

    def _late(self, service: Service, reason: str) -> str:
        own = [process for owner, process in self._processes if owner is service]
        if not own:
            return f"{service.name} cannot be reached: {reason}"
        shown = "".join(process.last_lines() for process in own)
        return f"{service.name} was not ready within {service.ready_within_s:.0f} s: {reason}{shown}"

    def _endpoints(self) -> Endpoints:
        carriers = self._hosts.processes()
        return Endpoints(
            addresses={each.name: each.addresses() for each in self._services if each.addresses()},
            groups={
                **{process.spec.name: process.pid for _, process in self._processes if process.pid is not None},
                **carriers,
            },
            tiers={
                process.spec.name: Tier(service.kind, host.name, self._cpus_of(host), process.limits())
                for service, process in self._processes
                for host in [process.spec.host or service.host]
            }
            | {name: Tier("relay", None, self._cpus or []) for name in carriers},
            settings={service.name: service.settings_used() for service in self._services},
            scrapers=[
                *(scraper for service in self._services for scraper in scrapers_of(service)),
                *self._hosts.scrapers(),
            ],
            exports={each.name: dict(each.exports()) for each in self._services if each.exports()},
            hosts=self._hosts.facts(),
            probes=self._hosts.probes(),
            watched={each.name: pids for each in self._services if (pids := each.watched())},
            generator=self._generator_place(),
        )

    def _generator_place(self) -> GeneratorPlace:
        host = self._generator
        return GeneratorPlace(host, host.name) if isinstance(host, Enterable) else GeneratorPlace()

    def _cpus_of(self, host: Host) -> list[int]:
        """Return the CPUs to which the processes of a host are pinned; empty if they are not pinned."""
        own = host.cpus
        return (self._cpus or []) if own is None else own

    def ended(self) -> list[EndedService]:
        """Return the service processes, and helper programs of hosts, that ended unexpectedly."""
        ended = [
            EndedService(process.spec.name, process.ended_text(), process.last_lines())
            for _, process in self._processes
            if process.status() is not None and process.spec.name not in self._taken_down
        ]
        return ended + [EndedService(f"host {name}", text) for name, text in self._hosts.ended()]

    def held(self) -> list[str]:
        """Return the names of processes that a signal has stopped (SIGSTOP), although no event of the study did so."""
        return [
            process.spec.name
            for _, process in list(self._processes)
            if process.spec.name not in self._taken_down | self._held and process.is_held()
        ]

    def taken_down(self) -> list[str]:
        """Return the names of processes that an event has ended and that were not started again, in the order of their
        first start.
        """
        return [process.spec.name for _, process in self._processes if process.spec.name in self._taken_down]

    @property
    def hosts(self) -> Hosts:
        return self._hosts

    def _meant(self, name: str) -> list[tuple[int, Service, Process]]:
        """Return all processes of a service, or one process, by name, each with its index in the whole list."""
        known = list(enumerate(self._processes))
        found = [(place, owner, process) for place, (owner, process) in known if owner.name == name]
        found = found or [(place, owner, process) for place, (owner, process) in known if process.spec.name == name]
        if not found:
            raise TargetError(f"no process {name} was started")
        return found

    def processes_of(self, name: str) -> list[str]:
        """Return the names of all processes of a service. The name of a single process is returned as it is."""
        return [process.spec.name for _, _, process in self._meant(name)]

    def signal(self, name: str, what: str) -> None:
        """Kill, pause (`hold`) or resume (`go on`) a service, or one of its processes, by a signal.

        Raises
        ------
        TargetError
            If the service or process does not run.
        """
        for _, _, process in self._meant(name):
            if what == "kill":
                self._taken_down.add(process.spec.name)
            elif what == "hold":
                self._held.add(process.spec.name)
            process.signal(what)
            if what == "go on":
                self._held.discard(process.spec.name)
            if what == "kill":
                process.wait(limit_s=process.spec.grace_s + _KILLED_WITHIN_S)

    def stop(self, name: str) -> None:
        """Shut down a service, or one of its processes, as the service prescribes, and keep its data."""
        meant = self._meant(name)
        self._taken_down.update(process.spec.name for _, _, process in meant)
        owner = meant[0][1]
        if owner.name == name and any(process.status() is None for _, _, process in meant):
            owner.stopping(for_good=False)
        for _, _, process in reversed(meant):
            process.stop()

    def start(self, name: str) -> dict[str, int]:
        """Start a service, or one of its processes, again with its existing data, and wait until it is ready.

        Returns
        -------
        dict of str to int
            Id of the root of each new process tree on this machine, by name of the process.

        Raises
        ------
        TargetError
            If the service or process already runs, or does not become ready in time.
        """
        started: dict[str, int] = {}
        for place, owner, old in self._meant(name):
            if old.status() is None:
                raise TargetError(f"{old.spec.name} runs already")
            old.stop()  # The process has ended, but its resources must be released.
            process = self._start_anew(place, owner, old)
            self._taken_down.discard(old.spec.name)
            self._await(owner, [process], partial(owner.process_ready, old.spec.name))
            if process.pid is not None:
                started[old.spec.name] = process.pid
        return started

    def _start_anew(self, place: int, owner: Service, old: Process) -> Process:
        """Start a new process in place of an ended one, unless the system is being stopped."""
        with self._registering:
            if self._processes[place : place + 1] != [(owner, old)]:
                raise TargetError(f"{old.spec.name} is not restarted, because the system is being stopped")
            process = (old.spec.host or owner.host).process(old.spec, old.log, self._cpus)
            owner.starting(old.spec.name)
            process.start()
            self._processes[place] = (owner, process)
            return process

    def processes(self) -> dict[str, Process]:
        """Return the processes that were started, by name."""
        return {process.spec.name: process for _, process in self._processes}

    def down(self) -> None:
        """Stop all services in the reverse order of their start; do nothing if no service runs.

        If a service does not stop, the others are stopped nevertheless. The error is raised at the end.
        """
        with self._registering:
            prepared, processes = self._prepared, self._processes
            self._prepared, self._processes = [], []
        with ExitStack() as steps:  # Calls the functions below in reverse order, and all of them even if some fail.
            steps.callback(self._unlock)
            steps.callback(self._hosts.tear_down)
            # The functions below are called before the hosts are removed. Until then, the janitor runs, and can remove
            # files and processes if a function fails.
            steps.callback(self._remove_scratch)
            for service in prepared:
                own = [process for owner, process in processes if owner is service]
                steps.callback(service.stopped)
                for process in own:
                    steps.callback(process.stop)
                steps.callback(_ask_to_end, service, own)

    def _remove_scratch(self) -> None:
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def _unlock(self) -> None:
        if self._lock is not None:
            with suppress(OSError):
                self._lock.close()
            self._lock = None
