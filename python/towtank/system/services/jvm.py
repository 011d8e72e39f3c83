"""Java virtual machine: its programs, its options, its garbage collector's log."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from towtank.system.hosts.host import Host
from towtank.system.repository_model import JvmSettings
from towtank.system.services.private_server import find_program

INSTALL = "apt-get install default-jdk-headless"
_COLLECTORS = {"g1": "UseG1GC", "parallel": "UseParallelGC", "serial": "UseSerialGC", "z": "UseZGC"}
# Properties that a JVM writes into the first lines of its log.
_TOLD = ("Version", "CPUs", "Memory", "Heap Max Capacity", "Max Capacity", "Parallel Workers", "GC Workers")
_FIRST_LINES_BYTES = 8192


def missing_programs() -> list[str]:
    """Return the programs of a Java development kit that this machine lacks."""
    return [name for name in ("java", "javac") if find_program(name) is None]


def options(settings: JvmSettings, host: Host, log: Path) -> list[str]:
    """Return the options of `java` for settings.

    Parameters
    ----------
    settings : JvmSettings
    host : Host
        Host of the JVM. Its CPU limit applies only after everything has started, too late for a JVM that
        chooses its threads when it starts; so it gets the number as an option.
    log : Path
        File of the collector's log.
    """
    given = [f"-Xmx{settings.heap}", f"-XX:+{_COLLECTORS[settings.collector]}"]
    given += [f"-Xms{settings.initial_heap}"] if settings.initial_heap is not None else []
    given += [f"-Xmn{settings.nursery}"] if settings.nursery is not None else []
    given += [f"-XX:ParallelGCThreads={settings.gc_threads}"] if settings.gc_threads is not None else []
    cpus = settings.cpus or cpus_of(host)
    given += [f"-XX:ActiveProcessorCount={cpus}"] if cpus is not None else []
    # Times in the log are CLOCK_MONOTONIC. `filecount=0` keeps the log in one file of any size.
    given += [f"-Xlog:gc*=info:file={log}:timenanos,level,tags:filecount=0"]
    # The JVM's file in the temporary folder would remain if the JVM is killed.
    return [*given, "-XX:-UsePerfData", *settings.options]


def cpus_of(host: Host) -> int | None:
    """Return the CPU limit of a host, rounded up; None without a limit."""
    virtual = host.facts().get("cpus_virtual")
    return None if virtual is None else max(1, math.ceil(virtual))


def reported(log: Path) -> dict[str, Any]:
    """Read the properties that a JVM reported at its start: version, CPUs, memory, heap, collector threads."""
    try:
        with log.open("rb") as file:
            text = file.read(_FIRST_LINES_BYTES).decode("utf-8", "replace")
    except OSError:
        return {}
    lines = [line.partition("[gc,init] ")[2].partition(": ") for line in text.splitlines() if "[gc,init] " in line]
    found = {name: value for name, _, value in lines if name in _TOLD}
    return {name.removeprefix("Heap ").lower().replace(" ", "_"): value for name, value in found.items()}
