"""Measures loads with up to ten million users on one machine, with a connection per user or with shared connections."""

from __future__ import annotations

import json
import math
import re
import resource
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import towtank_load

from towtank.analysis.generator import most_connections
from towtank.analysis.measurement import Measurement
from towtank.results import segments

POOL = 1_000


@dataclass(frozen=True)
class Crowd:
    """Load of a bench run.

    Attributes
    ----------
    users : int
        Number of users N. [1]
    think_s : float
        Constant think time Z. [s]
    own : bool
        True if each user has its own connection, opened at the user's first request; otherwise users share a pool of
        `POOL` connections.
    steady_s : float
        Length of the measurement. [s]
    """

    users: int
    think_s: float
    own: bool
    steady_s: float

    @property
    def name(self) -> str:
        """Text that describes the load in messages."""
        how = "a connection each" if self.own else f"a pool of {POOL:,}"
        return f"{self.users:,} users, {how}, think time {self.think_s:g} s"

    @property
    def arrive_s(self) -> float:
        """Time during which the users start at a constant rate. [s]"""
        return max(1.0, self.users / _STARTS_PER_S)

    @property
    def spread_s(self) -> float:
        """Length of the interval in which users make their first request. [s]

        This is a multiple of the think time, so that later requests are also distributed evenly.
        """
        connecting_s = self.users / _CONNECTS_PER_S if self.own else 0.0
        return self.think_s * max(1, math.ceil(connecting_s / self.think_s))

    @property
    def settle_s(self) -> float:
        """Time between the start of the last user and the measurement. [s]

        It is long enough for all users to open their own connections.
        """
        return self.spread_s + 2.0 if self.own else 2.0


# Rate at which users start; starting a user takes less CPU time than a request. [1/s]
_STARTS_PER_S = 250_000
# Rate at which connections are opened. Opening a connection takes about as much CPU time as ten requests. [1/s]
_CONNECTS_PER_S = 5_000
CROWDS = (
    Crowd(250_000, 25.0, own=True, steady_s=60.0),
    Crowd(1_000_000, 100.0, own=True, steady_s=100.0),
    Crowd(1_000_000, 100.0, own=False, steady_s=60.0),
    Crowd(10_000_000, 1_000.0, own=False, steady_s=60.0),
)
QUICK = (Crowd(25_000, 2.5, own=True, steady_s=10.0), Crowd(100_000, 10.0, own=False, steady_s=10.0))
# Memory needed per connection (in kernel, engine and server) and per user (in the engine), with a reserve. [bytes]
_BYTES_PER_CONNECTION, _BYTES_PER_USER = 12_000, 500
_EVERY_S = 1.0
# Kernel counters to report: sent resets, reset connections, overflows of listen queues, omitted TIME-WAIT states,
# retransmitted segments.
_EVENTS = ("Tcp:OutRsts", "Tcp:EstabResets", "TcpExt:ListenOverflows", "TcpExt:TCPTimeWaitOverflow", "Tcp:RetransSegs")


def run(*, quick: bool) -> None:
    """Run each load for which there is enough memory; print and store the results."""
    runs = []
    for crowd in QUICK if quick else CROWDS:
        print(f"  {crowd.name}", flush=True)
        needed = crowd.users * (_BYTES_PER_USER + (_BYTES_PER_CONNECTION if crowd.own else 0))
        if (there := _memory()["MemAvailable"]) < needed:
            print(
                f"    skipped: about {needed / 1e9:.1f} GB of memory are needed, and {there / 1e9:.1f} GB are available"
            )
            continue
        runs.append(_drive(crowd))
        _print(runs[-1])
        _await_closed_ports()
    harness.keep("users", {"pool": POOL}, runs=runs)


def _plan(crowd: Crowd, addresses: list[str], out: Path) -> dict[str, Any]:
    stages = [
        ("ramp_up", "ramp_up", crowd.arrive_s),
        ("settle", "settle", crowd.settle_s),
        ("steady", "steady", crowd.steady_s),
    ]
    load = {
        "kind": "closed",
        "users_at_most": crowd.users,
        "stages": [
            {"name": name, "phase": phase, "level": 0, "duration_s": seconds, "users": crowd.users}
            for name, phase, seconds in stages
        ],
    }
    plan = towtank_load.plan(addresses, load, out, crowd.think_s)
    plan["groups"][0]["once"] = [{"op": "think", "pause": {"dist": "uniform", "min_s": 0.0, "max_s": crowd.spread_s}}]
    plan["connections"] = {"mode": "per_user"} if crowd.own else {"mode": "pool", "size": POOL}
    return plan


def _drive(crowd: Crowd) -> dict[str, Any]:
    """Run a load; once a second, sample the number of sockets, and the memory of kernel, engine and server."""
    with (
        harness.crowded_server(crowd.users if crowd.own else POOL) as (addresses, server),
        tempfile.TemporaryDirectory(prefix="towtank-bench-") as name,
    ):
        folder = Path(name)
        (folder / "plan.json").write_text(json.dumps(_plan(crowd, addresses, folder / "engine")))
        before, events = _look(server, server), _events()
        command = ["taskset", "-c", str(harness.cores()[1]), *towtank_load.load_command(folder)]
        with subprocess.Popen([*command, "--until-stdin-closes"], stdin=subprocess.PIPE) as engine:
            samples = _watch(engine, server)
        if engine.returncode != 0:
            raise SystemExit(f"error: the engine ended with status {engine.returncode}")
        counted = {name: count - events[name] for name, count in _events().items()}
        read = _read(folder / "engine", crowd, samples)
        return {"crowd": vars(crowd), "before": before, "samples": samples, "events": counted, **read}


