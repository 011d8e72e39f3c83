"""Serve six transactions whose response times are known: the server samples a random time, and sleeps for this time.

    python known_times.py --seed N [--lift NAME=FACTOR] --log FILE
    python known_times.py --seed N [--lift-all FACTOR] [--busy SECONDS] [--starts FILE] --port PORT

The server prints its address, serves until its standard input closes, and writes the sampled and the actual times to
FILE. With `--port`, it serves until it is terminated, and each start samples a new sequence of times. Since the server
sleeps, the response times do not depend on the load. With `--busy`, each request also needs CPU time. When it starts,
the server adds a line with the CPUs that it may use to the file of `--starts`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path

import numpy as np

MEAN_S = {"search": 0.20, "list": 0.25, "view": 0.30, "edit": 0.35, "store": 0.40, "print": 0.45}
"""Mean response time of each transaction. [s]"""
# Shape of the gamma distribution of the times; the standard deviation is a third of the mean. [1]
_SHAPE = 9.0
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
_END = b"\r\n\r\n"


class Times:
    """Random number generator of response times: independent, gamma-distributed with shape 9.

    Parameters
    ----------
    seed : int or list of int
        Seed of the random generator.
    lifts : dict of str to float
        Factors by which the mean times of transactions are multiplied; 1 for transactions that are not listed. [1]
    """

    def __init__(self, seed: int | list[int], lifts: dict[str, float]) -> None:
        self._rng = np.random.default_rng(seed)
        self._scale_s = {name: mean * lifts.get(name, 1.0) / _SHAPE for name, mean in MEAN_S.items()}

    def draw(self, name: str) -> float:
        """Sample the next response time of a transaction. [s]"""
        return float(self._rng.gamma(_SHAPE, self._scale_s[name]))


class _Connection(asyncio.Protocol):
    """HTTP connection with at most one request at a time."""

    def __init__(self, times: Times, log: list[tuple[str, float, float]], busy_s: float) -> None:
        self._times, self._log, self._busy_s, self._held = times, log, busy_s, b""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        while _END in self._held:
            head, _, self._held = self._held.partition(_END)
            name = head.split(b" ", 2)[1].decode().strip("/")
            drawn_s, started = self._times.draw(name), self._loop.time()
            self._loop.call_at(started + drawn_s, self._answer, name, drawn_s, started)

    def _answer(self, name: str, drawn_s: float, started: float) -> None:
        assert self._transport is not None
        until_s = time.thread_time() + self._busy_s
        while time.thread_time() < until_s:
            pass
        self._transport.write(_ANSWER)
        self._log.append((name, drawn_s, self._loop.time() - started))


async def serve(times: Times, log: list[tuple[str, float, float]], port: int | None, busy_s: float) -> None:
    """Serve on loopback: on a free port until standard input closes, or on the given port until terminated."""
    loop, closed = asyncio.get_running_loop(), asyncio.Event()
    server = await loop.create_server(lambda: _Connection(times, log, busy_s), "127.0.0.1", port or 0)
    print("{}:{}".format(*server.sockets[0].getsockname()), flush=True)
    if port is None:
        loop.add_reader(sys.stdin, closed.set)
    await closed.wait()
    server.close()


def kept(log: Path) -> float:
    """Return the ratio of the sum of actual times to the sum of sampled times, the largest of all transactions. [1]"""
    names, drawn, held = (np.load(log)[key] for key in ("names", "drawn_s", "kept_s"))
    return max(float(held[names == name].sum() / drawn[names == name].sum()) for name in MEAN_S)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--lift", default="", help="NAME=FACTOR: transaction whose mean time is multiplied")
    parser.add_argument("--lift-all", type=float, default=1.0, help="factor of the mean times of all transactions")
    parser.add_argument("--busy", type=float, default=0.0, help="CPU time of each request in seconds")
    parser.add_argument("--starts", type=Path, help="file that gets a line with the server's CPUs at each start")
    parser.add_argument("--port", type=int, help="port; other times are drawn at each start")
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.port is None else [arguments.seed, time.time_ns()]
    if arguments.starts is not None:
        with arguments.starts.open("a") as starts:
            starts.write(" ".join(map(str, sorted(os.sched_getaffinity(0)))) + "\n")
    lifts = dict.fromkeys(MEAN_S, arguments.lift_all)
    name, _, factor = arguments.lift.partition("=")
    if name:
        lifts[name] *= float(factor)
    log: list[tuple[str, float, float]] = []
    asyncio.run(serve(Times(seed, lifts), log, arguments.port, arguments.busy))
    if arguments.log is None:
        return
    names, drawn_s, kept_s = zip(*log, strict=True)
    np.savez(arguments.log, names=names, drawn_s=drawn_s, kept_s=kept_s)


if __name__ == "__main__":
    main()
