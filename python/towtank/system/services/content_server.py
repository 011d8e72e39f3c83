"""Runs the reference content server, as one or several nodes that share a database and a folder for contents.

The population (initial data) is generated once, and reset to its original state before every run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from towtank.system import model
from towtank.system.hosts.host import Host
from towtank.system.hosts.local import LocalHost
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_http
from towtank.system.service import Place, Service
from towtank.system.services.nodes import NodesService
from towtank.system.services.openldap import Openldap
from towtank.system.services.postgresql import Postgresql

_METRICS = "/metrics"
# Environment variables with the addresses of database and directory, which contain secrets.
_DATABASE, _LDAP = "CONTENT_SERVER_DATABASE", "CONTENT_SERVER_LDAP"
# Time between the signal TERM and the kill of the server; longer than the five seconds in which the server finishes its
# requests. [s]
_GRACE_S = 8.0
# Lists of the population that workloads can use, exported as `documents_csv` and so on.
_LISTS = ("documents", "folders", "searches", "terms", "accounts")
_PRIVATE = "postgresql"
# Folder for the contents of documents, below the data folder.
_AREA = "area"


class ContentServer(NodesService):
    """Content server with all its nodes."""

    kind = "content_server"

    def __init__(self, name: str, part: model.ContentServer, base: Path) -> None:
        super().__init__(name, part, base, part.settings.port)
        self._part = part
        self._database: Postgresql | None = None
        self._directory: Openldap | None = None
        # Folder of the stored population, and folder of the data that the run uses.
        self._data, self._served = Path(), Path()
        self._lists = Path()
        self._maker: Host = LocalHost()
        self._users: Path | None = None

    def missing(self) -> str | None:
        """Return a message if the package of the content server is missing on this machine; otherwise None.

        Another machine is not checked here: a missing package is reported when the server starts there.
        """
        if self.host.capabilities().shares_files and find_spec("content_server") is None:
            return f"{self.name}: the content server is not installed; `make setup` in the checkout installs it"
        return None

    def meet(self, others: list[Service]) -> None:
        """Find the database and the directory service of the content server among the services of the system."""
        super().meet(others)
        if self._part.settings.database == _PRIVATE:
            self._database = self.database_among(others)
        directories = [
            other for other in others if isinstance(other, Openldap) and other.name == self._part.settings.ldap
        ]
        self._directory = directories[0] if directories else None

    def requires(self) -> list[Service]:
        """Return the services of the system that the content server uses: database, directory and mount."""
        return [service for service in (self._database, self._directory, self._mount) if service is not None]

    def prepare(self, place: Place) -> None:
        """Choose ports, create the population if it does not exist, and reset it to its original state."""
        self.choose_ports()
        shared = self.host.capabilities().shares_files
        self._data = (place.data if shared else self.host.temporary / self.name) / self._kind_of_database()
        self._maker = LocalHost() if shared else self.host
        self._maker.make_folder(self._data)
        held = self._part.population
        place.note(f"{self.name}: preparing the population")
        amount = ["--scale", str(held.scale), "--seed", str(held.seed), "--jobs", str(os.cpu_count() or 1)]
        self._run(place, "populate", *amount, "--quiet")
        self._run(place, "reset")
        self._served = self._data if self._part.disk is None else self._copied(place, self._part.disk)
        self._copy_contents(place)
        self._lists = self._data if shared else self._fetched(place)
        self._users = self._given_users()

    def _copied(self, place: Place, disk: str) -> Path:
        """Copy the data to a disk of the host, which is empty in each run; return the folder of the copy."""
        target = self.host.disk(disk) / self.name
        place.note(f"{self.name}: copying the population to disk {disk}")
        self.host.make_folder(target)
        apart = self._part.storage is not None
        parts = [str(part) for part in sorted(self._data.iterdir()) if not (apart and part.name == _AREA)]
        place.run(ProcessSpec(f"{self.name}-copy", ["cp", "-a", "-t", str(target), *parts]))
        return target

    def _copy_contents(self, place: Place) -> None:
        """Copy the contents of documents to the disk or mount that stores them, which is empty in each run."""
        first = self.host_of(1)
        target = self._area_on(first)
        if target is not None:
            place.note(f"{self.name}: copying the contents to {self._part.storage}")
            command = ["cp", "-a", "-T", str(self._data / _AREA), str(target)]
            place.run(ProcessSpec(f"{self.name}-contents", command), on=first)
            self.warm_others(place, self._area_on)

    def _area_on(self, host: Host) -> Path | None:
        """Return the path of the folder for contents on a host; None if the contents stay in the data folder."""
        root = self.storage_on(host)
        return None if root is None else root / self.name

    def _fetched(self, place: Place) -> Path:
        """Copy the lists for workloads from another machine to this machine, and return the folder of the copies."""
        for name in _LISTS:
            self.host.get(self._data / f"{name}.csv", place.scratch / f"{name}.csv")
        return place.scratch

    def _given_users(self) -> Path | None:
        """Return the path of the file of users for the nodes; None if the system file names no such file."""
        if self._part.settings.users is None:
            return None
        file = (self._base / self._part.settings.users).absolute()
        if self.host.capabilities().shares_files:
            return file
        target = self.host.temporary / f"{self.name}-{file.name}"
        self.host.put(file, target)
        return target

    def _kind_of_database(self) -> str:
        return "sqlite" if self._part.settings.database == "sqlite" else "postgresql"

    def _run(self, place: Place, command: str, *options: str) -> None:
        """Run a command of the content server on all CPUs, without the limits of its host: nothing is measured yet."""
        program = [*self._program(), command, *_where(self._data), *options]
        cpus = sorted({*(place.cpus or []), *os.sched_getaffinity(0)})
        spec = ProcessSpec(f"{self.name}-{command}", program, self._addresses_of_others())
        place.run(spec, cpus=cpus, on=self._maker)

    def _program(self) -> list[str]:
        return [self.host.python(), "-m", "content_server"]

    def _addresses_of_others(self) -> dict[str, str]:
        """Return environment variables with the addresses of database and directory.

        The addresses contain logins, which other users could read in command-line arguments.
        """
        given = self._part.settings
        addresses = {_DATABASE: given.database if self._database is None else self._database.dsn}
        if given.ldap is not None:
            addresses[_LDAP] = given.ldap if self._directory is None else self._directory.url
        return addresses

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        return [
            ProcessSpec(
                node,
                [*self._program(), "serve", *self._options(number, address)],
                self._addresses_of_others(),
                grace_s=_GRACE_S,
                host=self.host_of(number),
            )
            for number, (node, address) in enumerate(zip(self.nodes, self.addresses(), strict=True), start=1)
        ]

    def _options(self, number: int, address: str) -> list[str]:
        given = self._part.settings
        area = self._area_on(self.host_of(number))
        options = [*_where(self._served), *([] if area is None else ["--storage-area", str(area)])]
        options += ["--listen", address, "--node", f"node-{number}"]
        options += ["--threads", str(given.threads), "--database-pool", str(given.database_pool)]
        options += ["--content-cache-bytes", str(given.content_cache), "--handle-cache", str(given.handle_cache)]
        options += ["--sync", "on" if given.sync else "off"]
        for index in given.drop_index:
            options += ["--drop-index", index]
        if self._users is not None:
            options += ["--users", str(self._users)]
        options += ["--credentials-lifetime", str(given.credentials_lifetime)]
        return options

    def refuses(self, address: str) -> str | None:
        """Return None if a node serves its metrics page; otherwise the reason."""
        return refuses_http(address, _METRICS)

    def settings_used(self) -> dict[str, object]:
        """Return the settings, the population, and the disks for data and contents."""
        given = self._part
        places = {key: place for key, place in (("disk", given.disk), ("storage", given.storage)) if place is not None}
        return {**given.configuration, **places, "population": given.population.model_dump(mode="json")}

    def scrapers(self) -> list[Any]:
        """Return scrapers of every node, and of the SQLite file if the database is SQLite."""
        from towtank.observe import PrometheusScraper, Scraper, SqliteScraper  # noqa: PLC0415 - only where observed

        scrapers: list[Scraper] = [
            PrometheusScraper(node, self.kind, f"http://{address}{_METRICS}")
            for node, address in zip(self.nodes, self.addresses(), strict=True)
        ]
        if self._part.settings.database == "sqlite" and self.host.capabilities().shares_files:
            file = self.host.outside(self._served) / "content.sqlite"
            scrapers.append(SqliteScraper(f"{self.name}-sqlite", file))
        return list(scrapers)

    def exports(self) -> Mapping[str, Path]:
        """Return the lists of the content server's documents and other objects, for workloads."""
        return {f"{name}_csv": (self._lists / f"{name}.csv").absolute() for name in _LISTS}


def _where(data: Path) -> list[str]:
    return ["--data", str(data)]
