"""Finds the programs of Java, sets the options of a Java virtual machine (JVM), and reads properties from its log."""

from __future__ import annotations

import math
from pathlib import Path

from towtank.system.hosts.host import Host
from towtank.system.repository_model import JvmSettings
from towtank.system.services.private_server import find_program

INSTALL = "apt-get install default-jdk-headless"
_COLLECTORS = {"g1": "UseG1GC", "parallel": "UseParallelGC", "serial": "UseSerialGC", "z": "UseZGC"}
# Names of the properties to read at the beginning of a JVM's log.
_TOLD = ("Version", "CPUs", "Memory", "Heap Max Capacity", "Max Capacity", "Parallel Workers", "GC Workers")
_FIRST_LINES_BYTES = 8192


def missing_programs() -> list[str]:
    """Return the programs of a Java development kit that this machine lacks."""
    return [name for name in ("java", "javac") if find_program(name) is None]


def options(settings: JvmSettings, host: Host, log: Path) -> list[str]:
    """Return the command-line options of `java` for the settings of a JVM; `log` is that of the garbage collector.

    The JVM chooses its number of threads at its start, when the CPU limit of the host does not apply yet. It therefore
    receives the number of CPUs as an option.
    """
    given = [f"-Xmx{settings.heap}", f"-XX:+{_COLLECTORS[settings.collector]}"]
    given += [f"-Xms{settings.initial_heap}"] if settings.initial_heap is not None else []
    given += [f"-Xmn{settings.nursery}"] if settings.nursery is not None else []
    given += [f"-XX:ParallelGCThreads={settings.gc_threads}"] if settings.gc_threads is not None else []
    cpus = settings.cpus or cpus_of(host)
    given += [f"-XX:ActiveProcessorCount={cpus}"] if cpus is not None else []
    # The log contains times on CLOCK_MONOTONIC (`timenanos`), and stays a single file (`filecount=0`).
    given += [f"-Xlog:gc*=info:file={log}:timenanos,level,tags:filecount=0"]
    # Without `-UsePerfData`, a killed JVM would leave a file in the temporary folder.
    return [*given, "-XX:-UsePerfData", *settings.options]


def cpus_of(host: Host) -> int | None:
    """Return the CPU limit of a host, rounded up to whole CPUs; None if the host has no limit. [1]"""
    virtual = host.facts().get("cpus_virtual")
    return max(1, math.ceil(virtual)) if isinstance(virtual, int | float) else None


def reported(log: Path) -> dict[str, object]:
    """Return the properties that a JVM logged at its start, such as its version, memory and number of CPUs; empty if
    the log cannot be read.
    """
    try:
        with log.open("rb") as file:
            text = file.read(_FIRST_LINES_BYTES).decode("utf-8", "replace")
    except OSError:
        return {}
    lines = [line.partition("[gc,init] ")[2].partition(": ") for line in text.splitlines() if "[gc,init] " in line]
    found = {name: value for name, _, value in lines if name in _TOLD}
    return {name.removeprefix("Heap ").lower().replace(" ", "_"): value for name, value in found.items()}
