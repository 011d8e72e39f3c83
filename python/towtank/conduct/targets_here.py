"""Targets on this machine that Towtank did not start: finds their processes, so that they are observed, too."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from towtank.results.folder import RunFolder
from towtank.results.observe import TARGET_GROUP
from towtank.system.listeners import is_below, is_here, listening_root, servers_behind
from towtank.workload.targets import host_and_port


def watch_targets(
    run: RunFolder, plan: dict[str, Any], own: Iterable[int], add_group: Callable[[str, int], None]
) -> None:
    """Find the servers of a plan on this machine, have the probe watch them, and record the result in `run.json`.

    Parameters
    ----------
    run : RunFolder
        Folder of the record; its manifest gets `targets_here`: the process of each target on this machine by its
        address, null if it was not found. Servers that a target has connections to (a database) are watched, too.
    plan : dict
        The plan, with addresses as IP address and port.
    own : iterable of int
        Roots of the processes that are watched already.
    add_group : callable
        Has the probe watch a tree of processes under a name.
    """
    started, here = list(own), os.getpid()
    found: dict[str, int | None] = {}
    for address in addresses_here(plan):
        pid = listening_root(*host_and_port(address))
        if pid is not None and is_below(here, [pid]):
            pid = None  # the target's process started this one, so its tree contains the generator
        # The processes of a system that Towtank started are observed already, even if this user cannot see their
        # sockets.
        if not (started if pid is None else is_below(pid, [*started, here])):
            found[address] = pid
    servers = {pid for pid in found.values() if pid is not None}
    behind = {pid for server in servers for pid in servers_behind(server) if not is_below(here, [pid])}
    # Trees must not overlap, or a process would be counted twice.
    trees = {pid for pid in servers | behind if not is_below(pid, (servers | behind | set(started)) - {pid})}
    for number, pid in enumerate(sorted(trees), start=1):
        add_group(f"{TARGET_GROUP}-{number}", pid)
    if found:
        run.update(targets_here=found)


def addresses_here(plan: dict[str, Any]) -> list[str]:
    """Return the distinct addresses of a plan's targets that belong to this machine."""
    found = []
    for address in dict.fromkeys(str(each) for target in plan.get("targets") or () for each in target["addresses"]):
        with suppress(ValueError):
            if is_here(host_and_port(address)[0]):
                found.append(address)
    return found
