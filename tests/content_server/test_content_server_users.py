from __future__ import annotations

import base64
import contextlib
import hashlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from content_nodes import Client, Node, fault
from held_port import held_port

from content_server.errors import NotAuthenticated
from content_server.repository import User
from content_server.users import Authenticator, Directory, FileDirectory, hash_password, verify_password

pytestmark = pytest.mark.waits

_SLAPD = """include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/inetorgperson.schema
pidfile {folder}/pid
moduleload back_mdb
modulepath /usr/lib/ldap
database mdb
suffix "dc=example,dc=org"
rootdn "cn=admin,dc=example,dc=org"
rootpw admin-secret
directory {folder}/db
"""
_PEOPLE = """dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: uid=ann,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Example
userPassword: secret-a
"""


def header(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


class Counting(Directory):
    def __init__(self) -> None:
        self.asked = 0

    def verify(self, name: str, password: str) -> User | None:
        self.asked += 1
        return User(name) if password == "right" else None


def test_passwords_are_hashed_with_a_salt() -> None:
    stored = hash_password("secret", n=16)
    assert stored != hash_password("secret", n=16)
    assert "secret" not in stored
    assert verify_password("secret", stored)
    assert not verify_password("Secret", stored)


def test_a_name_that_nobody_has_costs_as_much_as_a_wrong_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = [f"{name}:{hash_password('secret', n=n)}" for name, n in (("ann", 32), ("bob", 16), ("eve", 16))]
    (tmp_path / "users").write_text("\n".join(accounts))
    directory = FileDirectory(tmp_path / "users")
    costs: list[int] = []
    scrypt = hashlib.scrypt

    def counted(password: bytes, *, n: int, **more: Any) -> bytes:
        costs.append(n)
        return scrypt(password, n=n, **more)

    monkeypatch.setattr(hashlib, "scrypt", counted)
    assert [directory.verify(name, "wrong") for name in ("bob", "nobody", "")] == [None] * 3
    assert costs == [16, 16, 16]


def test_right_login_is_remembered_and_wrong_is_not() -> None:
    directory = Counting()
    authenticator = Authenticator(directory, lifetime=1000.0)
    assert authenticator.remembered(header("ann", "right")) is None
    assert authenticator.verify(header("ann", "right")) == User("ann")
    assert authenticator.remembered(header("ann", "right")) == User("ann")
    assert authenticator.remembered(header("ann", "wrong")) is None
    with pytest.raises(NotAuthenticated):
        authenticator.verify(header("ann", "wrong"))
    assert authenticator.remembered(header("ann", "wrong")) is None
    assert directory.asked == 2


def test_lifetime_of_zero_remembers_nothing() -> None:
    authenticator = Authenticator(Counting(), lifetime=0.0)
    authenticator.verify(header("ann", "right"))
    assert authenticator.remembered(header("ann", "right")) is None


def test_user_command_writes_a_line_that_logs_in(start: Any, tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "content_server", "user", "eve", "--role", "reader"],
        input="my password\n", capture_output=True, text=True, timeout=240, check=True,
    )  # fmt: skip
    users = tmp_path / "people.txt"
    users.write_text(f"# people\n\n{made.stdout}")
    node: Node = start("--users", str(users), users=False)
    with Client(node.url, "eve", "my password") as eve:
        assert eve.get("/browser").status_code == 200
        assert fault(eve.act("createFolder")) == (403, "permissionDenied")


@pytest.fixture(scope="module")
def ldap_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    slapd = shutil.which("slapd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    add = shutil.which("slapadd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if slapd is None or add is None:
        pytest.skip("slapd is missing: apt-get install slapd")
    folder = tmp_path_factory.mktemp("ldap")
    (folder / "db").mkdir()
    (folder / "slapd.conf").write_text(_SLAPD.format(folder=folder, schema="/etc/ldap/schema"))
    (folder / "people.ldif").write_text(_PEOPLE)
    subprocess.run(
        [add, "-f", str(folder / "slapd.conf"), "-l", str(folder / "people.ldif")], check=True, capture_output=True
    )
    with held_port() as port:
        url = f"ldap://127.0.0.1:{port}"
        # If a debug level is given, slapd stays in the foreground, so that the test can end it.
        process = subprocess.Popen(
            [slapd, "-f", str(folder / "slapd.conf"), "-h", url, "-d", "0"], stderr=subprocess.DEVNULL
        )
        try:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                assert process.poll() is None, "slapd ended before it accepted connections"
                time.sleep(0.05)
            yield url
        finally:
            process.terminate()
            process.wait(30)


@pytest.mark.ldap
def test_users_of_a_directory(start: Any, ldap_url: str) -> None:
    node: Node = start("--ldap", ldap_url, "--ldap-user-dn", "uid={},ou=people,dc=example,dc=org", users=False)
    with Client(node.url, "ann", "secret-a") as ann:
        assert ann.create("by ldap.txt")["cmis:createdBy"] == "ann"
    for name, password in (
        ("ann", "wrong"),
        ("ann", ""),
        ("nosuch", "x"),
        ("ann,ou=people", "secret-a"),
        ("*", "secret-a"),
    ):
        with Client(node.url, name, password or " ") as other:
            assert fault(other.get("/browser")) == (401, "permissionDenied"), name
    empty = {"Authorization": header("ann", "")}
    with Client(node.url, None) as anonymous:
        assert fault(anonymous.get("/browser", headers=empty)) == (401, "permissionDenied")


def test_directory_that_is_not_there(start: Any) -> None:
    with held_port() as port:
        node: Node = start("--ldap", f"ldap://127.0.0.1:{port}", users=False)
        with Client(node.url, "ann", "secret-a") as ann:
            assert fault(ann.get("/browser")) == (500, "storage")
