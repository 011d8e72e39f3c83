"""Functions that benches share: start servers, run generators in rounds, compute ratios with intervals, store
results.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from towtank import __version__
from towtank.engine import binary
from towtank.observe.host import host_facts

HERE = Path(__file__).parent
RAW = HERE / "raw"
PEERS = HERE.parent / ".venv" / "benches"
"""Folder in which `make bench-peers` installs other load generators."""
_CONNECTIONS_OF_A_THREAD = 12_000
_NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{
    listen 127.0.0.1:{port} backlog=4096{listen}; {settings}
    location / {{ default_type text/plain; return 200 "{body}"; }}
  }}
}}
"""


class Skipped(Exception):  # noqa: N818 - a missing program is not an error of the bench
    """Raised if this machine cannot run a bench or a load generator.

    The message states the reason, and the command that installs a missing program.
    """


@dataclass(frozen=True)
class Spent:
    """Output, CPU time and elapsed time of a command. [s]"""

    output: str
    cpu_s: float
    wall_s: float


def cores() -> tuple[int, int]:
    """Return the CPU cores to which the server and the generator are pinned.

    Raises
    ------
    Skipped
        If this machine has only one core.
    """
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise Skipped("server and generator need a core each, and this machine has one")
    return usable[0], usable[-1]


def program(name: str) -> str | None:
    """Return the path of a program, from `PEERS`, `PATH` or `/usr/sbin`; None if it is not installed."""
    places = f"{PEERS / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin"
    return shutil.which(name, path=places)


