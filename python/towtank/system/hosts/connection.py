"""Runs commands on another machine and copies files, by SSH. All functions are synchronous.

All connections share one thread with an event loop. Secrets never appear on a command line, in a log or in a message.
"""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar

import asyncssh

from towtank.errors import TargetError
from towtank.secrets import PRIVATE_MODE
from towtank.system.hosts.host import Answer

T = TypeVar("T")
_CONNECT_WITHIN_S = 15.0
_FILES_WITHIN_S = 300.0
# Interval between keep-alive requests [s], and number of successive requests without a reply after which the connection
# is considered lost. [1]
_ASK_EVERY_S, _ASK_TIMES = 5, 4
# Shell script that reads environment variables from standard input, one per line up to an empty line, and then executes
# a command, which receives the rest of standard input. The variables thus do not appear on the command line.
_TAKE_ENVIRONMENT = 'while IFS= read -r line && [ -n "$line" ]; do export "$line"; done; exec "$@"'


@dataclass(frozen=True)
class Login:
    """Address and credentials of a machine for SSH.

    None stands for the default of OpenSSH, or the files of the local user. The password is never printed.
    """

    address: str
    port: int
    user: str | None
    key: Path | None
    known_hosts: Path | None
    password: str | None

    def __repr__(self) -> str:
        return f"Login({self.user or ''}@{self.address}:{self.port})"

    def options(self) -> dict[str, Any]:
        """Return the login as options for asyncssh; the defaults of OpenSSH apply to omitted options."""
        given: dict[str, object] = {
            "username": self.user,
            "client_keys": None if self.key is None else [str(self.key)],
            "known_hosts": None if self.known_hosts is None else str(self.known_hosts),
            "password": self.password,
        }
        return {name: value for name, value in given.items() if value is not None}


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="towtank-ssh", daemon=True).start()
    return loop


def _start(work: Coroutine[Any, Any, T]) -> Future[T]:
    return asyncio.run_coroutine_threadsafe(work, _loop())


