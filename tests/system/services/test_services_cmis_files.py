"""Configuration files that Towtank writes for a CMIS document repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from towtank.errors import StudyError
from towtank.system.build import build_system
from towtank.system.hosts.local import LocalHost
from towtank.system.model import load_system
from towtank.system.repository_model import CmisRepositorySettings, JvmSettings
from towtank.system.services import cmis_configuration, cmis_population, jvm

pytestmark = pytest.mark.waits

GC_LOGS = Path(__file__).parents[2] / "data" / "gc"


class HalfHost(LocalHost):
    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "cpus_virtual": 1.5}


def options(**given: Any) -> list[str]:
    return jvm.options(JvmSettings(**given), LocalHost(), Path("/logs/gc.log"))


def test_settings_become_options_of_the_jvm() -> None:
    assert options() == [
        "-Xmx536870912",
        "-XX:+UseG1GC",
        "-Xlog:gc*=info:file=/logs/gc.log:timenanos,level,tags:filecount=0",
        "-XX:-UsePerfData",
    ]
    given = options(
        heap="1 GiB",
        initial_heap="1 GiB",
        nursery="512 MiB",
        collector="parallel",
        gc_threads=2,
        cpus=3,
        options=["-XX:MaxGCPauseMillis=50"],
    )
    assert given[:6] == [
        "-Xmx1073741824",
        "-XX:+UseParallelGC",
        "-Xms1073741824",
        "-Xmn536870912",
        "-XX:ParallelGCThreads=2",
        "-XX:ActiveProcessorCount=3",
    ]
    assert given[-1] == "-XX:MaxGCPauseMillis=50"


def test_a_jvm_on_a_sized_host_gets_its_cpus_as_an_option() -> None:
    assert "-XX:ActiveProcessorCount=2" in jvm.options(JvmSettings(), HalfHost(), Path("gc.log"))
    assert "-XX:ActiveProcessorCount=1" in jvm.options(JvmSettings(cpus=1), HalfHost(), Path("gc.log"))


def test_what_a_jvm_says_of_itself_is_read_from_its_log(tmp_path: Path) -> None:
    assert jvm.reported(GC_LOGS / "g1.log") == {
        "version": "17.0.15+6-Debian-1deb12u1 (release)",
        "cpus": "2 total, 2 available",
        "memory": "24105M",
        "max_capacity": "96M",
        "parallel_workers": "2",
    }
    assert jvm.reported(GC_LOGS / "z.log")["max_capacity"] == "96M"
    assert jvm.reported(tmp_path / "none.log") == {}


WRONG = {
    "jvm: {heap: 32 MiB}": "jvm: must have a heap of at least 64 MiB, got 32 MiB instead",
    "jvm: {nursery: 1 GiB}": "must have nursery of at most heap (512 MiB), got 1024 MiB instead",
    "jvm: {collector: z, nursery: 64 MiB}": "must have no nursery with the collector z",
    "jvm: {collector: shenandoah}": "jvm.collector: must be g1, parallel, serial or z",
    "jvm: {options: ['-Xmx2g']}": "must be an option that has no separate key",
    "jvm: {options: ['-XX:+UseZGC']}": "must be an option that has no separate key",
    "jvm: {options: ['-XX:OnError=id']}": "must be an option that gives no access to files, programs or ports",
    "jvm: {options: [verbose]}": "must be an option of the JVM such as -XX:MaxGCPauseMillis=50, got 'verbose' instead",
    "jvm: {heep: 1 GiB}": "did you mean 'heap'",
    "sync_delay: 0 s": "must have a sync_delay of at least 1 ms",
    "bundle_cache: 1500 KiB": "must have a bundle_cache in whole MiB",
    "nodes: 0": "must be at least 1",
}


@pytest.mark.parametrize("settings", WRONG)
def test_wrong_settings_are_refused_with_their_place(settings: str, tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    path.write_text(
        "schema: towtank/system/1\nname: wrong\nhosts: {here: {provider: local}}\nservices:\n"
        f"  content: {{kind: cmis_repository, host: here, settings: {{{settings}}}}}\n"
    )
    with pytest.raises(StudyError) as refused:
        load_system(path)
    assert WRONG[settings] in str(refused.value)
    assert "system.yaml:5:" in str(refused.value)


def parameters(root: ElementTree.Element, path: str) -> dict[str, str]:
    return {element.get("name", ""): element.get("value", "") for element in root.findall(f"{path}/param")}


def test_nodes_share_database_and_contents_and_have_their_own_journal_entries() -> None:
    settings = CmisRepositorySettings.model_validate(
        {"sync_delay": "250 ms", "database_pool": 7, "bundle_cache": "16 MiB", "inline_below": "2 KiB"}
    )
    address = "postgresql://someone@10.0.0.2:5433/store"
    first, second = (
        ElementTree.fromstring(cmis_configuration.repository_xml(settings, address, Path("/data/contents"), node))
        for node in ("node1", "node2")
    )
    assert parameters(first, "DataSources/DataSource") == {
        "driver": "org.postgresql.Driver",
        "url": "jdbc:postgresql://10.0.0.2:5433/store",
        "user": "someone",
        "password": "",
        "databaseType": "postgresql",
        "maxPoolSize": "7",
    }
    assert parameters(first, "DataStore") == {"path": "/data/contents", "minRecordLength": "2048"}
    assert parameters(first, "Workspace/PersistenceManager")["bundleCacheSize"] == "16"
    assert [root.find("Cluster").attrib for root in (first, second)] == [  # type: ignore[union-attr]
        {"id": "node1", "syncDelay": "250"},
        {"id": "node2", "syncDelay": "250"},
    ]
    second.find("Cluster").set("id", "node1")  # type: ignore[union-attr]
    assert ElementTree.tostring(first) == ElementTree.tostring(second)
    alone = ElementTree.fromstring(cmis_configuration.repository_xml(settings, address, Path("/data"), None))
    assert alone.find("Cluster") is None


def test_jetty_is_configured_with_its_threads() -> None:
    root = ElementTree.fromstring(cmis_configuration.jetty_xml(CmisRepositorySettings(threads=24)))
    assert root.findtext("Get[@name='ThreadPool']/Set[@name='maxThreads']") == "24"


def test_the_list_holds_every_document_of_the_population_below_its_folder(tmp_path: Path) -> None:
    populate = pytest.importorskip("content_server.populate.population")
    settings = pytest.importorskip("content_server.settings")
    populate.populate(settings.Settings(data=tmp_path, database="sqlite"), scale=0.00001, seed=3, quiet=True)
    cmis_population.write_list(tmp_path, tmp_path / "objects.tsv")
    objects = [line.split("\t") for line in (tmp_path / "objects.tsv").read_text().splitlines()]
    made = {"/"}
    for kind, _, path, _, file, text in objects:
        assert (path.rpartition("/")[0] or "/") in made, path
        if kind == "folder":
            made.add(path)
        else:
            assert Path(file).is_file() != bool(text)
    documents = {number: (path, file) for kind, number, path, _, file, _ in objects if kind == "document"}
    listed = (tmp_path / "documents.csv").read_text().splitlines()[1:]
    for line in listed:
        number, path, *_, size, _ = line.split(",")
        assert documents[number][0] == path
        assert Path(documents[number][1]).stat().st_size == int(size)
    assert len(documents) == len(listed) + 60
    folders = {(number, path) for kind, number, path, *_ in objects if kind == "folder"}
    named = [tuple(line.split(",")[:2]) for line in (tmp_path / "folders.csv").read_text().splitlines()[1:]]
    assert set(named) < folders


def test_a_repository_brings_its_database_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "system.yaml"
    path.write_text(
        "schema: towtank/system/1\nname: alone\nhosts: {here: {provider: local}}\nservices:\n"
        "  content: {kind: cmis_repository, host: here}\n"
    )
    system = build_system(load_system(path), tmp_path, tmp_path / "logs")
    assert [service.name for service in system._services] == ["database", "content"]
    repository = system._services[-1]
    monkeypatch.setattr(jvm, "find_program", lambda name: f"/usr/bin/{name}")
    assert "jackrabbit-webapp-2.20.17.war" in str(repository.missing())
    monkeypatch.setattr(jvm, "find_program", lambda name: None)
    assert "Java is not installed (java, javac missing); apt-get install default-jdk-headless" in str(
        repository.missing()
    )
