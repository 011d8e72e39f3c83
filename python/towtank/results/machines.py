"""Machines that a run was observed on: this one, and others that have a probe of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def machines(summary: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the entry of a run summary for each machine, by ` on NAME`; this machine has no name.

    Hosts that are parts of this machine are left out: the figures of this machine include them.
    """
    others = {f" on {name}": host for name, host in (summary.get("hosts") or {}).items() if "steal" in host}
    return {"": summary["host"], **others}


def disks(summary: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the entry of a run summary for each disk of all machines, by its name."""
    return {
        f"{disk}{on}": row
        for on, machine in machines(summary).items()
        for disk, row in (machine.get("disks") or {}).items()
    }
