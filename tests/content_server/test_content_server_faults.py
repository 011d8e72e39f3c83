"""Requests that the content server must refuse, and options with which it must not start."""

from __future__ import annotations

import base64
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from content_nodes import Client, Node, fault, write_users

pytestmark = pytest.mark.waits


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"cmisselector": "object", "objectId": "nosuch"}, (404, "objectNotFound")),
        ({"cmisselector": "object", "objectId": "' OR 1=1 --"}, (404, "objectNotFound")),
        ({"cmisselector": "object", "objectId": "a\x00b"}, (400, "invalidArgument")),
        ({"cmisselector": "content"}, (400, "invalidArgument")),
        ({"cmisselector": "versions"}, (400, "invalidArgument")),
        ({"cmisselector": "parent"}, (400, "invalidArgument")),
        ({"cmisselector": "nosuch"}, (405, "notSupported")),
        ({"cmisselector": "children", "maxItems": "-1"}, (400, "invalidArgument")),
        ({"cmisselector": "children", "maxItems": "²"}, (400, "invalidArgument")),
        ({"cmisselector": "children", "skipCount": "1e3"}, (400, "invalidArgument")),
        ({"cmisselector": "children", "skipCount": "9" * 30}, (400, "invalidArgument")),
        ({"cmisselector": "children", "orderBy": "cmis:name; DROP TABLE object"}, (400, "invalidArgument")),
        ({"cmisselector": "children", "orderBy": "name"}, (400, "invalidArgument")),
        ({"cmisselector": "children", "succinct": "perhaps"}, (400, "invalidArgument")),
        ({"cmisselector": "children", "filter": "'"}, (400, "filterNotValid")),
    ],
)
def test_bad_parameters(ann: Client, parameters: dict[str, str], expected: tuple[int, str]) -> None:
    assert fault(ann.get("/browser/content/root", params=parameters)) == expected


def test_unknown_urls_and_methods(ann: Client) -> None:
    assert fault(ann.get("/nosuch")) == (404, "objectNotFound")
    assert fault(ann.get("/browser/other/root")) == (404, "objectNotFound")
    assert fault(ann.get("/browser/content/root/no/such/path")) == (404, "objectNotFound")
    assert fault(ann.put("/browser/content/root")) == (405, "notSupported")
    assert fault(ann.post("/browser/content/root", json={"cmisaction": "delete"})) == (405, "notSupported")
    assert fault(ann.act("nosuch")) == (405, "notSupported")


@pytest.mark.parametrize(
    "path",
    [
        "/browser/content/root/../../../etc/passwd",
        "/browser/content/root/%2e%2e/%2e%2e/etc/passwd",
        "/browser/content/root/..%2f..%2fetc%2fpasswd",
        "/browser/content/root//etc/passwd",
        "/browser/content/root/%00",
        "/browser/content/root/%ff%fe",
        "/browser/content/root/area/../lock",
    ],
)
def test_paths_do_not_leave_the_repository(node: Node, path: str) -> None:
    host, port = node.url.removeprefix("http://").split(":")
    login = base64.b64encode(b"ann:secret-a").decode()
    # The request is sent over a plain socket, because HTTP clients would normalize its path.
    with socket.create_connection((host, int(port)), 30) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Basic {login}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.split()[1] in (b"400", b"404"), answer
    assert b"root:" not in answer
    assert b"Traceback" not in answer


@pytest.mark.parametrize("name", ["", "..", ".", "a/b", "a\\b", "a\x00b", "a\nb", "x" * 256])
def test_names_that_are_no_names(ann: Client, name: str) -> None:
    for kind, action in (("tt:document", "createDocument"), ("cmis:folder", "createFolder")):
        answer = ann.act(action, properties={"cmis:objectTypeId": kind, "cmis:name": name})
        assert fault(answer) == (409, "nameConstraintViolation")


