"""Examines programs and limits of this machine for `towtank doctor`, and names install commands of missing programs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from towtank import engine
from towtank.errors import EngineError
from towtank.installing import pip_install
from towtank.observe.host import HostFacts, host_facts

Status = Literal["ok", "note", "missing"]

ENOUGH_OPEN_FILES = 4096
"""Sufficient limit of open files for the bundled studies: two files for each simulated user. [1]"""
ENOUGH_DISK_BYTES = 2 * 1024**3
"""Sufficient free disk space for the default population, its database, and the results of some studies. [byte]"""
ENOUGH_BACKLOG = 1024
"""Sufficient backlog of a listening socket for the bundled studies. With a shorter backlog, the kernel refuses
connections if many users start simultaneously. [1]
"""
ENOUGH_PORTS = 10_000
_VERSION_WITHIN_S = 10.0
# Folders of server programs that may be missing from PATH.
_EXTRA_PLACES = ("/usr/sbin", "/usr/local/sbin")


@dataclass(frozen=True)
class Offer:
    """Entry in the report of `towtank doctor`: one program or one limit of this machine.

    Attributes
    ----------
    name : str
        Key of the entry in the JSON report.
    status : str
        `ok`; `note` if an optional program is missing or a limit restricts the load; `missing` if Towtank cannot work
        without the program.
    value : str, int, float or None
        Path or version of the program, or value of the limit; None if the program was not found.
    note : str
        Consequence of the value for measurements.
    install : str or None
        Command that installs the missing program.
    """

    name: str
    status: Status
    value: str | int | float | None
    note: str = ""
    install: str | None = None


def examine_machine(results: Path) -> list[Offer]:
    """Examine this machine, and return the entries of the report of `towtank doctor`. The folder for results need not
    exist.
    """
    facts = host_facts()
    return [
        _kernel(facts),
        _engine(),
        *_processors(facts),
        *_memory(facts),
        _open_files(facts),
        _pressure(),
        _cgroups(facts),
        _clock(facts),
        *_programs(),
        _disk(results),
        *_network(),
    ]


def _kernel(facts: HostFacts) -> Offer:
    if facts.kernel is None or not Path("/proc/stat").exists():
        return Offer("kernel", "missing", None, "Linux with /proc is needed")
    return Offer("kernel", "ok", facts.kernel, facts.virtualisation or "no virtual machine detected")


def _engine() -> Offer:
    try:
        path = engine.binary()
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=_VERSION_WITHIN_S, check=True
        )
    except EngineError as error:
        return Offer("engine", "missing", None, str(error.args[0]), "make setup")
    except (OSError, subprocess.SubprocessError) as error:
        return Offer("engine", "missing", None, f"the engine was found, but does not run: {error}", "make setup")
    return Offer("engine", "ok", answer.stdout.strip(), str(path))


def _processors(facts: HostFacts) -> list[Offer]:
    usable, limit = facts.cpus_usable, facts.cpu_limit
    model = facts.cpu_model or "model not reported"
    if limit is not None and limit < usable:
        count = Offer("cpus", "note", usable, f"{model}; the control group of this process may use {limit:g} CPUs")
    else:
        count = Offer("cpus", "ok", usable, model)
    if usable > 1:
        return [count, Offer("pinning", "ok", usable, "generator and system run on separate CPUs")]
    return [count, Offer("pinning", "note", usable, "one CPU: generator and system compete for it")]


def _memory(facts: HostFacts) -> list[Offer]:
    memory, limit = facts.memory_bytes, facts.memory_limit_bytes
    offers = [Offer("memory_bytes", "ok" if memory else "note", memory, "" if memory else "not reported")]
    if limit is not None and memory is not None and limit < memory:
        offers.append(Offer("memory_limit_bytes", "note", limit, "limit of the control group of this process"))
    return offers


def _open_files(facts: HostFacts) -> Offer:
    limit = facts.open_files_limit_hard
    if limit is None:
        return Offer("open_files_limit", "ok", limit, "no limit")
    if limit < ENOUGH_OPEN_FILES:
        hint = (
            f"each connection needs an open file, and the engine starts a load thread for each {limit} of them; raise "
            f"the hard limit to {ENOUGH_OPEN_FILES} or more (ulimit -Hn)"
        )
        return Offer("open_files_limit", "note", limit, hint)
    return Offer(
        "open_files_limit", "ok", limit, "hard limit; with many connections, it applies to each load thread separately"
    )


def _pressure() -> Offer:
    try:
        Path("/proc/pressure/cpu").read_text()
    except OSError:
        return Offer("pressure", "note", "no", "no pressure stall information; the kernel option psi=1 turns it on")
    return Offer("pressure", "ok", "yes", "pressure stall information")


def _cgroups(facts: HostFacts) -> Offer:
    version = facts.cgroup_version
    return Offer(
        "cgroup_version", "ok" if version else "note", version, "" if version else "no control groups are mounted"
    )


def _clock(facts: HostFacts) -> Offer:
    source = facts.clock_source
    if source in ("hpet", "acpi_pm"):
        return Offer(
            "clock_source", "note", source, "slow clock: each reading of the time takes the generator more CPU time"
        )
    return Offer("clock_source", "ok", source)


def _programs() -> list[Offer]:
    wanted = (
        ("chromium", _chromium, "checking reports in a browser", "apt-get install chromium"),
        ("content_server", _module("content_server"), "the system under test of the bundled studies", "make setup"),
        ("psycopg", _module("psycopg"), "statistics of PostgreSQL", pip_install("psycopg[binary]")),
        ("pymysql", _module("pymysql"), "status variables of MariaDB", pip_install("PyMySQL")),
    )
    return [_program(name, find(), purpose, install) for name, find, purpose, install in wanted]


def _program(name: str, found: str | None, purpose: str, install: str) -> Offer:
    if found is None:
        return Offer(name, "note", None, f"not installed; for {purpose}", install)
    return Offer(name, "ok", found, purpose)


def _which(*names: str) -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_EXTRA_PLACES])
    return next((found for name in names if (found := shutil.which(name, path=path))), None)


def _chromium() -> str | None:
    return _which("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def _module(name: str) -> Callable[[], str | None]:
    def find() -> str | None:
        spec = importlib.util.find_spec(name)
        return str(spec.origin) if spec is not None and spec.origin else None

    return find


def _disk(results: Path) -> Offer:
    place = results.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if not os.access(place, os.W_OK):
        return Offer("free_disk_bytes", "note", free, f"{place} cannot be written")
    if free < ENOUGH_DISK_BYTES:
        return Offer("free_disk_bytes", "note", free, f"at {place}; {ENOUGH_DISK_BYTES} bytes or more are needed")
    return Offer("free_disk_bytes", "ok", free, f"at {place}")


def _network() -> list[Offer]:
    offers = []
    ports = _numbers(Path("/proc/sys/net/ipv4/ip_local_port_range"))
    if len(ports) == 2:
        count = ports[1] - ports[0] + 1
        few = (
            ""
            if count >= ENOUGH_PORTS
            else "few ports limit the connections to one address (net.ipv4.ip_local_port_range)"
        )
        range_text = f"{ports[0]} to {ports[1]}; connections to one address from one source"
        offers.append(Offer("local_ports", "note" if few else "ok", count, few or range_text))
    backlog = _numbers(Path("/proc/sys/net/core/somaxconn"))
    if backlog:
        few = (
            ""
            if backlog[0] >= ENOUGH_BACKLOG
            else "short queue: bursts of connections are refused (net.core.somaxconn)"
        )
        offers.append(
            Offer("somaxconn", "note" if few else "ok", backlog[0], few or "connections that may wait to be accepted")
        )
    return offers


def _numbers(path: Path) -> list[int]:
    try:
        return [int(word) for word in path.read_text().split()]
    except (OSError, ValueError):
        return []
