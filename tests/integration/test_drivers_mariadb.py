"""SQL statements on a real MariaDB server: counts of engine and server are equal, and failures have the correct
kind.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pymysql
import pytest
from integration_bench import Bench
from waiting import until

from towtank.engine import binary
from towtank.results import segments
from towtank.system.build import build_system
from towtank.system.model import load_system
from towtank.system.services.mariadb import INSTALL_HINT, program
from towtank.workload import compile_workload, load_workload

pytestmark = [
    pytest.mark.waits,
    pytest.mark.mariadb,
    pytest.mark.timeout(240),
    pytest.mark.skipif(program("mariadbd") is None, reason=INSTALL_HINT),
]
PASSWORD = "a-secret_2~"
SYSTEM = f"""
schema: towtank/system/1
name: database
hosts: {{here: {{provider: local}}}}
services:
  database:
    kind: mariadb
    host: here
    password: {PASSWORD}
    database: shop
    settings: {{innodb_flush_log_at_trx_commit: 0}}
    population: {{script: population.sql, values: {{rows: 200}}}}
start_timeout: 120 s
"""
POPULATION = """
create table thing (id int primary key, name varchar(20) not null, price decimal(8, 2), made datetime(3), took time,
  weight double, note text);
insert into thing select seq, concat('thing ', seq), seq / 4, '2024-02-29 12:34:56.789', '-25:00:01', seq / 8, null
  from seq_1_to_${rows};
create table taken (id bigint auto_increment primary key, thing int not null, who varchar(40) not null) engine = innodb;
"""
HEAD = "schema: towtank/workload/1\nname: w\ntransactions:\n  t:\n"
LOOP = "groups: {g: {loop: {mix: {t: 100}}}}\n"
BUSY = """
- {sql: begin, name: begin}
- {sql: "insert into taken (thing, who) values ($1, $2)", parameters: ["${random.int(1, 200)}", "it's ${user.number}"],
   name: take, expect: {affected: 1}}
- {sql: "update thing set note = $2 where id <= $1", parameters: [3, "${user.number}"], name: change,
   expect: {affected: 3}}
- {sql: "select id, name from thing where id > $1 and id <= $1 + 5 order by id", parameters: ["${random.int(1, 100)}"],
   name: look, expect: {rows: 5}}
- {sql: commit, name: commit}
"""
# Steps of the workload that increase a counter of the server, by name of the counter.
COUNTED = {
    "Com_insert": ("take",),
    "Com_update": ("change",),
    "Com_select": ("look",),
    "Com_begin": ("begin",),
    "Com_commit": ("commit",),
    "Com_stmt_execute": ("begin", "take", "change", "look", "commit"),
    "Com_rollback": (),
}


@contextmanager
def database(bench: Bench) -> Iterator[str]:
    """Start a MariaDB server with initial data; yield the server's address."""
    (bench.folder / "system.yaml").write_text(SYSTEM)
    (bench.folder / "population.sql").write_text(POPULATION)
    file = load_system(bench.folder / "system.yaml")
    with build_system(file, bench.folder, bench.folder / "logs") as system:
        yield system.up().addresses["database"][0]


