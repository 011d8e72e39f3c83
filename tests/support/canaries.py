"""Searches output and files for canaries: unique values that tests use in place of secrets."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

# Text in every canary that is unique to this pytest process. Parallel pytest workers also start commands, and
# `Arguments` searches the arguments of all processes.
_RUN = f"{os.environ.get('PYTEST_XDIST_TESTRUNUID')} {os.getpid()}"
MARK = f"cAnAry{hashlib.sha256(_RUN.encode()).hexdigest()[:8]}"
_EVERY_S = 0.01
_ONLY_OWNER = 0o077


def canary(place: str) -> str:
    """Return a canary (a unique value in place of a secret). `place` names the setting that contains the secret."""
    return f"{MARK}{place}"


def found_in(text: str) -> list[str]:
    """Return the canaries in a text, each as the name that was passed to `canary`."""
    words = text.split(MARK)[1:]
    return sorted({"".join(_letters(word)) for word in words})


def _letters(word: str) -> Iterator[str]:
    for letter in word:
        if not letter.isalnum():
            return
        yield letter


@dataclass
class Found:
    """Canaries that were found in a folder.

    Attributes
    ----------
    open : dict of str to list of str
        Canaries by file, for files that other users may read, or that should not contain secrets.
    private : set of str
        Files that may contain secrets, contain canaries, and are readable by their owner only.
    """

    open: dict[str, list[str]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)


def search(folder: Path, expected: tuple[str, ...] = ()) -> Found:
    """Search all files below a folder for canaries. `expected` contains name patterns of files that may contain
    secrets.
    """
    found = Found()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        canaries = found_in(path.read_bytes().decode("utf-8", "replace"))
        if not canaries:
            continue
        name = path.relative_to(folder).as_posix()
        named = any(path.relative_to(folder).match(pattern) for pattern in expected)
        if named and not stat.S_IMODE(path.stat().st_mode) & _ONLY_OWNER:
            found.private.add(name)
        else:
            found.open[name] = canaries
    return found


class Arguments:
    """Polls the arguments of all processes. `found` contains the processes with a canary in their arguments.

    Commands `python -m towtank` are ignored, because the test itself passes canaries to them.
    """

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        # Until a child process executes its own program, it has the arguments of its parent. So processes whose
        # arguments begin like a command of the test are ignored.
        self._typed = f"{sys.executable} -m towtank "
        self.seen: set[str] = set()
        self._stop = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._stop.wait(_EVERY_S):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    self._look(entry)

    def _look(self, entry: Path) -> None:
        with suppress(OSError):
            text = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            self.seen.add(text)
            if MARK in text and not text.startswith(self._typed):
                self.found[entry.name] = text

    @contextmanager
    def watching(self) -> Iterator[Arguments]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            self._thread.join()


class Listener:
    """Server that answers every request, serves a metrics page, and records all requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                listener.asked.append((self.path, self.headers.get("Authorization")))
                body = b"up 1\n"
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = _answer  # noqa: N815 - names of the base

            def log_message(self, *_: object) -> None:
                """Suppress the log of requests."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    def authorizations(self, path: str) -> set[str | None]:
        """Return the Authorization headers of all requests for a path; query strings are ignored."""
        return {authorization for asked, authorization in self.asked if asked.partition("?")[0] == path}


@contextmanager
def listening() -> Iterator[Listener]:
    made = Listener()
    thread = Thread(target=made._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made._server.shutdown()
        made._server.server_close()
        thread.join()
