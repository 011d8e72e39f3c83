"""Creates hosts of provider `namespaces`: parts of this machine with their own network, files, host name and limits."""

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
# Script that sets up the files of a host. Its arguments are the name and the folder of the host, the file of host
# names, and the folders below /tmp that must stay visible. The host's own folder is mounted over /tmp. The folders
# would then be hidden, so they are mounted into the host's folder first.
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
# Shell command that moves itself into control groups, and is then replaced by the command that follows `--`.
_JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"'


class VirtualHost(SharedFiles):
    """Host that consists of Linux namespaces and a control group on this machine. The first host of a system also
    checks the capabilities that the settings of the virtual network need.
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
        return self._site.address(self.name)

    @property
    def cpus(self) -> list[int] | None:
        """CPUs to which the processes of the host are pinned; None if they are not pinned."""
        return self._part.pinned

    def capabilities(self) -> Capabilities:
        """Return the features of a virtual host, which supports every limit that a system file can set."""
        return Capabilities(sizes=frozenset(Part.model_fields) - {"provider"})

    def lacks(self) -> list[str]:
        """Return a message for each capability that the host needs but this machine lacks."""
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
        """Create namespaces, control group, link and disks of the host.

        The memory limit, pinning and CPU weights apply from now on; `confine` applies the other limits.
        """
        room.check()
        self._is_open = True
        self._site.open()
        folder = self._site.folder / self.name
        self._private.mkdir(parents=True)
        self._private.chmod(0o1777)
        # A folder below another folder of the list is visible with the other folder, and is not mounted separately.
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
        """Apply pinning, memory limits and the CPU weight.

        Servers read some of these at their start, for example to choose their number of threads.
        """
        part = self._part
        if part.pinned is not None:
            self._group.pin(part.pinned)
        if part.memory is not None:
            self._group.limit_memory(part.memory, part.swap or 0)
        if part.cpu_shares is not None:
            self._group.weigh(part.cpu_shares)

    def cut(self) -> None:
        self._cable.cut()

    def mend(self) -> None:
        self._cable.mend()

    def fill(self, disk: str, leave_bytes: int | None, leave_files: int | None) -> dict[str, int]:
        """Fill a disk of the host up to the given numbers of free bytes and files."""
        return fill_disk(self.outside(self.disk(disk)), leave_bytes, leave_files)

    def release(self, disk: str) -> None:
        """Remove the files that `fill` created."""
        release_disk(self.outside(self.disk(disk)))

    @property
    def _private(self) -> Path:
        """Temporary folder of the host, by the path that processes outside the host use."""
        return self._site.folder / self.name / "tmp"

    def confine(self, folders: Sequence[Path] = ()) -> None:
        """Evict the page cache if the system file requests it, and apply the limits of CPU time and disks."""
        if self._part.page_cache == "drop":
            # The kernel counts a page of a file for the control group that first used it. Pages of files that Towtank
            # wrote therefore do not belong to the host's group, and are evicted separately.
            evict_files((*(self.outside(disk.point) for disk in self._disks.values()), self._private, *folders))
            self._cache_left = self._group.drop_page_cache()
        if self._part.cpus is not None:
            self._group.limit_cpu(self._part.cpus, self._part.cpu_period)
        for disk in self._disks.values():
            disk.throttle(self._group, self._site.folder)
        self._is_confined = True

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:
        """Return a process in the namespaces of the host, not yet started.

        The guard of the process runs outside the namespaces, but in the host's control group.
        """
        entry = HostEntry(
            guard=self._join,
            command=self._namespaces.enter,
            environment=self._environment(),
            starting=partial(timeslice, self._part.timeslice),
        )
        return ServiceProcess(spec, log, self.cpus or cpus, entry)

    def entry(self) -> HostEntry:
        """Return the command prefix and environment that make a command run in the host's network and control group.

        Such a command sees the files of this machine.
        """
        pid = self._namespaces.pid
        return HostEntry(
            command=lambda command: self._join(in_network(pid, command)), environment=self._site.environment
        )

    def within(self, work: Callable[[], T]) -> T:
        """Call a function in the network namespace of the host, and return the result."""
        return within_network(self._namespaces.pid, work)

    def _join(self, command: list[str]) -> list[str]:
        return ["sh", "-c", _JOIN, "sh", *map(str, self._group.members_files()), "--", *command]

    def _environment(self) -> dict[str, str]:
        return {**self._site.environment, "TMPDIR": str(_TEMPORARY)}

    def execute(
        self, command: list[str], limit_s: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> Answer:
        inside = self._join(self._namespaces.enter(command))
        return execute(inside, limit_s, {**self._environment(), **(environment or {})})

    def outside(self, path: Path | str) -> Path:
        """Return the path by which processes outside the host can access a file of the host."""
        return self._namespaces.outside(path)

    @property
    def temporary(self) -> Path:
        """Temporary folder of the host, by the path that processes on the host use."""
        return _TEMPORARY

    def disk(self, name: str) -> Path:
        return self._disks[name].point

    def free_ports(self, count: int = 1) -> int:
        """Return the first of `count` consecutive free ports in the network namespace of the host."""
        return within_network(self._namespaces.pid, lambda: ports.free_ports(self.address, count))

    def require_free(self, port: int, owner: str) -> None:
        """Raise an error if another process already listens on a port in the host's network namespace."""
        within_network(self._namespaces.pid, lambda: ports.require_free(self.address, port, owner))

    def facts(self) -> dict[str, object]:
        """Return the properties and limits of the host, for the manifest of the run."""
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
        """Return a message if the relay program of the host's link has ended unexpectedly."""
        return self._cable.ended()

    def tear_down(self) -> None:
        """Remove the host; also remove the resources that the hosts share if this was the last host."""
        if not self._is_open:
            return
        self._is_open = False
        self._group.kill()
        self._cable.end()
        self._namespaces.end()
        self._disks.clear()
        self._site.close()
