"""The reference content server: one or several nodes over one database and one storage area.

Its population is made once, kept, and brought back before every run, so that each run starts from the same state.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from towtank.system import model
from towtank.system.ports import free_port, require_free
from towtank.system.process import ProcessSpec, run_to_end
from towtank.system.reach import refuses_http
from towtank.system.service import Place, PlainService, Service
from towtank.system.services.postgresql import Postgresql

_HOST = "127.0.0.1"
_METRICS = "/metrics"
# The server gives requests in work five seconds when it is told to end; ours must be longer.
_GRACE_S = 8.0
# Files that a population leaves for workloads; they are exported as `documents_csv` and so on.
_LISTS = ("documents", "folders", "searches", "terms", "accounts")
_PRIVATE = "postgresql"


class ContentServer(PlainService):
    """All nodes of one content server."""

    kind = "content_server"

    def __init__(self, name: str, part: model.ContentServer, base: Path) -> None:
        super().__init__(name)
        self._part, self._base = part, base
        self._database: Postgresql | None = None
        self._ports: list[int] = []
        self._data = Path()

    def missing(self) -> str | None:
        """The package, which comes with Towtank's checkout."""
        if find_spec("content_server") is None:
            return f"{self.name}: the content server is not installed; `make setup` in the checkout installs it"
        return None

    def meet(self, others: list[Service]) -> None:
        """Take the PostgreSQL of the system, where the settings ask for a private one and the system has it."""
        if self._part.settings.database == _PRIVATE:
            found = [other for other in others if isinstance(other, Postgresql)]
            self._database = found[0] if found else self._own_database()

    def _own_database(self) -> Postgresql:
        part = model.Postgresql(kind="postgresql", host=self._part.host)
        database = Postgresql("database", part, self._base)
        database.ready_within_s = self.ready_within_s
        return database

    def requires(self) -> list[Service]:
        """Its database, where that is a service of ours."""
        return [] if self._database is None else [self._database]

    def prepare(self, place: Place) -> None:
        """Choose the ports, fill the repository if it is not filled yet, bring it back to the populated state."""
        self._ports = self._choose_ports()
        self._data = place.data / self._kind_of_database()
        self._data.mkdir(parents=True, exist_ok=True)
        held = self._part.population
        place.note(f"{self.name}: preparing the population")
        amount = ["--scale", str(held.scale), "--seed", str(held.seed), "--jobs", str(os.cpu_count() or 1)]
        self._run(place, "populate", *amount, "--quiet")
        self._run(place, "reset")

    def _kind_of_database(self) -> str:
        return "sqlite" if self._part.settings.database == "sqlite" else "postgresql"

    def _choose_ports(self) -> list[int]:
        given = self._part.settings
        if not given.port:
            return [free_port(_HOST) for _ in range(given.nodes)]
        ports = list(range(given.port, given.port + given.nodes))
        for port in ports:
            require_free(_HOST, port, self.name)
        return ports

    def _run(self, place: Place, command: str, *options: str) -> None:
        """Run one of its programs, on all CPUs: no load is measured yet."""
        spec = ProcessSpec(f"{self.name}-{command}", [*_PROGRAM, command, *self._where(), *options])
        cpus = sorted({*(place.cpus or []), *os.sched_getaffinity(0)})
        run_to_end(spec, place.logs / f"{spec.name}.log", cpus=cpus, check=place.check)

    def _where(self) -> list[str]:
        database = self._part.settings.database if self._database is None else self._database.dsn
        return ["--data", str(self._data), "--database", database]

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """One process for each node."""
        return [
            ProcessSpec(self._node(number), [*_PROGRAM, "serve", *self._options(number, port)], grace_s=_GRACE_S)
            for number, port in enumerate(self._ports, start=1)
        ]

    def _node(self, number: int) -> str:
        return self.name if number == 1 else f"{self.name}-{number}"

    def _options(self, number: int, port: int) -> list[str]:
        given = self._part.settings
        options = [*self._where(), "--listen", f"{_HOST}:{port}", "--node", f"node-{number}"]
        options += ["--threads", str(given.threads), "--database-pool", str(given.database_pool)]
        options += ["--content-cache-bytes", str(given.content_cache), "--handle-cache", str(given.handle_cache)]
        options += ["--sync", "on" if given.sync else "off"]
        for index in given.drop_index:
            options += ["--drop-index", index]
        if given.users is not None:
            options += ["--users", str((self._base / given.users).absolute())]
        if given.ldap is not None:
            options += ["--ldap", given.ldap]
        return options

    def ready(self) -> str | None:
        """Ready when every node shows its metrics."""
        refusals = [refusal for address in self.addresses() if (refusal := refuses_http(address, _METRICS))]
        return "; ".join(refusals) or None

    def addresses(self) -> list[str]:
        """One address for each node."""
        return [f"{_HOST}:{port}" for port in self._ports]

    def settings_used(self) -> dict[str, Any]:
        """Settings and population in force."""
        return {**self._part.configuration, "population": self._part.population.model_dump(mode="json")}

    def scrapers(self) -> list[Any]:
        """The metrics of every node, and what SQLite's file tells; a PostgreSQL is a service that tells its own."""
        from towtank.observe import PrometheusScraper, Scraper, SqliteScraper  # noqa: PLC0415 - only where observed

        scrapers: list[Scraper] = [
            PrometheusScraper(self._node(number), self.kind, f"http://{address}{_METRICS}")
            for number, address in enumerate(self.addresses(), start=1)
        ]
        if self._part.settings.database == "sqlite":
            scrapers.append(SqliteScraper(f"{self.name}-sqlite", self._data / "content.sqlite"))
        return list(scrapers)

    def exports(self) -> Mapping[str, Path]:
        """Lists of what it holds, for workloads to draw from."""
        return {f"{name}_csv": (self._data / f"{name}.csv").absolute() for name in _LISTS}


_PROGRAM = [sys.executable, "-m", "content_server"]
