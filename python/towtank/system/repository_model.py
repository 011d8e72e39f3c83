"""Models of a third-party CMIS repository, and of the Java virtual machine in which it runs."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from towtank.fields import Duration, FileModel, Size
from towtank.system.node_models import NodesService
from towtank.system.service_model import Port, service_kind

# Options of the JVM that Towtank sets from other keys of the system file. A study must not repeat them, because the JVM
# uses the last value.
_MANAGED = re.compile(
    r"-Xmx|-Xms|-Xmn|-Xlog|-Dtowtank|-Djava\.io\.tmpdir|-XX:[+-](Use\w+GC\b|UsePerfData)"
    r"|-XX:(ParallelGCThreads|ActiveProcessorCount)="
)
# Options of the JVM that a study must not set, because they make it run programs, load code, open ports, or access
# files.
_LEAD_OUT = re.compile(
    r"-Xrun|-Xdebug|-Xbootclasspath|-Xloggc|-Xshare|-XX:On|-XX:(?:Flags|VMOptionsFile|HeapDumpPath|ErrorFile|LogFile"
    r"|SharedArchiveFile|ArchiveClassesAtExit|AOT\w*|StartFlightRecording|FlightRecorderOptions|PerfDataSaveFile"
    r"|CompileCommandFile|ReplayDataFile|CompilerDirectivesFile|SharedClassListFile)\b|-XX:\+ManagementServer"
    r"|-Dcom\.sun\.management|-Djava\.(?:class|library|security|rmi|system)|-Djdk\.module"
)
_LEAST_HEAP_BYTES = 64 * 2**20


def _option(value: str) -> str:
    """Check that a JVM option is allowed. Unknown options are reported by the JVM itself when it starts."""
    if not value.startswith(("-X", "-D")) or any(sign.isspace() for sign in value):
        raise ValueError(f"must be an option of the JVM such as -XX:MaxGCPauseMillis=50, got {value!r} instead")
    if _LEAD_OUT.match(value):
        raise ValueError(f"must be an option that gives no access to files, programs or ports, got {value!r}")
    if _MANAGED.match(value):
        raise ValueError(f"must be an option that has no separate key and that Towtank does not set, got {value!r}")
    return value


Option = Annotated[str, AfterValidator(_option)]


class JvmSettings(FileModel):
    """Settings of a Java virtual machine."""

    heap: Size = Field(512 * 2**20, description="Largest size of the heap (`-Xmx`).")
    initial_heap: Size | None = Field(
        None, ge=2**20, description="Size of the heap at the start (`-Xms`); default: the JVM chooses."
    )
    nursery: Size | None = Field(
        None,
        ge=2**20,
        description="Size of the part of the heap for new objects (`-Xmn`); default: the garbage collector chooses.",
    )
    collector: Literal["g1", "parallel", "serial", "z"] = Field(
        "g1", description="Garbage collector (`-XX:+UseG1GC`, `UseParallelGC`, `UseSerialGC`, `UseZGC`)."
    )
    gc_threads: int | None = Field(
        None,
        ge=1,
        le=512,
        description=(
            "Number of threads of the garbage collector (`-XX:ParallelGCThreads`); default: chosen from "
            "the number of CPUs."
        ),
    )
    cpus: int | None = Field(
        None,
        ge=1,
        le=8192,
        description=(
            "Number of CPUs that the JVM assumes (`-XX:ActiveProcessorCount`); default: the CPUs of its host."
        ),
    )
    options: list[Option] = Field(
        default_factory=list, max_length=64, description="Further command-line options of the JVM."
    )

    @model_validator(mode="after")
    def _fits(self) -> JvmSettings:
        if self.heap < _LEAST_HEAP_BYTES:
            least = _LEAST_HEAP_BYTES // 2**20
            raise ValueError(f"must have a heap of at least {least} MiB, got {self.heap / 2**20:g} MiB instead")
        for name in ("initial_heap", "nursery"):
            part: int | None = getattr(self, name)
            if part is not None and part > self.heap:
                raise ValueError(
                    f"must have {name} of at most heap ({self.heap // 2**20} MiB), got {part // 2**20} MiB instead"
                )
        if self.collector == "z" and self.nursery is not None:
            raise ValueError("must have no nursery with the collector z of this JVM, which has no generations")
        return self


class CmisRepositorySettings(FileModel):
    """Settings of the repository and of its Java virtual machine."""

    nodes: int = Field(
        1, ge=1, le=16, description="Number of servers (nodes) that share one database and one storage area."
    )
    threads: int = Field(200, ge=8, le=10000, description="Number of threads of Jetty per node (`maxThreads`).")
    database_pool: int = Field(
        20, ge=2, le=1000, description="Number of connections to the database per node (`maxPoolSize`)."
    )
    bundle_cache: Size = Field(
        8 * 2**20, ge=2**20, description="Memory for cached Jackrabbit nodes (`bundleCacheSize`); whole MiB."
    )
    sync_delay: Duration = Field(
        1.0, description="Interval at which a node reads the changes of other nodes from the journal (`syncDelay`)."
    )
    inline_below: Size = Field(
        1024,
        ge=100,
        le=32000,
        description=(
            "Contents smaller than this size are stored in the database, not in the storage area (`minRecordLength`)."
        ),
    )
    jvm: JvmSettings = Field(
        default_factory=JvmSettings, description="Settings of the Java virtual machine of each node."
    )

    @model_validator(mode="after")
    def _whole(self) -> CmisRepositorySettings:
        if self.bundle_cache % 2**20:
            raise ValueError("must have a bundle_cache in whole MiB")
        if self.sync_delay < 0.001:
            raise ValueError(f"must have a sync_delay of at least 1 ms, got {self.sync_delay:g} s instead")
        return self


class RepositoryPopulation(FileModel):
    """Documents in the repository before each run, which are those of a content server with the same settings."""

    scale: float = Field(
        0.0001, gt=0, le=1, description="Size of the population, as a share of the full 5.1 million documents."
    )
    seed: int = Field(
        1, ge=0, description="Seed of the random generator for the documents; the same seed gives the same documents."
    )


@service_kind("cmis_repository")
class CmisRepository(NodesService):
    """Apache OpenCMIS and Apache Jackrabbit in Jetty, with metadata in PostgreSQL and contents in a folder."""

    summary: ClassVar[str] = (
        "third-party CMIS repository (OpenCMIS over Jackrabbit in Jetty, with PostgreSQL); needs Java and files that "
        "towtank doctor SYSTEM --install downloads"
    )

    kind: Literal["cmis_repository"]
    port: Port = Field(
        0, description="Port of the first node; the other nodes use the ports after it. 0 chooses free ports."
    )
    settings: CmisRepositorySettings = Field(
        default_factory=CmisRepositorySettings, description="Settings of the repository."
    )
    population: RepositoryPopulation = Field(
        default_factory=RepositoryPopulation, description="Documents that the repository contains before each run."
    )

    @property
    def nodes(self) -> int:
        """Number of nodes of the repository."""
        return self.settings.nodes
