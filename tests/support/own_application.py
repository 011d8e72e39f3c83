"""Starts the application of `examples/own-application` with a chosen bottleneck, and starts the application's
database.
"""

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
        Address of the front page, without the last slash.
    parent : int
        Process id of the parent, which listens and does no work.
    workers : tuple of int
        Process ids of the workers. With `cpu-one`, the first worker does all work.
    database : Path or None
        Folder of the database, with the socket and `data/postmaster.pid`.
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
        """Port on which the application listens."""
        return int(self.url.rpartition(":")[2])

    def metrics(self) -> dict[str, float]:
        """Return the values on the application's page of metrics, by series."""
        with urlopen(f"{self.url}/metrics", timeout=_WITHIN_S) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}


def has_database() -> bool:
    """Return True if the programs of PostgreSQL are installed."""
    return bool(list(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb"))


@contextmanager
def own_database(port: int | None = None) -> Iterator[Path]:
    """Start a private PostgreSQL server, and yield its folder. The server has a socket in the folder and, with `port`,
    also listens on loopback.

    The folder is outside the folder of the test: PostgreSQL does not run as root, so it cannot enter the test's folder.
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
    """Start the application on a free port, with a database if the limit is the pool.

    Parameters
    ----------
    limit : str
        One of `LIMITS`.
    *options : str
        Further options of `app.py`.
    workers : int
        Number of workers.
    wrapper : tuple of str
        Beginning of the command, such as `taskset -c 0`: a program that sets a control group or CPUs and then replaces
        itself by the application.
    database_port : int or None
        Port of the database on loopback; None for a connection over a Unix socket.
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
