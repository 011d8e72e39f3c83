"""Manages the resources that all hosts of provider `namespaces` share, such as the janitor and the virtual network.

The virtual network is in a network namespace of its own. It consists of a bridge, or of a network card that all hosts
share. While it exists, this machine has an additional network device, by which the load generator reaches the hosts.
"""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

from towtank.errors import TargetError
from towtank.system.environment import passed_on
from towtank.system.host_model import Link, Network
from towtank.system.hosts import cleaning
from towtank.system.hosts.links import CHECKSUMS, OFFLOADS, disciplines, turn_off
from towtank.system.hosts.namespaces import Namespaces, within_network
from towtank.system.hosts.prefix import new_prefix
from towtank.system.identity import note_identity

# Address range of the virtual network, which RFC 2544 reserves for benchmarks, so that no real network uses it.
_RANGE = ipaddress.ip_network("198.18.0.0/15")
# Host numbers, in the subnet of the virtual network, of this machine and of the first host. [1]
_OWN, _FIRST = 1, 10
DEVICE = "eth0"
"""Name of the network device in the network namespace of each host."""
# Name of the device by which Towtank reaches a host whose other device is a cable to another host.
_CONDUCTOR_DEVICE = "conductor"
_COMMAND_WITHIN_S = 30.0
_JANITOR_WITHIN_S = 40.0
_BRIDGE = """
ip link set lo up
ip link add name bridge type bridge forward_delay 0 mcast_snooping 0
ip link set bridge mtu "$1" up
"""
# Script that creates the network card to be shared, as one device of a veth pair. The second device is on, so that the
# card has a carrier, but is not connected: packets sent to it are lost.
_CARD = """
ip link set lo up
ip link add name card mtu "$1" type veth peer name nobody mtu "$1"
ip link set nobody up
ip link set card up
"""


