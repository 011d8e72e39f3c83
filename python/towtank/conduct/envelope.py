"""What this machine is known to carry as a generator: its calibrated envelope, kept by the host's fingerprint."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towtank.errors import Fault, StudyError
from towtank.results.folder import write_json

if TYPE_CHECKING:
    from towtank.system.system import GeneratorPlace

SCHEMA = "towtank/envelope/1"
_FOLDER = "envelopes"
# Limits of the engine, see `crates/load/src/run/files.rs`: open files of a load thread that are not connections, and
# number of load threads.
_SPARE_FILES, _THREADS_AT_MOST = 64, 1024
_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def state_folder() -> Path:
    """Where facts about this machine are kept for its user.

    `$TOWTANK_STATE`, else `towtank` below `$XDG_STATE_HOME`, else below `~/.local/state` (XDG base directories).
    """
    if told := os.environ.get("TOWTANK_STATE"):
        return Path(told).absolute()
    base = os.environ.get("XDG_STATE_HOME", "")
    # The specification has relative paths ignored.
    return (Path(base) if base.startswith("/") else _home() / ".local" / "state") / "towtank"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        message = "must be set: HOME is not set, and the system has no home folder for this user"
        raise StudyError.at("<environment>", message, where="TOWTANK_STATE") from error


def envelope_path(fingerprint: str) -> Path:
    """File of the envelope of a host."""
    return state_folder() / _FOLDER / f"{fingerprint}.json"


def save_envelope(envelope: dict[str, Any]) -> Path:
    """Keep an envelope in place of the one before, and return its file."""
    path = envelope_path(str(envelope["fingerprint"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, envelope)
    return path


def load_envelope(fingerprint: str) -> dict[str, Any] | None:
    """The envelope of a host; None where there is none that can be read."""
    try:
        document = json.loads(envelope_path(fingerprint).read_text("utf-8"))
    except (OSError, ValueError, StudyError):
        return None
    sound = isinstance(document, dict) and document.get("schema") == SCHEMA
    return document if sound and document.get("fingerprint") == fingerprint else None


def generator_facts(plan: dict[str, Any], place: GeneratorPlace | None = None) -> dict[str, Any]:
    """What a run's manifest tells of the generator's machine, so that the run can be scored anywhere later.

    Parameters
    ----------
    plan : dict
        The engine's plan.
    place : GeneratorPlace, optional
        Where the generator is: a host with a network of its own has ports of its own.

    Returns
    -------
    dict
        `generator_limits` with `open_files` (of one table of open files: the engine has as many as it needs, which
        `engine.json` tells) and `connections_by_ports` (connections to the plan's addresses; a port can be used once
        per address and source), what is unlimited or unknown left out; `generator_host` where it is on one;
        `envelope` where there is one.
    """
    from towtank.observe.host import host_facts  # noqa: PLC0415 - reads many files: only where a run begins

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits: dict[str, int] = {} if hard == resource.RLIM_INFINITY else {"open_files": hard}
    by_ports = connections_by_ports(plan) if place is None else place.within(lambda: connections_by_ports(plan))
    if by_ports is not None:
        limits["connections_by_ports"] = by_ports
    envelope = load_envelope(host_facts()["fingerprint"])
    placed = {"generator_host": place.name} if place is not None and place.name is not None else {}
    return {"generator_limits": limits, **placed, **({"envelope": envelope} if envelope else {})}


def connections_by_ports(plan: dict[str, Any]) -> int | None:
    """Connections to the plan's addresses that there are ports for; None where no limit is known. [1]"""
    addresses = {address for target in plan.get("targets", []) for address in target.get("addresses", [])}
    sources = plan.get("connections", {}).get("sources") or [""]
    ports = _ports()
    if ports is None or not addresses or any(address.startswith("unix:") for address in addresses):
        return None
    return ports * len(addresses) * len(sources)


def require_ports(plan: dict[str, Any]) -> None:
    """Refuse users with connections of their own that no port is left for.

    Raises
    ------
    StudyError
        If the plan has one target and more users than connections to it can have ports.

    Notes
    -----
    With several targets it depends on what users do; the engine works that out before it begins.
    """
    users = plan["load"]["users_at_most"] if plan["load"]["kind"] == "closed" else 0
    own = plan.get("connections", {}).get("mode", "per_user") == "per_user"
    there = connections_by_ports(plan)
    if not own or there is None or len(plan["targets"]) > 1 or users <= there:
        return
    message = (
        f"must be at most {there} with a connection each, since the target's addresses can be reached from so many "
        f"ports (net.ipv4.ip_local_port_range), got {users} instead"
    )
    raise StudyError(
        [Fault("<command line>", 0, 0, "--users", message)],
        hint="give more source addresses (--source 127.0.0.2 and so on for a target on loopback), or let users share "
        "connections (--connections N)",
    )


def require_open_files(plan: dict[str, Any]) -> None:
    """Refuse more connections than the hard limit of open files allows, for any number of load threads.

    Raises
    ------
    StudyError
        If users with a connection each to every target need more open files than the hard limit allows.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or plan.get("connections", {}).get("mode", "per_user") != "per_user":
        return
    users, targets = plan["load"]["users_at_most"], max(1, len(plan["targets"]))
    tried = range(plan["threads"], _THREADS_AT_MOST + 1)
    if not tried:
        return  # the engine refuses so many threads, and names the option
    most = max(threads * (hard - _SPARE_FILES - threads) for threads in tried)
    if users * targets <= most:
        return
    message = (
        f"must be at most {max(0, most // targets)} with a connection each, since the hard limit of open files "
        f"(ulimit -Hn) is {hard}, got {users} instead"
    )
    hint = "raise the hard limit of open files, or let users share connections (--connections N)"
    raise StudyError([Fault("<command line>", 0, 0, "--users", message)], hint=hint)


def _ports() -> int | None:
    """Ports that outgoing connections may have; None where the kernel does not tell."""
    try:
        first, last = map(int, _PORTS.read_text().split())
    except (OSError, ValueError):
        return None
    return last - first + 1
