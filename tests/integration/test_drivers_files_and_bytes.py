"""Loads of files and raw bytes by the real engine, whose counts agree with the files on disk and the transferred
bytes.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from engine_run import drive, plan_of
from integration_bench import Bench

from towtank.system.build import build_system
from towtank.system.model import load_system

pytestmark = pytest.mark.waits

SYSTEM = """
schema: towtank/system/1
name: plain
hosts: {here: {provider: local}}
services:
  files: {kind: folder, host: here}
  peer: {kind: tcp_peer, host: here, settings: {take: 100 B, give: 3000 B}}
  socket: {kind: tcp_peer, host: here, settings: {take: 100 B, give: 3000 B, unix: true}}
"""
FILES = """
schema: towtank/workload/1
name: files
transactions:
  begin: [{file: {make_folder: "u${user.number}"}}]
  work:
    - {set: {name: "u${user.number}/${uuid}"}}
    - {file: {create: "${name}"}, name: create}
    - {file: {append: "${name}", size: 1000 B}, name: append}
    - {file: {sync: "${name}"}}
    - {file: {stat: "${name}"}, expect: {value: {size: 1000}}}
    - {file: {read: "${name}"}, expect: {size: 1000 B}, name: read}
    - {file: {close: "${name}"}}
    - {branch: 50 %, then: [{file: {delete: "${name}"}, name: delete}]}
groups: {g: {once: [begin], loop: {mix: {work: 100}}}}
"""
BYTES = """
schema: towtank/workload/1
name: bytes
transactions:
  work: [{tcp: {send: 100 B, receive: 3000 B}, target: TARGET, name: exchange}]
groups: {g: {loop: {mix: {work: 100}}}}
"""


def run(bench: Bench, text: str, addresses: dict[str, list[str]], **changes: Any) -> dict[str, Counter[str]]:
    """Run a workload for one second; return the counts of each step by name."""
    (bench.folder / "workload.yaml").write_text(text)
    plan = plan_of(bench.folder, addresses, users=3, **changes)
    result, sums = drive(plan, bench.folder)
    assert result["totals"]["failed"] == {}, result["calls"]
    return sums


@pytest.mark.smoke
@pytest.mark.timeout(120)
def test_files_are_those_that_were_made_and_not_deleted(bench: Bench) -> None:
    (bench.folder / "system.yaml").write_text(SYSTEM)
    file = load_system(bench.folder / "system.yaml")
    with build_system(file, bench.folder, bench.folder / "logs") as system:
        addresses = system.up().addresses
        counts = run(bench, FILES, {"files": addresses["files"]})
        root = Path(unquote(urlsplit(addresses["files"][0]).path))
        left = [path for path in root.rglob("*") if path.is_file()]
    assert counts["create"]["ok"] > 0
    assert len(left) == counts["create"]["ok"] - counts["delete"]["ok"]
    assert counts["append"]["out"] == 1000 * counts["append"]["ok"]
    assert counts["read"]["in"] == 1000 * counts["read"]["ok"]
    assert not root.exists()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("target", ["peer", "socket"])
@pytest.mark.parametrize("mode", [pytest.param("per_user", marks=pytest.mark.smoke), "new_each_time"])
def test_bytes_that_come_back_are_those_that_were_asked_for(bench: Bench, target: str, mode: str) -> None:
    (bench.folder / "system.yaml").write_text(SYSTEM)
    file = load_system(bench.folder / "system.yaml")
    with build_system(file, bench.folder, bench.folder / "logs") as system:
        addresses = system.up().addresses
        text = BYTES.replace("TARGET", target)
        counts = run(bench, text, {target: addresses[target]}, connections={"mode": mode})
    assert counts["exchange"]["ok"] > 0
    assert counts["exchange"]["out"] == 100 * counts["exchange"]["ok"]
    assert counts["exchange"]["in"] == 3000 * counts["exchange"]["ok"]


@pytest.mark.timeout(120)
def test_drive_takes_the_address_of_a_database_with_its_options(bench: Bench) -> None:
    with closing(sqlite3.connect(bench.folder / "data.db")) as database:
        database.execute("create table t(id integer primary key)")
    (bench.folder / "workload.yaml").write_text(
        "schema: towtank/workload/1\nname: w\n"
        "transactions: {t: [{sql: insert into t values (null)}]}\n"
        "groups: {g: {loop: {mix: {t: 100}}}}\n"
    )
    address = f"sqlite://{bench.folder}/data.db?synchronous=off"
    done = bench.towtank("drive", "workload.yaml", "--address", address, "--users", "1", "--duration", "1 s", "--json")
    result = json.loads(done.stdout)
    assert result["errors"] == 0, done.stderr
    with closing(sqlite3.connect(bench.folder / "data.db")) as database:
        rows = database.execute("select count(*) from t").fetchone()[0]
    assert rows >= result["requests"] > 0


@pytest.mark.timeout(120)
def test_a_lock_that_is_held_longer_than_a_call_may_take_is_a_timeout(bench: Bench) -> None:
    (bench.folder / "workload.yaml").write_text(
        "schema: towtank/workload/1\nname: w\n"
        "transactions: {t: [{sql: insert into t values (null), timeout: 100 ms}]}\n"
        "groups: {g: {loop: {mix: {t: 100}}}}\n"
    )
    with closing(sqlite3.connect(bench.folder / "data.db", isolation_level=None)) as database:
        database.execute("create table t(id integer primary key)")
        database.execute("begin immediate")
        address = f"sqlite://{bench.folder}/data.db"
        done = bench.towtank(
            "drive", "workload.yaml", "--address", address, "--users", "2", "--duration", "1 s", "--json"
        )
    result = json.loads(done.stdout)
    assert result["errors"] == result["requests"] == result["errors_by_kind"]["timeout"] > 0, done.stderr