def test_name_is_taken_once_for_all_kinds(ann: Client) -> None:
    ann.create("taken")
    again = ann.act("createFolder", properties={"cmis:objectTypeId": "cmis:folder", "cmis:name": "taken"})
    assert fault(again) == (409, "nameConstraintViolation")
    other = ann.create("free")["cmis:objectId"]
    assert fault(ann.act("update", objectId=other, properties={"cmis:name": "taken"})) == (
        409,
        "nameConstraintViolation",
    )


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"cmis:name": "n"}, (400, "invalidArgument")),
        ({"cmis:name": "n", "cmis:objectTypeId": "cmis:folder"}, (409, "constraint")),
        ({"cmis:name": "n", "cmis:objectTypeId": "nosuch"}, (409, "constraint")),
        ({"cmis:name": "n", "cmis:objectTypeId": "tt:search"}, (409, "constraint")),
        ({"cmis:name": "n", "cmis:objectTypeId": "tt:document", "tt:nosuch": "1"}, (409, "constraint")),
        ({"cmis:name": "n", "cmis:objectTypeId": "tt:document", "cmis:createdBy": "me"}, (409, "constraint")),
        ({"cmis:name": "n", "cmis:objectTypeId": "cmis:document", "tt:department": "x"}, (409, "constraint")),
        ({"cmis:name": "n", "cmis:objectTypeId": "tt:document", "tt:amount": "much"}, (400, "invalidArgument")),
        ({"cmis:name": "n", "cmis:objectTypeId": "tt:document", "tt:amount": "nan"}, (400, "invalidArgument")),
        ({"cmis:name": "n", "cmis:objectTypeId": "tt:document", "tt:pages": "1" * 30}, (400, "invalidArgument")),
        ({"cmis:name": "n", "cmis:objectTypeId": "tt:document", "tt:dueDate": "soon"}, (400, "invalidArgument")),
        ({"cmis:name": "n", "cmis:objectTypeId": "tt:document", "tt:status": "x" * 2001}, (409, "constraint")),
    ],
)
def test_properties_that_do_not_fit(ann: Client, properties: dict[str, str], expected: tuple[int, str]) -> None:
    assert fault(ann.act("createDocument", properties=properties)) == expected
    assert ann.query("SELECT * FROM cmis:document WHERE cmis:name = 'n'").json()["results"] == []


def test_sql_in_values_is_only_text(ann: Client) -> None:
    attack = "'); DROP TABLE object; --"
    created = ann.create("injected", department=attack)
    assert created["tt:department"] == attack
    quoted = attack.replace("'", "''")
    found = ann.query(f"SELECT cmis:name FROM tt:document WHERE tt:department = '{quoted}'").json()
    assert [r["succinctProperties"] for r in found["results"]] == [{"cmis:name": "injected"}]
    union = ann.query("SELECT * FROM cmis:document WHERE cmis:name = 'x' UNION SELECT * FROM object")
    assert fault(union) == (400, "invalidArgument")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"no boundary"),
        ("multipart/form-data; boundary=", b"--\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\nrubbish"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\nvalue\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x", b"\x00\xff" * 500),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n' + b"y" * 300_000 + b"\r\n--x--\r\n"),  # noqa: E501
        ("multipart/form-data; boundary=x; charset=nosuch", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n'),  # noqa: E501
        ("application/x-www-form-urlencoded", b"&".join(b"f%d=1" % n for n in range(400))),
        ("application/x-www-form-urlencoded", b"\xff=%zz"),
    ],
)  # fmt: skip
def test_malformed_forms(ann: Client, kind: str, body: bytes) -> None:
    answer = ann.post("/browser/content/root", content=body, headers={"Content-Type": kind})
    assert fault(answer) in ((400, "invalidArgument"), (405, "notSupported"))