class Connection:
    """Open SSH connection to a machine.

    Raises
    ------
    TargetError
        If the connection cannot be opened.
    """

    def __init__(self, login: Login) -> None:
        self._login = login
        self._client: asyncssh.SSHClientConnection = self._await(self._connect(), _CONNECT_WITHIN_S)

    async def _connect(self) -> asyncssh.SSHClientConnection:
        return await asyncssh.connect(
            self._login.address,
            self._login.port,
            keepalive_interval=_ASK_EVERY_S,
            keepalive_count_max=_ASK_TIMES,
            **self._login.options(),
        )

    def _await(self, work: Coroutine[Any, Any, T], limit_s: float) -> T:
        """Run a coroutine in the event loop, and return its result; convert errors to `TargetError`."""
        future = _start(work)
        try:
            return future.result(limit_s)
        except FutureTimeout as error:
            future.cancel()
            raise TargetError(f"{self._login.address}: no answer by SSH within {limit_s:g} s") from error
        except (OSError, asyncssh.Error) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
            raise TargetError(f"{self._login.address}: SSH: {reason}") from error

    def run(
        self,
        command: list[str],
        limit_s: float,
        environment: Mapping[str, str] | None = None,
        *,
        hold_input: bool = False,
    ) -> Answer:
        """Run a command on the remote machine to its end, within a time [s], and return its exit status and output.
        With `hold_input`, the standard input of the command stays open until the command ends.

        Raises
        ------
        TargetError
            If the connection fails, or the command takes too long.
        """
        work = self._run(command, limit_s, environment or {}, hold_input=hold_input)
        return self._await(work, limit_s + _CONNECT_WITHIN_S)

    async def _run(
        self, command: list[str], limit_s: float, environment: Mapping[str, str], *, hold_input: bool
    ) -> Answer:
        process = await self._create(command, environment, stdout=asyncssh.PIPE)
        try:
            if not hold_input:
                process.stdin.write_eof()
            output = await asyncio.wait_for(process.stdout.read(), limit_s)
            await asyncio.wait_for(process.wait_closed(), limit_s)
        except TimeoutError as error:
            raise TargetError(f"{self._login.address}: a command took longer than {limit_s:g} s") from error
        finally:
            process.close()
            await process.wait_closed()
        status = process.returncode
        return Answer(255 if status is None else status, bytes(output).decode("utf-8", "replace"))

    async def _create(
        self, command: list[str], environment: Mapping[str, str], stdout: Any
    ) -> asyncssh.SSHClientProcess[bytes]:
        """Start a command with environment variables on the remote machine, and leave its standard input open."""
        line = shlex.join(["sh", "-c", _TAKE_ENVIRONMENT, "sh", *command])
        process = await self._client.create_process(line, stdout=stdout, stderr=asyncssh.STDOUT, encoding=None)
        process.stdin.write(environment_text(environment))
        return process

    def start(self, command: list[str], log: IO[bytes], environment: Mapping[str, str]) -> RemoteCommand:
        """Start a command on the remote machine. Its output goes to a log file on this machine; its input stays
        open.
        """
        process = self._await(self._create(command, environment, stdout=log), _CONNECT_WITHIN_S)
        return RemoteCommand(process)

    def write(self, path: str, content: bytes) -> None:
        """Create a file on the remote machine that only the remote user can read."""
        self._await(self._write(path, content), _FILES_WITHIN_S)

    async def _write(self, path: str, content: bytes) -> None:
        private = asyncssh.SFTPAttrs(permissions=PRIVATE_MODE)
        async with self._client.start_sftp_client() as files, files.open(path, "xb", private) as stream:
            await stream.write(content)

    def put(self, source: Path, target: str) -> None:
        """Copy a file, or the contents of a folder, to the remote machine, with the same permissions."""
        self._await(self._put(source, target), _FILES_WITHIN_S)

    async def _put(self, source: Path, target: str) -> None:
        async with self._client.start_sftp_client() as files:
            if source.is_dir():
                await files.makedirs(target, exist_ok=True)
                for entry in sorted(source.iterdir()):
                    await files.put(str(entry), f"{target}/{entry.name}", preserve=True, recurse=True)
            else:
                await files.put(str(source), target, preserve=True)

    def get(self, source: str, target: Path) -> None:
        """Copy a file from the remote machine to this machine."""
        self._await(self._get(source, target), _FILES_WITHIN_S)

    async def _get(self, source: str, target: Path) -> None:
        async with self._client.start_sftp_client() as files:
            await files.get(source, str(target))

    def close(self) -> None:
        """Close the connection. The standard input of commands that still run then closes as well."""
        self._await(self._close(), _CONNECT_WITHIN_S)

    async def _close(self) -> None:
        self._client.close()
        await self._client.wait_closed()


class RemoteCommand:
    """Command that runs on a remote machine."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self._process = process
        self._ended = _start(process.wait_closed())

    def status(self) -> int | None:
        """Return the exit status: negative for a signal, 255 after a lost connection, None while the command runs."""
        if not self._ended.done():
            return None
        status = self._process.returncode
        return 255 if status is None else status

    def close_input(self) -> None:
        _loop().call_soon_threadsafe(self._close_input)

    def _close_input(self) -> None:
        if not self._process.stdin.is_closing():
            self._process.stdin.write_eof()

    def wait(self, limit_s: float) -> bool:
        """Wait until the command has ended, but at most `limit_s`; return True if it has ended."""
        try:
            self._ended.result(limit_s)
        except FutureTimeout:
            return False
        except (OSError, asyncssh.Error):
            return True
        return True

    def abandon(self) -> None:
        """Close the SSH channel of the command without waiting for its end."""
        _loop().call_soon_threadsafe(self._process.close)


def environment_text(environment: Mapping[str, str]) -> bytes:
    """Encode environment variables as lines `NAME=VALUE` and an empty line, to be sent to a remote machine.

    Raises
    ------
    TargetError
        If a name is not an identifier, or a value contains a line break. The message does not contain the value.

    Examples
    --------
    >>> environment_text({"A": "1", "B": "two words"})
    b'A=1\\nB=two words\\n\\n'
    """
    for name, value in environment.items():
        if "\n" in value or not name.isidentifier():
            raise TargetError(f"the variable {name!r} cannot be sent to another machine")
    return "".join(f"{name}={value}\n" for name, value in environment.items()).encode() + b"\n"
