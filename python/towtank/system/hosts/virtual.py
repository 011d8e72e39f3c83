"""Implements a host of provider `namespaces`: a part of this machine with its own network, files, host name
and limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from towtank.own_cpus import usable_cpus
from towtank.system import ports
from towtank.system.host_model import NamespacesHost as Part
from towtank.system.host_model import Network
from towtank.system.hosts import capabilities, needs
from towtank.system.hosts.cables import make_cable
from towtank.system.hosts.cgroups import ControlGroup, find_trees
from towtank.system.hosts.disks import MountedDisk, mount_disk
from towtank.system.hosts.filling import fill_disk, release_disk
from towtank.system.hosts.host import Answer, Capabilities, HostSettings, Watching
from towtank.system.hosts.local import SharedFiles, execute
from towtank.system.hosts.namespaces import Namespaces, within_network
from towtank.system.hosts.page_cache import evict_files
from towtank.system.hosts.site import Site, in_network
from towtank.system.hosts.timeslice import timeslice
from towtank.system.process import HostEntry, Process, ProcessSpec, ServiceProcess

T = TypeVar("T")
_TEMPORARY = Path("/tmp")
_KINDS = ("net", "mnt", "uts")
# Script that sets up the files of a host. Its arguments are: name, folder of the host, file of host names, folders that
# must stay visible. A private folder is mounted over the machine's temporary folder. Folders inside the machine's
# temporary folder would then be hidden, so they are first mounted into the private folder.
_SET_UP = """
hostname "$(printf %.64s "$1")"; folder=$2; names=$3; shift 3
ip link set lo up
if [ -f /etc/hosts ]; then mount --bind "$names" /etc/hosts; fi
for kept; do
  mkdir -p "$folder/tmp/${kept#/tmp/}"
  mount --bind "$kept" "$folder/tmp/${kept#/tmp/}"
