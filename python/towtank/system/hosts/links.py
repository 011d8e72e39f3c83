"""Sets rate, delay, loss and offloads of the links of the virtual network."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from collections.abc import Mapping

from towtank.system.host_model import Link

_SIOCETHTOOL = 0x8946
# Segmentation and checksum offloads: pairs of ioctl commands that set and get a feature of a network device,
# `ETHTOOL_S..` and `ETHTOOL_G..` in linux/ethtool.h.
OFFLOADS = {"tso": (0x1F, 0x1E), "gso": (0x24, 0x23), "gro": (0x2C, 0x2B)}
CHECKSUMS = {"transmit": (0x17, 0x16), "receive": (0x15, 0x14)}
_NAME_BYTES = 16
# Size of the token bucket of a rate limit, as time at the full rate. A timer that is late by less than this time does
# not reduce the rate. [s]
_BURST_S = 0.004
# Longest wait of a packet in the queue of a link. Packets beyond it are dropped, as in a switch with a small buffer.
# [s]
_QUEUE_S = 0.05
_PACKETS = 10


def bucket(rate: float, mtu: int) -> str:
    """Return a `tbf` queueing discipline for a rate [byte/s], in the syntax of `tc`."""
    burst = max(round(rate * _BURST_S), 2 * (mtu + 14))
    limit = burst + max(round(rate * _QUEUE_S), _PACKETS * (mtu + 14))
    return f"tbf rate {round(rate * 8)}bit burst {burst}b limit {limit}b"


def disciplines(device: str, link: Link, *, netem: bool) -> list[str]:
    """Return lines for `tc -batch` that apply rate, delay and loss of a link to a device.

    `netem` is False if a relay program applies delay and loss, so that only the rate is set here.
    """
    lines = []
    root = "root handle 1:"
    if netem and link.impaired:
        delay = f" delay {round(link.delay * 1e6)}us" if link.delay else ""
        loss = f" loss {100 * link.loss:.6g}%" if link.loss else ""
        lines.append(f"qdisc add dev {device} {root} netem limit 100000{delay}{loss}")
        root = "parent 1: handle 2:"
    if link.rate is not None:
        lines.append(f"qdisc add dev {device} {root} {bucket(link.rate, link.mtu)}")
    return lines


def turn_off(device: str, features: Mapping[str, tuple[int, int]]) -> None:
    """Turn the `OFFLOADS` or the `CHECKSUMS` of a device in this thread's network namespace off.

    Without checksum offloads, the kernel calculates the checksums.

    Raises
    ------
    OSError
        If the device does not support this.
    """
    for setter, _ in features.values():
        _ethtool(device, setter, 0)


def states(device: str, features: Mapping[str, tuple[int, int]]) -> dict[str, bool]:
    """Return the state of each feature of a device in this thread's network namespace, by name; True means on."""
    return {name: bool(_ethtool(device, getter, 0)) for name, (_, getter) in features.items()}


def _ethtool(device: str, command: int, value: int) -> int:
    """Execute an ethtool command by ioctl, and return the value that the kernel reports."""
    request = ctypes.create_string_buffer(struct.pack("II", command, value))
    interface = struct.pack(f"{_NAME_BYTES}sP", device.encode(), ctypes.addressof(request)).ljust(40, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        fcntl.ioctl(channel, _SIOCETHTOOL, interface)
    return int(struct.unpack("II", request.raw[:8])[1])
