"""Defines the base class of the database servers that Towtank starts.

These servers refuse to run as root. If Towtank is root, servers and clients therefore run as the user that the Debian
package created. The folder of a database then belongs to root, and the group of that user may only enter it. No other
user can thus replace files that root writes there.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from towtank.errors import TargetError
from towtank.system.identity import has_ended, is_own_folder, note_identity, noted_identity
from towtank.system.service import Service
from towtank.system.services.private_server import as_account
from towtank.system.services.sql_script import filled_script

_POPULATE_WITHIN_S = 3600.0
# Longest path of a Unix socket: the length of `sun_path` in `sockaddr_un`, without its terminator (unix(7)). [byte]
_SOCKET_PATH_AT_MOST = 107
_OWNER = "owner"


class PrivateDatabase(Service):
    """Database server that Towtank starts for each run."""

    title: ClassVar[str] = ""
    install: ClassVar[str] = ""
    # First part of the folder names for this kind of database, by which old folders are found.
    prefix: ClassVar[str] = ""
    # Name of the user that runs the server if Towtank is root.
    account: ClassVar[str] = ""
    programs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str, part: Any, base: Path) -> None:
        super().__init__(name)
        self._part, self._base = part, base
        self._is_populated = part.population is None
        self._port: int = part.port
        self._is_root = False
        # Hexadecimal digits need no quotes in a URL, an options file or an SQL statement.
        self._secret = secrets.token_hex(16)

    def meet(self, others: list[Service]) -> None:
        """Use the same password for all databases of the system, because a target of the load has only one password."""
        super().meet(others)
        self._secret = min([self._secret, *(other._secret for other in others if isinstance(other, PrivateDatabase))])

    @property
    def _password(self) -> str:
        return self._secret

    @abstractmethod
    def _program(self, name: str) -> Path | None:
        """Return the path of one of the server's programs on this machine; None if it is not installed."""

    @abstractmethod
    def _search(self, name: str) -> str:
        """Return a shell command that prints the path of one of the server's programs, for a remote machine."""

    @abstractmethod
    def _load(self, script: Path) -> list[str]:
        """Return the command that executes an SQL script as the database user."""

    def _login(self) -> Mapping[str, str]:
        """Return environment variables with the password, for clients of the database."""
        return {}

    def missing(self) -> str | None:
        """Return a message if a program of the server, or the user that must run it, is missing; otherwise None.

        A remote host is not checked here; missing programs are reported when the database is prepared there.
        """
        if not self.host.capabilities().shares_files:
            return None
        absent = [name for name in self.programs if self._program(name) is None]
        if absent:
            return f"{self.name}: {self.title} is not installed ({', '.join(absent)} missing); {self.install}"
        if os.geteuid() == 0 and not _has_account(self.account):
            return f"{self.name}: the user `{self.account}`, as whom it must run, does not exist; {self.install}"
        return None

    @property
    def data(self) -> Path:
        """Folder for the data of the database server.

        Raises
        ------
        TargetError
            If the service was not prepared.
        """
        return self.folder / "data"

    def _make_folder(self) -> None:
        """Choose or check the port, and create the folder of the database server."""
        host = self.host
        if self._part.port:
            host.require_free(self._part.port, self.name)
        else:
            self._port = host.free_ports()
        self._sweep()
        self._is_root = self._said(["id", "-u"]) == "0"
        base = host.temporary if self._part.disk is None else host.disk(self._part.disk)
        self._is_populated = self._part.population is None
        folder = base / f"{self.prefix}{secrets.token_hex(4)}"
        host.make_private_folder(folder, self._group)
        self._folder = folder
        for part in (self.data, self.sockets):
            host.make_private_folder(part)
            if self._is_root:
                self._require(["chown", f"{self.account}:{self.account}", str(part)])
        host.write(folder / _OWNER, note_identity())

    @property
    def _group(self) -> str | None:
        """Group that may read files for the server; None if the server runs as the user of this process."""
        return self.account if self._is_root else None

    @property
    def sockets(self) -> Path:
        """Folder for the Unix socket and temporary files of the database server.

        Raises
        ------
        TargetError
            If the service was not prepared.
        """
        return self.folder / "run"

    def _require(self, command: list[str]) -> None:
        answer = self.host.execute(command)
        if answer.status != 0:
            raise TargetError(f"{self.name}: `{command[0]}` failed: {answer.output.strip()}")

    def _fits_socket(self, path: Path) -> bool:
        """Return True if a path is short enough for a Unix socket."""
        return len(str(path)) <= _SOCKET_PATH_AT_MOST

    def _populate(self) -> None:
        """Execute the SQL script of the population, unless this was already done.

        Raises
        ------
        TargetError
            If the script fails.
        """
        if self._is_populated:
            return
        script = self.folder / "population.sql"
        self.host.write(script, filled_script(self.name, self._part.population, self._base), self._group)
        made = self.host.execute(self._load(script), _POPULATE_WITHIN_S, self._login())
        if made.status != 0:
            raise TargetError(f"{self.name}: its population could not be created: {made.output.strip()}")
        self._is_populated = True

    def stopped(self) -> None:
        """Remove the folder of the database server."""
        if self._folder is not None:
            with suppress(TargetError, OSError):
                self.host.remove(self._folder)

    def _said(self, command: list[str]) -> str:
        answer = self.host.execute(command)
        return answer.output.strip() if answer.status == 0 else ""

    def _path(self, name: str) -> str:
        if self.host.capabilities().shares_files:
            found = str(self._program(name) or "")
        else:
            found = self._said(["sh", "-c", self._search(name)])
        if not found:
            raise TargetError(
                f"{self.name}: {self.title}'s {name} is not installed on {self.host.name}", hint=self.install
            )
        return found

    def _as_server(self, name: str, *options: str) -> list[str]:
        """Return a command with options, to be run as the server's user if Towtank is root on the host."""
        command = [self._path(name), *options]
        return as_account(self.account, command) if self._is_root else command

    def _sweep(self) -> None:
        """Remove the folders of databases on this machine whose owner, a Towtank process, was killed."""
        for folder in filter(is_own_folder, Path(tempfile.gettempdir()).glob(f"{self.prefix}*")):
            owner = noted_identity(folder / _OWNER)
            if owner is not None and has_ended(owner):
                shutil.rmtree(folder, ignore_errors=True)


def _has_account(name: str) -> bool:
    with suppress(KeyError):
        pwd.getpwnam(name)
        return True
    return False