def _watch(engine: subprocess.Popen[bytes], server: int) -> list[dict[str, float]]:
    samples: list[dict[str, float]] = []
    started = time.monotonic()
    ended = threading.Event()
    waiter = threading.Thread(target=lambda: (engine.wait(), ended.set()))
    waiter.start()
    try:
        while not ended.wait(_EVERY_S):
            samples.append({"t_s": time.monotonic() - started, **_look(engine.pid, server)})
    finally:
        if not ended.is_set():
            engine.terminate()
        waiter.join()
    return samples


def _look(engine: int, server: int) -> dict[str, float]:
    """Return the numbers of sockets [1] and the memory of the kernel, the engine and the server [bytes]."""
    sockets = Path("/proc/net/sockstat").read_text()
    counts = dict(re.findall(r"(inuse|tw|orphan) (\d+)", sockets.partition("TCP:")[2].partition("\n")[0]))
    memory = _memory()
    return {
        **{f"tcp_{name}": float(count) for name, count in counts.items()},
        "slab_bytes": memory["Slab"],
        "available_bytes": memory["MemAvailable"],
        "engine_bytes": _resident(engine),
        "server_bytes": _resident(server),
    }


def _events() -> dict[str, float]:
    """Return the kernel's TCP counters listed in `_EVENTS`, counted since boot. [1]"""
    counts: dict[str, float] = {}
    for path in ("/proc/net/snmp", "/proc/net/netstat"):
        rows = [line.split() for line in Path(path).read_text().splitlines()]
        for names, values in zip(rows[::2], rows[1::2], strict=True):
            counts |= {f"{names[0]}{name}": float(value) for name, value in zip(names[1:], values[1:], strict=True)}
    return {name: counts.get(name, 0.0) for name in _EVENTS}


def _memory() -> dict[str, float]:
    """Return the values of `/proc/meminfo` by name. [bytes]"""
    found = re.findall(r"^(\w+): +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return {name: 1024.0 * int(value) for name, value in found}


def _resident(pid: int) -> float:
    """Return the resident memory of a process; zero if the process has ended. [bytes]"""
    try:
        return float(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0.0


def _read(folder: Path, crowd: Crowd, samples: list[dict[str, float]]) -> dict[str, Any]:
    """Return the results of the steady stage, and the largest number of sockets in the samples."""
    engine = json.loads((folder / "engine.json").read_text())
    recording = segments.read(folder)
    done = towtank_load.Done(harness.Spent("", 0.0, 0.0), engine, Measurement(recording), 0)
    steady, measured = done.steady, done.measurement
    length_s = float(measured.lengths[steady].sum())
    response = done.times_s("response")
    rate = float(measured.requests.started[steady].sum()) / length_s
    # The median can replace the mean response time here, because both are tiny against the think time.
    expected = crowd.users / (crowd.think_s + response["p50"])
    of_users = measured.user_s[steady].sum() / length_s
    return {
        "users_reached": float(of_users),
        "connections": most_connections(done.measurement),
        "sockets_seen": max((sample["tcp_inuse"] for sample in samples), default=0.0),
        "rate_per_s": rate,
        "expected_per_s": expected,
        "achieved_share": rate / expected,
        "failed": engine["totals"]["failed"],
        "connect_failures": engine["connect_failures"],
        "lag_s": done.times_s("lag"),
        "response_s": response,
        "cpus_used": float(measured.cpu_s[steady].sum()) / length_s,
        "threads": engine["threads"],
        "open_files": engine["open_files"],
        "generator": engine["generator"],
    }


def _print(run: dict[str, Any]) -> None:
    before, users = run["before"], run["crowd"]["users"]
    peak = {name: max(sample[name] for sample in run["samples"]) for name in before}
    kernel = (peak["slab_bytes"] - before["slab_bytes"]) / max(1, run["connections"])
    print(
        f"    users {run['users_reached']:,.0f}, connections {run['connections']:,} (sockets in use on this host "
        f"{run['sockets_seen']:,.0f}), threads {run['threads']}\n"
        f"    {run['rate_per_s']:,.1f} requests/s, N / (Z + R) {run['expected_per_s']:,.1f}, ratio "
        f"{run['achieved_share']:.5f}; failed {run['failed'] or 0}\n"
        f"    start lag p99 {1e3 * run['lag_s']['p99']:.2f} ms, response p99 {1e3 * run['response_s']['p99']:.2f} ms, "
        f"CPUs of the generator {run['cpus_used']:.2f}\n"
        f"    engine {peak['engine_bytes'] / users:,.0f} bytes per user; server {peak['server_bytes'] / 1e6:,.0f} MB; "
        f"kernel {kernel:,.0f} bytes per connection, both ends; TIME-WAIT at most {peak['tcp_tw']:,.0f}\n"
        f"    {', '.join(f'{name} {count:,.0f}' for name, count in run['events'].items())}",
        flush=True,
    )


def _await_closed_ports(within_s: float = 90.0) -> None:
    """Wait until few sockets are in the state TIME-WAIT, which lasts a minute and occupies ports (RFC 9293)."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and _look(0, 0)["tcp_tw"] > 1_000:
        time.sleep(1.0)
