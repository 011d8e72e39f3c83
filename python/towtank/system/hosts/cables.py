"""Connects a host of provider `namespaces` to the other hosts, by one of several kinds of links.

With all kinds, Towtank itself can reach the host as well, for example to check whether a service is ready.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from os import sched_setaffinity
from typing import TYPE_CHECKING

from towtank.errors import TargetError
from towtank.system.hosts import capabilities
from towtank.system.hosts.helper import await_ready, end_helper, start_helper
from towtank.system.hosts.links import CHECKSUMS, OFFLOADS, states
from towtank.system.hosts.namespaces import within_network
from towtank.system.hosts.site import DEVICE, in_network

if TYPE_CHECKING:
    from towtank.system.host_model import Link
    from towtank.system.hosts.site import Site


class Cable:
    """Pair of veth devices that connects a host to the bridge; base class of all kinds of links."""

    kind = "bridge"
    delayed_by: str | None = None

    def __init__(self, site: Site, name: str, link: Link) -> None:
        self._site, self._name, self._link = site, name, link
        self._pid = 0

    @property
    def _port(self) -> str:
        """Name of the cable's device at the bridge."""
        return f"port{self._site.names.index(self._name)}"

    def lay(self, pid: int, cpus: tuple[int, ...]) -> None:
        """Connect the host, whose network namespace contains the process `pid`, to the other hosts.

        A program that relays packets, if needed, runs on the given CPUs.

        Raises
        ------
        TargetError
            If the kernel refuses to create or configure a device.
        """
        self._pid = pid
        self._lay(cpus)

    def _lay(self, cpus: tuple[int, ...]) -> None:  # noqa: ARG002
        netem = self._link.impaired
        self.delayed_by = "netem" if netem else None
        self._site.connect(self._port, self._pid, DEVICE, self._site.address(self._name), self._link, netem=netem)

    def cut(self) -> None:
        """Switch off the cable's device at the bridge, so that the host's device loses its carrier."""
        self._switch("down")

    def mend(self) -> None:
        """Switch on the cable's device at the bridge again."""
        self._switch("up")

    def _switch(self, state: str) -> None:
        self._site.run(in_network(self._site.switch_pid, ["ip", "link", "set", self._port, state]))

    def processes(self) -> dict[str, int]:
        """Return the process ids of the programs that relay packets of the cable, by name; empty if there are none."""
        return {}

    def ended(self) -> list[str]:
        """Return a message for each relay program of the cable that ended unexpectedly."""
        return []

    def facts(self) -> dict[str, object]:
        """Return the properties of the connected cable for the manifest of a run."""
        return {
            "link": self.kind,
            "offloads": within_network(self._pid, lambda: states(DEVICE, OFFLOADS)),
            "checksums": within_network(self._pid, lambda: states(DEVICE, CHECKSUMS)),
            "delayed_by": self.delayed_by,
        }

    def end(self) -> None:
        """End the relay programs of the cable. The devices disappear later, together with the network namespaces."""


class RelayedCable(Cable):
    """Cable with a program that relays packets, with delay and loss, between a tap device of the host and one of the
    bridge.
    """

    def __init__(self, site: Site, name: str, link: Link, kind: str) -> None:
        super().__init__(site, name, link)
        self.kind = kind
        self.delayed_by = "relay" if link.impaired else None
        self._relay: subprocess.Popen[bytes] | None = None

    def _lay(self, cpus: tuple[int, ...]) -> None:
        site, link, pid, port = self._site, self._link, self._pid, self._port
        self._start(cpus)
        for end_pid, end in ((site.switch_pid, port), (pid, DEVICE)):
            site.run(in_network(end_pid, ["ip", "link", "set", end, "mtu", str(link.mtu)]))
        site.plug(port)
        site.set_address(pid, DEVICE, site.address(self._name))
        # A tap device has no offloads that could be set.
        site.shape(pid, port, DEVICE, link.model_copy(update={"offloads": True, "checksums": True}), netem=False)

    def _start(self, cpus: tuple[int, ...]) -> None:
        link, site = self._link, self._site
        ends = [{"pid": site.switch_pid, "device": self._port}, {"pid": self._pid, "device": DEVICE}]
        wanted = {"ends": ends, "delay_s": link.delay, "loss": link.loss, "seed": site.names.index(self._name)}
        command = [sys.executable, "-m", "towtank.system.hosts.relay", json.dumps(wanted)]
        self._relay = start_helper(command, site.environment)
        if cpus:  # The relay belongs to the system under test, so it does not run on the CPUs of Towtank.
            with suppress(ProcessLookupError):
                sched_setaffinity(self._relay.pid, cpus)
        reason = await_ready(self._relay)
        if reason is not None:
            raise TargetError(f"host {self._name}: the relay did not start: {reason}")

    def processes(self) -> dict[str, int]:
        """Return the process id of the relay program by its name."""
        return {} if self._relay is None else {f"relay-{self._name}": self._relay.pid}

    def ended(self) -> list[str]:
        """Return a message if the relay program has ended unexpectedly."""
        relay = self._relay
        return [] if relay is None or relay.poll() is None else [f"relay ended with status {relay.returncode}"]

    def end(self) -> None:
        if self._relay is not None:
            end_helper(self._relay)
            self._relay = None


class DirectCable(Cable):
    """Pair of veth devices between two hosts. Towtank itself reaches each host by a second device."""

    kind = "veth"

    def _lay(self, cpus: tuple[int, ...]) -> None:  # noqa: ARG002
        self._site.connect_conductor(self._port, self._pid)
        self._site.join(self._name, self._pid, self._link)

    def _switch(self, state: str) -> None:
        """Switch the host's device on or off; off also takes the carrier from the other host's device."""
        self._site.run(in_network(self._pid, ["ip", "link", "set", DEVICE, state]))


class MacvlanCable(Cable):
    """Device with its own Ethernet address on a network card that all hosts and the generator share."""

    kind = "macvlan"

    def _lay(self, cpus: tuple[int, ...]) -> None:  # noqa: ARG002
        self._site.share_card(self._pid, DEVICE, self._site.address(self._name), self._link.mtu)

    def _switch(self, state: str) -> None:
        """Switch the host's device on or off. This kind of cable has no second device."""
        self._site.run(in_network(self._pid, ["ip", "link", "set", DEVICE, state]))


def make_cable(site: Site, name: str, link: Link) -> Cable:
    """Return an unconnected cable of the kind that the link of a host needs."""
    if site.link == "veth":
        return DirectCable(site, name, link)
    if site.link == "macvlan":
        return MacvlanCable(site, name, link)
    if site.link == "tun" or (link.impaired and not capabilities.probe()["netem"].there):
        return RelayedCable(site, name, link, site.link)
    return Cable(site, name, link)
