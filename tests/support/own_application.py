"""Starts the application of `examples/own-application`, and its database, with a chosen bottleneck."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from victims import descendants
from waiting import until

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-application"
LIMITS = ("none", "cpu-one", "cpu-all", "pool", "lock", "errors")
_WITHIN_S = 60


@dataclass(frozen=True)
class OwnApplication:
    """A running copy of the application of `examples/own-application`.

    Attributes
    ----------
    url : str
        Address of the front page, without the trailing slash.
    parent : int
        Process id of the parent, which listens but handles no requests.
    workers : tuple of int
        Process ids of the workers. With bottleneck `cpu-one`, the first worker handles all requests.
    database : Path or None
        Folder of the database, with its socket and `data/postmaster.pid`.
    """

    url: str
    parent: int
    workers: tuple[int, ...]
    database: Path | None = None

    @property
    def report(self) -> str:
        """Address of the page whose response time depends on the selected bottleneck."""
        return f"{self.url}/report"

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def metrics(self) -> dict[str, float]:
        """Return the values on the application's metrics page, by series name."""
        with urlopen(f"{self.url}/metrics", timeout=_WITHIN_S) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}


def has_database() -> bool:
    return bool(list(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb"))


@contextmanager
def own_database(port: int | None = None) -> Iterator[Path]:
    """Start a private PostgreSQL server, and yield its folder, which contains the server's socket. If `port` is given,
    the server also listens on the loopback interface.

    The folder is not in the test's folder, which is accessible to root only; PostgreSQL does not run as root.
    """
    script = str(EXAMPLE / "database.sh")
    with tempfile.TemporaryDirectory(prefix="towtank-own-database-") as folder:
        try:
            start = ["sh", script, "start", folder, *([] if port is None else [str(port)])]
            subprocess.run(start, check=True, timeout=_WITHIN_S, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            yield Path(folder)
        finally:
            subprocess.run(["sh", script, "stop", folder], check=True, timeout=_WITHIN_S)


@contextmanager
def own_application(
    limit: str = "none",
    *options: str,
    workers: int = 2,
    wrapper: tuple[str, ...] = (),
    database_port: int | None = None,
) -> Iterator[OwnApplication]:
    """Start the application on a free port. If the bottleneck is the connection pool, also start a database.

    Parameters
    ----------
    limit : str
        Bottleneck; one of `LIMITS`.
    *options : str
        Further options of `app.py`.
    workers : int
        Number of workers.
    wrapper : tuple of str
        Command that sets control groups or CPUs and then executes the application, such as `taskset -c 0`.
    database_port : int or None
        Port of the database on the loopback interface; None for a connection over a Unix socket.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(own_database(database_port)) if limit == "pool" else None
        place = [] if folder is None else ["--database", f"127.0.0.1:{database_port}" if database_port else str(folder)]
        command = [*wrapper, sys.executable, str(EXAMPLE / "app.py"), "--workers", str(workers), "--limit", limit]
        process = stack.enter_context(
            subprocess.Popen([*command, *place, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        )
        stack.callback(process.wait, _WITHIN_S)
        stack.callback(process.terminate)
        assert process.stdout is not None
        said = process.stdout.readline()
        listening = re.fullmatch(r"listening on (127\.0\.0\.1:\d+)\n", said)
        assert listening, said
        until(lambda: len(list(descendants(process.pid))) == workers)
        pids = tuple(descendants(process.pid))
        yield OwnApplication(f"http://{listening[1]}", process.pid, pids, folder)
