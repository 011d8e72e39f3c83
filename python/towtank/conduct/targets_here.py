"""Observes servers on this machine that Towtank did not start."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any

from towtank.observe import ScrapeError, ScrapingThread
from towtank.plan import Plan
from towtank.results import GENERATOR_GROUP, WATCHED_KIND, RunFolder
from towtank.system import (
    ConnectionScraper,
    SeenServer,
    is_descendant,
    is_this_machine,
    listening_root,
    process_facts,
    program_name,
    servers_behind,
)
from towtank.workload import host_and_port

UNNAMED = "target"
"""Name of the only target in a plan that is made from a URL."""
_LOOKS_AFTER_S = (0.5, 1.5, 3.0, 6.0, 12.0)
"""Pauses before each search for the servers to which a target is connected. A target may connect to them only at its
first request. [s]
"""


@contextmanager
def watching_targets(
    run: RunFolder,
    plan: Plan,
    own: Mapping[str, int],
    add_group: Callable[[str, int], None],
    named: Mapping[str, Sequence[int]] = MappingProxyType({}),
    *,
    interval_s: float = 1.0,
) -> Iterator[None]:
    """Find the servers of a plan on this machine, and observe them as tiers (named parts of the system) during the
    block.

    The servers to which a target connects, such as a database, become tiers as well, even if the target connects to
    them only during the load; connections are counted every `interval_s` [s]. The addresses in the plan must be IP
    addresses with ports.

    The manifest of the run receives a tier of kind `process` for each server, and the entry `targets_here` with the
    process id of each target on this machine by address; null if the process was not found. `own` are the root process
    ids of the tiers that Towtank observes already, and `named` are the ids of the processes that the user named, by
    tier. An empty name is replaced by the name of the program. The names of several processes of a tier are numbered.
    `add_group` makes the probe observe a process tree under a name.
    """
    watch = _Watch(plan, own, add_group)
    watch.take_named(named)
    watch.find_targets()
    if watch.places:
        run.update(targets_here=watch.places)
    watch.record(run)
    watch.start()
    scrapers = [watch.connections()] if watch.servers() else []
    for scraper in scrapers:
        # The scraper must see the connections before the load, in order to recognise idle ones.
        with suppress(ScrapeError):
            scraper.scrape()
    counting = ScrapingThread(scrapers, run.observe, interval_s)
    counting.start()
    try:
        yield
    finally:
        counting.stop()
        watch.stop()
        watch.record(run)


def targets_here(plan: Plan) -> dict[str, str]:
    """Return the name of each target that runs on this machine, by its address."""
    found: dict[str, str] = {}
    for name, address in plan.addresses:
        with suppress(ValueError):
            if address not in found and is_this_machine(host_and_port(address)[0]):
                found[address] = name
    return found


class _Watch:
    """Searches for the processes of targets, and for the servers to which the targets are connected."""

    def __init__(self, plan: Plan, own: Mapping[str, int], add_group: Callable[[str, int], None]) -> None:
        self.places: dict[str, int | None] = {}
        self._names = targets_here(plan)
        self._own, self._here, self._add_group = dict(own), os.getpid(), add_group
        self._tiers: dict[str, Mapping[str, Any]] = {}
        self._roots: dict[str, int] = {}
        self._seen: dict[str, SeenServer] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def servers(self) -> Mapping[str, int]:
        """Return the root process id of each currently observed server by name."""
        return {name: pid for name, pid in (self._own | self._roots).items() if name != GENERATOR_GROUP}

    def connections(self) -> ConnectionScraper:
        """Return a scraper that counts the connections between the observed servers."""
        return ConnectionScraper(self.servers, {host_and_port(address)[1] for address in self._names})

    def take_named(self, named: Mapping[str, Sequence[int]]) -> None:
        """Observe the processes that the user named on the command line."""
        for name, pids in named.items():
            for pid in pids:
                self._take(pid, name, None)

    def find_targets(self) -> None:
        """Find the processes of the targets, and the servers to which these processes are connected at the time of the
        call.
        """
        started = [*self._own.values(), self._here]
        for address, name in self._names.items():
            pid = listening_root(*host_and_port(address))
            if pid is not None and is_descendant(self._here, [pid]):
                pid = None  # This process tree contains Towtank itself, and thus the generator.
            if pid is None and self._roots:
                pid = self._named_for(name)
            # Towtank observes the processes that it started already. If a listening process is not visible to this
            # user, it is probably one of these.
            if is_descendant(pid, started) if pid is not None else bool(self._own):
                continue
            self.places[address] = pid
            if pid is not None:
                self._take(pid, "" if name == UNNAMED else name, address)
        self.find_behind()

    def _named_for(self, target: str) -> int:
        """Return the process that the user named for a target whose listening socket is not visible, for example behind
        a relay.
        """
        return self._roots.get(target, next(iter(self._roots.values())))

    def find_behind(self) -> None:
        """Find and observe the servers to which the targets have connections."""
        for pid in sorted(servers_behind(self._roots.values(), seen=self._seen)) if self._roots else ():
            if not is_descendant(self._here, [pid]):
                self._take(pid, "", None)

    def _take(self, pid: int, name: str, address: str | None) -> None:
        """Observe a process tree, unless it overlaps a tree that is already observed."""
        watched = [*self._own.values(), *self._roots.values(), self._here]
        if is_descendant(pid, watched) or any(is_descendant(root, [pid]) for root in self._roots.values()):
            return
        unique = self._unique(name or program_name(pid))
        self._tiers[unique] = {"kind": WATCHED_KIND, "host": None, "cpus": [], "address": address, **process_facts(pid)}
        self._roots[unique] = pid
        self._add_group(unique, pid)

    def _unique(self, name: str) -> str:
        taken = {*self._own, *self._roots, GENERATOR_GROUP}
        numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
        return name if name not in taken else next(each for each in numbered if each not in taken)

    def record(self, run: RunFolder) -> None:
        """Add the servers that were found to the manifest of the run, as tiers."""
        if self._tiers:
            run.update(tiers=run.manifest["tiers"] | self._tiers)

    def start(self) -> None:
        """Start a thread that repeats the search for servers a few times during the run."""
        if self._roots:
            self._thread = threading.Thread(target=self._look_again, name="targets-here", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for its current search to end."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _look_again(self) -> None:
        for pause_s in _LOOKS_AFTER_S:
            if self._ended.wait(pause_s):
                return
            # A search fails if a process ends while its files are read. The next search then finds the other processes.
            with suppress(OSError, RuntimeError):
                self.find_behind()