def ask(address: str, query: str) -> tuple[tuple[Any, ...], ...]:
    parts = urlsplit(address)
    where = {"host": parts.hostname, "port": parts.port, "user": parts.username, "password": parts.password}
    with closing(pymysql.connect(database="shop", **where)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return tuple(cursor.fetchall())


def status(address: str) -> dict[str, int]:
    wanted = ", ".join(f"'{name}'" for name in (*COUNTED, "Com_stmt_prepare", "Connections", "Threads_connected"))
    return {name: int(value) for name, value in ask(address, f"show global status where Variable_name in ({wanted})")}


def drive(bench: Bench, steps: str, address: str, *, seconds: float = 1.0, **changes: Any) -> dict[str, Any]:
    """Run a load of three users. Return the content of `engine.json`, and the number of successes by step as `ok`."""
    path, out = bench.folder / "workload.yaml", bench.folder / f"engine-{len(list(bench.folder.iterdir()))}"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in steps.strip().splitlines()) + LOOP)
    stage = {"name": "s", "phase": "steady", "level": 0, "duration_s": seconds, "users": 3}
    plan = {
        "schema": "towtank/plan/1",
        "run": "test",
        "seed": 3,
        "out": str(out),
        "threads": 1,
        "cpus": [],
        **compile_workload(load_workload(path), targets={"database": [address]}),
        "load": {"kind": "closed", "users_at_most": 3, "stages": [stage]},
        **changes,
    }
    (bench.folder / "plan.json").write_text(json.dumps(plan))
    command = [binary(), "load", bench.folder / "plan.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads((out / "engine.json").read_text())
    recording = segments.read(out)
    names = [name.partition(" / ")[2] for name in segments.names_of(recording, "step")]
    result["ok"] = dict.fromkeys(names, 0)
    for series in (series for interval in recording.intervals for series in interval.series if series.of == "step"):
        result["ok"][names[series.number]] += series.ok
    return result


@pytest.mark.parametrize("mode", [pytest.param("per_user", marks=pytest.mark.smoke), "new_each_time", "pool"])
def test_the_server_counted_what_the_engine_counted(bench: Bench, mode: str) -> None:
    connections = {"mode": mode, **({"size": 2} if mode == "pool" else {})}
    with database(bench) as address:
        before = status(address)
        result = drive(bench, BUSY, address, connections=connections)
        after = status(address)
        rows = ask(address, "select count(*) from taken")[0][0]
        who = ask(address, "select distinct who from taken order by who")
    assert result["totals"]["failed"] == {}, result["calls"]
    assert result["totals"]["in_flight"] == 0
    ok = result["ok"]
    assert ok["commit"] > 0
    counted = {name: after[name] - before[name] for name in COUNTED}
    assert counted == {name: sum(ok[step] for step in steps) for name, steps in COUNTED.items()}
    assert rows == ok["take"]
    assert {text for (text,) in who} <= {"it's 0", "it's 1", "it's 2"}
    # The connection of the test itself, which reads the counters, is subtracted.
    sessions = after["Connections"] - before["Connections"] - 1
    assert sessions == {"per_user": 3, "pool": 2, "new_each_time": ok["commit"]}[mode]
    # Each session prepares each of its five statements once.
    assert after["Com_stmt_prepare"] - before["Com_stmt_prepare"] == 5 * sessions


def test_values_come_back_as_people_write_them(bench: Bench) -> None:
    steps = """
- sql: select * from thing where id = $1 limit $2
  parameters: [6, 1]
  expect:
    rows: 1
    value: {id: "6", name: thing 6, price: "1.50", made: "2024-02-29 12:34:56.789", took: "-25:00:01", weight: "0.75"}
- {sql: "select $1 as a, $2 is null as b, cast($3 as signed) + 1 as c", parameters: [é, null, 9007199254740993],
   expect: {value: {a: é, b: "1", c: "9007199254740994"}}}
- {sql: "select note from thing where id = 7", expect: {rows: 1}, extract: {note: {column: note, default: none}}}
- {sql: "select $1 as said", parameters: ["${note}"], expect: {value: {said: none}}}
- {sql: "show variables like 'port'", expect: {rows: 1}}
- {sql: "update thing set name = name where id in (1, 2)", expect: {affected: 2}}
"""
    with database(bench) as address:
        result = drive(bench, steps, address, seconds=0.5)
    assert result["totals"]["failed"] == {}, result
    assert min(result["ok"].values()) > 0


def test_failures_are_distinguished_and_a_session_goes_on_after_a_refusal(bench: Bench) -> None:
    steps = """
- {sql: "insert into thing (id, name) values (1, 'again')", name: again, on_failure: go_on}
- {sql: "select * from absent", name: absent, on_failure: go_on}
- {sql: "select 1", name: one}
"""
    with database(bench) as address:
        before = status(address)
        result = drive(bench, steps, address, seconds=0.5)
        after = status(address)
    ok = result["ok"]["one"]
    assert ok > 0
    assert result["calls"]["refusals"] == {"23000": ok, "42S02": ok}
    assert after["Connections"] - before["Connections"] - 1 == 3, "each user must have one session"


def test_a_call_out_of_time_costs_its_session_and_leaves_nothing_open(bench: Bench) -> None:
    steps = """
- {sql: begin, name: begin}
- {sql: "update thing set note = 'x' where id = 9 + $1", parameters: ["${user.number}"], name: change}
- {sql: "select sleep(2)", name: sleep, timeout: 100 ms}
"""
    with database(bench) as address:
        result = drive(bench, steps, address, seconds=0.5, timeouts={"connect_s": 5, "response_s": 5, "drain_s": 0.5})
        # The server detects the closed connection only when the statement ends, and then rolls back the transaction.
        until(lambda: status(address)["Threads_connected"] == 1)
        left = ask(address, "select count(*) from thing where note = 'x'")[0][0]
    assert set(result["totals"]["failed"]) == {"timeout"}
    assert result["ok"]["sleep"] == 0
    assert left == 0


def test_who_is_not_let_in_or_finds_no_database_has_no_connection(bench: Bench) -> None:
    with database(bench) as address:
        wrong = drive(bench, "- {sql: select 1, name: one}", address.replace(PASSWORD, "wrong"), seconds=0.3)
        absent = drive(bench, "- {sql: select 1, name: one}", address.replace("/shop", "/absent"), seconds=0.3)
    for result, code in ((wrong, "28000"), (absent, "42000")):
        assert set(result["totals"]["failed"]) == {"connect"}
        assert list(result["connect_failures"]) == [code]


def test_a_deadlock_is_a_refusal_and_the_other_transaction_goes_on(bench: Bench) -> None:
    steps = """
- {sql: begin, name: begin}
- {sql: "update thing set note = 'a' where id = 1 + mod($1, 2)", parameters: ["${user.number}"], name: first}
- {think: {fixed: 20 ms}}
- {sql: "update thing set note = 'b' where id = 2 - mod($1, 2)", parameters: ["${user.number}"], name: second}
- {sql: commit, name: commit}
"""
    with database(bench) as address:
        result = drive(bench, steps, address, seconds=2.0)
        deadlocks = int(ask(address, "show global status like 'Innodb_deadlocks'")[0][1])
    assert result["ok"]["commit"] > 0
    assert set(result["totals"]["failed"]) == {"refused"}
    assert result["calls"]["refusals"] == {"40001": deadlocks}


def test_drive_takes_an_address_over_a_socket(bench: Bench) -> None:
    with database(bench) as address:
        (bench.folder / "workload.yaml").write_text(
            f"{HEAD}    - {{sql: \"insert into taken (thing, who) values (1, 'x')\", name: take}}\n{LOOP}"
        )
        socket = quote(ask(address, "select @@socket")[0][0])
        entry = f"towtank:{quote(PASSWORD)}"
        rows = 0
        for where in (f"mysql+unix://{entry}@{socket}?database=shop", address):
            arguments = ("--address", where, "--users", "1", "--duration", "4 s", "--json")
            done = bench.towtank("drive", "workload.yaml", *arguments)
            assert done.returncode in (0, 4), done.stderr
            result = json.loads(done.stdout)
            assert result["errors"] == 0, done.stderr
            assert result["requests"] > 3
            found = ask(address, "select count(*) from taken")[0][0]
            # Statements that were in progress at the end of the load have also inserted rows.
            assert found - rows >= result["requests"]
            rows = found
    assert not Path(socket).exists()
