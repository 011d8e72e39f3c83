"""Finds the program `towtank-engine`, which generates load, and starts its processes."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from towtank import marking
from towtank.errors import EngineError


def binary() -> Path:
    """Return the path of `towtank-engine`.

    The search order is: `$TOWTANK_ENGINE`, the folder of this Python interpreter, the folders of `$PATH`.

    Raises
    ------
    EngineError
        If the engine is not installed.
    """
    named = os.environ.get("TOWTANK_ENGINE")
    beside = Path(sys.executable).with_name("towtank-engine")
    for candidate in (named, beside, shutil.which("towtank-engine")):
        if candidate and os.access(candidate, os.X_OK):
            return Path(candidate)
    raise EngineError("towtank-engine is not installed", hint="run `make setup` in the checkout")


# Soft limit of open files of the processes that Towtank starts, unless their hard limit is lower. It is the largest
# value that systemd sets. Some servers allocate memory for each file that they might open, so a larger value would cost
# much memory. [1]
OPEN_FILES = 524_288
# Shell commands that raise the soft limit of open files, because the usual limit of 1,024 is too low for a server under
# load. A number in `$0` sets the limit, and may also lower it. If the shell may not change the limit, the limit stays
# unchanged.
_RAISE = f"""
hard=$(ulimit -Hn); soft=$(ulimit -Sn); most=${{0:-{OPEN_FILES}}}
[ "$hard" = unlimited ] || [ "$hard" -ge "$most" ] || most=$hard
if [ -n "$0" ] || {{ [ "$soft" != unlimited ] && [ "$soft" -lt "$most" ]; }}; then ulimit -Sn "$most" 2>/dev/null; fi
exec "$@"
"""


def guarded(
    command: list[str],
    *,
    cpus: list[int] | None = None,
    grace_s: float = 5.0,
    open_files: int | None = None,
    engine: Path | None = None,
) -> list[str]:
    """Wrap a command so that its process and all descendants end when the caller closes the process's standard input.

    Parameters
    ----------
    command : list of str
        Command to run.
    cpus : list of int, optional
        CPUs that the command may use; all by default.
    grace_s : float, default 5.0
        Time between the signals TERM and KILL, which all these processes receive. [s]
    open_files : int, optional
        Soft limit of open files, within the hard limit; by default the hard limit, 524,288 at most.
    engine : Path, optional
        Path of the engine on the machine that runs the command; by default the engine of this machine.
    """
    pin = ["--cpus", ",".join(map(str, cpus))] if cpus else []
    guard = [str(engine or binary()), "guard", "--grace", str(grace_s), *pin, "--", *command]
    return ["sh", "-c", _RAISE, str(open_files or ""), *guard]


class Frame(TypedDict, total=False):
    """Live message of the engine (`docs/reference/plan.md`, "Process"); each kind `k` has some of the fields.

    Attributes
    ----------
    k : str
        `live` (results of one second), `stage` (a stage begins), `appended`, or `refused`.
    t_s, end_s : float
        Time since the start of the run, and planned end of a stage. [s]
    stage, name : str
        Name of the current stage, and of the stage that begins.
    index : int
        Index of the stage that begins, from 0.
    users : int or None
        Number of users; None if it is not known. [1]
    errors : int
        Number of requests that failed in this second. [1]
    throughput_per_s : float
        Rate of completed transactions in this second. [1/s]
    p95_ms : float or None
        95th percentile of the response times in this second. [ms]
    do, why : str
        Refused command, and the reason.
    """

    k: str
    t_s: float
    end_s: float
    stage: str
    name: str
    index: int
    users: int | None
    errors: int
    throughput_per_s: float
    p95_ms: float | None
    do: str | None
    why: str


class EngineProcess:
    """Engine process that executes one plan.

    The engine ends when its standard input closes. This process alone holds the write end of the pipe, so the engine
    never runs longer than this process.

    Parameters
    ----------
    plan : Path
        File of the plan, as JSON.
    log : Path
        File for the messages of the engine.
    control : bool, default False
        Whether the engine accepts commands from `send`. Most plans need none.
    enter : callable
        Function that wraps a command so that it first enters the namespaces of the engine's host; by default the
        command is unchanged.
    environment : mapping of str to str, optional
        Environment of the engine; by default the environment of this process, with the mark of the run.
    """

    def __init__(
        self,
        plan: Path,
        log: Path,
        control: bool = False,
        *,
        enter: Callable[[list[str]], list[str]] = list,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._log = log
        mode = "--control" if control else "--until-stdin-closes"
        with log.open("ab") as stream:
            self._process = subprocess.Popen(
                enter([str(binary().absolute()), "load", str(plan), "--live", mode]),
                env=marking.environment() if environment is None else dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                # In its own session, the engine does not receive Ctrl-C from the terminal; only Towtank handles Ctrl-C.
                start_new_session=True,
                # Python ignores the signal SIGXFSZ, and the engine must inherit this. A file size limit then causes an
                # error that the engine reports, instead of killing the engine.
                restore_signals=False,
            )
        assert self._process.stdout is not None
        self._output = self._process.stdout
        os.set_blocking(self._output.fileno(), False)
        self._rest = b""

    @property
    def pid(self) -> int:
        """Process id of the engine."""
        return self._process.pid

    def status(self) -> int | None:
        """Return the exit status of the engine; None while the engine runs."""
        return self._process.poll()

    def frames(self, wait_s: float) -> list[Frame]:
        """Return the live messages that the engine has sent since the last call; wait at most
        `wait_s` for a message.
        """
        select.select([self._output], [], [], wait_s)
        chunk = self._output.read()
        # Reading from a closed pipe returns at once, so wait for the process to end instead.
        if chunk == b"":
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(wait_s)
        whole, newline, rest = (self._rest + (chunk or b"")).rpartition(b"\n")
        self._rest = rest
        frames = []
        for line in whole.split(b"\n") if newline else ():
            with suppress(ValueError):
                frame: Frame = json.loads(line)
                frames.append(frame)
        return [frame for frame in frames if isinstance(frame, dict)]

    def send(self, command: Mapping[str, object]) -> None:
        """Send a command (`docs/reference/plan.md`) to the engine, such as `{"do": "next", "stage": 2}`. The engine's
        reply is among the live messages that `frames` returns.

        A command to an engine that has ended is dropped.
        """
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()

    def stop(self) -> None:
        """Ask the engine to ramp down the load and to write all results.

        A second call ends the engine as soon as it has written its current records.
        """
        if self.status() is None:
            self._process.terminate()

    def kill(self) -> None:
        """Kill the engine process."""
        if self.status() is None:
            self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Kill the engine process if it still runs, and close its pipes."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
