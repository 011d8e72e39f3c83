"""Runs one node (server process) of the content server from start to stop."""

from __future__ import annotations

import fcntl
import gc
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import uvicorn

from content_server.application import Binding, create_application
from content_server.database import Database, open_database
from content_server.database.schema import PROPERTY_INDEXES
from content_server.errors import StartError
from content_server.metrics import DocumentCounter, MetricsPage, RequestCounters, ServerCollector
from content_server.repository import Repository
from content_server.repository.base import ROOT_ID, now
from content_server.repository.editing import known_contents
from content_server.settings import Settings
from content_server.storage import StorageArea
from content_server.users import Authenticator, Directory, FileDirectory, LdapDirectory
from content_server.workers import WorkerPool

# Longest time for which a stopping server waits for requests in progress. [s]
GRACE = 5
BACKLOG = 2048


@contextmanager
def data_lock(data: Path, exclusive: bool) -> Iterator[IO[str]]:
    """Lock the data directory while the block runs.

    Nodes lock the directory shared; `populate` and `reset` lock it exclusively.

    Raises
    ------
    StartError
        If another process has locked the directory.
    """
    try:
        data.mkdir(parents=True, exist_ok=True)
        handle = (data / "lock").open("a")
    except OSError as error:
        raise StartError(f"data: {data}: {error.strerror}") from error
    with handle:
        try:
            fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError:
            who = "a server or another command" if exclusive else "populate or reset"
            raise StartError(f"data: {data}: it is in use by {who}") from None
        yield handle


def ensure_root(database: Database) -> None:
    """Create the root folder if it is missing."""
    moment = now()
    with database.write() as session:
        session.change(
            "insert",
            "INSERT INTO object (id, label, type, parent, name, path, created_by, created_at, "
            "modified_by, modified_at, change_token, latest) "
            "VALUES (?, '', 'cmis:folder', NULL, '', '/', 'system', ?, 'system', ?, 1, 1) ON CONFLICT DO NOTHING",
            (ROOT_ID, moment, moment),
        )


def open_repository(settings: Settings) -> Repository:
    """Open the database and the storage area.

    Create or drop the property indexes as configured, and remove files of interrupted uploads.
    """
    for name in settings.drop_index:
        if name not in PROPERTY_INDEXES:
            raise StartError(f"---drop-index: unknown index {name}; known indexes: {', '.join(PROPERTY_INDEXES)}")
    database = open_database(settings.database, str(settings.data), settings.database_pool, settings.sync)
    database.create_schema(indexes=False)
    for name in PROPERTY_INDEXES:
        database.set_index(name, name not in settings.drop_index)
    ensure_root(database)
    try:
        storage = StorageArea(settings.area, settings.sync, settings.content_cache_bytes, settings.handle_cache)
    except OSError as error:
        raise StartError(f"storage area: {settings.area}: {error.strerror}") from error
    repository = Repository(database, storage)
    if settings.sweep:
        storage.sweep(lambda contents: _known(database, contents))
    return repository


def _known(database: Database, contents: list[str]) -> set[str]:
    with database.read() as session:
        return known_contents(session, contents)


def _directory(settings: Settings) -> Directory:
    if settings.ldap:
        return LdapDirectory(settings.ldap, settings.ldap_user_dn)
    if not settings.user_file.exists():
        raise StartError(
            f"users: {settings.user_file} is missing; choose a file with --users, or run `content-server populate`"
        )
    return FileDirectory(settings.user_file)


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol must be passed, because asyncio sets TCP_NODELAY only on sockets with protocol IPPROTO_TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise StartError(f"listen: {settings.host}:{settings.port}: {error.strerror}") from error
    listener.setblocking(False)
    return listener


class _Server(uvicorn.Server):
    """HTTP server that prints its address on standard output as soon as it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if sockets and not self.should_exit:
            host, port = sockets[0].getsockname()[:2]
            print(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}", flush=True)


def serve(settings: Settings) -> int:
    """Run one node until SIGTERM or SIGINT.

    Raises
    ------
    StartError
        If the node cannot start.
    """
    with data_lock(settings.data, exclusive=False):
        listener = _listen(settings)
        try:
            directory = _directory(settings)
            repository = open_repository(settings)
            _run(settings, listener, repository, directory)
        finally:
            listener.close()
    return 0


def _run(settings: Settings, listener: socket.socket, repository: Repository, directory: Directory) -> None:
    workers = WorkerPool(settings.threads)
    requests = RequestCounters()
    documents = DocumentCounter(repository)
    page = MetricsPage(ServerCollector(repository, workers, requests, documents))
    binding = Binding(repository, workers, Authenticator(directory, settings.credentials_lifetime), page)
    configuration = uvicorn.Config(
        create_application(binding, requests, settings.node),
        access_log=False,
        log_level="warning",
        lifespan="off",
        timeout_keep_alive=int(settings.keep_alive),
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        h11_max_incomplete_event_size=64 * 1024,
    )
    # When uvicorn ends, it sends the received signal to this process again; these handlers ignore it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    # Exclude the existing objects from garbage collection, because they live until the process ends.
    gc.collect()
    gc.freeze()
    try:
        _Server(configuration).run(sockets=[listener])
    finally:
        documents.close()
        workers.close()
        repository.storage.handles.close()
        repository.database.close()
        sys.stdout.flush()
