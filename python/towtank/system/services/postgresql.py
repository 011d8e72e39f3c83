"""A private PostgreSQL: its own data folder, its own port, removed when the system goes down.

The server refuses to run as root, so then it runs as the user `postgres`, in a folder under the temporary folder
that this user may enter.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from towtank.errors import TargetError
from towtank.system import model
from towtank.system.identity import identity
from towtank.system.ports import free_port, require_free
from towtank.system.process import ProcessSpec
from towtank.system.service import Place, PlainService

INSTALL_HINT = "apt-get install postgresql"
_HOST = "127.0.0.1"
_USER = "towtank"
_DATABASE = "towtank"
_PROGRAMS = ("initdb", "postgres", "pg_isready", "createdb")
# Debian keeps the server's programs off the path, one folder per version.
_DEBIAN = Path("/usr/lib/postgresql")
_STOP_WITHIN_S = 10.0
_STATEMENTS = "pg_stat_statements"
_PREFIX = "towtank-postgresql-"
_OWNER = "owner"


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

    def __init__(self, name: str, part: model.Postgresql, base: Path) -> None:  # noqa: ARG002
        super().__init__(name)
        self._part = part
        self._port = part.port
        self._folder: Path | None = None

    def missing(self) -> str | None:
        """The server's programs, and as root the user to run them."""
        absent = [name for name in _PROGRAMS if program(name) is None]
        if absent:
            return f"{self.name}: PostgreSQL is not installed ({', '.join(absent)} missing); {INSTALL_HINT}"
        if os.geteuid() == 0 and _account() is None:
            return f"{self.name}: there is no user `postgres` to run it as; {INSTALL_HINT}"
        return None

    @property
    def dsn(self) -> str:
        """How clients connect."""
        return f"postgresql://{_USER}@{_HOST}:{self._port}/{_DATABASE}"

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
        if self._port:
            require_free(_HOST, self._port, self.name)
        else:
            self._port = free_port(_HOST)
        _sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        (self._folder / _OWNER).write_text(" ".join(map(str, identity(os.getpid()) or ())))
        if os.geteuid() == 0 and (account := _account()):
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        options = [
            "-D",
            str(self.data),
            "-U",
            _USER,
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]
        place.run(ProcessSpec(f"{self.name}-initdb", _as_server(_path("initdb"), *options)), limit_s=60.0)

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """The postmaster; its children belong to the same group."""
        options = [f"-c{key}={value}" for key, value in self._configuration().items()]
        command = _as_server(_path("postgres"), "-D", str(self.data), *options)
        return [ProcessSpec(self.name, command, grace_s=_STOP_WITHIN_S)]

    def _configuration(self) -> dict[str, str | int]:
        return {
            **self._part.settings.configuration(),
            **self._preloaded(),
            "listen_addresses": _HOST,
            "port": self._port,
            "unix_socket_directories": str(self._folder),
        }

    def _preloaded(self) -> dict[str, str | int]:
        """What counts statements, where it is asked for and installed."""
        if not self._part.settings.statements or not _has_statements():
            return {}
        # The text of a statement is kept up to track_activity_query_size; a cut one could not be explained.
        return {"shared_preload_libraries": _STATEMENTS, "track_activity_query_size": 16384}

    def ready(self) -> str | None:
        """Ready when it takes connections and the database is there."""
        isready = subprocess.run(
            [_path("pg_isready"), "-q", "-h", _HOST, "-p", str(self._port)],
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if isready.returncode != 0:
            return "it does not take connections yet"
        made = subprocess.run(
            [_path("createdb"), "-h", _HOST, "-p", str(self._port), "-U", _USER, _DATABASE],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        there = made.returncode == 0 or "already exists" in made.stderr
        return self._lacks_extension() if there else made.stderr.strip()

    def _lacks_extension(self) -> str | None:
        """None when statements are counted, or are not to be."""
        psql = program("psql")
        if psql is None or not self._preloaded():
            return None
        made = subprocess.run(
            [str(psql), "-qX", self.dsn, "-c", f"CREATE EXTENSION IF NOT EXISTS {_STATEMENTS}"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return None if made.returncode == 0 else made.stderr.strip()

    def stopping(self) -> None:
        """Ask for a fast shutdown (INT), which does not wait for clients to leave, and wait for it."""
        try:
            postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
            os.kill(postmaster, signal.SIGINT)
        except (OSError, ValueError, IndexError):
            return
        deadline = time.monotonic() + _STOP_WITHIN_S
        while (self.data / "postmaster.pid").exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    def stopped(self) -> None:
        """Remove the data folder, once nothing runs in it."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def settings_used(self) -> dict[str, Any]:
        """What the server was started with."""
        return {**self._configuration(), "database": _DATABASE, "version": self._version()}

    def scrapers(self) -> list[Any]:
        """Its statistics views."""
        from towtank.observe import PostgresqlScraper  # noqa: PLC0415 - only where something is observed

        return [PostgresqlScraper(self.name, self.dsn)]

    def _version(self) -> str:
        with suppress(OSError):
            return (self.data / "PG_VERSION").read_text().strip()
        return "unknown"


def _has_statements() -> bool:
    """Whether the library that counts statements is installed beside the server."""
    server = program("postgres")
    return server is not None and (server.parents[1] / "lib" / f"{_STATEMENTS}.so").exists()


def _sweep() -> None:
    """Remove the folders of instances whose conductor was killed; their servers ended with it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, ValueError):
            pid, start = map(int, (folder / _OWNER).read_text().split())
            if identity(pid) != (pid, start):
                shutil.rmtree(folder, ignore_errors=True)


def _account() -> pwd.struct_passwd | None:
    with suppress(KeyError):
        return pwd.getpwnam("postgres")
    return None


def _path(name: str) -> str:
    found = program(name)
    if found is None:
        raise TargetError(f"PostgreSQL's {name} is not installed", hint=INSTALL_HINT)
    return str(found)


def _as_server(*command: str) -> list[str]:
    """Run as the user `postgres` when this is root."""
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--", *command]
