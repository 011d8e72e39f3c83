"""Selects programs and options of the Java virtual machine, and reads the log of its garbage collector."""

from __future__ import annotations

import math
from pathlib import Path

from towtank.system.hosts.host import Host
from towtank.system.repository_model import JvmSettings
from towtank.system.services.private_server import find_program

INSTALL = "apt-get install default-jdk-headless"
_COLLECTORS = {"g1": "UseG1GC", "parallel": "UseParallelGC", "serial": "UseSerialGC", "z": "UseZGC"}
# Names of the lines at the beginning of a JVM's log whose values are read, such as the number of CPUs.
_TOLD = ("Version", "CPUs", "Memory", "Heap Max Capacity", "Max Capacity", "Parallel Workers", "GC Workers")
_FIRST_LINES_BYTES = 8192


def missing_programs() -> list[str]:
    """Return the programs of a Java development kit that this machine lacks."""
    return [name for name in ("java", "javac") if find_program(name) is None]


def options(settings: JvmSettings, host: Host, log: Path) -> list[str]:
    """Return the options of `java` for the settings of a JVM.

    Parameters
    ----------
    settings : JvmSettings
    host : Host
        Host of the JVM. Its CPU limit applies only after all services have started, but the JVM chooses its number of
        threads when it starts. It therefore receives the number of CPUs as an option.
    log : Path
        File of the garbage collector's log.
    """
    given = [f"-Xmx{settings.heap}", f"-XX:+{_COLLECTORS[settings.collector]}"]
    given += [f"-Xms{settings.initial_heap}"] if settings.initial_heap is not None else []
    given += [f"-Xmn{settings.nursery}"] if settings.nursery is not None else []
    given += [f"-XX:ParallelGCThreads={settings.gc_threads}"] if settings.gc_threads is not None else []
    cpus = settings.cpus or cpus_of(host)
    given += [f"-XX:ActiveProcessorCount={cpus}"] if cpus is not None else []
    # `timenanos` gives times of CLOCK_MONOTONIC in the log, and `filecount=0` keeps the log in one file of unlimited
    # size.
    given += [f"-Xlog:gc*=info:file={log}:timenanos,level,tags:filecount=0"]
    # Without this option, the JVM would write a file to the temporary folder, and leave it there if the JVM is killed.
    return [*given, "-XX:-UsePerfData", *settings.options]


def cpus_of(host: Host) -> int | None:
    """Return the CPU limit of a host as a number of CPUs, rounded up; None without a limit. [1]"""
    virtual = host.facts().get("cpus_virtual")
    return max(1, math.ceil(virtual)) if isinstance(virtual, int | float) else None


def reported(log: Path) -> dict[str, object]:
    """Read the properties that a JVM wrote to its log when it started: version, CPUs, memory, heap, and threads of the
    garbage collector.
    """
    try:
        with log.open("rb") as file:
            text = file.read(_FIRST_LINES_BYTES).decode("utf-8", "replace")
    except OSError:
        return {}
    lines = [line.partition("[gc,init] ")[2].partition(": ") for line in text.splitlines() if "[gc,init] " in line]
    found = {name: value for name, _, value in lines if name in _TOLD}
    return {name.removeprefix("Heap ").lower().replace(" ", "_"): value for name, value in found.items()}
