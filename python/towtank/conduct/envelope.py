"""What this machine is known to carry as a generator: its calibrated envelope, kept by the host's fingerprint."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

from towtank.results.folder import write_json

SCHEMA = "towtank/envelope/1"
_FOLDER = "envelopes"
_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def state_folder() -> Path:
    """Where facts about this machine are kept for its user.

    `$TOWTANK_STATE`, else `towtank` below `$XDG_STATE_HOME`, else below `~/.local/state` (XDG base directories).
    """
    if told := os.environ.get("TOWTANK_STATE"):
        return Path(told).absolute()
    base = os.environ.get("XDG_STATE_HOME", "")
    # The specification has relative paths ignored.
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "state") / "towtank"


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
    except (OSError, ValueError, RuntimeError):
        return None
    sound = isinstance(document, dict) and document.get("schema") == SCHEMA
    return document if sound and document.get("fingerprint") == fingerprint else None


def generator_facts(plan: dict[str, Any]) -> dict[str, Any]:
    """What a run's manifest tells of the generator's machine, so that the run can be scored anywhere later.

    Returns
    -------
    dict
        `generator_limits` with `open_files` (of one table of open files: the engine has as many as it needs, which
        `engine.json` tells) and `connections_by_ports` (connections to the plan's addresses; a port can be used once
        per address and source), what is unlimited or unknown left out; `envelope` where there is one.
    """
    from towtank.observe.host import host_facts  # noqa: PLC0415 - reads many files: only where a run begins

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits: dict[str, int] = {} if hard == resource.RLIM_INFINITY else {"open_files": hard}
    addresses = {address for target in plan.get("targets", []) for address in target.get("addresses", [])}
    sources = plan.get("connections", {}).get("sources") or [""]
    ports = _ports()
    if ports is not None and addresses and not any(address.startswith("unix:") for address in addresses):
        limits["connections_by_ports"] = ports * len(addresses) * len(sources)
    envelope = load_envelope(host_facts()["fingerprint"])
    return {"generator_limits": limits, **({"envelope": envelope} if envelope else {})}


def _ports() -> int | None:
    """Ports that outgoing connections may have; None where the kernel does not tell."""
    try:
        first, last = map(int, _PORTS.read_text().split())
    except (OSError, ValueError):
        return None
    return last - first + 1
