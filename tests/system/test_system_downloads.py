"""Downloads of files with known checksums from a small server."""

from __future__ import annotations

import hashlib
import os
import pwd
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from towtank.errors import TargetError
from towtank.system import downloads
from towtank.system.downloads import Artefact

pytestmark = pytest.mark.waits

CONTENT = bytes(range(256)) * 40
ARTEFACT = Artefact("org.example.some", "thing", "1.2", "jar", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
PATH = "/maven/org/example/some/thing/1.2/thing-1.2.jar"


class Repository:
    """HTTP server with one file.

    Attributes
    ----------
    content : bytes
        Content that the server returns.
    cut : int or None
        Number of bytes after which the first response ends.
    gives_parts : bool
        True if the server supports ranges.
    asked : list of tuple
        Path and range of each request.
    """

    def __init__(self) -> None:
        self.content = CONTENT
        self.cut: int | None = None
        self.gives_parts = True
        self.asked: list[tuple[str, str | None]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Suppress the log of requests."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/maven"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range")
        self.asked.append((handler.path, wanted))
        if handler.path != PATH:
            handler.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.gives_parts else 0
        if start >= len(self.content):
            handler.send_error(416)
            return
        body = self.content[start:]
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body if self.cut is None else body[: self.cut])
        self.cut = None


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Repository]:
    found = Repository()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(downloads.ADDRESS_VARIABLE, found.address + "/")
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_a_file_is_fetched_once_and_verified(repository: Repository) -> None:
    notes: list[str] = []
    assert not downloads.is_here(ARTEFACT)
    downloads.fetch([ARTEFACT], notes.append)
    downloads.fetch([ARTEFACT], notes.append)
    assert downloads.is_here(ARTEFACT)
    assert downloads.place_of(ARTEFACT).read_bytes() == CONTENT
    assert repository.asked == [(PATH, None)]
    assert notes == ["fetching thing-1.2.jar (0 MB)"]


@pytest.mark.parametrize("gives_parts", [True, False])
def test_an_interrupted_fetch_goes_on_where_it_stopped(repository: Repository, gives_parts: bool) -> None:
    repository.cut, repository.gives_parts = 1000, gives_parts
    with pytest.raises(TargetError, match=r"thing-1\.2\.jar"):
        downloads.fetch([ARTEFACT])
    assert not downloads.is_here(ARTEFACT)
    downloads.fetch([ARTEFACT])
    assert downloads.place_of(ARTEFACT).read_bytes() == CONTENT
    assert repository.asked == [(PATH, None), (PATH, "bytes=1000-")]


def test_other_bytes_are_thrown_away(repository: Repository) -> None:
    repository.content = CONTENT[:-1] + b"x"
    with pytest.raises(TargetError, match=f"must have the SHA-256 {ARTEFACT.sha256}"):
        downloads.fetch([ARTEFACT])
    assert not list(downloads.cache_folder().rglob("*.*"))
    repository.content = CONTENT
    downloads.fetch([ARTEFACT])
    assert downloads.is_here(ARTEFACT)


def test_a_server_that_sends_more_does_not_fill_the_disk(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[int] = []
    sha256_of = downloads.sha256_of

    def seen(path: Path) -> str:
        received.append(path.stat().st_size)
        return sha256_of(path)

    monkeypatch.setattr(downloads, "sha256_of", seen)
    repository.content = b"x" * 5_000_000
    with pytest.raises(TargetError, match=f"must have the SHA-256 {ARTEFACT.sha256}"):
        downloads.fetch([ARTEFACT])
    assert received == [ARTEFACT.size]


def test_what_is_whole_but_has_no_name_yet_is_taken(repository: Repository) -> None:
    part = downloads.place_of(ARTEFACT).with_name("thing-1.2.jar.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT)
    downloads.fetch([ARTEFACT])
    assert downloads.is_here(ARTEFACT)
    assert repository.asked == [(PATH, f"bytes={len(CONTENT)}-")]


def test_missing_elements_and_unreachable_pages_are_reported(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = Artefact("org.example", "absent", "1", "jar", "0" * 64, 1)
    with pytest.raises(TargetError, match=r"absent-1\.jar cannot be fetched from http://127.*: status 404"):
        downloads.fetch([absent])
    repository.server.shutdown()
    repository.server.server_close()
    with pytest.raises(TargetError, match=r"thing-1\.2\.jar cannot be fetched") as reported:
        downloads.fetch([ARTEFACT])
    assert downloads.ADDRESS_VARIABLE in str(reported.value.hint)
    monkeypatch.setenv(downloads.ADDRESS_VARIABLE, "file:///etc")
    with pytest.raises(TargetError, match="must be an address such as https://host/path, got 'file:///etc' instead"):
        downloads.fetch([ARTEFACT])


MIRROR = """<settings xmlns="urn:settings-of-maven"><mirrors>
  <mirror><id>other</id><mirrorOf>jboss</mirrorOf><url>https://a.example/m</url></mirror>
  <mirror><id>ours</id><mirrorOf>{of}</mirrorOf><url> https://b.example/m/ </url></mirror>
</mirrors></settings>"""


@pytest.mark.parametrize(
    ("of", "address"),
    [("central", "https://b.example/m"), ("*", "https://b.example/m"), ("*,!central", None), ("jcenter", None)],
)
def test_the_mirror_of_the_settings_of_maven_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, of: str, address: str | None
) -> None:
    monkeypatch.delenv(downloads.ADDRESS_VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    jar, central = tmp_path / "model-builder.jar", "https://default.example/m"
    with zipfile.ZipFile(jar, "w") as archive:
        pom = f"<repositories><repository><url> {central} </url></repository></repositories>"
        archive.writestr("org/apache/maven/model/pom-4.0.0.xml", f'<project xmlns="urn:pom">{pom}</project>')
    monkeypatch.setattr(downloads, "_MAVEN_JARS", (str(jar),))
    assert downloads.repository_address() == central
    (tmp_path / ".m2").mkdir()
    (tmp_path / ".m2" / "settings.xml").write_text(MIRROR.format(of=of))
    assert downloads.repository_address() == (address or central)
    (tmp_path / ".m2" / "settings.xml").write_text("<settings")
    assert downloads.repository_address() == central


def test_without_any_maven_the_address_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(downloads.ADDRESS_VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(downloads, "_MAVEN_JARS", (str(tmp_path / "absent.jar"),))
    with pytest.raises(TargetError, match="no Maven repository is known") as reported:
        downloads.fetch([ARTEFACT])
    assert downloads.ADDRESS_VARIABLE in str(reported.value.hint)


def test_the_cache_is_where_the_user_keeps_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert downloads.cache_folder() == tmp_path / ".cache" / "towtank"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may create folders of other users")
def test_the_cache_is_not_that_of_another_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = Path(pwd.getpwuid(0).pw_dir) / ".cache" / "towtank"
    os.chown(tmp_path, 65534, 65534)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert downloads.cache_folder() == own
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "absent" / "cache"))
    assert downloads.cache_folder() == own
