from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from content_nodes import Client, Node
from held_port import held_port


def _postgresql_programs() -> Path | None:
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists():
            return folder
    found = shutil.which("initdb")
    return Path(found).parent if found else None


def _as_postgres(command: list[str]) -> list[str]:
    """Return the command as the user `postgres`, because PostgreSQL refuses to run as root."""
    return (
        ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command] if os.getuid() == 0 else command
    )


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Start a private PostgreSQL server; yield its DSN without a database."""
    programs = _postgresql_programs()
    if programs is None:
        pytest.skip("PostgreSQL is missing: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="content-pg-"))
    folder.chmod(0o777)
    cluster = folder / "cluster"
    initdb = [str(programs / "initdb"), "-D", str(cluster), "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8"]
    control = [str(programs / "pg_ctl"), "-D", str(cluster), "-w", "-l", str(folder / "log")]
    with held_port() as port:
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories= -c fsync=off"
        try:
            subprocess.run(_as_postgres([*initdb, "--locale=C.UTF-8"]), check=True, capture_output=True, cwd="/tmp")
            subprocess.run(
                _as_postgres([*control, "-o", options, "start"]), check=True, stdout=subprocess.DEVNULL, cwd="/tmp"
            )
            yield f"host=127.0.0.1 port={port} user=postgres"
        finally:
            subprocess.run(
                _as_postgres([*control, "-m", "immediate", "stop"]), capture_output=True, check=False, cwd="/tmp"
            )
            shutil.rmtree(folder, ignore_errors=True)


_DATABASES = iter(range(1_000_000))


@pytest.fixture(scope="session")
def new_database(postgresql: str) -> Any:
    """Return a function that creates an empty database and returns its DSN."""
    psycopg = pytest.importorskip("psycopg", reason="pip install 'psycopg[binary]'")

    def make() -> str:
        name = f"content{next(_DATABASES)}"
        with psycopg.connect(f"{postgresql} dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"{postgresql} dbname={name}"

    return make


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.waits, pytest.mark.postgresql])]
)
def backend(request: pytest.FixtureRequest) -> list[str]:
    """Options of the command `serve` for a new database: SQLite or PostgreSQL."""
    if request.param == "sqlite":
        return []
    return ["--database", request.getfixturevalue("new_database")()]


@pytest.fixture(scope="module")
def node(backend: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A running node with an empty repository."""
    running = Node(tmp_path_factory.mktemp("content"), "--sync", "off", *backend)
    try:
        yield running
    finally:
        assert running.stop() == 0


@pytest.fixture
def ann(node: Node) -> Iterator[Client]:
    with Client(node.url, "ann") as client:
        yield client


@pytest.fixture
def bob(node: Node) -> Iterator[Client]:
    with Client(node.url, "bob") as client:
        yield client


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    """Return a function that starts nodes, by default in `tmp_path / "data"`; they stop at the end of the test."""
    nodes: list[Node] = []

    def run(*options: str, data: Path | None = None, users: bool = True) -> Node:
        nodes.append(Node(data or tmp_path / "data", *options, users=users))
        return nodes[-1]

    try:
        yield run
    finally:
        for running in nodes:
            with contextlib.suppress(ValueError):
                running.stop()