class Site:
    """Resources that all hosts of one system share.

    `mtu` is the size of the largest packet on all links [byte]; `generator` is the host that runs the load generator,
    which by default runs outside all hosts.
    """

    def __init__(self, names: list[str], network: Network, mtu: int, generator: str | None = None) -> None:
        self.names, self._network, self._mtu, self._generator = names, network, mtu, generator
        self.prefix = new_prefix()
        self._janitor: subprocess.Popen[bytes] | None = None
        self._switch = Namespaces(("net",), self.environment)
        self._subnet = _RANGE
        self._users = 0
        # First of the two hosts that `join` connects, until the second one is known: name of the host, id of a process
        # in its network namespace, and properties of its link.
        self._loose: tuple[str, int, Link] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of all processes on the hosts."""
        environment = {**passed_on(), cleaning.MARK: self.prefix}
        if (
            "PYTHONPATH" in environment
        ):  # The path is made absolute, because processes of hosts start in another folder.
            paths = environment["PYTHONPATH"].split(os.pathsep)
            environment["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in paths if path)
        return environment

    @property
    def folder(self) -> Path:
        """Folder for temporary files of the hosts."""
        return Path(tempfile.gettempdir()) / self.prefix

    @property
    def images(self) -> Path:
        """Folder for disk images. It is on a disk, because images may be too large for memory."""
        return cleaning.IMAGES / self.prefix

    def address(self, name: str) -> str:
        return str(self._subnet[_FIRST + self.names.index(name)])

    @property
    def link(self) -> str:
        return self._network.link

    @property
    def own_address(self) -> str:
        return str(self._subnet[_OWN])

    @property
    def generator_address(self) -> str:
        return self.own_address if self._generator is None else self.address(self._generator)

    def open(self) -> None:
        """Create the virtual network at the first call. Each host calls this method once, and `close` at its end.

        Raises
        ------
        TargetError
            If a folder or the network cannot be created.
        """
        self._users += 1
        if self._users > 1:
            return
        self.watch()
        try:
            # Other users must not enter this folder, because it contains temporary folders to which all users may
            # write.
            self.folder.mkdir(mode=0o700)
            self.images.mkdir(mode=0o700)
        except OSError as error:
            raise TargetError(f"{error.filename} cannot be made: {error.strerror}") from error
        (self.folder / cleaning.OWNER).write_text(note_identity())
        self._choose_subnet()
        self._write_names()
        script = _CARD if self.link == "macvlan" else _BRIDGE
        self._switch.start(script, str(max(self._mtu, self._network.mtu)))
        self._connect_generator()

    def watch(self) -> None:
        """Start the janitor, before anything is created that the janitor must remove."""
        if self._janitor is not None:
            return
        self._janitor = subprocess.Popen(
            [sys.executable, "-m", cleaning.JANITOR, self.prefix],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in self.environment.items() if name != cleaning.MARK},
            start_new_session=True,
        )

    def _choose_subnet(self) -> None:
        """Choose a random subnet of the address range in which this machine has no address."""
        taken = [
            ipaddress.ip_network(f"{address['local']}/24", strict=False)
            for device in json.loads(self.run(["ip", "-json", "-4", "address"]))
            for address in device.get("addr_info", [])
            if "local" in address
        ]
        free = [subnet for subnet in _RANGE.subnets(new_prefix=24) if subnet not in taken]
        self._subnet = secrets.choice(free)

    def _write_names(self) -> None:
        lines = ["127.0.0.1 localhost", f"{self.generator_address} generator"]
        lines += [f"{self.address(name)} {name}" for name in self.names]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")

    def _connect_generator(self) -> None:
        """Connect this machine, with the load generator and Towtank itself, to the virtual network."""
        if self.link == "macvlan":
            self.share_card(os.getpid(), self.prefix, self.own_address, self._network.mtu)
            return
        link = Link.model_construct(**{key: value for key, value in self._network if key != "link"})
        self.connect("generator", os.getpid(), self.prefix, self.own_address, link)

    def connect(self, port: str, pid: int, device: str, address: str, link: Link, *, netem: bool = False) -> None:
        """Connect the bridge to the network namespace of a process by a veth pair.

        `port` is the name of the device at the bridge; `device` and `address` are those in the network namespace. Delay
        and loss of the link are ignored unless the kernel applies them (`netem`).
        """
        size = f"mtu {link.mtu}"
        self._switch_ip([f"link add name {port} {size} type veth peer name {device} {size} netns {pid}"])
        self.plug(port)
        self.set_address(pid, device, address)
        self.shape(pid, port, device, link, netem=netem)

    def share_card(self, pid: int, device: str, address: str, mtu: int) -> None:
        """Create a macvlan device on the shared network card, and move it to the network namespace of a process."""
        self._switch_ip([f"link add link card name {device} mtu {mtu} netns {pid} type macvlan mode bridge"])
        self.set_address(pid, device, address)

    def connect_conductor(self, port: str, pid: int) -> None:
        """Connect the bridge to the network namespace of a process by a veth pair that only Towtank uses.

        The device in the namespace gets no address.
        """
        device = _CONDUCTOR_DEVICE
        self._switch_ip([f"link add name {port} type veth peer name {device} netns {pid}"])
        self.plug(port)
        lines = [f"link set {device} addrgenmode none", f"link set {device} up"]
        self.run(in_network(pid, ["ip", "-batch", "-"]), "\n".join(lines))

    def join(self, name: str, pid: int, link: Link) -> None:
        """Connect two hosts directly by a veth pair. The first call stores one host, the second call connects both. The
        properties of the link are for the direction from this host.
        """
        if self._loose is None:
            self._loose = (name, pid, link)
            return
        first, self._loose = self._loose, None
        ends = [first, (name, pid, link)]
        (_, near_pid, near), (_, far_pid, far) = ends
        self._switch_ip(
            [
                f"link add name {DEVICE} mtu {near.mtu} netns {near_pid} type veth "
                f"peer name {DEVICE} mtu {far.mtu} netns {far_pid}"
            ]
        )
        for end_name, end_pid, end in ends:
            self.set_address(end_pid, DEVICE, self.address(end_name))
            # Packets to Towtank's address use the separate device; all other packets use the link to the other host.
            way = f"route add {self.own_address} dev {_CONDUCTOR_DEVICE} src {self.address(end_name)}"
            self.run(in_network(end_pid, ["ip", "-batch", "-"]), way)
            self._without_offloads(end_pid, DEVICE, end)

    def plug(self, port: str) -> None:
        self._switch_ip([f"link set {port} master bridge up"])

    def _switch_ip(self, lines: list[str]) -> None:
        self.run(self._switch.enter(["ip", "-batch", "-"]), "\n".join(lines))

    @property
    def switch_pid(self) -> int:
        """Id of a process in the network namespace of the bridge."""
        return self._switch.pid

    def set_address(self, pid: int, device: str, address: str) -> None:
        """Set the address of a device in the network namespace of a process, and switch on the device."""
        lines = [
            f"link set {device} addrgenmode none",
            f"address add {address}/24 dev {device}",
            f"link set {device} up",
        ]
        self.run(in_network(pid, ["ip", "-batch", "-"]), "\n".join(lines))

    def shape(self, pid: int, port: str, device: str, link: Link, *, netem: bool) -> None:
        """Apply rate, delay, loss and offloads of a link to the devices at both of its ends."""
        for end_pid, end in ((self._switch.pid, port), (pid, device)):
            if lines := disciplines(end, link, netem=netem):
                self.run(in_network(end_pid, ["tc", "-batch", "-"]), "\n".join(lines))
        for end_pid, end in ((self._switch.pid, port), (pid, device)):
            self._without_offloads(end_pid, end, link)

    def _without_offloads(self, pid: int, device: str, link: Link) -> None:
        """Turn off the offloads of a device that the system file disables for its link."""
        try:
            if not link.offloads:
                within_network(pid, lambda: turn_off(device, OFFLOADS))
            if not link.checksums:
                within_network(pid, lambda: turn_off(device, CHECKSUMS))
        except OSError as error:
            raise TargetError(f"the offloads of {device} cannot be turned off: {error.strerror}") from error

    def run(self, command: list[str], text: str = "", limit_s: float = _COMMAND_WITHIN_S) -> str:
        """Run a command that may create kernel objects. The janitor waits for the end of the command.

        Raises
        ------
        TargetError
            If the command fails; the message contains the output of the command.
        """
        return run_with(self.lifeline(), command, text, limit_s)

    def lifeline(self) -> int:
        """Return the descriptor of the pipe to the janitor, which begins to clean up when all processes have closed
        it.
        """
        assert self._janitor is not None
        assert self._janitor.stdin is not None
        return self._janitor.stdin.fileno()

    def close(self) -> None:
        """Release the virtual network for one host. The network is removed when the last host has released it."""
        self._users = max(0, self._users - 1)
        if self._users == 0:
            self.finish()

    def finish(self) -> None:
        """Remove everything that the hosts share; do nothing if it is already removed.

        Raises
        ------
        TargetError
            If something could not be removed.
        """
        janitor = self._janitor
        if janitor is None:
            return
        self._janitor = None
        self._switch.end()
        assert janitor.stdin is not None
        janitor.stdin.close()
        try:
            done = janitor.wait(_JANITOR_WITHIN_S) == 0
        except subprocess.TimeoutExpired:
            janitor.kill()
            done = janitor.wait() == 0
        left = [] if done else cleaning.clean(self.prefix)
        if left:
            raise TargetError(f"{self.prefix}: left behind: {'; '.join(left)}", hint="run `towtank doctor --clean`")


def in_network(pid: int, command: list[str]) -> list[str]:
    """Return a command that runs another command in the network namespace of a process."""
    return ["nsenter", f"--net=/proc/{pid}/ns/net", "--", *command]


def run_with(lifeline: int, command: list[str], text: str, limit_s: float) -> str:
    """Run a command that inherits the file descriptor `lifeline`, and return its output."""
    try:
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=limit_s,
            pass_fds=(lifeline,),
        )
    except FileNotFoundError as error:
        raise TargetError(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise TargetError(f"`{' '.join(command)}` took longer than {limit_s:g} s") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip() or f"status {done.returncode}"
        raise TargetError(f"`{' '.join(command)}` failed: {said}")
    return done.stdout
