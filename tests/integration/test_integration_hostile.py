"""Servers that attack the load generator, over every protocol of the engine.

During an attack, other users on the same thread use a correct server. The tests assert that memory stays below a limit,
and that these users complete a minimum fraction of their work without an attack. Every exchange must end with a known
kind of failure.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest
from certification import Tried
from integration_bench import Bench

pytestmark = pytest.mark.waits

# Memory limit of the engine, which uses about 12 MiB without an attack. A response may take 64 MiB, and a session holds
# one response at a time. [bytes]
MEMORY_AT_MOST = 192 * 2**20
# Minimum number of transactions of the correct server's users during an attack, as a fraction of the number without an
# attack. The users think for 20 ms; a response takes far less. [1]
KEPT_AT_LEAST = 0.4
# Maximum number of attempts, because other programs may disturb a measurement.
TRIES = 3
KINDS = {"timeout", "protocol", "closed", "connect", "refused", "status_5xx", "internal"}

PG, MY = "postgresql://u:p@{}/d", "mysql://u:p@{}/d"
HTTP = "{get: /, target: bad}"
SQL = "{sql: select 1, target: bad}"
KEPT_SQL = "{sql: select from t, target: bad, extract: {x: a}}"
LDAP = "{ldap: {search: 'ou=people', filter: (uid=a)}, target: bad}"
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def message(tag: bytes, body: bytes) -> bytes:
    return tag + struct.pack(">I", len(body) + 4) + body


ANSWER = HEAD + b"Content-Length: 1\r\n\r\nx"
ZEROS = zlib.compress(bytes(10**8), 9)
ENTRY = b"\x30\x0f\x02\x01\x01\x64\x0a\x04\x04cn=a\x30\x02\x30\x00"
SETTINGS = frame(4, 0, 0)
STATUS = b"\x88"
LET_IN = message(b"R", struct.pack(">I", 0))
READY = LET_IN + message(b"Z", b"I")
_ABLE = b"\xff\xf7\x08\x02\0\xff\x81\x15" + bytes(10)
GREETING = b"\x0a10.11\0\1\0\0\0" + b"12345678\0" + _ABLE + b"123456789012\0mysql_native_password\0"
MYSQL = struct.pack("<I", len(GREETING))[:3] + b"\0" + GREETING


@dataclass(frozen=True)
class Attack:
    """Bytes that an attacking server sends first, and bytes that it then repeats as long as the client reads."""

    name: str
    step: str
    first: bytes
    flood: bytes = b""
    speaks_first: bool = False
    pause_s: float = 0.0
    scheme: str = "http://"
    http2: bool = False
    may_succeed: bool = False


def of_http2(name: str, first: bytes, flood: bytes) -> Attack:
    return Attack(f"http2: {name}", HTTP, SETTINGS + first, flood * (65536 // len(flood)), http2=True)


ATTACKS = [
    Attack("http: a header without end", HTTP, HEAD + b"X: ", b"a" * 65536),
    Attack("http: headers without end", HTTP, HEAD, b"X-Name: value\r\n" * 4096),
    Attack("http: a chunk of 2^63", HTTP, CHUNKED + b"8000000000000000\r\n", b"x" * 65536),
    Attack("http: a chunk of 2^64 - 1", HTTP, CHUNKED + b"ffffffffffffffff\r\n", b"x" * 65536),
    Attack("http: chunks of one byte without end", HTTP, CHUNKED, b"1\r\nx\r\n" * 8192),
    Attack("http: a chunk extension without end", HTTP, CHUNKED + b"1;", b"a" * 65536),
    Attack("http: trailers without end", HTTP, CHUNKED + b"0\r\n", b"X-Name: value\r\n" * 4096),
    Attack("http: a body without end", HTTP, HEAD + b"\r\n", b"x" * 65536),
    Attack("http: interim answers without end", HTTP, b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2048),
    Attack("http: a length of 2^63", HTTP, HEAD + b"Content-Length: 9223372036854775808\r\n\r\n", b"x" * 65536),
    Attack("http: zeros that gzip made small", HTTP,
           HEAD + b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(ZEROS) + ZEROS, may_succeed=True),
    Attack("http: cookies without end", HTTP, HEAD, b"Set-Cookie: a=" + b"b" * 4000 + b"\r\n"),
    Attack("http: a byte now and then", HTTP, HEAD, b"X", pause_s=0.02),
    Attack("http: answers before they are asked for", HTTP, b"", ANSWER * 1024, speaks_first=True, may_succeed=True),
    of_http2("pings without end", b"", frame(6, 0, 0, bytes(8))),
    of_http2("settings without end", b"", SETTINGS),
    of_http2("resets of streams", b"", frame(3, 0, 1, bytes(4))),
    of_http2("empty data without end", frame(1, 4, 1, STATUS), frame(0, 0, 1)),
    of_http2("data without end", frame(1, 4, 1, STATUS), frame(0, 0, 1, bytes(16384))),
    of_http2("continuations without end", frame(1, 0, 1, STATUS), frame(9, 0, 1, b"\x00\x01a\x01b")),
    of_http2("window updates without end", b"", frame(8, 0, 0, struct.pack(">I", 1))),
    of_http2("frames of unknown kinds", b"", frame(99, 0, 0, bytes(1000))),
    of_http2("priorities without end", b"", frame(2, 0, 1, bytes(5))),
    Attack("tls: records of nothing", HTTP, b"", b"\x16\x03\x03\x40\x00" + bytes(16384), scheme="https://"),
    Attack("tls: alerts without end", HTTP, b"", b"\x15\x03\x03\x00\x02\x01\x5a" * 8192, scheme="https://"),
    Attack("tls: a byte now and then", HTTP, b"\x16\x03\x03\x00", b"\x50", pause_s=0.02, scheme="https://"),
    Attack("postgresql: a message of 4 GiB", SQL, b"R" + b"\xff" * 4, bytes(65536), scheme=PG),
    Attack("postgresql: a message of 2 GiB", SQL, READY + b"D\x7f\xff\xff\xff", bytes(65536), scheme=PG),
    Attack("postgresql: notices without end", SQL, READY, message(b"N", b"SNOTICE\0Mhello\0\0") * 2048, scheme=PG),
    Attack("postgresql: rows without end", SQL, READY + message(b"1", b"") + message(b"2", b""),
           message(b"D", b"\0\1" + struct.pack(">I", 1000) + bytes(1000)) * 64, scheme=PG),
    Attack("postgresql: rows of nothing that are kept", KEPT_SQL,
           READY + message(b"1", b"") + message(b"T", b"\0\0") + message(b"2", b""),
           message(b"D", b"\0\0") * 8192, scheme=PG),
    Attack("postgresql: a byte now and then", SQL, b"R\0\0\0", b"\x08", pause_s=0.02, scheme=PG),
    Attack("mysql: a greeting without end", SQL, b"\xff\xff\xff\0", bytes(65536), speaks_first=True, scheme=MY),
    Attack("mysql: packets without end", SQL, MYSQL, b"\xff\xff\xff\1" + bytes(65536), speaks_first=True, scheme=MY),
    Attack("mysql: a byte now and then", SQL, MYSQL[:20], b"\0", pause_s=0.02, speaks_first=True, scheme=MY),
    Attack("ldap: a message of 4 GiB", LDAP, b"\x30\x84\xff\xff\xff\xff", bytes(65536), scheme="ldap://{}"),
    Attack("ldap: a length of 126 bytes", LDAP, b"\x30\xfe", b"\x01" * 65536, scheme="ldap://{}"),
    Attack("ldap: entries without end", LDAP, b"", ENTRY * 4096, scheme="ldap://{}"),
    Attack("ldap: a byte now and then", LDAP, b"\x30\x50", b"\x02", pause_s=0.02, scheme="ldap://{}"),
]  # fmt: skip


@contextmanager
def attacking(attack: Attack) -> Iterator[str]:
    """Run a server that attacks each client; yield the server's address."""
    over = threading.Event()

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(5.0)
            if not attack.speaks_first:
                client.recv(65536)
            client.sendall(attack.first)
            while attack.flood and not over.is_set():
                client.sendall(attack.flood)
                time.sleep(attack.pause_s)
            while not attack.flood and client.recv(65536):
                client.sendall(attack.first)

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        listener.shutdown(socket.SHUT_RDWR)


