"""Lists the machines that were observed during a run: this machine, and other machines with a probe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def machines(summary: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the values of each machine from a run summary. The keys have the form ` on NAME`, and are appended to
    labels. The key of this machine is empty.

    Hosts that are network namespaces on this machine are omitted, because the values of this machine include them.
    """
    others = {f" on {name}": host for name, host in (summary.get("hosts") or {}).items() if "steal" in host}
    return {"": summary["host"], **others}


def disks(summary: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the values of each disk from a run summary. A key is the name of the disk, followed by the key of its
    machine (see `machines`).
    """
    return {
        f"{disk}{on}": row
        for on, machine in machines(summary).items()
        for disk, row in (machine.get("disks") or {}).items()
    }
