"""Runs a MariaDB server with its own data folder, Unix socket and port, all of which are removed at its end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from towtank.system.process import ProcessSpec
from towtank.system.service import Place
from towtank.system.services.private_database import PrivateDatabase
from towtank.system.services.private_server import find_program

INSTALL_HINT = "apt-get install mariadb-server"
# Settings that affect the format of the data files, and must be known when the files are created.
_OF_FILES = (
    "innodb_page_size",
    "innodb_log_file_size",
    "innodb_data_file_path",
    "innodb_undo_tablespaces",
    "lower_case_table_names",
)
_INSTALL_WITHIN_S = 300.0
# Longest time in which the server writes its dirty pages to disk when it is stopped. [s]
_STOP_WITHIN_S = 10.0
_VERSION = re.compile(r"Ver (\S+)")
# Shell command that executes an SQL file, which may be too long for a command line. Its arguments are the file, and the
# client program with its options. In binary mode, the client ignores commands that run programs, such as `system`.
_RUN_SCRIPT = 'script=$1; shift; exec "$@" --batch --binary-mode <"$script"'
# Privileges of the load's database user for all databases, with which it can read the state of the server. With write
# access to the database `mysql`, for example, it could grant itself any privilege, and so access files of the account
# that runs the server.
_EVERYWHERE = "PROCESS, RELOAD, SHOW DATABASES"


def program(name: str) -> Path | None:
    found = find_program(name)
    return None if found is None else Path(found)


class Mariadb(PrivateDatabase):
    """MariaDB server that Towtank starts for the system under test."""

    kind = "mariadb"
    title: ClassVar[str] = "MariaDB"
    install: ClassVar[str] = INSTALL_HINT
    prefix: ClassVar[str] = "towtank-mariadb-"
    account: ClassVar[str] = "mysql"
    programs: ClassVar[tuple[str, ...]] = ("mariadbd", "mariadb-install-db", "mariadb")

    def _program(self, name: str) -> Path | None:
        return program(name)

    def _search(self, name: str) -> str:
        return f'PATH="$PATH:/usr/sbin:/usr/local/sbin"; command -v {name}'

    def _load(self, script: Path) -> list[str]:
        client = self._as_server("mariadb", *self._client_options, self._part.database)
        return ["sh", "-c", _RUN_SCRIPT, "sh", str(script), *client]

    @property
    def _client_options(self) -> list[str]:
        """Option that names the client's options file, because the password must not be an argument."""
        return [f"--defaults-file={self.folder / 'client.cnf'}"]

    @property
    def _password(self) -> str:
        """Password of the database user, from the system file or generated for the run."""
        return self._part.password or self._secret

    @property
    def dsn(self) -> str:
        part = self._part
        return f"mysql://{part.user}:{self._password}@{self.host.address}:{self._port}/{part.database}"

    def prepare(self, place: Place) -> None:
        """Create the data folder with `mariadb-install-db`, and write the SQL script that the server executes at its
        start.
        """
        self._make_folder()
        self.host.write(self.folder / "client.cnf", self._client_text(), self._group)
        self.host.write(self.folder / "begin.sql", self._first_statements(), self._group)
        given = self._configuration()
        options = [
            "--no-defaults",
            f"--datadir={self.data}",
            # The folder must not be shared, because a server removes all temporary tables in it at its start.
            f"--tmpdir={self.sockets}",
            # With `--force`, the name of the host need not be resolvable. No database user depends on it.
            "--force",
            "--skip-name-resolve",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
            *(_option(name, given[name]) for name in _OF_FILES if name in given),
        ]
        command = self._as_server("mariadb-install-db", *options)
        place.run(ProcessSpec(f"{self.name}-install-db", command), limit_s=_INSTALL_WITHIN_S)

    def _client_text(self) -> str:
        lines = ["[client]", f"host={self.host.address}", f"port={self._port}", "protocol=tcp"]
        lines += [f"user={self._part.user}", f"password={self._password}"]
        return "\n".join([*lines, "skip-ssl", "default-character-set=utf8mb4"]) + "\n"

    def _first_statements(self) -> str:
        """Return SQL statements, one per line, that the server executes at each start before it listens.

        Executing them again changes nothing.
        """
        part = self._part
        who, own = f"`{part.user}`@`%`", part.database.replace("_", r"\_")
        return (
            f"CREATE DATABASE IF NOT EXISTS `{part.database}` CHARACTER SET utf8mb4;\n"
            # The initial users of a new server have no passwords.
            "DELETE FROM mysql.global_priv WHERE User IN ('', 'root');\n"
            "FLUSH PRIVILEGES;\n"
            f"CREATE OR REPLACE USER {who} IDENTIFIED BY '{self._password}';\n"
            f"GRANT {_EVERYWHERE} ON *.* TO {who};\n"
            f"GRANT SELECT ON performance_schema.* TO {who};\n"
            # In a grant, an underscore stands for any character unless it is escaped.
            f"GRANT ALL PRIVILEGES ON `{own}`.* TO {who};\n"
            f"GRANT ALL PRIVILEGES ON `{own}\\_%`.* TO {who};\n"
        )

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return the server process, which ignores the options files of the machine."""
        options = [_option(name, value) for name, value in self._configuration().items()]
        command = self._as_server("mariadbd", "--no-defaults", "--skip-ssl", *options)
        return [ProcessSpec(self.name, command, grace_s=_STOP_WITHIN_S)]

    def _configuration(self) -> dict[str, str | int]:
        socket = self.sockets / "socket"
        return {
            **self._part.settings.configuration(),
            "bind_address": self.host.address,
            "port": self._port,
            # If the path is too long for the kernel, the server opens no socket.
            "socket": str(socket) if self._fits_socket(socket) else "",
            "datadir": str(self.data),
            "pid_file": str(self.sockets / "pid"),
            "tmpdir": str(self.sockets),
            "init_file": str(self.folder / "begin.sql"),
            "skip_name_resolve": "ON",
        }

    def addresses(self) -> list[str]:
        """Return the URL to which virtual users send SQL statements."""
        return [self.dsn]

    def ready(self) -> str | None:
        """Return None if the server executes statements and its population is created; otherwise the reason."""
        options = [*self._client_options, "-e", "SELECT 1", self._part.database]
        answer = self.host.execute(self._as_server("mariadb", *options))
        if answer.status != 0:
            return f"it does not respond yet: {answer.output.strip()}"
        self._populate()
        return None

    def settings_used(self) -> dict[str, object]:
        """Return the settings of the server, its database, the user, and the version."""
        part = self._part
        return {**self._configuration(), "database": part.database, "user": part.user, "version": self._version()}

    def scrapers(self) -> list[Any]:
        """Return a scraper of the server's status variables."""
        from towtank.observe import MariadbScraper  # noqa: PLC0415 - only where something is observed

        return [MariadbScraper(self.name, self.dsn)]

    def _version(self) -> str:
        found = _VERSION.search(self._said([self._path("mariadbd"), "--no-defaults", "--version"]))
        return found[1] if found else "unknown"


def _option(name: str, value: str | int) -> str:
    return f"--{name.replace('_', '-')}={value}"
