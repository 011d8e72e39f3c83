"""Creates all hosts of a system before its services start, limits them when the services are ready, and removes
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towtank.errors import TargetError
from towtank.system import model
from towtank.system.host_model import ExistingHost, NamespacesHost, SshHost
from towtank.system.hosts.existing import ExistingHost as Existing
from towtank.system.hosts.host import Breakable, Host, HostSettings
from towtank.system.hosts.local import LocalHost

if TYPE_CHECKING:
    from towtank.system.hosts.site import Site


class Hosts:
    """Hosts of a system, by name, in the order of the system file, without hosts that neither a service nor the load
    generator uses.
    """

    def __init__(self, hosts: dict[str, Host] | None = None, site: Site | None = None) -> None:
        self._hosts, self._site = hosts or {}, site
        self._here = LocalHost()
        self._prepared: list[Host] = []

    def of(self, name: str | None) -> Host:
        """Return the host with the given name; this machine if the name is None."""
        return self._here if name is None else self._hosts[name]

    def breakable(self, name: str) -> Breakable:
        """Return the host with the given name if events can make its network and disks fail.

        Raises
        ------
        TargetError
            If the provider of the host does not support failures, or the host is not in use.
        """
        host = self._hosts.get(name)
        if not isinstance(host, Breakable):
            raise TargetError(f"host {name} cannot be made to fail: must be a host in use, of provider namespaces")
        return host

    def lacks(self) -> list[str]:
        """Return a sentence for each requirement of the hosts that this machine, or the current user, does not meet."""
        return [line for host in self._hosts.values() for line in host.lacks()]

    def watch(self) -> None:
        """Start the janitor, a process that removes the hosts if this process is killed."""
        if self._site is not None:
            self._site.watch()

    def prepare(self, room: HostSettings) -> None:
        """Create all hosts of a system, or connect to hosts that already exist.

        Raises
        ------
        TargetError
            If a host cannot be created or reached. The caller must then remove the other hosts by `tear_down`.
        """
        for host in self._hosts.values():
            self._prepared.append(host)
            host.prepare(room)

    def confine(self, folders: Callable[[Host], Sequence[Path]]) -> None:
        """Apply the limits of all hosts, once all services have started. Earlier, the limits would slow down the start.

        The function `folders` returns the folders on this machine that contain files of the services of a host.
        """
        for host in self._prepared:
            host.confine(folders(host))

    def facts(self) -> dict[str, object]:
        """Return the properties of each host, for the manifest of the run."""
        return {host.name: host.facts() for host in self._prepared}

    def scrapers(self) -> list[Any]:
        """Return the scrapers that observe the hosts during the load."""
        return [scraper for host in self._prepared for scraper in host.watching().scrapers]

    def probes(self) -> list[Any]:
        """Return the probes that observe other machines during the load."""
        return [probe for host in self._prepared for probe in host.watching().probes]

    def processes(self) -> dict[str, int]:
        """Return the process ids of helper programs that run outside the hosts, such as packet relays, by name."""
        return {name: pid for host in self._prepared for name, pid in host.watching().processes.items()}

    def ended(self) -> list[tuple[str, str]]:
        """Return the name of each host with a helper program that ended unexpectedly, and the reason."""
        return [(host.name, text) for host in self._prepared for text in host.ended()]

    def tear_down(self) -> None:
        """Remove all hosts, the last created first. Errors are collected, and raised when all hosts are removed."""
        errors = []
        for host in reversed(self._prepared):
            try:
                host.tear_down()
            except (TargetError, OSError) as error:
                errors.append(str(error))
        self._prepared.clear()
        self._here.tear_down()
        if self._site is not None:
            self._site.finish()
        if errors:
            raise TargetError("\n".join(errors))


def build_hosts(file: model.SystemFile, base: Path) -> Hosts:
    """Return the hosts of a system file, without creating anything in the kernel. Relative paths in the file refer to
    `base`.
    """
    parts = {name: file.hosts[name] for name in file.hosts_in_use}
    virtual = {name: part for name, part in parts.items() if isinstance(part, NamespacesHost)}
    site = None
    if virtual:
        from towtank.system.hosts.site import Site  # noqa: PLC0415 - only where a host is virtual

        mtu = max(part.network.mtu for part in virtual.values())
        site = Site(list(virtual), file.network, mtu, file.generator.host if file.generator.host in virtual else None)
    hosts: dict[str, Host] = {}
    for name, part in parts.items():
        if isinstance(part, NamespacesHost):
            from towtank.system.hosts.virtual import VirtualHost  # noqa: PLC0415

            assert site is not None
            hosts[name] = VirtualHost(name, part, site, file.network)
        elif isinstance(part, SshHost):
            from towtank.system.hosts.remote import RemoteHost  # noqa: PLC0415

            hosts[name] = RemoteHost(name, part, base)
        elif isinstance(part, ExistingHost):
            hosts[name] = Existing(name, part)
        else:
            hosts[name] = LocalHost(name)
    return Hosts(hosts, site)
