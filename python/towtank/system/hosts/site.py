"""What all hosts of provider `namespaces` of one system share: a prefix, a folder, a janitor, and a virtual network.

The network is a bridge in a network namespace of its own. This machine has one device more while it is up, the link of
the load generator, and nothing else of its network is changed.
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
from towtank.system.host_model import Link, Network
from towtank.system.hosts import cleaning
from towtank.system.hosts.links import disciplines, set_offloads
from towtank.system.hosts.namespaces import Namespaces, within_network
from towtank.system.identity import identity

# The range that RFC 2544 sets aside for benchmarks, so that it is nobody's network.
_RANGE = ipaddress.ip_network("198.18.0.0/15")
_GENERATOR, _FIRST = 1, 10
HOSTS_AT_MOST = 240
_COMMAND_WITHIN_S = 30.0
_JANITOR_WITHIN_S = 40.0
_BRIDGE = """
ip link set lo up
ip link add name bridge type bridge forward_delay 0 mcast_snooping 0
ip link set bridge mtu "$1" up
"""


class Site:
    """The common ground of the hosts of one system.

    Parameters
    ----------
    names : list of str
        Names of the hosts.
    network : Network
        The generator's link.
    mtu : int
        Largest packet of all links. [byte]
    """

    def __init__(self, names: list[str], network: Network, mtu: int) -> None:
        self.names, self._network, self._mtu = names, network, mtu
        self.prefix = f"towtank-{secrets.token_hex(3)}"
        self._janitor: subprocess.Popen[bytes] | None = None
        self._switch = Namespaces(("net",), self.environment)
        self._subnet = _RANGE
        self._users = 0

    @property
    def environment(self) -> dict[str, str]:
        """Environment of all that belongs to it."""
        environment = {**os.environ, cleaning.MARK: self.prefix}
        if "PYTHONPATH" in environment:  # processes of hosts start in another folder
            paths = environment["PYTHONPATH"].split(os.pathsep)
            environment["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in paths if path)
        return environment

    @property
    def folder(self) -> Path:
        """Folder of this time only."""
        return Path(tempfile.gettempdir()) / self.prefix

    @property
    def images(self) -> Path:
        """Folder for disk images, on a disk where there is one."""
        return cleaning.IMAGES / self.prefix

    def address(self, name: str) -> str:
        """Address of a host."""
        return str(self._subnet[_FIRST + self.names.index(name)])

    @property
    def generator_address(self) -> str:
        """Address of this machine in the network."""
        return str(self._subnet[_GENERATOR])

    def open(self) -> None:
        """Make it, once, for the first host that needs it; each has to `close` it.

        Raises
        ------
        TargetError
            If the kernel refuses.
        """
        self._users += 1
        if self._users > 1:
            return
        self.watch()
        self.folder.mkdir(mode=0o755)
        (self.folder / cleaning.OWNER).write_text(" ".join(map(str, identity(os.getpid()) or ())))
        self.images.mkdir(mode=0o755)
        self._choose_subnet()
        self._write_names()
        self._switch.start(_BRIDGE, str(max(self._mtu, self._network.mtu)))
        self._connect_generator()

    def watch(self) -> None:
        """Start the janitor, before anything is made: whatever happens from here on is cleaned up."""
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
        """Take a part of the range that no address of this machine is in."""
        taken = [
            ipaddress.ip_network(f"{one['local']}/24", strict=False)
            for device in json.loads(self.run(["ip", "-json", "-4", "address"]))
            for one in device.get("addr_info", [])
            if "local" in one
        ]
        free = [one for one in _RANGE.subnets(new_prefix=24) if one not in taken]
        self._subnet = secrets.choice(free)

    def _write_names(self) -> None:
        lines = ["127.0.0.1 localhost", f"{self.generator_address} generator"]
        lines += [f"{self.address(name)} {name}" for name in self.names]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")

    def _connect_generator(self) -> None:
        link = Link.model_construct(**dict(self._network))
        self.connect("generator", os.getpid(), self.prefix, self.generator_address, link)

    def connect(self, port: str, pid: int, device: str, address: str, link: Link, *, netem: bool = False) -> None:
        """Lay a cable from the bridge to the network of a process.

        Parameters
        ----------
        port : str
            Name of the end at the bridge.
        pid : int
            A process in the network of the other end.
        device, address : str
            Name and address of that end.
        link : Link
            How it is; delay and loss are looked at with `netem` only.
        netem : bool
            Whether the kernel delays and loses packets.
        """
        size = f"mtu {link.mtu}"
        self._switch_ip([f"link add name {port} {size} type veth peer name {device} {size} netns {pid}"])
        self.plug(port)
        self.set_address(pid, device, address)
        self.shape(pid, port, device, link, netem=netem)

    def plug(self, port: str) -> None:
        """Put an end that is in the switch already into the bridge."""
        self._switch_ip([f"link set {port} master bridge up"])

    def _switch_ip(self, lines: list[str]) -> None:
        self.run(self._switch.enter(["ip", "-batch", "-"]), "\n".join(lines))

    @property
    def switch_pid(self) -> int:
        """A process in the network of the bridge."""
        return self._switch.pid

    def set_address(self, pid: int, device: str, address: str) -> None:
        """Give a device in the network of a process its address, and take it up."""
        lines = [
            f"link set {device} addrgenmode none",
            f"address add {address}/24 dev {device}",
            f"link set {device} up",
        ]
        self.run(in_network(pid, ["ip", "-batch", "-"]), "\n".join(lines))

    def shape(self, pid: int, port: str, device: str, link: Link, *, netem: bool) -> None:
        """Set rate, delay, loss and offloads at both ends."""
        for end_pid, end in ((self._switch.pid, port), (pid, device)):
            if lines := disciplines(end, link, netem=netem):
                self.run(in_network(end_pid, ["tc", "-batch", "-"]), "\n".join(lines))
        if not link.offloads:
            self._without_offloads(pid, port, device)

    def _without_offloads(self, pid: int, port: str, device: str) -> None:
        try:
            within_network(self._switch.pid, lambda: set_offloads(port, on=False))
            within_network(pid, lambda: set_offloads(device, on=False))
        except OSError as error:
            raise TargetError(f"the offloads of {device} cannot be turned off: {error.strerror}") from error

    def run(self, command: list[str], text: str = "", limit_s: float = _COMMAND_WITHIN_S) -> str:
        """Run a command that may change the kernel; the janitor waits for its end.

        Raises
        ------
        TargetError
            If it fails; with its last words.
        """
        return run_with(self.lifeline(), command, text, limit_s)

    def lifeline(self) -> int:
        """Descriptor of the pipe that the janitor watches."""
        assert self._janitor is not None
        assert self._janitor.stdin is not None
        return self._janitor.stdin.fileno()

    def close(self) -> None:
        """Let go of it for one host; with the last one everything of it is removed."""
        self._users = max(0, self._users - 1)
        if self._users == 0:
            self.finish()

    def finish(self) -> None:
        """Remove everything of it; does nothing when that is done already.

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
            raise TargetError(f"{self.prefix}: left behind: {'; '.join(left)}", hint="`towtank doctor --clean`")


def in_network(pid: int, command: list[str]) -> list[str]:
    """A command in the network of a process, with the files of this one."""
    return ["nsenter", f"--net=/proc/{pid}/ns/net", "--", *command]


def run_with(lifeline: int, command: list[str], text: str, limit_s: float) -> str:
    """Run a command that holds a descriptor while it runs."""
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
