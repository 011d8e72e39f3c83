"""Measures HTTP/2 requests per second of one core, compared with h2load; without TLS and upgrade (prior knowledge).

Both generators use the same numbers of connections and streams. The ratio is h2load's CPU time per request divided by
Towtank's CPU time per request; above 1, Towtank is faster. Towtank has one user for each stream, runs two weighted
transactions with status checks, and records all its measurements, whereas h2load loads one page. CPU time is that of
the whole process, including its start and end.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import towtank_load

REFERENCE = "h2load"
HINT = "apt-get install nghttp2-client"


@dataclass(frozen=True)
class Shape:
    """Number of connections, and number of concurrent requests on each connection."""

    connections: int
    streams: int

    def __str__(self) -> str:
        return f"{self.connections}x{self.streams}"


SHAPES = (Shape(1, 100), Shape(64, 1), Shape(8, 32))


@contextmanager
def null_server() -> Iterator[tuple[str, int]]:
    with harness.null_server("--http2") as server:
        yield server


@contextmanager
def nginx_server() -> Iterator[tuple[str, int]]:
    with harness.nginx_server(listen=" http2") as server:
        yield server


SERVERS: dict[str, Callable[[], AbstractContextManager[tuple[str, int]]]] = {
    "null": null_server,
    "nginx": nginx_server,
}


def run(*, quick: bool) -> None:
    """Measure the CPU time per request with Towtank and h2load, print the ratios, and store the single results.

    Raises
    ------
    Skipped
        If h2load is not installed.
    """
    if harness.program(REFERENCE) is None:
        raise harness.Skipped(f"{REFERENCE} is not installed ({HINT})")
    rounds, seconds = (4, 3) if quick else (6, 5)
    for server, start in SERVERS.items():
        try:
            with start() as (address, _):
                for shape in SHAPES:
                    print(f" against {server}, {shape.connections} connections, {shape.streams} streams each")
                    _against(server, address, shape, rounds, seconds)
        except harness.Skipped as reason:
            print(f"  skipped: {reason}")


def _against(server: str, address: str, shape: Shape, rounds: int, seconds: int) -> None:
    generators = {"towtank": _towtank, REFERENCE: _h2load}
    runs = harness.turns(list(generators), rounds, lambda name: generators[name](address, shape, seconds))
    found = harness.ratio(runs, "cpu_us_per_request", REFERENCE, "towtank")
    print(f"  requests/s per core, towtank / {REFERENCE}: {harness.shown(found)} (median of {rounds} rounds, 95 %)")
    arguments = {"server": server, "shape": str(shape), "rounds": rounds, "seconds": seconds}
    harness.keep(f"http2-{server}-{shape}", arguments, runs=runs, ratios={REFERENCE: found})


def _towtank(address: str, shape: Shape, seconds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as name:
        folder = Path(name)
        load = towtank_load.closed(shape.connections * shape.streams, seconds)
        document = towtank_load.plan(address, load, folder / "engine")
        document["targets"][0]["http"] = "2"
        document["connections"] = {"mode": "pool", "size": shape.connections, "streams": shape.streams}
        done = towtank_load.drive_plan(document, folder)
    return _figures(done.spent, int(done.engine["totals"]["ok"]), seconds)


def _h2load(address: str, shape: Shape, seconds: int) -> dict[str, Any]:
    options = ["-t", "1", "-c", str(shape.connections), "-m", str(shape.streams), "-D", str(seconds)]
    spent = harness.spend([str(harness.program(REFERENCE)), *options, f"http://{address}/first"])
    return _figures(spent, succeeded(spent.output), seconds)


def succeeded(output: str) -> int:
    """Return the number of answered requests that h2load reports.

    Raises
    ------
    SystemExit
        If the output lacks this number, or if requests failed.
    """
    found = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", output)
    if found is None or any(int(count) for count in found.groups()[1:]):
        raise SystemExit(f"error: requests of {REFERENCE} failed, or their count is missing:\n{output[-2000:]}")
    return int(found[1])


def _figures(spent: harness.Spent, requests: int, seconds: int) -> dict[str, Any]:
    return {
        "cpu_us_per_request": spent.cpu_s / requests * 1e6,
        "requests_per_s": requests / seconds,
        "requests": requests,
        "cpu_s": spent.cpu_s,
        "wall_s": spent.wall_s,
    }
