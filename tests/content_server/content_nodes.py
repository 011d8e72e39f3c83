from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

from content_server.users import hash_password

PASSWORDS = {"ann": "secret-a", "bob": "secret-b", "reader": "secret-r", "root": "secret-0"}
ROLES = {"ann": "editor", "bob": "editor", "reader": "reader", "root": "administrator"}
START_TIMEOUT = 30.0


def write_users(path: Path) -> None:
    """Write the file of users. Tests log in often, so the password hashes are cheap to compute."""
    path.write_text("".join(f"{n}:{hash_password(p, n=2)}:{ROLES[n]}\n" for n, p in PASSWORDS.items()))


class Node:
    """A running process of `content-server serve`."""

    def __init__(self, data: Path, *options: str, users: bool = True) -> None:
        data.mkdir(parents=True, exist_ok=True)
        if users:
            write_users(data / "users.txt")
        self.log = (data / "server.log").open("a+")
        command = [sys.executable, "-m", "content_server", "serve", "--data", str(data), "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=self.log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.process.wait(START_TIMEOUT)
            raise AssertionError(f"the server did not start: {(data / 'server.log').read_text()}")
        self.url = line.removeprefix("listening on ").strip()

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(START_TIMEOUT)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()
            self.log.close()


class Client(httpx.Client):
    """HTTP client of a user of a node."""

    def __init__(self, url: str, user: str | None = "ann", password: str | None = None) -> None:
        login = (user, password or PASSWORDS.get(user, "")) if user else None
        super().__init__(base_url=url, auth=login, timeout=60.0)

    def select(self, selector: str, path: str = "", **parameters: Any) -> httpx.Response:
        headers = parameters.pop("headers", None)
        query = {"cmisselector": selector, "succinct": "true", **parameters}
        return self.get(f"/browser/content/root{path}", params=query, headers=headers)

    def act(
        self, action: str, path: str = "", content: bytes | None = None, mime: str = "text/plain", **fields: Any
    ) -> httpx.Response:
        target = {"objectId": fields.pop("objectId")} if "objectId" in fields else {}
        form = {"cmisaction": action, "succinct": "true"}
        for number, (name, value) in enumerate(fields.pop("properties", {}).items()):
            form |= {f"propertyId[{number}]": name, f"propertyValue[{number}]": value}
        files = {"content": ("file.bin", content, mime)} if content is not None else None
        return self.post(f"/browser/content/root{path}", params=target, data={**form, **fields}, files=files)

    def query(self, statement: str, **parameters: Any) -> httpx.Response:
        query = {"cmisselector": "query", "q": statement, "succinct": "true", **parameters}
        return self.get("/browser/content", params=query)

    def create(self, name: str, content: bytes | None = b"hello", path: str = "", **properties: str) -> dict[str, Any]:
        mime = properties.pop("mime", "text/plain")
        values = {"cmis:objectTypeId": "tt:document", "cmis:name": name}
        values |= {f"tt:{key}": value for key, value in properties.items()}
        response = self.act("createDocument", path, content, mime, properties=values)
        assert response.status_code == 201, response.text
        return dict(response.json()["succinctProperties"])

    def folder(self, name: str, path: str = "") -> str:
        response = self.act("createFolder", path, properties={"cmis:objectTypeId": "cmis:folder", "cmis:name": name})
        assert response.status_code == 201, response.text
        return str(response.json()["succinctProperties"]["cmis:objectId"])

    def metrics(self) -> dict[str, float]:
        lines = self.get("/metrics").text.splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in pairs}


def fault(response: httpx.Response) -> tuple[int, str]:
    """Return status and exception name of an error response, and check that it contains no stack trace."""
    assert "Traceback" not in response.text
    document = response.json()
    assert set(document) == {"exception", "message"}
    return response.status_code, document["exception"]
