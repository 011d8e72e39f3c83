"""A private PostgreSQL: its own data folder, its own port, removed when the system goes down.

The server refuses to run as root, so then it runs as the user `postgres`, in a folder under the temporary folder
that this user may enter.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from towtank.errors import TargetError
from towtank.system import model
from towtank.system.hosts.local import ADDRESS as LOOPBACK
from towtank.system.identity import identity
from towtank.system.process import ProcessSpec
from towtank.system.service import Place, PlainService
from towtank.system.services.sql_script import filled_script

INSTALL_HINT = "apt-get install postgresql"
_USER = "towtank"
_DATABASE = "towtank"
_PROGRAMS = ("initdb", "postgres", "pg_isready", "pg_ctl", "createdb")
# Debian keeps the server's programs off the path, one folder per version.
_DEBIAN = Path("/usr/lib/postgresql")
_STOP_WITHIN_S = 10.0
_POPULATE_WITHIN_S = 3600.0
_STATEMENTS = "pg_stat_statements"
_PREFIX = "towtank-postgresql-"
# sun_path of sockaddr_un less its end (unix(7)).
_SOCKET_PATH_AT_MOST = 107
_OWNER = "owner"
_OWNER_OF_SERVER = "postgres"


def program(name: str) -> Path | None:
    """Find one of PostgreSQL's programs: the newest of Debian's, else on the path."""
    versions = sorted(_DEBIAN.glob(f"*/bin/{name}"), key=_version_of, reverse=True)
    on_path = shutil.which(name)
    return versions[0] if versions else Path(on_path) if on_path else None


def _version_of(path: Path) -> float:
    """Version in `/usr/lib/postgresql/15/bin/postgres`; a folder that is named otherwise comes last."""
    try:
        return float(path.parts[-3])
    except ValueError:
        return 0.0


class Postgresql(PlainService):
    """One private instance."""

    kind = "postgresql"

    def __init__(self, name: str, part: model.Postgresql, base: Path) -> None:
        super().__init__(name)
        self._part, self._base = part, base
        self._is_populated = part.population is None
        self._port = part.port
        self._folder: Path | None = None
        self._is_root = False

    def missing(self) -> str | None:
        """The server's programs, and as root the user to run them; on another machine this is seen when it is made."""
        if not self.host.capabilities().shares_files:
            return None
        absent = [name for name in _PROGRAMS if program(name) is None]
        if absent:
            return f"{self.name}: PostgreSQL is not installed ({', '.join(absent)} missing); {INSTALL_HINT}"
        if os.geteuid() == 0 and _account() is None:
            return f"{self.name}: there is no user `{_OWNER_OF_SERVER}` to run it as; {INSTALL_HINT}"
        return None

    @property
    def dsn(self) -> str:
        """How clients connect."""
        return f"postgresql://{_USER}@{self.host.address}:{self._port}/{_DATABASE}"

    @property
    def data(self) -> Path:
        """The server's data folder.

        Raises
        ------
        TargetError
            If the service was not prepared.
        """
        if self._folder is None:
            raise TargetError(f"{self.name} was not prepared")
        return self._folder / "data"

    def prepare(self, place: Place) -> None:
        """Make the data folder with `initdb`."""
        host = self.host
        if self._part.port:
            host.require_free(self._port, self.name)
        else:
            self._port = host.free_ports()
        _sweep()
        self._is_root = self._said(["id", "-u"]) == "0"
        base = host.temporary if self._part.disk is None else host.disk(self._part.disk)
        self._is_populated = self._part.population is None
        self._folder = base / f"{_PREFIX}{secrets.token_hex(4)}"
        host.make_folder(self._folder, _OWNER_OF_SERVER if self._is_root else None)
        host.write(self._folder / _OWNER, " ".join(map(str, identity(os.getpid()) or ())))
        options = ["-D", str(self.data), "-U", _USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        place.run(ProcessSpec(f"{self.name}-initdb", self._as_server("initdb", *options)), limit_s=60.0)
        if host.address != LOOPBACK:
            self._admit_neighbours()

    def _admit_neighbours(self) -> None:
        """Let in who comes from the network that the host is in: load generator and other hosts."""
        rules = self.data / "pg_hba.conf"
        self.host.write(rules, (self.host.read(rules) or "") + "host all all samenet trust\n")

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """The postmaster; its children belong to the same group."""
        options = [f"-c{key}={value}" for key, value in self._configuration().items()]
        command = self._as_server("postgres", "-D", str(self.data), *options)
        return [ProcessSpec(self.name, command, grace_s=_STOP_WITHIN_S)]

    def addresses(self) -> list[str]:
        """Where statements go."""
        return [self.dsn]

    def _configuration(self) -> dict[str, str | int]:
        return {
            **self._part.settings.configuration(),
            **self._preloaded(),
            "listen_addresses": self.host.address,
            "port": self._port,
            "unix_socket_directories": self._socket_folder(),
        }

    def _socket_folder(self) -> str:
        """Its own folder; none where the path of the socket would be longer than the kernel takes."""
        path = f"{self._folder}/.s.PGSQL.{self._port}"
        return str(self._folder) if len(path) <= _SOCKET_PATH_AT_MOST else ""

    def _preloaded(self) -> dict[str, str | int]:
        """What counts statements, where it is asked for and installed."""
        if not self._part.settings.statements or not self.has_statements():
            return {}
        # The text of a statement is kept up to track_activity_query_size; a cut one could not be explained.
        return {"shared_preload_libraries": _STATEMENTS, "track_activity_query_size": 16384}

    def has_statements(self) -> bool:
        """Whether the library that counts statements is installed beside the server."""
        library = Path(self._path("postgres")).parents[1] / "lib" / f"{_STATEMENTS}.so"
        return self.host.execute(["test", "-e", str(library)]).status == 0

    def ready(self) -> str | None:
        """Ready when it takes connections and the database is there."""
        where = ["-h", self.host.address, "-p", str(self._port)]
        if self.host.execute([self._path("pg_isready"), "-q", *where]).status != 0:
            return "it does not take connections yet"
        made = self.host.execute([self._path("createdb"), *where, "-U", _USER, _DATABASE])
        there = made.status == 0 or "already exists" in made.output
        lacking = self._lacks_extension() if there else made.output.strip()
        if lacking is None and not self._is_populated:
            self._populate()
        return lacking

    def _populate(self) -> None:
        """Run the script of the population, once.

        Raises
        ------
        TargetError
            If the script fails.
        """
        assert self._part.population is not None  # the caller saw to it
        assert self._folder is not None  # it is ready
        script = self._folder / "population.sql"
        self.host.write(script, filled_script(self.name, self._part.population, self._base))
        command = [self._path("psql"), "-qX", "-v", "ON_ERROR_STOP=1", self.dsn, "-f", str(script)]
        made = self.host.execute(command, limit_s=_POPULATE_WITHIN_S)
        if made.status != 0:
            raise TargetError(f"{self.name}: its population could not be made: {made.output.strip()}")
        self._is_populated = True

    def _lacks_extension(self) -> str | None:
        """None when statements are counted, or are not to be."""
        if not self._preloaded():
            return None
        statement = f"CREATE EXTENSION IF NOT EXISTS {_STATEMENTS}"
        made = self.host.execute([self._path("psql"), "-qX", self.dsn, "-c", statement])
        return None if made.status == 0 else made.output.strip()

    def stopping(self, *, for_good: bool) -> None:
        """Ask for a shutdown that does not wait for clients to leave, and wait for it.

        For good, without a last checkpoint: what it would write, on a disk that may be slow, is removed right after.
        """
        mode = "immediate" if for_good else "fast"
        stop = ["-D", str(self.data), "-m", mode, "-w", "-t", f"{_STOP_WITHIN_S:.0f}", "stop"]
        with suppress(TargetError):
            self.host.execute(self._as_server("pg_ctl", *stop), limit_s=2 * _STOP_WITHIN_S)

    def stopped(self) -> None:
        """Remove the data folder, once nothing runs in it."""
        if self._folder is not None:
            with suppress(TargetError, OSError):
                self.host.remove(self._folder)

    def _said(self, command: list[str]) -> str:
        answer = self.host.execute(command)
        return answer.output.strip() if answer.status == 0 else ""

    def _path(self, name: str) -> str:
        """One of PostgreSQL's programs on the host."""
        if self.host.capabilities().shares_files:
            found = str(program(name) or "")
        else:
            # The newest of Debian's versions, else one on the path.
            script = f"ls -d {_DEBIAN}/*/bin/{name} 2>/dev/null | sort -V | tail -n 1 | grep . || command -v {name}"
            found = self._said(["sh", "-c", script])
        if not found:
            raise TargetError(
                f"{self.name}: PostgreSQL's {name} is not installed on {self.host.name}", hint=INSTALL_HINT
            )
        return found

    def _as_server(self, name: str, *options: str) -> list[str]:
        """Run one of its programs as the user `postgres` where the host has us as root."""
        command = [self._path(name), *options]
        if not self._is_root:
            return command
        return [
            "setpriv",
            f"--reuid={_OWNER_OF_SERVER}",
            f"--regid={_OWNER_OF_SERVER}",
            "--clear-groups",
            "--",
            *command,
        ]

    def settings_used(self) -> dict[str, Any]:
        """What the server was started with."""
        return {**self._configuration(), "database": _DATABASE, "version": self._version()}

    def scrapers(self) -> list[Any]:
        """Its statistics views."""
        from towtank.observe import PostgresqlScraper  # noqa: PLC0415 - only where something is observed

        return [PostgresqlScraper(self.name, self.dsn)]

    def _version(self) -> str:
        return (self.host.read(self.data / "PG_VERSION") or "unknown").strip()


def _sweep() -> None:
    """Remove the folders of instances whose conductor was killed; their servers ended with it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, ValueError):
            pid, start = map(int, (folder / _OWNER).read_text().split())
            if identity(pid) != (pid, start):
                shutil.rmtree(folder, ignore_errors=True)


def _account() -> pwd.struct_passwd | None:
    with suppress(KeyError):
        return pwd.getpwnam(_OWNER_OF_SERVER)
    return None
