"""Runs a PostgreSQL server with its own data folder and port, which are removed at its end."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
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
# Names of the superuser, of the database user that executes the load, and of the database. The load does not use the
# superuser, who can run programs by SQL statements.
_SUPERUSER = "postgres"
_USER = "towtank"
_DATABASE = "towtank"
# Folder of PostgreSQL's programs on Debian, with a subfolder for each version; it is not in PATH.
_DEBIAN = Path("/usr/lib/postgresql")
_STOP_WITHIN_S = 10.0
_STATEMENTS = "pg_stat_statements"
# Options by which psql ignores the user's startup file, and stops at the first error.
_QUIETLY = ("-qX", "-v", "ON_ERROR_STOP=1")
_VERSION = re.compile(r"\) (\d+)(?:\.(\d+))?")
# First minor version of psql with the command `\restrict`, by major version (release notes of 2025-08-14,
# CVE-2025-8714).
_RESTRICT = {13: 22, 14: 19, 15: 14, 16: 10, 17: 6}
# Iteration count with which PostgreSQL derives the verifier of a password (scram-common.h). [1]
_SCRAM_ROUNDS = 4096


def program(name: str) -> Path | None:
    """Return the path of a PostgreSQL program: that of Debian's newest version, or else that in PATH."""
    versions = sorted(_DEBIAN.glob(f"*/bin/{name}"), key=_version_of, reverse=True)
    on_path = shutil.which(name)
    return versions[0] if versions else Path(on_path) if on_path else None


def _version_of(path: Path) -> float:
    """Return the version in a path such as `/usr/lib/postgresql/15/bin/postgres`; 0 if the path contains no version."""
    try:
        return float(path.parts[-3])
    except ValueError:
        return 0.0


def has_restrict(version: str) -> bool:
    r"""Return True if psql has the command `\restrict`, given the output of `psql --version`.

    Examples
    --------
    >>> [has_restrict(f"psql (PostgreSQL) {number}") for number in ("15.13", "15.14", "16.9", "18.0", "19beta1")]
    [False, True, False, True, True]
    """
    found = _VERSION.search(version)
    if found is None:
        return False
    major, minor = int(found[1]), int(found[2] or 0)
    return major > max(_RESTRICT) or minor >= _RESTRICT.get(major, minor + 1)


