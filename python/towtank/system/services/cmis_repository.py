"""Runs a third-party CMIS repository, which consists of OpenCMIS and Jackrabbit in Jetty, and uses PostgreSQL.

Several nodes form a cluster. They share the database and a folder for the contents of documents, and send their changes
to each other through a journal in the database. Database and contents are created for each run, from documents that
are generated only once.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from towtank.system.downloads import cache_folder, is_here, place_of
from towtank.system.hosts.host import Host
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_http
from towtank.system.repository_model import CmisRepository as Part
from towtank.system.service import Place, Service
from towtank.system.services import cmis_application, cmis_configuration, cmis_population, jvm
from towtank.system.services.nodes import NodesService
from towtank.system.services.postgresql import Postgresql
from towtank.system.services.private_server import find_program

_GRACE_S = 8.0
_POPULATE_WITHIN_S = 3600.0
_STATISTICS = "/statistics"
_READY = f"/browser/{cmis_configuration.REPOSITORY}?cmisselector=repositoryInfo"
# HTTP header with a login. The repository requires a login, but accepts any user and password.
_LOGIN = {"Authorization": "Basic " + base64.b64encode(b"towtank:towtank").decode()}
# Time limit of a response. The first response takes longest, because the repository then opens its indexes. [s]
_ANSWER_WITHIN_S = 10.0


class CmisRepository(NodesService):
    """CMIS repository with all its nodes."""

    kind = "cmis_repository"

    def __init__(self, name: str, part: Part, base: Path) -> None:
        super().__init__(name, part, base, part.port)
        self._part = part
        self._database: Postgresql | None = None
        self._data, self._application, self._logs, self._scratch = Path(), Path(), Path(), Path()

    def missing(self) -> str | None:
        """Return a message if Java, a file of the repository, or the content server (which generates the documents) is
        missing; None if nothing is missing.
        """
        if absent := jvm.missing_programs():
            return f"{self.name}: Java is not installed ({', '.join(absent)} missing); {jvm.INSTALL}"
        if fetched := [artefact.file_name for artefact in cmis_application.ARTEFACTS if not is_here(artefact)]:
            return (
                f"{self.name}: files of the repository have not been fetched yet ({', '.join(fetched)}); "
                "`towtank doctor SYSTEM --install` fetches them"
            )
        if find_spec("content_server") is None:
            return (
                f"{self.name}: the content server, which generates the documents, is not installed; "
                "`make setup` installs it"
            )
        return None

    def meet(self, others: list[Service]) -> None:
        """Use the PostgreSQL service of the system for the database, or add one if the system has none."""
        super().meet(others)
        self._database = self.database_among(others)

    @property
    def database(self) -> Postgresql:
        """PostgreSQL service with the database of the repository."""
        assert self._database is not None
        return self._database

    def requires(self) -> list[Service]:
        """Return the database service, and the mount if it stores the contents of documents."""
        return [self.database, *([] if self._mount is None else [self._mount])]

    def folders(self) -> list[Path]:
        """Return the cache folder, which contains the repository's web application."""
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        return [folder]

    def prepare(self, place: Place) -> None:
        """Choose ports, build the web application, generate the documents, and fill the repository with them."""
        self.choose_ports()
        self._data, self._logs, self._scratch = place.data, place.logs, place.scratch
        place.note(f"{self.name}: preparing the population")
        self._application = cmis_application.build_application()
        self._make_documents(place)
        first = self.host_of(1)
        first.make_folder(self._contents_on(first))
        home = place.scratch / "population"
        self._fill(place, first, home)
        self.warm_others(place, self._contents_on)
        for number in range(1, len(self.nodes) + 1):
            self._make_node(home, number)
        shutil.rmtree(home)

    def _contents_on(self, host: Host) -> Path:
        """Return the path of the folder for contents on a host."""
        return (self.storage_on(host) or self._scratch) / f"{self.name}-contents"

    def _make_documents(self, place: Place) -> None:
        """Generate the content server's population, unless an earlier run has done so."""
        held = self._part.population
        amount = ["--scale", str(held.scale), "--seed", str(held.seed), "--jobs", str(os.cpu_count() or 1)]
        program = [
            self.host.python(),
            "-m",
            "content_server",
            "populate",
            "--data",
            str(self._data),
            *amount,
            "--quiet",
        ]
        self._data.mkdir(parents=True, exist_ok=True)
        place.run(ProcessSpec(f"{self.name}-documents", program), cpus=_all_cpus(place))

    def _fill(self, place: Place, host: Host, home: Path) -> None:
        """Fill the database and the folder for contents, on all CPUs, because nothing is measured yet."""
        home.mkdir()
        objects = home / "objects.tsv"
        cmis_population.write_list(self._data, objects)
        log = place.logs / f"{self.name}-population-gc.log"
        command = [*self._java(host, home, None, log), "-cp", self._class_path()]
        clustered = home / "cluster.xml"
        clustered.write_text(self._configuration(host, "population"), "utf-8")
        arguments = ["towtank.Populate", str(objects), str(clustered)]
        spec = ProcessSpec(f"{self.name}-population", [*command, *arguments])
        place.run(spec, cpus=_all_cpus(place), on=host, limit_s=_POPULATE_WITHIN_S)

    def _class_path(self) -> str:
        inside = self._application / "WEB-INF"
        return os.pathsep.join([str(inside / "classes"), str(inside / "lib" / "*")])

    def _make_node(self, first: Path, number: int) -> None:
        """Create the folder of a node with its configuration, and a copy of the search index made while filling."""
        home = self._home(number)
        shutil.copytree(first, home)
        (home / "temporary").mkdir(exist_ok=True)
        (home / "jetty.xml").write_text(cmis_configuration.jetty_xml(self._part.settings), "utf-8")
        self._configure(self.host_of(number), home, f"node{number}")

    def _home(self, number: int) -> Path:
        return self._scratch / self.nodes[number - 1]

    def _configure(self, host: Host, home: Path, node: str | None) -> None:
        (home / "repository.xml").write_text(self._configuration(host, node), "utf-8")
        (home / cmis_configuration.TEXT_FILE).write_text(cmis_configuration.text_xml(), "utf-8")

    def _configuration(self, host: Host, node: str | None) -> str:
        contents = self._contents_on(host)
        return cmis_configuration.repository_xml(self._part.settings, self.database.dsn, contents, node)

    def _java(self, host: Host, home: Path, node: str | None, log: Path) -> list[str]:
        """Return the `java` command with its options and the properties for the classes in `system/java`."""
        self._configure(host, home, node)
        (home / "temporary").mkdir(exist_ok=True)
        program = find_program("java") or "java"
        return [
            program,
            # The working directory of the process is not that of Towtank.
            *jvm.options(self._part.settings.jvm, host, log.absolute()),
            f"-Djava.io.tmpdir={home / 'temporary'}",
            f"-Dtowtank.configuration={home / 'repository.xml'}",
            f"-Dtowtank.home={home}",
        ]

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return one JVM process for each node."""
        return [self._process(number, address) for number, address in enumerate(self.addresses(), start=1)]

    def _process(self, number: int, address: str) -> ProcessSpec:
        host, home = self.host_of(number), self._home(number)
        name, _, port = address.rpartition(":")
        command = [*self._java(host, home, f"node{number}", self._gc_log(number)), "-jar"]
        command += [str(place_of(cmis_application.JETTY)), "--host", name, "--port", port]
        command += ["--config", str(home / "jetty.xml"), "--stats", "unsecure", "--path", "/", str(self._application)]
        return ProcessSpec(self.nodes[number - 1], command, grace_s=_GRACE_S, host=host)

    def _gc_log(self, number: int) -> Path:
        return (self._logs / f"{self.nodes[number - 1]}-gc.log").absolute()

    def refuses(self, address: str) -> str | None:
        """Return None if a node describes its repository in response to a request; otherwise the reason.

        Opening a connection is no sufficient check, because Jetty accepts connections before the repository is ready.
        """
        return refuses_http(address, _READY, _ANSWER_WITHIN_S, _LOGIN)

    def settings_used(self) -> dict[str, object]:
        """Return the settings, the population, the files of the web application, and the options that each JVM
        logged.
        """
        return {
            **self._part.configuration,
            "population": self._part.population.model_dump(mode="json"),
            "files": {artefact.title: artefact.facts for artefact in cmis_application.ARTEFACTS},
            "jvm_told": {node: jvm.reported(self._gc_log(number)) for number, node in enumerate(self.nodes, start=1)},
        }

    def scrapers(self) -> list[Any]:
        """Return scrapers of the statistics page and of the garbage collector's log, for every node."""
        from towtank.observe import GcLogScraper, JettyScraper  # noqa: PLC0415 - only where something is observed

        scrapers: list[Any] = []
        for number, (name, address) in enumerate(zip(self.nodes, self.addresses(), strict=True), start=1):
            scrapers.append(JettyScraper(name, self.kind, f"http://{address}{_STATISTICS}"))
            scrapers.append(GcLogScraper(f"{name}-jvm", self.kind, self._gc_log(number)))
        return scrapers

    def exports(self) -> Mapping[str, Path]:
        """Return the lists of the repository's documents, for workloads."""
        return {f"{name}_csv": (self._data / f"{name}.csv").absolute() for name in cmis_population.LISTS}


def _all_cpus(place: Place) -> list[int]:
    return sorted({*(place.cpus or []), *os.sched_getaffinity(0)})
