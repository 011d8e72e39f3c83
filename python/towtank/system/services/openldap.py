"""Runs a `slapd` server of OpenLDAP with generated users and the monitor database."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from towtank.errors import TargetError
from towtank.system import server_models
from towtank.system.process import ProcessSpec
from towtank.system.service import Place
from towtank.system.services.directory_users import SUFFIX, ldif, users
from towtank.system.services.private_server import PrivateServer, find_program

_SCHEMAS = ("core", "cosine", "inetorgperson")
_SCHEMA_PLACES = (Path("/etc/ldap/schema"), Path("/etc/openldap/schema"))
_MODULE_PLACES = (Path("/usr/lib/ldap"), Path("/usr/lib64/openldap"), Path("/usr/lib/openldap"))
ADMINISTRATOR = f"cn=admin,{SUFFIX}"
_POPULATE_WITHIN_S = 600.0
_DATABASE = "data.mdb"
_COMPLETE = "complete"
# Limit of open files for slapd, far above the number of its connections. slapd allocates 650 bytes for each file that
# the limit allows, 21 MB in total. [1]
_OPEN_FILES = 32768


class Openldap(PrivateServer):
    """LDAP server that Towtank starts for the system under test."""

    kind = "openldap"
    program: ClassVar[str] = "slapd"
    title: ClassVar[str] = "OpenLDAP"
    install: ClassVar[str] = "apt-get install slapd ldap-utils"
    accounts: ClassVar[tuple[str, ...]] = ("openldap",)

    def __init__(self, name: str, part: server_models.Openldap, base: Path) -> None:  # noqa: ARG002
        super().__init__(name, part.port)
        self._part, self._settings, self._population = part, part.settings, part.population
        self._users: Path | None = None
        self._password = part.password or secrets.token_hex(16)

    def missing(self) -> str | None:
        """Return a message if `slapd` or `slapadd` is missing; otherwise None."""
        absent = [name for name in ("slapd", "slapadd") if find_program(name) is None]
        return (
            f"{self.name}: OpenLDAP is not installed ({', '.join(absent)} missing); {self.install}" if absent else None
        )

    @property
    def url(self) -> str:
        return f"ldap://{self.address}"

    def configure(self, place: Place) -> None:
        """Write the configuration file `slapd.conf`, and fill the database with users."""
        self.make_own_folder("db")
        self.make_own_folder("run")
        self.write("slapd.conf", "\n".join(self._configuration()) + "\n")
        self._populate(place)

    def _configuration(self) -> list[str]:
        given = self._settings
        indexes = ["index objectClass eq", *(f"index {name} eq" for name in given.indexes)]
        return [
            *(f"include {_place(_SCHEMA_PLACES) / f'{name}.schema'}" for name in _SCHEMAS),
            f"pidfile {self.folder / 'run' / 'slapd.pid'}",
            f"argsfile {self.folder / 'run' / 'slapd.args'}",
            f"modulepath {_place(_MODULE_PLACES)}",
            "moduleload back_mdb",
            "moduleload back_monitor",
            f"threads {given.threads}",
            f"sizelimit {given.size_limit}",
            f"idletimeout {given.idle_timeout:.0f}",
            "database monitor",
            "access to * by * read",
            # The monitor database has no limit, so that the scraper can read all its entries.
            "limits * size=unlimited",
            "database mdb",
            f'suffix "{SUFFIX}"',
            f'rootdn "{ADMINISTRATOR}"',
            f"rootpw {self._password}",
            f"directory {self.folder / 'db'}",
            f"maxsize {given.max_size}",
            *([] if given.sync else ["dbnosync"]),
            *indexes,
        ]

    def _populate(self, place: Place) -> None:
        """Copy the database of users from an earlier run with equal settings; create it first if it does not exist."""
        kept = place.data / "-".join(["openldap", *self._settings.indexes])
        self._users = place.data / "users.csv"
        if not (kept / _COMPLETE).exists():
            place.note(f"{self.name}: making {self._population.users} users")
            self._fill(place)
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir(parents=True)
            shutil.copy2(self.folder / "db" / _DATABASE, kept / _DATABASE)
            (kept / _COMPLETE).touch()
        shutil.copy2(kept / _DATABASE, self.folder / "db" / _DATABASE)
        if self._account is not None:
            for file in (self.folder / "db").iterdir():
                shutil.chown(file, self._account, self._account)

    def _fill(self, place: Place) -> None:
        count, seed = self._population.users, self._population.seed
        source = self.folder / "users.ldif"
        with source.open("w", encoding="utf-8") as stream:
            stream.writelines(ldif(count, seed))
        place.data.mkdir(parents=True, exist_ok=True)
        assert self._users is not None
        with self._users.open("w", encoding="utf-8") as stream:
            stream.write("user,password\n")
            stream.writelines(f"{user.name},{user.password}\n" for user in users(count, seed))
        # The option -n 2 selects the database with the users; number 1 is the monitor database.
        command = [self._slapadd(), "-q", "-n", "2", "-f", str(self.folder / "slapd.conf"), "-l", str(source)]
        place.run(ProcessSpec(f"{self.name}-slapadd", command), limit_s=_POPULATE_WITHIN_S)
        source.unlink()

    def _slapadd(self) -> str:
        found = find_program("slapadd")
        if found is None:
            raise TargetError(f"{self.name}: slapadd is not installed", hint=self.install)
        return found

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return the server process, which an option for the debug level keeps in the foreground."""
        command = [self.path, "-d", "none", "-f", str(self.folder / "slapd.conf"), "-h", f"{self.url}/"]
        return [ProcessSpec(self.name, self.as_server(command), grace_s=5.0, open_files=_OPEN_FILES)]

    def settings_used(self) -> dict[str, object]:
        """Return the settings, the population and the port of the server."""
        population = self._population.model_dump(mode="json")
        return {**self._part.configuration, "population": population, "port": self._port}

    def addresses(self) -> list[str]:
        """Return the URL to which virtual users connect."""
        return [self.url]

    def scrapers(self) -> list[Any]:
        """Return a scraper of slapd's monitor database."""
        from towtank.observe import OpenldapScraper  # noqa: PLC0415 - only where something is observed

        return [OpenldapScraper(self.name, self.url)]

    def exports(self) -> Mapping[str, Path]:
        """Return the list of users and passwords, with which workloads can log in."""
        return {} if self._users is None else {"users_csv": self._users.absolute()}


def _place(places: tuple[Path, ...]) -> Path:
    return next((place for place in places if place.is_dir()), places[0])