def scram_verifier(password: str, salt: bytes | None = None) -> str:
    """Return the SCRAM verifier that PostgreSQL stores instead of a password.

    It is calculated by RFC 5802, section 3, and has the format of RFC 5803. The password must be plain ASCII.
    """
    salt = secrets.token_bytes(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _SCRAM_ROUNDS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    kept, key, other = (base64.b64encode(each).decode() for each in (salt, stored, server))
    return f"SCRAM-SHA-256${_SCRAM_ROUNDS}:{kept}${key}:{other}"


class Postgresql(PrivateDatabase):
    """PostgreSQL server that Towtank starts for the system under test."""

    kind = "postgresql"
    title: ClassVar[str] = "PostgreSQL"
    install: ClassVar[str] = INSTALL_HINT
    prefix: ClassVar[str] = "towtank-postgresql-"
    account: ClassVar[str] = "postgres"
    programs: ClassVar[tuple[str, ...]] = ("initdb", "postgres", "pg_isready", "pg_ctl", "psql")

    def _program(self, name: str) -> Path | None:
        return program(name)

    def _search(self, name: str) -> str:
        # The command prints the path of Debian's newest version, or else that in PATH.
        return f"ls -d {_DEBIAN}/*/bin/{name} 2>/dev/null | sort -V | tail -n 1 | grep . || command -v {name}"

    def __init__(self, name: str, part: Any, base: Path) -> None:
        super().__init__(name, part, base)
        self._superuser_password = secrets.token_hex(16)

    def _load(self, script: Path) -> list[str]:
        restrict = ["-c", f"\\restrict {secrets.token_hex(16)}"] if self._can_restrict() else []
        where = [*self._where, "-U", _USER, "-d", _DATABASE]
        return self._as_server("psql", *_QUIETLY, *where, *restrict, "-f", str(script))

    def _can_restrict(self) -> bool:
        """Return True if `psql` can disable its backslash commands, with which a script could run programs."""
        return has_restrict(self._said([self._path("psql"), "--version"]))

    def _login(self) -> dict[str, str]:
        return {"PGPASSWORD": self._password}

    @property
    def _where(self) -> list[str]:
        return ["-h", self.host.address, "-p", str(self._port)]

    @property
    def dsn(self) -> str:
        return f"postgresql://{_USER}:{self._password}@{self.host.address}:{self._port}/{_DATABASE}"

    def prepare(self, place: Place) -> None:
        """Create the data folder with `initdb`, and write the access rules and the first SQL statements."""
        self._make_folder()
        secret = self.folder / "superuser"
        self.host.write(secret, f"{self._superuser_password}\n", self._group)
        options = ["-D", str(self.data), "-U", _SUPERUSER, "--auth=scram-sha-256", f"--pwfile={secret}"]
        options += ["--encoding=UTF8", "--locale=C", "--no-sync"]
        place.run(ProcessSpec(f"{self.name}-initdb", self._as_server("initdb", *options)), limit_s=60.0)
        self.host.remove(secret)
        self.host.write(self._rules, self._admitted(), self._group)
        self.host.write(self._beginning, self._first_statements(), self._group)

    @property
    def _rules(self) -> Path:
        return self.folder / "pg_hba.conf"

    @property
    def _beginning(self) -> Path:
        return self.folder / "begin.sql"

    def _admitted(self) -> str:
        """Return the access rules: the superuser may connect from this host only, and the database user also from the
        network of the host.
        """
        near = "samehost" if self.host.address == LOOPBACK else "samenet"
        return (
            "local all all scram-sha-256\n"
            f"host all {_SUPERUSER} samehost scram-sha-256\n"
            f"host all {_USER} {near} scram-sha-256\n"
        )

    def _first_statements(self) -> str:
        """Return SQL statements that create the database user, the database and the extension `pg_stat_statements`.

        Objects that exist already are not changed. The user may read all statistics. The statement that creates the
        user contains a verifier instead of the password, so that the password appears neither in a log nor in the
        statistics.
        """
        user = f"CREATE ROLE {_USER} LOGIN CREATEDB IN ROLE pg_monitor PASSWORD ''{scram_verifier(self._password)}''"
        lines = [
            f"SELECT '{user}' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{_USER}') \\gexec",
            f"SELECT 'CREATE DATABASE {_DATABASE} OWNER {_USER}'"
            f" WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '{_DATABASE}') \\gexec",
            # With the role pg_checkpoint, which exists since PostgreSQL 15, a population's script can request a
            # checkpoint.
            f"SELECT 'GRANT pg_checkpoint TO {_USER}'"
            " WHERE EXISTS (SELECT FROM pg_roles WHERE rolname = 'pg_checkpoint') \\gexec",
        ]
        if self._preloaded():
            lines += [f"\\connect {_DATABASE}", f"CREATE EXTENSION IF NOT EXISTS {_STATEMENTS};"]
        return "\n".join(lines) + "\n"

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return the server process (postmaster), whose children are in the same process group."""
        options = [f"-c{key}={value}" for key, value in self._configuration().items()]
        command = self._as_server("postgres", "-D", str(self.data), *options)
        return [ProcessSpec(self.name, command, grace_s=_STOP_WITHIN_S)]

    def addresses(self) -> list[str]:
        """Return the URL to which virtual users send SQL statements."""
        return [self.dsn]

    def _configuration(self) -> dict[str, str | int]:
        return {
            # No connection is reserved for superusers, so that the load can use all connections.
            "superuser_reserved_connections": 0,
            **self._part.settings.configuration(),
            **self._preloaded(),
            "hba_file": str(self._rules),
            "listen_addresses": self.host.address,
            "port": self._port,
            "unix_socket_directories": self._socket_folder(),
        }

    def _socket_folder(self) -> str:
        """Return the folder of the server's Unix socket; empty if the path would be too long for the kernel."""
        return str(self.sockets) if self._fits_socket(self.sockets / f".s.PGSQL.{self._port}") else ""

    def _preloaded(self) -> dict[str, str | int]:
        """Return the settings that load the library `pg_stat_statements`.

        The result is empty if the system file turns off statistics of statements, or the library is not installed.
        """
        if not self._part.settings.statements or not self.has_statements():
            return {}
        # Statements are stored up to this size, because `EXPLAIN` needs complete statements. [byte]
        return {"shared_preload_libraries": _STATEMENTS, "track_activity_query_size": 16384}

    def has_statements(self) -> bool:
        """Return True if the library `pg_stat_statements` is installed with the server."""
        library = Path(self._path("postgres")).parents[1] / "lib" / f"{_STATEMENTS}.so"
        return self.host.execute(["test", "-e", str(library)]).status == 0

    def ready(self) -> str | None:
        """Return None if the server accepts connections, and its population is created and written to disk; otherwise
        the reason.
        """
        if self.host.execute(self._as_server("pg_isready", "-q", *self._where)).status != 0:
            return "it does not accept connections yet"
        if fault := self._as_superuser("-f", str(self._beginning)):
            return fault
        if self._is_populated:
            return None
        self._populate()
        return self._as_superuser("-c", "CHECKPOINT")

    def _as_superuser(self, *what: str) -> str | None:
        """Run `psql` as the superuser of the database; return None if it succeeds, otherwise its error message."""
        command = ["psql", *_QUIETLY, *self._where, "-U", _SUPERUSER, "-d", "postgres", *what]
        done = self.host.execute(self._as_server(*command), environment={"PGPASSWORD": self._superuser_password})
        return None if done.status == 0 else done.output.strip() or f"psql ended with status {done.status}"

    def stopping(self, *, for_good: bool) -> None:
        """Shut the server down without waiting for its clients, and wait for its end.

        With `for_good`, the server skips its last checkpoint, which takes long on a slow disk, because its data are
        removed next.
        """
        mode = "immediate" if for_good else "fast"
        stop = ["-D", str(self.data), "-m", mode, "-w", "-t", f"{_STOP_WITHIN_S:.0f}", "stop"]
        with suppress(TargetError):
            self.host.execute(self._as_server("pg_ctl", *stop), limit_s=2 * _STOP_WITHIN_S)

    def settings_used(self) -> dict[str, object]:
        """Return the settings of the server, its database, and its version."""
        return {**self._configuration(), "database": _DATABASE, "version": self._version()}

    def scrapers(self) -> list[Any]:
        """Return a scraper of the server's statistics views."""
        from towtank.observe import PostgresqlScraper  # noqa: PLC0415 - only where something is observed

        return [PostgresqlScraper(self.name, self.dsn)]

    def _version(self) -> str:
        return (self.host.read(self.data / "PG_VERSION") or "unknown").strip()
