"""Database sessions of the engine with servers that close connections or are slow to roll back."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from engine_run import drive, plan_of
from integration_bench import Bench

from towtank.analysis.measurement import Measurement
from towtank.results import segments

pytestmark = pytest.mark.waits

ROLLBACK_S = 0.3


class Clients:
    """Counts of a server's clients: total (`all`), at present (`now`), and maximum at the same time (`most`)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.all = self.now = self.most = 0

    def come(self) -> None:
        with self.lock:
            self.all, self.now = self.all + 1, self.now + 1
            self.most = max(self.most, self.now)

    def go(self) -> None:
        with self.lock:
            self.now -= 1


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[tuple[str, Clients]]:
    """Run a server that calls `serve` for each client; yield the server's address and its client counts."""
    clients = Clients()

    def attend(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(10.0)
            serve(client)
        clients.go()

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client = listener.accept()[0]
                    clients.come()
                    threading.Thread(target=attend, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", clients
        listener.shutdown(socket.SHUT_RDWR)


def answer_once(client: socket.socket) -> None:
    if client.recv(100):
        client.sendall(b"x")


def message(tag: bytes, body: bytes) -> bytes:
    return tag + struct.pack(">I", len(body) + 4) + body


def slow_to_roll_back(client: socket.socket) -> None:
    """Simulates a PostgreSQL server that accepts BEGIN, refuses other statements, and is slow to roll back."""
    roll_back(client, ROLLBACK_S)


def never_rolls_back(client: socket.socket) -> None:
    """Simulates a PostgreSQL server that accepts BEGIN, refuses other statements, and never responds to ROLLBACK."""
    roll_back(client, None)


def roll_back(client: socket.socket, after_s: float | None) -> None:
    client.recv(65536)
    client.sendall(message(b"R", bytes(4)) + message(b"Z", b"I"))
    while asked := client.recv(65536):
        if b"ROLLBACK" in asked:
            if after_s is None:
                continue
            time.sleep(after_s)
            client.sendall(message(b"C", b"ROLLBACK\0") + message(b"Z", b"I"))
        elif b"begin" in asked:
            said = [(b"1", b""), (b"n", b""), (b"2", b""), (b"C", b"BEGIN\0"), (b"Z", b"T")]
            client.sendall(b"".join(message(*each) for each in said))
        else:
            client.sendall(message(b"E", b"SERROR\0VERROR\0C23505\0Mno\0\0") + message(b"Z", b"E"))


def run(
    bench: Bench, step: str, addresses: list[str], users: int, **changes: Any
) -> tuple[dict[str, Any], dict[str, Counter[str]]]:
    (bench.folder / "workload.yaml").write_text(
        f"schema: towtank/workload/1\nname: sessions\ntransactions: {{work: [{step}]}}\n"
        "groups: {all: {loop: {think: {fixed: 10 ms}, mix: {work: 1}}}}\n"
    )
    plan = plan_of(bench.folder, {"server": addresses}, users=users, seconds=4.0, **changes)
    return drive(plan, bench.folder)


@pytest.mark.timeout(60)
def test_sessions_that_servers_close_are_opened_again_at_their_own_address(bench: Bench) -> None:
    with server(answer_once) as (first, at_first), server(answer_once) as (second, at_second):
        ended, _ = run(bench, "{tcp: {send: 10 B, receive: 1 B}}", [f"tcp://{first}", f"tcp://{second}"], 4)
        assert ended["totals"]["ok"] > 20
        share = at_first.all / (at_first.all + at_second.all)
        assert 0.3 < share < 0.7, (at_first.all, at_second.all)


@pytest.mark.timeout(60)
def test_a_slow_rollback_is_a_time_of_the_server(bench: Bench) -> None:
    with server(slow_to_roll_back) as (address, _):
        run(bench, "{sql: begin}, {sql: insert into t values (1)}", [f"postgresql://u@{address}/d"], 1)
    measurement = Measurement(segments.read(bench.folder / "engine"))
    chosen = measurement.ends > 0
    lag = measurement.lag.merged(chosen)
    assert lag is not None
    assert lag.quantile(0.5) < ROLLBACK_S / 3
    begins = measurement.columns("step")
    slowest = max(column.exchange_sum_s.sum() / column.ended.sum() for column in begins.values())
    # Every transaction after the first waits until the previous transaction has been rolled back. Therefore BEGIN
    # takes, on average, more than half of the rollback time.
    assert slowest > ROLLBACK_S / 2


@pytest.mark.timeout(60)
def test_a_session_of_its_own_for_each_transaction_is_not_kept_for_a_rollback(bench: Bench) -> None:
    with server(never_rolls_back) as (address, clients):
        step = "{sql: begin}, {sql: insert into t values (1)}"
        run(bench, step, [f"postgresql://u@{address}/d"], 2, connections={"mode": "new_each_time"})
        assert clients.all > 20
        # At most two sessions exist at the same time, but the server may detect the end of a session late.
        assert clients.most < 0.5 * clients.all


@pytest.mark.timeout(60)
def test_bytes_of_calls_that_time_out_count(bench: Bench) -> None:
    def half(client: socket.socket) -> None:
        while client.recv(100):
            client.sendall(bytes(500))

    with server(half) as (address, _):
        # Within this timeout, half of the response arrives even on a busy machine.
        step = "{tcp: {send: 10 B, receive: 1000 B}, timeout: 5 s, name: exchange}"
        ended, sums = run(bench, step, [f"tcp://{address}"], 3)
    failed = ended["totals"]["failed"]["timeout"]
    assert failed > 0
    assert (sums["exchange"]["out"], sums["exchange"]["in"]) == (10 * failed, 500 * failed)
