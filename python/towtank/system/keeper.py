"""Runs a process (keeper) that keeps a system running after `towtank system up` has ended.

The keeper holds open the standard input of the guard processes. If it ends for any reason, the guards therefore end the
system. A state file contains the identities of the keeper and of the processes of the system.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType

from towtank.errors import Stopped, TargetError, TowtankError
from towtank.system.build import build_system
from towtank.system.hosts.cleaning import clean_dead
from towtank.system.model import SystemFile, load_system
from towtank.system.state import SystemState, living, remember, state_root, system_states, up_folder
from towtank.system.system import System

_POLL_S = 0.1
# Longest time in which a keeper stops its system. [s]
_DOWN_WITHIN_S = 60.0
_KILLED_WITHIN_S = 20.0
# Time in which a guard must end, after the grace time of its process tree. A guard waits up to 30 s for the kernel. [s]
_GUARD_WITHIN_S = 60.0


def bring_up(name: str, path: Path, note: Callable[[str], None]) -> dict[str, object]:
    """Start a system under a new keeper process, and wait until all its services are ready. Return the state as in its
    state file. `note` is called with a description of each step.

    Raises
    ------
    TargetError
        If the system could not be started.
    """
    state = SystemState(up_folder() / f"{name}.json")
    if living((seen := state.read()).get("keeper")):
        note(f"{state.name} is already running")
        return seen
    state.remove()
    logs = state_root() / "logs" / state.name
    logs.mkdir(parents=True, exist_ok=True)
    keeper = _start_keeper(path.absolute(), state.path, logs)
    try:
        return _await_up(keeper, state, logs)
    except BaseException:
        _end(keeper, signal.SIGTERM, _DOWN_WITHIN_S)
        state.remove()
        raise


def _start_keeper(system: Path, state: Path, logs: Path) -> dict[str, int]:
    """Start a keeper process in a new session, so that it outlives this process; return its identity."""
    command = [sys.executable, "-m", "towtank.system.keeper", str(system), str(state), str(logs)]
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    pid = os.posix_spawn(
        sys.executable,
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(logs / "keeper.log"), writing, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return remember(pid)


def _await_up(keeper: dict[str, int], state: SystemState, logs: Path) -> dict[str, object]:
    while True:
        lives = living(keeper)
        seen = state.read()
        if seen.get("status") == "up":
            return seen
        if seen.get("status") == "failed":
            raise TargetError(str(seen.get("message")))
        if not lives:
            raise TargetError(f"the keeper of {state.name} ended; see {logs / 'keeper.log'}")
        time.sleep(_POLL_S)


def describe_system(state: SystemState) -> dict[str, object]:
    """Return the recorded state of a system, with the current state of its keeper and processes."""
    seen = state.read()
    processes = {tier: {**process, "running": bool(living(process))} for tier, process in _processes(seen).items()}
    status = seen.get("status", "unknown")
    if not living(seen.get("keeper")):
        status = "gone"
    elif status == "up" and not all(process["running"] for process in processes.values()):
        status = "damaged"
    return {**(seen or {"name": state.name}), "status": status, "processes": processes}


def _processes(seen: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Return the well-formed entries of the processes in a state file, by name."""
    found = seen.get("processes")
    entries = found.items() if isinstance(found, Mapping) else ()
    return {name: entry for name, entry in entries if isinstance(entry, Mapping)}


def take_down(root: Path | None = None, *, only: str | None = None) -> list[str]:
    """Stop all systems, or `only` one, and return their names. Also remove what systems left behind whose keeper was
    killed. The default folder of the state files is that of the current user.
    """
    names = []
    for state in system_states(root):
        if only not in (None, state.name):
            continue
        seen = state.read()
        _end(seen.get("keeper"), signal.SIGTERM, _DOWN_WITHIN_S)
        _end(seen.get("keeper"), signal.SIGKILL, _KILLED_WITHIN_S)
        for process in _processes(seen).values():
            # A guard ends its process tree when the keeper has ended. TERM asks it again, and KILL ends a guard that
            # hangs.
            _end(process, signal.SIGTERM, _GUARD_WITHIN_S)
            _end(process, signal.SIGKILL, _KILLED_WITHIN_S)
        state.remove()
        names.append(state.name)
    clean_dead()
    return names


def _end(process: object, number: signal.Signals, within_s: float) -> None:
    if (pid := living(process)) is None:
        return
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    deadline = time.monotonic() + within_s
    while living(process) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


class _Keeper:
    """Process that keeps one system running until it receives SIGTERM or SIGINT."""

    def __init__(self, system: Path, state: Path, logs: Path) -> None:
        self._path, self._state, self._logs = system, SystemState(state), logs
        self._ending = False
        self._file: SystemFile | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _end(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._ending = True

    def _check(self) -> None:
        if self._ending:
            raise Stopped("stopped")

    def keep(self) -> None:
        """Start the system, wait for a signal, and stop the system."""
        self._state.write(status="starting", keeper=remember(os.getpid()), logs=str(self._logs))
        try:
            with self._system() as system:
                self._hold(system)
        except Stopped:
            pass
        except (TowtankError, OSError) as error:
            self._state.write(status="failed", message=str(error))
            return
        self._state.remove()

    def _system(self) -> System:
        self._file = load_system(self._path)
        return build_system(
            self._file,
            self._path.parent,
            self._logs,
            check=self._check,
            note=lambda text: print(text, flush=True),
        )

    def _hold(self, system: System) -> None:
        endpoints = system.up()
        self._state.write(
            status="up",
            started_wall_ns=time.time_ns(),
            addresses=endpoints.addresses,
            urls={
                service: [self._url(service, address) for address in addresses]
                for service, addresses in endpoints.addresses.items()
            },
            settings=endpoints.settings,
            exports={
                service: {name: str(path) for name, path in files.items()}
                for service, files in endpoints.exports.items()
            },
            processes={
                tier: {"kind": endpoints.tiers[tier].kind, **remember(pid)} for tier, pid in endpoints.groups.items()
            },
        )
        while not self._ending:
            time.sleep(_POLL_S)

    def _url(self, service: str, address: str) -> str:
        """Return an address as a URL if the service uses HTTP; otherwise return it unchanged."""
        part = self._file.services.get(service) if self._file is not None else None
        if "://" in address or part is None or part.spoken != "http":
            return address
        return f"{'https' if getattr(part, 'is_secure', False) else 'http'}://{address}"


if __name__ == "__main__":
    _Keeper(*map(Path, sys.argv[1:])).keep()
