"""Measures the generator's CPU time per request, compared with other load generators in the same run.

Every generator has 64 connections and no think time. Towtank runs two weighted transactions with status checks, and
records all its measurements. CPU time is that of the whole process, including its start and end.
"""

from __future__ import annotations

from typing import Any

import harness
import peers
import towtank_load

CONNECTIONS = 64
SERVERS = {"null": harness.null_server, "nginx": harness.nginx_server}


def run(*, quick: bool) -> None:
    """Measure the CPU time per request of each generator, print the ratios, and store the single results."""
    rounds, seconds = (4, 3) if quick else (6, 5)
    for server, start in SERVERS.items():
        print(f" against {server}")
        try:
            with start() as (address, _):
                _against(server, address, rounds, seconds)
        except harness.Skipped as reason:
            print(f"  skipped: {reason}")


def _against(server: str, address: str, rounds: int, seconds: int) -> None:
    names = ["towtank", *peers.available()]
    runs = harness.turns(names, rounds, lambda name: _once(name, address, seconds))
    ratios = {name: harness.ratio(runs, "cpu_us_per_request", "towtank", name) for name in names[1:]}
    for name, found in ratios.items():
        print(f"  CPU per request, towtank / {name}: {harness.shown(found)} (median of {rounds} rounds, 95 %)")
    arguments = {"server": server, "rounds": rounds, "seconds": seconds, "connections": CONNECTIONS}
    harness.keep(f"generator-cpu-{server}", arguments, runs=runs, ratios=ratios)


def _once(name: str, address: str, seconds: int) -> dict[str, Any]:
    if name == "towtank":
        done = towtank_load.drive(address, towtank_load.closed(CONNECTIONS, seconds))
        requests, spent = int(done.engine["totals"]["ok"]), done.spent
    else:
        result = peers.drive(name, peers.Case(address, CONNECTIONS, seconds))
        requests, spent = result.requests, result.spent
    return {
        "cpu_us_per_request": spent.cpu_s / requests * 1e6,
        "requests_per_s": requests / seconds,
        "requests": requests,
        "cpu_s": spent.cpu_s,
        "wall_s": spent.wall_s,
    }
