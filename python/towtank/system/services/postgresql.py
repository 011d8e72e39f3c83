"""A private PostgreSQL: its own data folder, its own port, removed when the system goes down."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from towtank.errors import TargetError
from towtank.system.hosts.local import ADDRESS as LOOPBACK
from towtank.system.process import ProcessSpec
from towtank.system.service import Place
from towtank.system.services.private_database import PrivateDatabase

INSTALL_HINT = "apt-get install postgresql"
_USER = "towtank"
_DATABASE = "towtank"
# Debian keeps the server's programs off the path, one folder per version.
_DEBIAN = Path("/usr/lib/postgresql")
_STOP_WITHIN_S = 10.0
_STATEMENTS = "pg_stat_statements"


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


class Postgresql(PrivateDatabase):
    """One private instance."""

    kind = "postgresql"
    title: ClassVar[str] = "PostgreSQL"
    install: ClassVar[str] = INSTALL_HINT
    prefix: ClassVar[str] = "towtank-postgresql-"
    account: ClassVar[str] = "postgres"
    programs: ClassVar[tuple[str, ...]] = ("initdb", "postgres", "pg_isready", "pg_ctl", "createdb")

    def _program(self, name: str) -> Path | None:
        return program(name)

    def _search(self, name: str) -> str:
        # The newest of Debian's versions, else one on the path.
        return f"ls -d {_DEBIAN}/*/bin/{name} 2>/dev/null | sort -V | tail -n 1 | grep . || command -v {name}"

    def _load(self, script: Path) -> list[str]:
        return [self._path("psql"), "-qX", "-v", "ON_ERROR_STOP=1", self.dsn, "-f", str(script)]

    @property
    def dsn(self) -> str:
        """How clients connect."""
        return f"postgresql://{_USER}@{self.host.address}:{self._port}/{_DATABASE}"

    def prepare(self, place: Place) -> None:
        """Make the data folder with `initdb`."""
        self._make_folder()
        options = ["-D", str(self.data), "-U", _USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        place.run(ProcessSpec(f"{self.name}-initdb", self._as_server("initdb", *options)), limit_s=60.0)
        if self.host.address != LOOPBACK:
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
        return str(self.folder) if self._fits_socket(self.folder / f".s.PGSQL.{self._port}") else ""

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
        if lacking is None:
            self._populate()
        return lacking

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

    def settings_used(self) -> dict[str, Any]:
        """What the server was started with."""
        return {**self._configuration(), "database": _DATABASE, "version": self._version()}

    def scrapers(self) -> list[Any]:
        """Its statistics views."""
        from towtank.observe import PostgresqlScraper  # noqa: PLC0415 - only where something is observed

        return [PostgresqlScraper(self.name, self.dsn)]

    def _version(self) -> str:
        return (self.host.read(self.data / "PG_VERSION") or "unknown").strip()
