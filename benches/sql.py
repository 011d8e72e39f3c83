"""Measures the generator's CPU time per SQL statement (a prepared select of one row), compared with pgbench.

PostgreSQL runs on its own core; the generators run one after the other on another core. Both generators count every
statement and record its time. CPU time is that of the whole process, including its start and end.
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import towtank_load

SESSIONS = (1, 16, 64)
_ROWS = 100_000
_ACCOUNT = "postgres"
_SETTINGS = {
    "fsync": "off",
    "autovacuum": "off",
    "max_connections": "300",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
}


@dataclass(frozen=True)
class _Database:
    """PostgreSQL server that this bench started."""

    port: int
    password: str

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that clients need to connect."""
        return {"PGPASSWORD": self.password}


def run(*, quick: bool) -> None:
    """Measure the CPU time per statement with Towtank and pgbench, print the ratios, and store the single results."""
    rounds, seconds = (4, 3) if quick else (8, 5)
    with _postgresql() as database:
        for sessions in SESSIONS:
            print(f" {sessions} sessions")
            runs = harness.turns(
                ["towtank", "pgbench"], rounds, lambda name, many=sessions: _once(name, database, many, seconds)
            )
            ratios = {
                key: harness.ratio(runs, key, "towtank", "pgbench")
                for key in ("cpu_us_per_statement", "statements_per_s")
            }
            for key, found in ratios.items():
                print(f"  {key}, towtank / pgbench: {harness.shown(found)} (median of {rounds} rounds, 95 %)")
            arguments = {"rounds": rounds, "seconds": seconds, "sessions": sessions}
            harness.keep(f"sql-{sessions}", arguments, runs=runs, ratios=ratios)


@contextmanager
def _postgresql() -> Iterator[_Database]:
    """Start a PostgreSQL server with the tables of pgbench on the server's core; stop it after the block."""
    initdb = shutil.which("initdb", path=":".join(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))))
    pgbench = harness.program("pgbench")
    if initdb is None or pgbench is None:
        raise harness.Skipped("PostgreSQL is not installed (apt-get install postgresql)")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="towtank-sql-")))
        # PostgreSQL refuses to run as root, so another account is used.
        account: dict[str, Any] = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam(_ACCOUNT)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
            account = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        data, port = folder / "data", harness.free_port()
        database = _Database(port, secrets.token_hex(16))
        secret = folder / "password"
        secret.touch(0o600)
        secret.write_text(database.password)
        if account:
            os.chown(secret, account["user"], account["group"])
        command = [initdb, "-D", str(data), "-A", "scram-sha-256", "--pwfile", str(secret), "-U", _ACCOUNT, "--no-sync"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **account)
        settings = [f"--{key}={value}" for key, value in {**_SETTINGS, "port": str(port)}.items()]
        postgres = str(Path(initdb).with_name("postgres"))
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                ["taskset", "-c", str(harness.cores()[0]), postgres, "-D", str(data), *settings],
                stdout=log,
                stderr=log,
                cwd=folder,
                start_new_session=True,
                **account,
            )
        stack.callback(server.wait)
        stack.callback(server.terminate)
        harness.wait_for(port, within_s=30.0)
        subprocess.run(
            [*_pgbench(pgbench, port), "-i", "-q", "-s", "1"],
            check=True,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **database.environment},
        )
        yield database


def _pgbench(program: str, port: int) -> list[str]:
    return [program, "-h", "127.0.0.1", "-p", str(port), "-U", _ACCOUNT, _ACCOUNT]


def _once(name: str, database: _Database, sessions: int, seconds: int) -> dict[str, Any]:
    spent, statements = (_towtank if name == "towtank" else _peer)(database, sessions, seconds)
    return {
        "cpu_us_per_statement": spent.cpu_s / statements * 1e6,
        "statements_per_s": statements / seconds,
        "statements": statements,
        "cpu_s": spent.cpu_s,
        "wall_s": spent.wall_s,
    }


def _peer(database: _Database, sessions: int, seconds: int) -> tuple[harness.Spent, int]:
    program = harness.program("pgbench")
    assert program is not None
    many = ["-c", str(sessions), "-j", "1", "-T", str(seconds)]
    command = [*_pgbench(program, database.port), "-n", "-S", "-M", "prepared", *many]
    spent = harness.spend(command, environment=database.environment)
    found = re.search(r"actually processed: (\d+)", spent.output)
    if found is None:
        raise SystemExit(f"error: pgbench reports no number of transactions\n{spent.output}")
    return spent, int(found[1])


def _towtank(database: _Database, sessions: int, seconds: int) -> tuple[harness.Spent, int]:
    address = f"127.0.0.1:{database.port}"
    with tempfile.TemporaryDirectory(prefix="towtank-bench-") as name:
        folder = Path(name)
        document = towtank_load.plan(address, towtank_load.closed(sessions, seconds), folder / "engine")
        document["targets"] = [
            {
                "name": "database",
                "scheme": "driver",
                "addresses": [address],
                "driver": {
                    "kind": "postgresql",
                    "user": _ACCOUNT,
                    "password": database.password,
                    "database": _ACCOUNT,
                },
            }
        ]
        call = {
            "op": "call",
            "step": 0,
            "target": 0,
            "do": {"kind": "sql", "text": "SELECT abalance FROM pgbench_accounts WHERE aid = $1"},
            "values": [[{"function": "random_int", "min": 1, "max": _ROWS}]],
            "checks": [{"kind": "rows", "min": 1, "max": 1}],
        }
        document["steps"] = [{"name": "select", "transaction": "select"}]
        document["transactions"] = [{"name": "select", "ops": [call]}]
        document["groups"][0]["mix"] = [{"transaction": 0, "weight": 100.0}]
        done = towtank_load.drive_plan(document, folder)
        return done.spent, int(done.engine["totals"]["ok"])
