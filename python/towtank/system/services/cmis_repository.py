"""A CMIS repository that others wrote: OpenCMIS over Jackrabbit in Jetty, metadata in PostgreSQL, contents in a folder.

Several nodes are a cluster: they share the database, where a journal tells each what the others have changed, and the
folder of contents. Database and contents are made anew for every run; the documents they are filled with are made once.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from towtank.system import model
from towtank.system.downloads import cache_folder, is_here, place_of
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_http
from towtank.system.repository_model import CmisRepository as Part
from towtank.system.service import Place, PlainService, Service
from towtank.system.services import cmis_application, cmis_configuration, cmis_population, jvm
from towtank.system.services.mount import MountService
from towtank.system.services.postgresql import Postgresql
from towtank.system.services.private_server import find_program

_GRACE_S = 8.0
_POPULATE_WITHIN_S = 3600.0
_STATISTICS = "/statistics"
_READY = f"/browser/{cmis_configuration.REPOSITORY}?cmisselector=repositoryInfo"
# Any user may: the repository lets everybody in, but wants a name.
_LOGIN = {"Authorization": "Basic " + base64.b64encode(b"towtank:towtank").decode()}
# A repository answers at leisure the first time: it opens its session and its indexes then.
_ANSWER_WITHIN_S = 10.0


class CmisRepository(PlainService):
    """All nodes of one repository."""

    kind = "cmis_repository"

    def __init__(self, name: str, part: Part, base: Path) -> None:
        super().__init__(name)
        self._part, self._base = part, base
        self._database: Postgresql | None = None
        self._mount: MountService | None = None
        self._ports: list[int] = []
        self._data, self._contents, self._application, self._logs = Path(), Path(), Path(), Path()

    def missing(self) -> str | None:
        """Java, the files that are fetched, and what makes the documents."""
        if absent := jvm.missing_programs():
            return f"{self.name}: Java is not installed ({', '.join(absent)} missing); {jvm.INSTALL}"
        if fetched := [one.file_name for one in cmis_application.ARTEFACTS if not is_here(one)]:
            return (
                f"{self.name}: files of the repository have not been fetched yet ({', '.join(fetched)}); "
                "`towtank doctor SYSTEM --install` does that"
            )
        if find_spec("content_server") is None:
            return f"{self.name}: the content server makes its documents and is not installed; `make setup` installs it"
        return None

    def meet(self, others: list[Service]) -> None:
        """Take the PostgreSQL of the system, or bring one."""
        found = [other for other in others if isinstance(other, Postgresql)]
        self._database = found[0] if found else self._own_database()
        mounts = [other for other in others if isinstance(other, MountService) and other.name == self._part.storage]
        self._mount = mounts[0] if mounts else None

    def _own_database(self) -> Postgresql:
        part = model.Postgresql(kind="postgresql", host=self._part.host)
        database = Postgresql("database", part, self._base)
        database.host = self.host
        database.ready_within_s = self.ready_within_s
        return database

    @property
    def database(self) -> Postgresql:
        """Its database."""
        assert self._database is not None
        return self._database

    def requires(self) -> list[Service]:
        """Its database, and the mount that its contents lie on."""
        return [self.database, *([] if self._mount is None else [self._mount])]

    def folders(self) -> list[Path]:
        """The cache, where its programs are."""
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        return [folder]

    def prepare(self, place: Place) -> None:
        """Choose the ports, put the application together, make the documents and fill the repository with them."""
        self._ports = self._choose_ports()
        self._data, self._logs = place.data, place.logs
        place.note(f"{self.name}: preparing the population")
        self._application = cmis_application.build_application()
        self._make_documents(place)
        self._contents = self._place_of_contents(place) / f"{self.name}-contents"
        self.host.make_folder(self._contents)
        first = place.scratch / "population"
        self._fill(place, first)
        for number in range(1, len(self._ports) + 1):
            self._make_node(place, first, number)
        shutil.rmtree(first)

    def _place_of_contents(self, place: Place) -> Path:
        if self._mount is not None:
            return self._mount.point
        return place.scratch if self._part.storage is None else self.host.disk(self._part.storage)

    def _choose_ports(self) -> list[int]:
        nodes, port = self._part.settings.nodes, self._part.port
        if not port:
            return [self.host.free_ports() for _ in range(nodes)]
        for each in range(port, port + nodes):
            self.host.require_free(each, self.name)
        return list(range(port, port + nodes))

    def _make_documents(self, place: Place) -> None:
        """What the content server's population has, made once and kept; nothing of it is changed by a run."""
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

    def _fill(self, place: Place, home: Path) -> None:
        """Fill database and folder of contents, on all CPUs: no load is measured yet."""
        home.mkdir()
        objects = home / "objects.tsv"
        cmis_population.write_list(self._data, objects)
        command = [*self._java(home, None, place.logs / f"{self.name}-population-gc.log"), "-cp", self._class_path()]
        clustered = home / "cluster.xml"
        clustered.write_text(self._configuration("population"), "utf-8")
        arguments = ["towtank.Populate", str(objects), str(clustered)]
        spec = ProcessSpec(f"{self.name}-population", [*command, *arguments])
        place.run(spec, cpus=_all_cpus(place), limit_s=_POPULATE_WITHIN_S)

    def _class_path(self) -> str:
        inside = self._application / "WEB-INF"
        return os.pathsep.join([str(inside / "classes"), str(inside / "lib" / "*")])

    def _make_node(self, place: Place, first: Path, number: int) -> None:
        """Folder of one node: its search index as the population left it, and its configuration."""
        home = place.scratch / self._node(number)
        shutil.copytree(first, home)
        (home / "temporary").mkdir(exist_ok=True)
        (home / "jetty.xml").write_text(cmis_configuration.jetty_xml(self._part.settings), "utf-8")
        self._configure(home, f"node{number}")

    def _configure(self, home: Path, node: str | None) -> None:
        (home / "repository.xml").write_text(self._configuration(node), "utf-8")
        (home / cmis_configuration.TEXT_FILE).write_text(cmis_configuration.text_xml(), "utf-8")

    def _configuration(self, node: str | None) -> str:
        return cmis_configuration.repository_xml(self._part.settings, self.database.dsn, self._contents, node)

    def _java(self, home: Path, node: str | None, log: Path) -> list[str]:
        """The JVM with its options and the properties that the classes of `system/java` look at."""
        self._configure(home, node)
        (home / "temporary").mkdir(exist_ok=True)
        program = find_program("java") or "java"
        return [
            program,
            *jvm.options(self._part.settings.jvm, self.host, log),
            f"-Djava.io.tmpdir={home / 'temporary'}",
            f"-Dtowtank.configuration={home / 'repository.xml'}",
            f"-Dtowtank.home={home}",
        ]

    def processes(self, place: Place) -> list[ProcessSpec]:
        """One JVM for each node."""
        return [self._process(place, number, port) for number, port in enumerate(self._ports, start=1)]

    def _process(self, place: Place, number: int, port: int) -> ProcessSpec:
        name = self._node(number)
        home = place.scratch / name
        command = [*self._java(home, f"node{number}", self._gc_log(number)), "-jar"]
        command += [str(place_of(cmis_application.JETTY)), "--host", self.host.address, "--port", str(port)]
        command += ["--config", str(home / "jetty.xml"), "--stats", "unsecure", "--path", "/", str(self._application)]
        return ProcessSpec(name, command, grace_s=_GRACE_S)

    def _node(self, number: int) -> str:
        return self.name if number == 1 else f"{self.name}-{number}"

    def _gc_log(self, number: int) -> Path:
        return (self._logs / f"{self._node(number)}-gc.log").absolute()

    def ready(self) -> str | None:
        """Ready when every node tells what repository it is: Jetty itself listens before that."""
        refusals = [
            refusal
            for address in self.addresses()
            if (refusal := refuses_http(address, _READY, _ANSWER_WITHIN_S, _LOGIN)) is not None
        ]
        return "; ".join(refusals) or None

    def addresses(self) -> list[str]:
        """One address for each node."""
        return [f"{self.host.address}:{port}" for port in self._ports]

    def settings_used(self) -> dict[str, Any]:
        """Settings and population, the files it is made of, and what each JVM says of itself."""
        return {
            **self._part.configuration,
            "population": self._part.population.model_dump(mode="json"),
            "files": {artefact.title: artefact.facts for artefact in cmis_application.ARTEFACTS},
            "jvm_told": {self._node(number): jvm.told(self._gc_log(number)) for number, _ in enumerate(self._ports, 1)},
        }

    def scrapers(self) -> list[Any]:
        """Jetty's statistics and the collector's log of every node."""
        from towtank.observe import GcLogScraper, JettyScraper  # noqa: PLC0415 - only where something is observed

        scrapers: list[Any] = []
        for number, address in enumerate(self.addresses(), start=1):
            name = self._node(number)
            scrapers.append(JettyScraper(name, self.kind, f"http://{address}{_STATISTICS}"))
            scrapers.append(GcLogScraper(f"{name}-jvm", self.kind, self._gc_log(number)))
        return scrapers

    def exports(self) -> Mapping[str, Path]:
        """Lists of what it holds, for workloads to draw from."""
        return {f"{name}_csv": (self._data / f"{name}.csv").absolute() for name in cmis_population.LISTS}


def _all_cpus(place: Place) -> list[int]:
    return sorted({*(place.cpus or []), *os.sched_getaffinity(0)})
