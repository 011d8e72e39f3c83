"""Defines the base classes of third-party programs and servers that Towtank starts.

All files of such a program are in its scratch folder, which is removed when the system is stopped. Its output is
written to a log in the run folder.
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
from towtank.system.service import Place, Service

# Folders of server programs that may be missing from PATH.
_PLACES = ("/usr/sbin", "/usr/local/sbin")
# Permissions with which a group can enter a folder but not list it, and read a file.
_GROUP_FOLDER_MODE, _GROUP_MODE = 0o710, 0o640
_PROGRAM_MODE = 0o755
# Lowest port on which a user other than root can listen, by the kernel's default.
_FIRST_FREE_PORT = 1024


def find_program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *_PLACES]))


def program_at(program: str, base: Path, search_path: str | None = None) -> str | None:
    """Return the path of an executable program that a system file names; None if it does not exist.

    A path is relative to `base`, the folder of the system file. A plain name is searched in `search_path`, by default
    in `PATH`.
    """
    if "/" not in program:
        return shutil.which(program, path=search_path)
    path = base / program
    return str(path) if path.is_file() and os.access(path, os.X_OK) else None


def no_program(name: str, program: str, base: Path) -> str:
    """Return the message that the program of a service does not exist."""
    where = f"at {base / program}" if "/" in program else "on PATH"
    return f"{name}: the program {program} is not installed: no executable file {where}"


def server_account(names: Sequence[str]) -> str | None:
    """Return the first of several user names that exists on this machine; None if none exists."""
    for name in names:
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


def as_account(account: str, command: list[str], *options: str) -> list[str]:
    """Return a command that runs another command as a user, with additional options of `setpriv`.

    The kernel signals the process when its guard ends (PR_SET_PDEATHSIG). A change of the user would clear this
    setting, which `--pdeathsig=keep` prevents.
    """
    change = ["setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups", "--pdeathsig=keep"]
    return [*change, *options, "--", *command]


class ProgramService(Service):
    """Service that runs a third-party program, which its entry in the system file may name; by default, the program
    that is installed on this machine.
    """

    program: ClassVar[str] = ""
    title: ClassVar[str] = ""
    install: ClassVar[str] = ""

    def __init__(self, name: str, part: server_models.Released | None = None, base: Path = Path()) -> None:
        super().__init__(name)
        self.named_program = None if part is None else part.program
        self.release = None if part is None or part.package is None else Release(part.package, self.program)
        self._base = base.absolute()

    def missing(self) -> str | None:
        """Return a message if the program is missing; otherwise None."""
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
        """Return the folder of the program or package that the system file names."""
        if self.release is not None:
            return [self.release.folder]
        named = self.named_program
        return [(self._base / named).parent] if named is not None and "/" in named else []

    def settings_used(self) -> dict[str, object]:
        """Return the program or package that the system file names; empty if it names none."""
        if self.release is not None:
            return {"package": self.release.package}
        return {} if self.named_program is None else {"program": self.named_program}

    @property
    def path(self) -> str:
        """Path of the program.

        Raises
        ------
        TargetError
            If the program is not installed.
        """
        found = self._found()
        if found is None:
            raise TargetError(self.missing() or "", hint=self.install if self.named_program is None else None)
        return found


class PrivateServer(ProgramService):
    """Third-party server program.

    If Towtank is root, the server runs as the user that its package created, if this user exists. The group of the user
    may then enter the folder of the run and read its files. The user owns the folders that `make_own_folder` creates.
    """

    # Users that packages of the server may create; the server runs as the first of them that exists.
    accounts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str, port: int, part: server_models.Released | None = None, base: Path = Path()) -> None:
        super().__init__(name, part, base)
        self._asked = port
        self._port = port
        self._account = server_account(self.accounts) if os.geteuid() == 0 else None

    @property
    def address(self) -> str:
        return f"{self.host.address}:{self._port}"

    def prepare(self, place: Place) -> None:
        """Set the folder, choose or check the port, and write the configuration."""
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
        """Write the configuration of the server; subclasses override this method."""

    def write(self, name: str, text: str) -> Path:
        """Write a file in the folder of the run that only this process and the server can read."""
        path = self.folder / name
        with open_private(path) as stream:
            if self._account is not None:
                shutil.chown(path, group=self._account)
                path.chmod(_GROUP_MODE)
            stream.write(text)
        return path

    def make_own_folder(self, name: str) -> Path:
        """Create a folder that belongs to the server."""
        path = self.folder / name
        path.mkdir(PRIVATE_FOLDER_MODE)
        if self._account is not None:
            shutil.chown(path, self._account, self._account)
        return path

    def as_server(self, command: list[str]) -> list[str]:
        """Return a command that runs as the user of the server if Towtank is root.

        The command starts in the folder of the run, because the user may have no access to the current folder, without
        which HAProxy, for example, ends. The user may not have access to the program either, if the system file names a
        program or a package. In this case, the program is copied to the folder of the run.
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
        """Return None if the server accepts connections; otherwise the reason."""
        return refuses_connection(self.address)


class PrivateGateway(PrivateServer):
    """Server that forwards requests to the addresses of other services.

    Its counters are read from a second port, so that reading them does not count as a request of the load.
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
        """Return the services to which the gateway forwards requests, which must respond before it."""
        return list(self._members)

    def prepare(self, place: Place) -> None:
        """Choose the port for the counters, and prepare the server."""
        self._status_port = self.host.free_ports()
        super().prepare(place)

    @property
    def status_address(self) -> str:
        return f"{self.host.address}:{self._status_port}"

    @property
    def members(self) -> dict[str, str]:
        """Address of each member (server to which the gateway forwards requests), by name.

        For a service with one address, the member has the name of the service. For a service `content` with two
        addresses, the members are `content-1` and `content-2`.
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
        """Return the settings, the program or package if the system file names one, the port, and the members."""
        return {**self._part.configuration, **super().settings_used(), "port": self._port, "members": self.members}
