"""Network links between hosts: `tc` commands, and a relay of packets on a simulated clock."""

import os
import random
from collections.abc import Iterator

import pytest

from towtank.system.host_model import Link
from towtank.system.hosts.links import bucket, disciplines
from towtank.system.hosts.relay import Direction

pytestmark = pytest.mark.waits


def link(**keys: object) -> Link:
    return Link.model_validate(keys)


def test_a_bucket_holds_some_milliseconds_and_two_packets_at_least() -> None:
    assert bucket(125e6, 1500) == "tbf rate 1000000000bit burst 500000b limit 6750000b"
    assert bucket(12_500, 1500) == f"tbf rate 100000bit burst {2 * 1514}b limit {12 * 1514}b"


def test_disciplines_of_a_link() -> None:
    assert disciplines("eth0", link(), netem=True) == []
    assert disciplines("eth0", link(rate="100 Mbit/s"), netem=False) == [
        "qdisc add dev eth0 root handle 1: tbf rate 100000000bit burst 50000b limit 675000b"
    ]
    both = disciplines("eth0", link(rate="100 Mbit/s", delay="5 ms", loss="0.5 %"), netem=True)
    assert both[0] == "qdisc add dev eth0 root handle 1: netem limit 100000 delay 5000us loss 0.5%"
    assert both[1].startswith("qdisc add dev eth0 parent 1: handle 2: tbf rate 100000000bit ")
    relayed = disciplines("eth0", link(rate="100 Mbit/s", delay="5 ms"), netem=False)
    assert relayed[0].startswith("qdisc add dev eth0 root handle 1: tbf")


@pytest.fixture
def pipes() -> Iterator[tuple[int, int, int, int]]:
    """Both file descriptors of a pipe for incoming packets, and both of a pipe for outgoing packets."""
    come, put = os.pipe2(os.O_NONBLOCK)
    get, go = os.pipe2(os.O_NONBLOCK)
    yield come, put, get, go
    for end in (come, put, get, go):
        os.close(end)


def read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except BlockingIOError:
        return b""


def test_packets_are_handed_over_after_their_delay_and_in_order(pipes: tuple[int, int, int, int]) -> None:
    come, put, get, go = pipes
    way = Direction(come, go, 0.005, 0.0, random.Random(1))
    os.write(put, b"one")
    way.take(10.0)
    os.write(put, b"two")
    way.take(10.001)
    assert way.next_s() == 10.005
    way.hand_over(10.0049)
    assert read(get) == b""
    way.hand_over(10.005)
    assert read(get) == b"one"
    way.hand_over(10.1)
    assert read(get) == b"two"
    assert way.next_s() == float("inf")


def test_the_same_packets_are_lost_with_the_same_seed(pipes: tuple[int, int, int, int]) -> None:
    come, put, _, go = pipes

    def lost(seed: int) -> list[bool]:
        way = Direction(come, go, 1.0, 0.3, random.Random(seed))
        fates = []
        for _ in range(1000):
            os.write(put, b"packet")
            before = len(way.under_way)
            way.take(0.0)
            fates.append(len(way.under_way) == before)
        return fates

    first = lost(1)
    assert first == lost(1) != lost(2)
    # With a loss probability of 0.3, 300 of 1000 packets are lost on average, with a standard deviation of 14.5. A
    # fixed seed makes the number reproducible.
    assert 240 < sum(first) < 360


def test_all_are_lost_or_none(pipes: tuple[int, int, int, int]) -> None:
    come, put, get, go = pipes
    for loss, arrives in ((1.0, b""), (0.0, b"packet")):
        way = Direction(come, go, 0.0, loss, random.Random(1))
        os.write(put, b"packet")
        way.take(0.0)
        way.hand_over(0.0)
        assert read(get) == arrives
