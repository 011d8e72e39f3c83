"""Defines the base class of private third-party servers: program, folder, ports and configuration file.

All files of a private server are in its scratch folder, which is removed when the system is stopped. `System` writes
the output of the server's process to a log in the run folder.
"""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from towtank.errors import TargetError
from towtank.secrets import PRIVATE_FOLDER_MODE, open_private
from towtank.system import server_models
from towtank.system.reach import refuses_connection
from towtank.system.releases import Release
from towtank.system.service import Place, PlainService, Service

# Folders with server programs that Debian does not include in the search path of ordinary users.
_PLACES = ("/usr/sbin", "/usr/local/sbin")
# Permissions for a group to enter a folder without listing its content, and to read a file.
_GROUP_FOLDER_MODE, _GROUP_MODE = 0o710, 0o640
_PROGRAM_MODE = 0o755
# Lowest port on which users other than root may listen, unless the kernel's default was changed.
_FIRST_FREE_PORT = 1024


def find_program(name: str) -> str | None:
    """Return the path of a server program; None if it is not installed."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *_PLACES]))


def program_at(program: str, base: Path, search_path: str | None = None) -> str | None:
    """Return the path of a program that a system file names; None if no executable file exists there.

    A path is relative to `base`, the folder of the system file; a plain name is searched in `search_path`, which is
    `PATH` by default.
    """
    if "/" not in program:
        return shutil.which(program, path=search_path)
    path = base / program
    return str(path) if path.is_file() and os.access(path, os.X_OK) else None


def no_program(name: str, program: str, base: Path) -> str:
    """Return the message that a service lacks the program that the system file names."""
    where = f"at {base / program}" if "/" in program else "on PATH"
    return f"{name}: the program {program} is not installed: no executable file {where}"


def server_account(names: Sequence[str]) -> str | None:
    """Return the first of the given users that exists on this machine; None if none exists."""
    for name in names:
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


def as_account(account: str, command: list[str], *options: str) -> list[str]:
    """Wrap a command so that it runs as another user, with additional options of `setpriv`.

    The kernel sends the process a signal when its guard ends (PR_SET_PDEATHSIG). It clears this setting when a process
    changes its user, but `--pdeathsig=keep` preserves the setting.
    """
    change = ["setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups", "--pdeathsig=keep"]
    return [*change, *options, "--", *command]


class ProgramService(PlainService):
    """Service that starts a third-party program and keeps the program's files in a folder of the run.

    Parameters
    ----------
    name : str
    part : Released, optional
        Entry of the system file, which may name a program or a package; by default the installed program is used.
    base : Path, optional
        Folder of the system file.
    """

    program: ClassVar[str] = ""
    title: ClassVar[str] = ""
    install: ClassVar[str] = ""

    def __init__(self, name: str, part: server_models.Released | None = None, base: Path = Path()) -> None:
        super().__init__(name)
        self.named_program = None if part is None else part.program
        self.release = None if part is None or part.package is None else Release(part.package, self.program)
        self._base = base.absolute()
        self._folder: Path | None = None

    def missing(self) -> str | None:
        """Return a message if the server program is missing; None otherwise."""
        if self._found() is not None:
            return None
        if self.release is not None:
            return f"{self.name}: the package {self.release.package} is not unpacked; {self.release.install}"
        if self.named_program is None:
            return f"{self.name}: {self.title} is not installed ({self.program} missing); {self.install}"
        return no_program(self.name, self.named_program, self._base)

    def _found(self) -> str | None:
        if self.release is not None:
            return self.release.found()
        return find_program(self.program) if self.named_program is None else program_at(self.named_program, self._base)

    def folders(self) -> list[Path]:
        """Return the folder of the program or of the unpacked package that the system file names."""
        if self.release is not None:
            return [self.release.folder]
        named = self.named_program
        return [(self._base / named).parent] if named is not None and "/" in named else []

    def settings_used(self) -> dict[str, object]:
        """Return the program or the package that the system file names; empty if the installed program is used."""
        if self.release is not None:
            return {"package": self.release.package}
        return {} if self.named_program is None else {"program": self.named_program}

    @property
    def path(self) -> str:
        """Path of the third-party program.

        Raises
        ------
        TargetError
            If the program is not installed.
        """
        found = self._found()
        if found is None:
            raise TargetError(self.missing() or "", hint=self.install if self.named_program is None else None)
        return found

    @property
    def folder(self) -> Path:
        """Folder with the files that the program uses during the run.

        Raises
        ------
        TargetError
            If the service was not prepared.
        """
        if self._folder is None:
            raise TargetError(f"{self.name} was not prepared")
        return self._folder


class PrivateServer(ProgramService):
    """Third-party server program that runs only for the system under test.

    If Towtank is root, the server runs as the user of its package, if that user exists. The group of that user may then
    enter the folder of the run and read its files. Folders that `make_own_folder` creates belong to that user.
    """

    # Users that the packages of the server may have created; the server runs as the first of them that exists.
    accounts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str, port: int, part: server_models.Released | None = None, base: Path = Path()) -> None:
        super().__init__(name, part, base)
        self._asked = port
        self._port = port
        self._account = server_account(self.accounts) if os.geteuid() == 0 else None

    @property
    def address(self) -> str:
        """Address on which the server listens."""
        return f"{self.host.address}:{self._port}"

    def prepare(self, place: Place) -> None:
        """Set the scratch folder, choose or check the port, and write the configuration."""
        self._folder = place.scratch
        if self._account is not None:
            shutil.chown(self._folder, group=self._account)
            self._folder.chmod(_GROUP_FOLDER_MODE)
        if self._asked:
            self.host.require_free(self._asked, self.name)
        else:
            self._port = self.host.free_ports()
        self.configure(place)

    def configure(self, place: Place) -> None:
        """Write the configuration file of the third-party server."""

    def write(self, name: str, text: str) -> Path:
        """Write a file in the folder of the run that only this user and the server can read; it may contain secrets."""
        path = self.folder / name
        with open_private(path) as stream:
            if self._account is not None:
                shutil.chown(path, group=self._account)
                path.chmod(_GROUP_MODE)
            stream.write(text)
        return path

    def make_own_folder(self, name: str) -> Path:
        """Create a folder in which the server can create files."""
        path = self.folder / name
        path.mkdir(PRIVATE_FOLDER_MODE)
        if self._account is not None:
            shutil.chown(path, self._account, self._account)
        return path

    def as_server(self, command: list[str]) -> list[str]:
        """Return a command that runs as the user of the server if Towtank is root.

        The command starts in the folder of the run, because that user may have no access to the current folder.
        HAProxy, for example, ends without such access. That user may not reach a named program or an unpacked package
        either, so its program is copied to the folder of the run.
        """
        if self._account is None:
            return command
        if self.release is not None or self.named_program is not None:
            copy = self.folder / Path(command[0]).name
            if not copy.exists():
                shutil.copy(command[0], copy)
                copy.chmod(_PROGRAM_MODE)
            command = [str(copy), *command[1:]]
        low = 0 < self._port < _FIRST_FREE_PORT
        more = ["--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"] if low else []
        return as_account(self._account, ["env", f"--chdir={self.folder}", *command], *more)

    def ready(self) -> str | None:
        """Return None if the server accepts connections, otherwise the reason."""
        return refuses_connection(self.address)


class PrivateGateway(PrivateServer):
    """Gateway, a server that forwards requests to the addresses of other services.

    The counters of the gateway are read from a second port, so that reading them does not count as a request of the
    load.
    """

    def __init__(self, name: str, part: server_models.Gateway, base: Path) -> None:
        super().__init__(name, part.port, part, base)
        self._part = part
        self._members: list[Service] = []
        self._status_port = 0

    def meet(self, others: list[Service]) -> None:
        """Find the services to which the gateway forwards requests."""
        self._members = [other for name in self._part.members for other in others if other.name == name]

    def requires(self) -> list[Service]:
        """Return the services (members) to which the gateway forwards requests; they must respond before the gateway
        does.
        """
        return list(self._members)

    def prepare(self, place: Place) -> None:
        """Choose the port on which the gateway serves its counters, then prepare the server."""
        self._status_port = self.host.free_ports()
        super().prepare(place)

    @property
    def status_address(self) -> str:
        """Address at which the gateway serves its counters."""
        return f"{self.host.address}:{self._status_port}"

    @property
    def members(self) -> dict[str, str]:
        """Address of each member (service to which the gateway forwards requests), by name.

        A service with two addresses, such as `content`, gives the members `content-1` and `content-2`.
        """
        found = {}
        for service in self._members:
            addresses = service.addresses()
            for number, address in enumerate(addresses, start=1):
                found[service.name if len(addresses) == 1 else f"{service.name}-{number}"] = address
        return found

    def addresses(self) -> list[str]:
        """Return the address to which virtual users send requests."""
        return [self.address]

    def settings_used(self) -> dict[str, object]:
        """Return the settings of the gateway, its release if the system file names one, its members and its ports."""
        return {**self._part.configuration, **super().settings_used(), "port": self._port, "members": self.members}
