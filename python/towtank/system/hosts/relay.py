"""Forwards packets between two networks with delay and loss, for kernels without `netem`.

The relay is a separate program with a `tap` device in each network, which connects both networks to one Ethernet. It
forwards each packet after the delay, for about 10 µs of CPU time per packet. It ends when its standard input closes.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import select
import struct
import sys
import time
from collections import deque
from dataclasses import dataclass, field

from towtank.system.hosts.namespaces import enter_network

_TUNSETIFF = 0x400454CA
_TAP_WITHOUT_HEADER = 0x0002 | 0x1000
_LARGEST = 65_536 + 18
# Largest number of packets that are read in one direction before the other direction continues. [1]
_AT_ONCE = 64
# Largest number of packets in transit in one direction. It corresponds to about one second of packets of full size at
# 10 Gbit/s. Further packets are dropped, as by a real device. [1]
_QUEUE = 100_000


def open_tap(pid: int, device: str) -> int:
    """Create a tap device in the network namespace of a process, and return its file descriptor.

    The calling thread stays in this namespace.
    """
    enter_network(pid)
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", device.encode(), _TAP_WITHOUT_HEADER))
    return descriptor


@dataclass
class Direction:
    """Packets in transit in one direction of the relay.

    All packets have the same delay, so that their order does not change.
    """

    source: int
    target: int
    delay_s: float
    loss: float
    dice: random.Random
    under_way: deque[tuple[float, bytes]] = field(default_factory=deque)

    def take(self, now_s: float) -> None:
        """Read the packets that have arrived, drop some of them at random, and queue the others."""
        for _ in range(_AT_ONCE):
            try:
                packet = os.read(self.source, _LARGEST)
            except BlockingIOError:
                return
            lost = self.loss > 0 and self.dice.random() < self.loss
            if not lost and len(self.under_way) < _QUEUE:
                self.under_way.append((now_s + self.delay_s, packet))

    def hand_over(self, now_s: float) -> None:
        """Forward the packets whose delay has passed."""
        under_way = self.under_way
        while under_way and under_way[0][0] <= now_s:
            _, packet = under_way.popleft()
            try:
                os.write(self.target, packet)
            except OSError:  # If the device is off or its queue is full, the packet is lost.
                continue

    def next_s(self) -> float:
        """Return the time at which the next packet must be forwarded; infinite if no packet is in transit. [s]"""
        return self.under_way[0][0] if self.under_way else float("inf")


def carry(one: int, other: int, delay_s: float, loss: float, seed: int) -> None:
    """Forward packets in both directions between two tap devices until standard input closes, each with the delay [s],
    and without the fraction `loss` in [0, 1]. `seed` determines the lost packets.
    """
    directions = [
        Direction(one, other, delay_s, loss, random.Random(f"{seed} there")),
        Direction(other, one, delay_s, loss, random.Random(f"{seed} back")),
    ]
    while True:
        due = min(direction.next_s() for direction in directions)
        wait = None if due == float("inf") else max(0.0, due - time.monotonic())
        ready, _, _ = select.select([one, other, sys.stdin], [], [], wait)
        now = time.monotonic()
        for direction in directions:
            if direction.source in ready:
                direction.take(now)
            direction.hand_over(now)
        if sys.stdin in ready:
            return


def main() -> None:
    """Create the two tap devices that the JSON argument describes, print `ready`, and forward packets."""
    wanted = json.loads(sys.argv[1])
    one, other = (open_tap(end["pid"], end["device"]) for end in wanted["ends"])
    print("ready", flush=True)
    carry(one, other, wanted["delay_s"], wanted["loss"], wanted["seed"])


if __name__ == "__main__":
    main()