def test_properties_without_names_or_twice(ann: Client) -> None:
    stray = {"cmisaction": "createDocument", "propertyValue[0]": "x"}
    assert fault(ann.post("/browser/content/root", data=stray)) == (400, "invalidArgument")
    twice = {"cmisaction": "createDocument", "propertyId[0]": "cmis:name", "propertyId[1]": "cmis:name"}
    assert fault(ann.post("/browser/content/root", data=twice)) == (400, "invalidArgument")
    wrong = ann.act("createDocument", content=b"x", mime="<script>", properties={"cmis:objectTypeId": "tt:document"})
    assert fault(wrong) == (400, "invalidArgument")
    state = ann.act(
        "createDocument", versioningState="none", properties={"cmis:objectTypeId": "tt:document", "cmis:name": "n"}
    )
    assert fault(state) == (409, "constraint")


@pytest.mark.parametrize(
    "header",
    [None, "", "Basic", "Basic !!!", "Basic " + base64.b64encode(b"ann").decode(), "Bearer x",
     "Basic " + base64.b64encode(b"ann:wrong").decode(), "Basic " + base64.b64encode(b"\xff:\xff").decode(),
     "Basic " + base64.b64encode(b"nosuch:secret-a").decode()],
)  # fmt: skip
def test_wrong_logins(node: Node, header: str | None) -> None:
    answer = httpx.get(f"{node.url}/browser", headers={} if header is None else {"Authorization": header})
    assert fault(answer) == (401, "permissionDenied")
    assert answer.headers["www-authenticate"].startswith("Basic")


def test_half_a_request_does_no_harm(ann: Client, node: Node) -> None:
    host, port = node.url.removeprefix("http://").split(":")
    login = base64.b64encode(b"ann:secret-a").decode()
    for body in (
        b"GET / HTT",
        b"\x16\x03\x01\x00\xa5" * 20,
        b"POST /browser/content/root HTTP/1.1\r\nContent-Length: 99\r\n\r\nab",
    ):
        with socket.create_connection((host, int(port)), 30) as connection:
            connection.sendall(body)
    with socket.create_connection((host, int(port)), 30) as connection:
        head = "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5000\r\n"
        connection.sendall(
            f"POST /browser/content/root HTTP/1.1\r\nHost: h\r\nAuthorization: Basic {login}\r\n{head}\r\n--x\r\n".encode()  # noqa: E501
        )
    assert ann.get("/browser").status_code == 200


def _refused(*options: str, data: Path) -> str:
    """Start a server that must fail; return the last line that it prints."""
    command = [sys.executable, "-m", "content_server", "serve", "--data", str(data), *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode in (1, 2)
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    return ended.stderr.strip().splitlines()[-1]


def test_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    write_users(tmp_path / "users.txt")
    free = ("--listen", "127.0.0.1:0")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert f"listen: {address}: Address already in use" in _refused("--listen", address, data=tmp_path)
    assert "unknown index nosuch; known indexes: search_type" in _refused(
        *free, "--drop-index", "nosuch", data=tmp_path
    )
    unreachable = _refused(*free, "--database", "host=127.0.0.1 port=1 user=x", data=tmp_path)
    assert "database: cannot be reached" in unreachable
    assert "cannot be opened" in _refused(*free, "--database", "sqlite:/nosuch/folder/x", data=tmp_path)
    assert "users.txt is missing" in _refused(*free, data=tmp_path / "empty")
    assert "must be a size" in _refused("--content-cache-bytes", "lots", data=tmp_path)
    assert "at least 1" in _refused("--threads", "0", data=tmp_path)
    (tmp_path / "users.txt").write_text("ann:plain-text-password\n")
    assert "users.txt:1: must be name:scrypt$" in _refused(*free, data=tmp_path)
    write_users(tmp_path / "users.txt")
    (tmp_path / "content.sqlite").write_bytes(b"no database" * 1000)
    assert "file is not a database" in _refused(*free, data=tmp_path)


def test_stop_finishes_what_is_in_work(start: Any) -> None:
    node = start()
    with Client(node.url) as ann:
        ann.create("last.txt")
        assert node.stop() == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{node.url}/metrics")
