"""Stores the envelope of this machine (its measured limits as a load generator) in a file named by its fingerprint."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING

from towtank.errors import Fault, StudyError
from towtank.plan import Plan
from towtank.results import write_json

if TYPE_CHECKING:
    from towtank.system import GeneratorPlace

SCHEMA = "towtank/envelope/1"
_FOLDER = "envelopes"
# Number of open files that each load thread needs besides its connections, and largest number of load threads. Both
# equal limits of the engine in `crates/load/src/run/files.rs`. [1]
_SPARE_FILES, _THREADS_AT_MOST = 64, 1024
_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def state_folder() -> Path:
    """Return the folder in which Towtank stores data about this machine for the current user.

    The folder is `$TOWTANK_STATE`, or else `towtank` below `$XDG_STATE_HOME`, or else `towtank` below
    `~/.local/state` (XDG base directories).
    """
    if chosen := os.environ.get("TOWTANK_STATE"):
        return Path(chosen).absolute()
    base = os.environ.get("XDG_STATE_HOME", "")
    # The XDG specification requires programs to ignore a relative path in `$XDG_STATE_HOME`.
    return (Path(base) if base.startswith("/") else _home() / ".local" / "state") / "towtank"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        message = "must be set: HOME is not set, and the system has no home folder for this user"
        raise StudyError.at("<environment>", message, where="TOWTANK_STATE") from error


def envelope_path(fingerprint: str) -> Path:
    return state_folder() / _FOLDER / f"{fingerprint}.json"


def save_envelope(envelope: dict[str, object]) -> Path:
    """Store the envelope of a machine in place of an older one, and return the path of the file."""
    path = envelope_path(str(envelope["fingerprint"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, envelope)
    return path


def load_envelope(fingerprint: str) -> dict[str, object] | None:
    """Read the envelope of a machine; None if no readable envelope is stored."""
    try:
        document = json.loads(envelope_path(fingerprint).read_text("utf-8"))
    except (OSError, ValueError, StudyError):
        return None
    sound = isinstance(document, dict) and document.get("schema") == SCHEMA
    return document if sound and document.get("fingerprint") == fingerprint else None


def generator_facts(plan: Plan, place: GeneratorPlace | None = None) -> dict[str, object]:
    """Return limits and properties of the load generator's machine, for the manifest of a run. They allow a later
    check, on any machine, if the generator limited the load.

    `place` is the host and network namespace of the generator, if it does not run in those of this process.
    `generator_limits` contains `open_files` and `connections_by_ports`; infinite and unknown limits are omitted.
    `open_files` is the limit of one table of open files; `engine.json` records the number of tables.
    `connections_by_ports` is the largest number of connections to the plan's addresses, because each local port can be
    used only once for each pair of source and target address. `generator_host` is included if the generator runs on a
    host of the study, and `envelope` if a measured envelope of this machine is stored.
    """
    from towtank.observe import host_facts  # noqa: PLC0415 - reads many files: only when a run begins

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits: dict[str, int] = {} if hard == resource.RLIM_INFINITY else {"open_files": hard}
    by_ports = connections_by_ports(plan) if place is None else place.within(lambda: connections_by_ports(plan))
    if by_ports is not None:
        limits["connections_by_ports"] = by_ports
    envelope = load_envelope(host_facts().fingerprint)
    placed = {"generator_host": place.name} if place is not None and place.name is not None else {}
    return {"generator_limits": limits, **placed, **({"envelope": envelope} if envelope else {})}


def connections_by_ports(plan: Plan) -> int | None:
    """Return the number of connections to the plan's addresses for which local ports suffice; None if unknown. [1]"""
    addresses = {address for _, address in plan.addresses}
    ports = _ports()
    if ports is None or not addresses or any(address.startswith("unix:") for address in addresses):
        return None
    return ports * len(addresses) * max(1, len(plan.sources))


def require_ports(plan: Plan) -> None:
    """Refuse a closed load if each user needs a connection of its own, and local ports do not suffice for all users.

    Raises
    ------
    StudyError
        If the plan has one target, and local ports allow fewer connections to it than the plan has users.

    Notes
    -----
    With several targets, the number of connections depends on the workload. The engine then checks the number before
    the load begins.
    """
    users = plan.load.users_at_most if plan.load.kind == "closed" else 0
    there = connections_by_ports(plan)
    if not plan.has_own_connections or there is None or len(plan.workload["targets"]) > 1 or users <= there:
        return
    message = (
        f"must be at most {there} if each user has a separate connection, because only so many local ports can reach "
        f"the target's addresses (net.ipv4.ip_local_port_range), got {users} instead"
    )
    raise StudyError(
        [Fault.of_option("--users", message)],
        hint="give more source addresses (--source 127.0.0.2 and so on for a target on loopback), or let users share "
        "connections (--connections N)",
    )


def require_open_files(plan: Plan) -> None:
    """Refuse a load whose connections need more open files than the hard limit allows, even with many load threads.

    Raises
    ------
    StudyError
        If each user keeps a connection to every target, and these connections need more open files than allowed.
    """
    users, targets = plan.load.users_at_most, len(plan.workload["targets"])
    if plan.has_own_connections and (message := beyond_open_files(users, targets, plan.threads)):
        hint = "raise the hard limit of open files, or let users share connections (--connections N)"
        raise StudyError([Fault.of_option("--users", message)], hint=hint)


def beyond_open_files(users: int, targets: int, threads: int = 1) -> str | None:
    """Return a message if users with a connection to each target need more open files than the hard limit allows;
    otherwise None.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    targets, tried = max(1, targets), range(threads, _THREADS_AT_MOST + 1)
    if hard == resource.RLIM_INFINITY or not tried:
        # The engine refuses this number of threads with a message of its own.
        return None
    most = max(number * (hard - _SPARE_FILES - number) for number in tried)
    if users * targets <= most:
        return None
    return (
        f"must be at most {max(0, most // targets)} if each user has a separate connection, because the hard limit of "
        f"open files (ulimit -Hn) is {hard}, got {users} instead"
    )


def _ports() -> int | None:
    """Return the number of local ports that the kernel uses for outgoing connections; None if it is unknown. [1]"""
    try:
        first, last = map(int, _PORTS.read_text().split())
    except (OSError, ValueError):
        return None
    return last - first + 1
