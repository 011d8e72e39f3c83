"""Runs the engine's probe on another machine, copies its samples to this machine, and compares the clocks."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from towtank.errors import TargetError

if TYPE_CHECKING:
    from towtank.system.hosts.connection import RemoteCommand
    from towtank.system.hosts.remote import RemoteHost

_STOP_WITHIN_S = 15.0
# Number of clock readings, of which the most precise is used; each reading starts the engine on the remote machine. [1]
_EXCHANGES = 5
_EXCHANGE_WITHIN_S = 10.0
# Length of the checksum and the blank at the start of each line of the probe's output. [characters]
_CHECKSUM = 9


class RemoteHostProbe:
    """Probe on one remote host."""

    def __init__(self, machine: RemoteHost) -> None:
        self.host, self._machine = machine.name, machine
        self._command: RemoteCommand | None = None
        self._stream: IO[bytes] | None = None

    def start(self, stream: Path, log: Path, interval_s: float) -> None:  # noqa: ARG002 - it logs to the stream
        """Start the probe on the remote machine. The probe observes each process of a service as a group."""
        groups = [word for name, pid in self._machine.roots().items() for word in ("--group", f"{name}={pid}")]
        command = [str(self._machine.engine()), "probe", "--out", "-", "--interval", str(interval_s)]
        self._stream = stream.open("ab", buffering=0)
        self._command = self._machine.start([*command, "--until-stdin-closes", *groups], self._stream, {})

    def clock(self) -> dict[str, int]:
        """Return the offset of the remote machine's clock, and the largest possible error of the offset.

        The clock is read several times, and the reading with the shortest duration is used. Its error is at most half
        of this duration.
        """
        return min((self._exchange() for _ in range(_EXCHANGES)), key=lambda clock: clock["uncertainty_ns"])

    def _exchange(self) -> dict[str, int]:
        before = time.monotonic_ns()
        command = [str(self._machine.engine()), "probe", "--out", "-", "--duration", "0"]
        answer = self._machine.execute(command, _EXCHANGE_WITHIN_S)
        after = time.monotonic_ns()
        try:
            there = json.loads(answer.output.splitlines()[0][_CHECKSUM:])["t_ns"]
        except (ValueError, IndexError, KeyError) as error:
            raise TargetError(f"the probe on the machine does not report the time: {answer.output.strip()}") from error
        return {"offset_ns": int(there) - (before + after) // 2, "uncertainty_ns": (after - before + 1) // 2}

    def stop(self) -> list[str]:
        """End the probe. Return a message if it ended before this call, or does not end now."""
        command, stream = self._command, self._stream
        self._command = self._stream = None
        if command is None or stream is None:
            return []
        early = command.status()
        command.close_input()
        ended = command.wait(_STOP_WITHIN_S)
        if not ended:
            command.abandon()
        stream.close()
        if early is not None:
            return [f"host {self.host}: its probe ended early with status {early}"]
        return [] if ended else [f"host {self.host}: its probe did not end within {_STOP_WITHIN_S:g} s"]
