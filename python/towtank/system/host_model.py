"""Models of the hosts and the virtual network in a system file."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from towtank.fields import (
    DataRate,
    Duration,
    FileModel,
    Name,
    PositiveDuration,
    PositiveRate,
    Share,
    Size,
)
from towtank.treecheck import unknown_choice

# Limits of the kernel. A CPU limit has a period of 1 ms to 1 s, with at least 1 ms of CPU time per period
# (sched-bwc.rst). A time slice is 0.1 to 100 ms long (sched_setattr(2)). [s]
LEAST_CPU_TIME_S = 0.001
MOST_PERIOD_S = 1.0
LEAST_SLICE_S, MOST_SLICE_S = 0.0001, 0.1
# Limits of the packet size (MTU). Every IPv4 host must accept packets of 576 bytes (RFC 791). A veth device supports
# packets of at most 65,521 bytes, without the Ethernet header. [byte]
LEAST_MTU, MOST_MTU = 576, 65_521
# Smallest size of a disk [byte]. `mkfs.xfs` and `mkfs.btrfs` need more, namely the sizes below.
LEAST_DISK_BYTES = 8 * 2**20
# Smallest memory limit of a host. [byte]
LEAST_MEMORY_BYTES = 4 * 2**20
_XFS_BYTES = 300 * 2**20
_BTRFS_BYTES = 109 * 2**20


COPIES_AT_MOST = 240
"""Largest number of copies of a host, which is also the largest number of hosts of a system. [1]"""
Copies = Annotated[int, Field(ge=1, le=COPIES_AT_MOST)] | None
_COPIES = "Number of identical hosts to create, each with all services of the host; names end in `-1`, `-2` and so on."


class Disk(FileModel):
    """Disk of a host: a file on this machine that serves as a block device with its own file system."""

    size: Size = Field(
        ge=LEAST_DISK_BYTES,
        description=("Size of the disk. The file that holds the disk is sparse, so it only takes the space in use."),
    )
    images: int = Field(
        1,
        ge=1,
        le=16,
        description="Number of files that the disk is striped over, each with the rate limits of the disk; btrfs only.",
    )
    file_system: Literal["ext4", "ext3", "ext2", "xfs", "btrfs"] = Field("ext4", description="File system of the disk.")
    journal: bool = Field(True, description="Whether ext4 has a journal; `false` creates the file system without one.")
    inodes: int | None = Field(
        None, ge=16, description="Number of files that the disk can hold; ext2, ext3 and ext4 only."
    )
    mount_options: list[str] = Field(default_factory=list, description="Options of `mount`, for example `noatime`.")
    read_rate: DataRate | None = Field(None, description="Highest data rate of reads; default: no limit.")
    write_rate: DataRate | None = Field(None, description="Highest data rate of writes; default: no limit.")
    read_operations: PositiveRate | None = Field(
        None, description="Highest rate of read operations; default: no limit."
    )
    write_operations: PositiveRate | None = Field(
        None, description="Highest rate of write operations; default: no limit."
    )

    @model_validator(mode="after")
    def _possible(self) -> Disk:
        least = {"xfs": _XFS_BYTES, "btrfs": _BTRFS_BYTES}.get(self.file_system, 0)
        if self.size < least * self.images:
            each = f" in {self.images} images" if self.images > 1 else ""
            needed = least * self.images // 2**20
            raise ValueError(f"must have a size of at least {needed} MiB for {self.file_system}{each}, got less")
        if self.images > 1 and self.file_system != "btrfs":
            raise ValueError(f"must have file_system btrfs to be striped over several images, got {self.file_system}")
        if not self.journal and self.file_system != "ext4":
            raise ValueError(f"must have file_system ext4 to be without a journal, got {self.file_system}")
        if self.inodes is not None and not self.file_system.startswith("ext"):
            raise ValueError(f"must have file_system ext2, ext3 or ext4 to set inodes, got {self.file_system}")
        return self

    @property
    def throttled(self) -> bool:
        """True if the system file limits the speed of the disk."""
        return any((self.read_rate, self.write_rate, self.read_operations, self.write_operations))


class Link(FileModel):
    """Properties of the link from a host to the virtual network, in both directions."""

    rate: DataRate | None = Field(
        None, description="Highest data rate of the link in each direction; default: no limit."
    )
    mtu: int = Field(1500, ge=LEAST_MTU, le=MOST_MTU, description="MTU of the link: size of its largest packet. [byte]")
    delay: Duration = Field(0.0, description="Delay added to each packet, in each direction.")
    loss: Share = Field(0.0, description="Share of packets that are lost at random, in each direction.")
    offloads: bool = Field(
        True, description="Whether the link has segmentation offloads; with `false`, no packet exceeds the MTU."
    )
    checksums: bool = Field(
        True,
        description=(
            "Whether the link has checksum offloads; with `false`, the CPU computes the checksum of each packet."
        ),
    )

    @property
    def impaired(self) -> bool:
        """True if the link delays or loses packets."""
        return self.delay > 0 or self.loss > 0


class LocalHost(FileModel):
    """This machine, without limits."""

    provider: Literal["local"] = Field(description="Provider `local`: services are ordinary processes of this machine.")
    copies: Copies = Field(None, description=_COPIES)


class NamespacesHost(FileModel):
    """Part of this machine: namespaces for network, mounts and host name, and a control group for CPU, memory and
    disks.
    """

    provider: Literal["namespaces"] = Field(
        description=("Provider `namespaces`: an isolated part of this machine with its own network address and limits.")
    )
    copies: Copies = Field(None, description=_COPIES)
    cpus: float | None = Field(
        None, gt=0, description="CPU time that the host may use per second; 0.5 is half a CPU. Default: no limit."
    )
    cpu_period: PositiveDuration = Field(
        0.1,
        ge=LEAST_CPU_TIME_S,
        le=MOST_PERIOD_S,
        description="Period of the CPU limit `cpus`; a host that has used up its CPU time waits for the next period.",
    )
    cpu_shares: int | None = Field(
        None,
        ge=2,
        le=262_144,
        description="Weight of the host in the distribution of CPU time if all CPUs are busy; default: 1024.",
    )
    pinned: list[Annotated[int, Field(ge=0, le=8191)]] | None = Field(
        None,
        min_length=1,
        description="Numbers of the CPUs that the host may use; default: the CPUs of the system under test.",
    )
    timeslice: PositiveDuration | None = Field(
        None,
        ge=LEAST_SLICE_S,
        le=MOST_SLICE_S,
        description="Time that a thread may run before another thread gets the CPU; default: that of the kernel.",
    )
    memory: Size | None = Field(
        None,
        ge=LEAST_MEMORY_BYTES,
        description="Memory limit of the host, including its page cache.",
    )
    swap: Size | None = Field(
        None,
        gt=0,
        description=(
            "Swap space of this machine that the host may use in addition to `memory`; default: none, so the host does "
            "not swap."
        ),
    )
    page_cache: Literal["keep", "drop"] = Field(
        "keep",
        description=(
            "Page cache at the start of the load: `keep` leaves it unchanged, `drop` evicts the pages of the host, of "
            "the files on its disks and in its temporary folder, and of the data of its services. Pages that a program "
            "has mapped may stay."
        ),
    )
    disks: dict[Name, Disk] = Field(
        default_factory=dict, description="Disks of the host by name, created for each run."
    )
    network: Link = Field(default_factory=Link, description="Link of the host to the virtual network.")

    @model_validator(mode="after")
    def _swap_beyond_a_limit(self) -> NamespacesHost:
        if self.swap is not None and self.memory is None:
            raise ValueError("must have `memory` beside `swap`: a host without a memory limit uses the machine's swap")
        return self

    @model_validator(mode="after")
    def _enough_time(self) -> NamespacesHost:
        if self.cpus is not None and self.cpus * self.cpu_period < LEAST_CPU_TIME_S:
            least = LEAST_CPU_TIME_S / self.cpu_period
            raise ValueError(f"must have cpus of at least {least:g} with this cpu_period, got {self.cpus:g} instead")
        return self


_VARIABLE = re.compile(r"TOWTANK_[A-Za-z0-9_]+")
_VARIABLE_SCHEMA = {"type": "string", "pattern": f"^{_VARIABLE.pattern}$"}


def _variable(value: str) -> str:
    """Check the name of an environment variable that a system file names.

    The name must begin with TOWTANK_, because the value of the variable is sent to a machine in the same file.
    """
    if not _VARIABLE.fullmatch(value):
        raise ValueError(f"must be the name of a variable that begins with TOWTANK_, got {value!r} instead")
    return value


Variable = Annotated[str, AfterValidator(_variable), WithJsonSchema(_VARIABLE_SCHEMA)]


class SshHost(FileModel):
    """Machine to which Towtank copies files, and on which it starts processes, over SSH."""

    provider: Literal["ssh"] = Field(description="Provider `ssh`: another machine that Towtank reaches over SSH.")
    address: str = Field(
        min_length=1, description="Name or address of the machine, for SSH and for the services on it."
    )
    port: int = Field(22, ge=1, le=65535, description="Port of the SSH server on the machine.")
    user: str | None = Field(
        None, min_length=1, description="User name for the SSH login; default: the user that runs Towtank."
    )
    key: str | None = Field(
        None,
        min_length=1,
        description="Private key file, relative to the system file; default: the SSH agent and the default keys.",
    )
    password_from: Variable | None = Field(
        None, description="Name of the environment variable with the password for SSH; begins with `TOWTANK_`."
    )
    known_hosts: str | None = Field(
        None,
        min_length=1,
        description="File of known host keys, relative to the system file; default: `~/.ssh/known_hosts`.",
    )
    folder: str = Field(
        "/tmp", pattern="^/", description="Folder on the machine in which Towtank creates its own folder."
    )
    python: str = Field(
        "python3", min_length=1, description="Python interpreter on the machine that can run the content server."
    )


class ExistingHost(FileModel):
    """Machine whose services already run. Towtank sends requests to them, but does not start them."""

    provider: Literal["existing"] = Field(
        description="Provider `existing`: a machine that Towtank only loads and observes."
    )
    metrics: str | None = Field(
        None,
        pattern="^https?://",
        description=(
            "URL of metrics of the machine in the Prometheus text format, for example those of a node exporter."
        ),
    )


class Network(FileModel):
    """Virtual network between the hosts, and link of the load generator to this network."""

    link: Literal["bridge", "veth", "macvlan", "tun"] = Field(
        "bridge",
        description=(
            "Kind of connection between the hosts: a `bridge`, one cable between two hosts (`veth`), devices on a "
            "shared network card (`macvlan`), or a relay in user space (`tun`)."
        ),
    )
    mtu: int = Field(
        1500, ge=LEAST_MTU, le=MOST_MTU, description="MTU of the generator's link: size of its largest packet. [byte]"
    )
    rate: DataRate | None = Field(
        None, description="Highest data rate of the generator's link in each direction; default: no limit."
    )
    offloads: bool = Field(
        True,
        description="Whether the generator's link has segmentation offloads; with `false`, no packet exceeds the MTU.",
    )
    checksums: bool = Field(
        True,
        description="Whether the generator's link has checksum offloads; with `false`, the CPU computes each checksum.",
    )


class Generator(FileModel):
    """Host whose network the load generator uses."""

    host: Name | None = Field(
        None,
        description=(
            "Name of the host on this machine whose network the load generator uses; default: outside all hosts."
        ),
    )


HOST_PROVIDERS: dict[str, type[FileModel]] = {
    "local": LocalHost,
    "namespaces": NamespacesHost,
    "ssh": SshHost,
    "existing": ExistingHost,
}


def _known_provider(value: Any) -> Any:
    """Report an unknown provider of a host, together with the known providers."""
    if not isinstance(value, dict):
        return value
    provider = value.get("provider")
    if isinstance(provider, str) and provider in HOST_PROVIDERS:
        return value
    allowed = f"a provider among {', '.join(HOST_PROVIDERS)}"
    raise ValidationError.from_exception_data("host", [unknown_choice(value, "provider", allowed, HOST_PROVIDERS)])


def _tag(value: Any) -> str:
    """Return the tag that selects the model of a host. Because of its `<`, it cannot equal a key in a file."""
    provider = value.get("provider") if isinstance(value, dict) else getattr(value, "provider", None)
    return f"<{provider if isinstance(provider, str) and provider in HOST_PROVIDERS else 'local'}>"


AnyHost = Annotated[
    Annotated[LocalHost, Tag("<local>")]
    | Annotated[NamespacesHost, Tag("<namespaces>")]
    | Annotated[SshHost, Tag("<ssh>")]
    | Annotated[ExistingHost, Tag("<existing>")],
    Discriminator(_tag),
    BeforeValidator(_known_provider),
]
