from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from record_bench import Bench, Running
from record_site import Site, serving
from waiting import PATIENCE_S, until

from towtank.record.archive import Archive
from towtank.record.authority import Authority, new_authority
from towtank.record.proxy import Proxy, listening, trust_of
from towtank.record.recorder import Recorder


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as made:
        yield made


@pytest.fixture(scope="session")
def authority() -> Authority:
    return new_authority()


@pytest.fixture
def secure_site(tmp_path: Path) -> Iterator[Site]:
    """A site over TLS whose certificate is trusted only with `server-ca.pem`."""
    issuer = new_authority()
    (tmp_path / "server-ca.pem").write_bytes(issuer.pem)
    (tmp_path / "server.pem").write_bytes(issuer.signed("127.0.0.1"))
    with serving(tmp_path / "server.pem") as made:
        yield made


@pytest.fixture
def run_proxy(tmp_path: Path, authority: Authority) -> Iterator[Callable[..., Running]]:
    """Return a function that starts recording proxies. All of them stop at the end of the test."""
    with ExitStack() as stack:

        def start(
            *, tls: bool = True, cacert: Path | None = None, only: frozenset[str] = frozenset(), password: str = ""
        ) -> Running:
            path = tmp_path / "recording.har"
            archive = Archive(path)
            reported: list[str] = []
            recorder = Recorder(archive, only, reported.append)
            trust = trust_of(str(cacert) if cacert else None, insecure=False)
            proxy = Proxy(recorder, authority if tls else None, trust, distrusted="install it", password=password)
            running = Running(proxy, path, reported)
            ready, stop = threading.Event(), threading.Event()

            async def serve() -> None:
                async with listening(proxy):
                    ready.set()
                    while not stop.is_set():
                        await anyio.sleep(0.02)

            thread = threading.Thread(target=anyio.run, args=(serve,), daemon=True)
            thread.start()

            def end() -> None:
                stop.set()
                thread.join(PATIENCE_S)
                archive.close()

            stack.callback(end)
            assert ready.wait(PATIENCE_S)
            return running

        yield start


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    # The path is short because browsers create Unix sockets in this folder, and the length of socket paths is limited.
    with tempfile.TemporaryDirectory(prefix="tr-", dir="/tmp") as scratch:
        environment = {**os.environ, "TOWTANK_STATE": str(tmp_path / "state"), "TMPDIR": scratch}
        made = Bench(tmp_path, Path(scratch), environment)
        yield made
        for process in made.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        until(lambda: not made.left())