WORKLOAD = """schema: towtank/workload/1
name: hostile
defaults: {{connect_timeout: 500 ms, timeout: 500 ms}}
transactions:
  bad: [{step}]
  good: [{{get: /, target: good}}]
groups:
  attacked: {{share: 50 %, loop: {{think: {{fixed: 5 ms}}, mix: {{bad: 100}}}}}}
  others: {{share: 50 %, loop: {{think: {{fixed: 20 ms}}, mix: {{good: 100}}}}}}
"""


def driven(bench: Bench, step: str, bad: str, good: str, *options: str) -> tuple[int, dict[str, Any], str]:
    (bench.folder / "workload.yaml").write_text(WORKLOAD.format(step=step))
    addresses = ("--address", f"bad={bad}", "--address", f"good={good}")
    load = ("--users", "8", "--duration", "2 s", "--threads", "1", "--json", "--quiet")
    ended = bench.towtank("drive", "workload.yaml", *addresses, *load, *options)
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {}, ended.stderr


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Cache for the number of transactions without an attack, by kind of load."""
    return {}


@pytest.mark.certify
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_costs_memory_and_others_no_more_than_is_stated(
    bench: Bench, serve: Callable[..., str], undisturbed: dict[str, int], attack: Attack, tried: Tried
) -> None:
    tried(f"attack of a server over {attack.name.partition(':')[0]}")
    for _ in range(TRIES):
        if "count" not in undisturbed:
            _, document, errors = driven(bench, HTTP, serve(), serve())
            assert document, errors
            undisturbed["count"] = document["transactions"]["good"]["count"]
        count = attacked(bench, serve, attack)
        if count >= KEPT_AT_LEAST * undisturbed["count"] > 0:
            return
        without = undisturbed.pop("count")
    pytest.fail(f"{count} transactions of other users during the attack, {without} without it")


def attacked(bench: Bench, serve: Callable[..., str], attack: Attack) -> int:
    """Return the number of transactions that the correct server's users complete during an attack. Assert memory use
    and kind of failure.
    """
    options = ("--http2",) if attack.http2 else ()
    good = serve(*options)
    with attacking(attack) as address:
        bad = attack.scheme.format(address) if "{}" in attack.scheme else f"{attack.scheme}{address}"
        code, document, errors = driven(bench, attack.step, bad, good, *options)
    assert code in (0, 4), errors
    assert "Traceback" not in errors
    assert document["generator"]["peak_rss_bytes"] < MEMORY_AT_MOST
    found = {
        kind for kind, count in {**document["errors_by_kind"], **document.get("failed_later", {})}.items() if count
    }
    assert found <= KINDS, found
    assert found or attack.may_succeed
    return int(document["transactions"]["good"]["count"])