def spend(command: list[str], *, environment: dict[str, str] | None = None) -> Spent:
    """Run a command on the generator's core; return output, CPU time and elapsed time.

    Raises
    ------
    SystemExit
        If the command fails.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start = time.monotonic()
        child = subprocess.Popen(
            ["taskset", "-c", str(cores()[1]), *command],
            stdout=output,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode != 0:
            said = output.read()[-2000:] + errors.read()[-2000:]
            raise SystemExit(f"error: {command[0]} ended with status {child.returncode}\n{said}")
        return Spent(output.read(), usage.ru_utime + usage.ru_stime, time.monotonic() - start)


@contextmanager
def null_server(*options: str, body: int = 128) -> Iterator[tuple[str, int]]:
    """Run the engine's null server on the server's core; yield its address and process id."""
    command = [str(binary()), "null-server", "--body", str(body), "--cpus", str(cores()[0]), "--until-stdin-closes"]
    with subprocess.Popen(
        [*command, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().split()[-1], server.pid
        finally:
            server.terminate()


@contextmanager
def crowded_server(connections: int, body: int = 128) -> Iterator[tuple[list[str], int]]:
    """Run the null server with capacity for `connections` connections; yield its addresses and process id.

    The server has several threads, since each of its threads may open only a limited number of files. Each thread has
    its own port, since a port accepts at most one connection per source port from one address. The search for a free
    source port becomes slow even before all source ports are in use.
    """
    threads = -(-connections // _CONNECTIONS_OF_A_THREAD)
    command = [str(binary()), "null-server", "--body", str(body), "--cpus", str(cores()[0]), "--until-stdin-closes"]
    command += ["--threads", str(threads), "--ports", str(threads)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        try:
            assert server.stdout is not None
            yield [server.stdout.readline().split()[-1] for _ in range(threads)], server.pid
        finally:
            server.terminate()


@contextmanager
def nginx_server(body: int = 128, *, listen: str = "", settings: str = "") -> Iterator[tuple[str, int]]:
    """Run one nginx worker on the server's core; yield its address and process id.

    Parameters
    ----------
    body : int, default 128
        Length of the answer. [B]
    listen, settings : str, optional
        Parameters to append to nginx's directive `listen`, and directives to add to the block `server`.

    Raises
    ------
    Skipped
        If nginx is not installed.
    """
    path = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if path is None:
        raise Skipped("nginx is not installed (apt-get install nginx-light)")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="towtank-nginx-")))
        folder.chmod(0o755)
        port = free_port()
        configuration = _NGINX.format(folder=folder, port=port, body="x" * body, listen=listen, settings=settings)
        (folder / "nginx.conf").write_text(configuration)
        server = subprocess.Popen(
            ["taskset", "-c", str(cores()[0]), path, "-c", str(folder / "nginx.conf"), "-p", str(folder)],
            start_new_session=True,
        )
        stack.callback(server.wait)
        stack.callback(server.terminate)
        wait_for(port)
        yield f"127.0.0.1:{port}", server.pid


def free_port() -> int:
    import socket  # noqa: PLC0415

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, within_s: float = 5.0) -> None:
    import socket  # noqa: PLC0415

    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"error: nothing listens on port {port} after {within_s:g} s")


@contextmanager
def other_work(servers: Sequence[int]) -> Iterator[list[float]]:
    """Measure the share of CPU time that other programs or the hypervisor (steal time) take while the block runs.

    Parameters
    ----------
    servers : sequence of int
        Process ids of the bench's servers. The CPU time of these processes, of this process and of its ended children
        does not count as other work.

    Yields
    ------
    list of float
        Empty during the block. At the end of the block, a value is appended: the fraction of the CPU time of all CPUs
        that other programs and the hypervisor took, in [0, 1].
    """
    found: list[float] = []
    started, busy_s, own_s = time.monotonic(), _busy_s(), _own_s(servers)
    yield found
    available_s = (time.monotonic() - started) * (os.cpu_count() or 1)
    found.append(max(0.0, _busy_s() - busy_s - _own_s(servers) + own_s) / available_s)


def _busy_s() -> float:
    """Return the busy CPU time of this host since its start, including time taken by the hypervisor. [s]"""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    user, nice, system, _idle, _waiting, *rest = (int(word) for word in words[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def _own_s(servers: Sequence[int]) -> float:
    """Return the CPU time that this process, its ended children and the servers have used. [s]"""
    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    for server in servers:
        fields = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def quieter_half(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the half of the runs in which other programs took the least CPU time; results do not affect the choice."""
    return sorted(runs, key=lambda run: run["other_work"])[: -(-len(runs) // 2)]


def turns(names: list[str], rounds: int, once: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    """Run each generator once per round, in alternating order (ABBA), so that drift of the machine affects all
    equally.
    """
    runs = []
    for index in range(rounds):
        for name in names if index % 2 == 0 else reversed(names):
            measured = once(name)
            runs.append({"round": index, "generator": name, **measured})
            shown = "  ".join(
                f"{key} {value:,.4g}" for key, value in measured.items() if isinstance(value, int | float)
            )
            print(f"  round {index + 1}  {name:9} {shown}", flush=True)
    return runs


def interval(values: list[float]) -> tuple[float, float, float]:
    """Return the median with a 95 % bootstrap interval (percentile method, 5,000 resamples, fixed seed)."""
    found = np.array(values, dtype=float)
    samples = np.random.default_rng(1).choice(found, (5000, len(found)))
    low, high = np.quantile(np.median(samples, axis=1), [0.025, 0.975])
    return float(np.median(found)), float(low), float(high)


def ratio(runs: list[dict[str, Any]], key: str, name: str, reference: str) -> tuple[float, float, float]:
    """Return the ratio of the value `key` of generator `name` to that of generator `reference`.

    The result is the median over the rounds, with the ends of its interval.
    """
    by_round = {(run["round"], run["generator"]): run[key] for run in runs}
    rounds = sorted({run["round"] for run in runs})
    return interval([by_round[index, name] / by_round[index, reference] for index in rounds])


def shown(found: tuple[float, float, float], digits: int = 3) -> str:
    """Format a median and its interval."""
    middle, low, high = (f"{value:.{digits}g}" for value in found)
    return f"{middle} [{low}, {high}]"


def keep(name: str, arguments: dict[str, Any], **results: Any) -> Path:
    """Write arguments, host and results of a bench to `raw/DATE-HOST-NAME.json`; return the path."""
    RAW.mkdir(exist_ok=True)
    path = RAW / f"{time.strftime('%Y-%m-%d')}-{platform.node() or 'host'}-{name}.json"
    facts = {key: value for key, value in host_facts().document().items() if key != "name"}
    # The load average shows whether other programs used the machine.
    load = {"load_average_1m": os.getloadavg()[0]}
    document = {"bench": name, "towtank": __version__, "arguments": arguments, "host": {**facts, **load}, **results}
    path.write_text(json.dumps(document, indent=1) + "\n")
    print(f"  raw runs: {path.relative_to(HERE.parent)}")
    return path
