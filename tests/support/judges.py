"""Server that logs its requests, so that a test can compare the load of an imported file with the load of the original
tool.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

# Headers that tools add to every request. The comparison ignores them.
OWN = frozenset({"host", "connection", "content-length", "user-agent", "accept", "accept-encoding", "expect", "cookie"})
# Value and attributes of the cookie that a response sets: path `/set/NAME` sets cookie NAME, `/drop/NAME` deletes it.
_COOKIES = {"set": "server; Path=/", "drop": "; Path=/; Max-Age=0"}


@dataclass
class Log:
    """Log of received requests, in the order of their arrival."""

    address: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    # Arrival time [s] and path of each request since `driven` was last called.
    times: list[tuple[float, str]] = field(default_factory=list)

    def taken(self) -> list[dict[str, Any]]:
        """Return the requests that arrived since the last call of this method, and remove them from the log."""
        asked, self.asked[:] = list(self.asked), []
        return asked

    def add(self, asked: dict[str, Any]) -> None:
        self.asked.append(asked)
        self.times.append((time.monotonic(), asked["path"]))


@contextmanager
def logging_server(statuses: dict[str, int] | None = None) -> Iterator[Log]:
    """Yield a server that logs requests and answers each one with the same JSON. `statuses` maps paths to other
    response statuses; paths in `_COOKIES` set a cookie.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            log.add(
                shown(self.command, self.path.encode("latin-1").decode("utf-8", "replace"), self.headers.items(), body)
            )
            data = b'{"token": "abc", "id": 7}'
            self.send_response((statuses or {}).get(urlsplit(self.path).path, 200))
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Id", "h7")
            self.send_header("Set-Cookie", "session=1; Path=/")
            for name, value in _COOKIES.items():
                if self.path.startswith(f"/{name}/"):
                    self.send_header("Set-Cookie", f"{self.path.split('/')[2].partition('?')[0]}={value}")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Suppress the log of requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    log = Log(f"127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield log
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def shown(method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes) -> dict[str, Any]:
    """Return the properties of a request that must be equal if two tools send it. Values of repeated headers are
    joined.
    """
    # Percent-encoded characters in a URL may have upper-case or lower-case hexadecimal digits.
    split = urlsplit(re.sub("%[0-9a-f]{2}", lambda found: found[0].upper(), url))
    given: dict[str, str] = {}
    for name, value in headers:
        low = name.lower()
        given[low] = f"{given[low]}{'; ' if low == 'cookie' else ', '}{value}" if low in given else value
    media = given.get("content-type", "").partition(";")[0].strip()
    kept = {name: value for name, value in given.items() if name not in OWN and name != "content-type"}
    cookies = sorted(each.strip() for each in given.get("cookie", "").split(";") if each.strip())
    text = body.decode("utf-8", "replace")
    content: Any = text
    if media == "application/json" and text:
        content = _json(text)
    elif media == "application/x-www-form-urlencoded":
        content = parse_qsl(text, keep_blank_values=True) or text
    elif media == "multipart/form-data":
        content = sorted(line for line in text.splitlines() if "boundary" not in line and not line.startswith("--"))
    query = parse_qsl(split.query, keep_blank_values=True)
    return {
        **{"method": method, "path": split.path, "query": query, "headers": kept, "type": media if body else ""},
        **{"body": content, "cookies": cookies},
    }


def _json(text: str) -> Any:
    """Return the value of a JSON text, or lists of key-value pairs if keys are repeated. A text that is not JSON is
    returned unchanged.
    """
    try:
        return json.loads(
            text, object_pairs_hook=lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else pairs
        )
    except ValueError:
        return text


def driven(form: str, file: Path, log: Log, duration: str = "15s", users: int = 1) -> list[dict[str, Any]]:
    """Import a file of another tool, run the import as a load on the logging server, and return the logged requests."""
    out = file.with_name("imported.yaml")
    _towtank("import", form, str(file), "--out", str(out), "--force", folder=file.parent)
    log.taken()
    log.times.clear()
    _towtank("drive", str(out), "--address", log.address, "--users", str(users), "--duration", duration)
    return log.taken()


def _towtank(*words: str, folder: Path | None = None) -> None:
    command = [sys.executable, "-m", "towtank", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    # Status 4 (measurement too short to be valid) is accepted, because the test uses only the requests.
    assert ended.returncode in {0, 4}, ended.stderr


def without_cookies(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in each.items() if key != "cookies"} for each in asked]