done
mount --rbind "$folder/tmp" /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
"""
# Script that moves itself into control groups and then executes the command that follows `--`.
_JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"'


class VirtualHost(SharedFiles):
    """Virtual host: a part of this machine in Linux namespaces.

    Parameters
    ----------
    name : str
        Name of the host in the system file.
    part : NamespacesHost
        Part of the system file that describes the host.
    site : Site
        Resources that all hosts of the system share.
    network : Network
        Settings of the network. The first host of a system also reports what the network lacks.
    """

    provider = "namespaces"

    def __init__(self, name: str, part: Part, site: Site, network: Network) -> None:
        self.name, self._part, self._site, self._network = name, part, site, network
        self._namespaces = Namespaces(_KINDS, site.environment)
        self._group = ControlGroup(find_trees(), f"{site.prefix}/{name}")
        self._disks: dict[str, MountedDisk] = {}
        self._cable = make_cable(site, name, part.network)
        self._cache_left: int | None = None
        self._is_open = self._is_confined = False

    @property
    def address(self) -> str:
        """Address of the host in the virtual network."""
        return self._site.address(self.name)

    @property
    def cpus(self) -> list[int] | None:
        """CPUs to which the host is pinned; None without pinning."""
        return self._part.pinned

    def capabilities(self) -> Capabilities:
        """Return the capabilities of the virtual host, which supports every limit that a system file can set."""
        return Capabilities(sizes=frozenset(Part.model_fields) - {"provider"})

    def lacks(self) -> list[str]:
        """Return the capabilities that the host's keys in the system file need, but that this machine lacks."""
        offered = capabilities.probe()
        where = f"hosts.{self.name}"
        lines = needs.lacking(where, needs.host_needs(self._part), offered)
        if self.name == self._site.names[0]:
            lines += needs.lacking("network", needs.network_needs(self._network), offered)
        if absent := needs.absent_cpus(self._part):
            usable = ", ".join(map(str, sorted(usable_cpus())))
            lines.append(f"{where}.pinned: must name CPUs among {usable}, got {absent[0]} instead")
        if lacking := needs.swap_lacking(self._part, capabilities.swap_bytes()):
            lines.append(f"{where}.{lacking}")
        return lines

    def prepare(self, room: HostSettings) -> None:
        """Create namespaces, control group, link and disks of the host. The limits of memory, CPUs (pinning) and
        weights apply from the start; `confine` applies the other limits.
        """
        room.check()
        self._is_open = True
        self._site.open()
        folder = self._site.folder / self.name
        self._private.mkdir(parents=True)
        self._private.chmod(0o1777)
        # A folder inside another folder of this list is not mounted separately: it is visible with the outer folder.
        below = sorted({path for path in (*room.kept, folder) if _TEMPORARY in path.parents})
        kept = [path for path in below if not any(other in path.parents for other in below)]
        self._namespaces.start(_SET_UP, self.name, str(folder), str(self._site.folder / "hosts"), *map(str, kept))
        self._group.create()
        self._set_lasting_sizes()
        self._cable.lay(self._namespaces.pid, room.cpus)
        for name, disk in self._part.disks.items():
            room.check()
            self._disks[name] = mount_disk(self._site, self._namespaces, self.name, name, disk)

    def _set_lasting_sizes(self) -> None:
        """Apply the limits of CPUs, memory and CPU weight. Servers read these limits when they start, for example to
        choose their number of threads.
        """
        part = self._part
        if part.pinned is not None:
            self._group.pin(part.pinned)
        if part.memory is not None:
            self._group.limit_memory(part.memory, part.swap or 0)
        if part.cpu_shares is not None:
            self._group.weigh(part.cpu_shares)

    def cut(self) -> None:
        """Disconnect the network cable of the host."""
        self._cable.cut()

    def mend(self) -> None:
        """Reconnect the network cable of the host."""
        self._cable.mend()

    def fill(self, disk: str, leave_bytes: int | None, leave_files: int | None) -> dict[str, int]:
        """Fill a disk of the host with one large file, or with many empty files, up to the given free space."""
        return fill_disk(self.outside(self.disk(disk)), leave_bytes, leave_files)

    def release(self, disk: str) -> None:
        """Remove the files that fill a disk of the host."""
        release_disk(self.outside(self.disk(disk)))

    @property
    def _private(self) -> Path:
        """Temporary folder of the host as processes outside of the host see it, without the folders mounted in it."""
        return self._site.folder / self.name / "tmp"

    def confine(self, folders: Sequence[Path] = ()) -> None:
        """Empty the page cache if the system file requests it, and apply the limits of CPU time and disks."""
        if self._part.page_cache == "drop":
            # The kernel attributes a page of a file to the group that first read or wrote it. Files that Towtank wrote
            # would thus not be evicted with the group's page cache, so they are evicted separately.
            evict_files((*(self.outside(disk.point) for disk in self._disks.values()), self._private, *folders))
            self._cache_left = self._group.drop_page_cache()
        if self._part.cpus is not None:
            self._group.limit_cpu(self._part.cpus, self._part.cpu_period)
        for disk in self._disks.values():
            disk.throttle(self._group, self._site.folder)
        self._is_confined = True

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:
        """Return a process in the namespaces of the host. Its guard runs outside of them, but in the host's control
        group.
        """
        entry = HostEntry(
            guard=self._join,
            command=self._namespaces.enter,
            environment=self._environment(),
            starting=partial(timeslice, self._part.timeslice),
        )
        return ServiceProcess(spec, log, self.cpus or cpus, entry)

    def entry(self) -> HostEntry:
        """Return the environment and the command wrapper by which a command runs in the host's network and control
        group.

        The commands see the files of this machine.
        """
        pid = self._namespaces.pid
        return HostEntry(
            command=lambda command: self._join(in_network(pid, command)), environment=self._site.environment
        )

    def within(self, work: Callable[[], T]) -> T:
        """Run a Python function in the network namespace of the host, and return its result."""
        return within_network(self._namespaces.pid, work)

    def _join(self, command: list[str]) -> list[str]:
        return ["sh", "-c", _JOIN, "sh", *map(str, self._group.members_files()), "--", *command]

    def _environment(self) -> dict[str, str]:
        return {**self._site.environment, "TMPDIR": str(_TEMPORARY)}

    def execute(
        self, command: list[str], limit_s: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> Answer:
        """Run a command on the host to its end."""
        inside = self._join(self._namespaces.enter(command))
        return execute(inside, limit_s, {**self._environment(), **(environment or {})})

    def outside(self, path: Path | str) -> Path:
        """Return the path by which processes outside of the host access a file on the host."""
        return self._namespaces.outside(path)

    @property
    def temporary(self) -> Path:
        """Temporary folder of the host, which other hosts cannot see."""
        return _TEMPORARY

    def disk(self, name: str) -> Path:
        """Return the mount point of a disk of the host."""
        return self._disks[name].point

    def free_ports(self, count: int = 1) -> int:
        """Return the first of `count` consecutive free ports in the network namespace of the host."""
        return within_network(self._namespaces.pid, lambda: ports.free_ports(self.address, count))

    def require_free(self, port: int, owner: str) -> None:
        """Refuse a port on which another process in the host's network already listens."""
        within_network(self._namespaces.pid, lambda: ports.require_free(self.address, port, owner))

    def facts(self) -> dict[str, object]:
        """Return the properties of the host and its effective limits, for the manifest of the run."""
        sizes = self._part.model_dump(mode="json", exclude={"provider", "disks"}, exclude_none=True)
        return {
            "provider": self.provider,
            "address": self.address,
            "sizes": {**sizes, "in_force": self._is_confined},
            "cpus_virtual": self._part.cpus,
            **({} if self._cache_left is None else {"page_cache_left_bytes": self._cache_left}),
            "disks": {name: disk.facts() for name, disk in self._disks.items()},
            "control_groups": find_trees().version,
            **self._cable.facts(),
        }

    def watching(self) -> Watching:
        """Return the scraper that reads metrics of the host's control group, network device and disks."""
        from towtank.system.hosts.observing import HostScraper  # noqa: PLC0415 - only where something is observed

        name = f"host-{self.name}"
        scraper = HostScraper(name, self._group, self._namespaces, self._disks, self._part.cpus)
        return Watching([scraper], processes=self._cable.processes())

    def ended(self) -> list[str]:
        """Return a message if the relay program of the host's network cable has ended unexpectedly."""
        return self._cable.ended()

    def tear_down(self) -> None:
        """Remove the host; when the last host is removed, also remove the resources that all hosts share."""
        if not self._is_open:
            return
        self._is_open = False
        self._group.kill()
        self._cable.end()
        self._namespaces.end()
        self._disks.clear()
        self._site.close()
