from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError
from towtank.workload import compile_workload, load_workload
from towtank.workload.drivers import network_address, speaks, target_part, with_place

DATABASE = {"db": ["postgresql://towtank@127.0.0.1:5432/orders"]}


def workload(folder: Path, steps: str) -> Path:
    """Write a workload that has one transaction."""
    path = folder / "workload.yaml"
    path.write_text(
        "schema: towtank/workload/1\nname: w\ntransactions:\n  t:\n"
        + "".join(f"    {line}\n" for line in steps.strip().splitlines())
        + "groups: {g: {loop: {mix: {t: 100}}}}\n"
    )
    return path


def ops(folder: Path, steps: str, targets: dict[str, list[str]]) -> list[dict[str, Any]]:
    plan = compile_workload(load_workload(workload(folder, steps)), targets=targets)
    page: dict[str, Any] = plan["transactions"][0]["ops"][0]
    assert page["op"] == "page"
    return list(page["ops"])


def faults(folder: Path, steps: str, targets: dict[str, list[str]] | None = None) -> list[str]:
    with pytest.raises(StudyError) as raised:
        compile_workload(load_workload(workload(folder, steps)), targets=targets or DATABASE)
    return [f"{fault.where}: {fault.message}" for fault in raised.value.faults]


def test_a_statement_becomes_a_call_with_values_checks_and_extraction(tmp_path: Path) -> None:
    steps = """
- set: {id: "${random.int(1, 9)}"}
- sql: select name, n from t where id = $1 and n > $2
  parameters: ["${id}", null]
  expect: {rows: 1, value: {name: "x${id}"}}
  extract: {first: name, all: {column: n, pick: all}}
"""
    _, call = ops(tmp_path, steps, DATABASE)
    assert call["op"] == "call"
    assert call["do"] == {"kind": "sql", "text": "select name, n from t where id = $1 and n > $2"}
    assert call["values"] == [[{"variable": 0, "encode": "none"}], None]
    assert call["checks"] == [
        {"kind": "rows", "min": 1, "max": 1},
        {"kind": "value", "column": "name", "equals": ["x", {"variable": 0, "encode": "none"}]},
    ]
    assert [(extraction["into"], extraction["column"]) for extraction in call["extract"]] == [
        ({"variable": 1}, "name"),
        ({"list": 0}, "n"),
    ]


def test_files_and_bytes_become_calls(tmp_path: Path) -> None:
    targets = {"files": ["file:///srv/x"], "peer": ["tcp://127.0.0.1:9"]}
    steps = """
- file: {write: "a/${user.number}", offset: 4 KiB, size: "${random.int(1, 9)}"}
- tcp: {send: 1 KiB, receive: 2 KiB}
- tcp: {}
"""
    write, exchange, connect = ops(tmp_path, steps, targets)
    number = {"function": "random_int", "min": 1, "max": 9}
    assert (write["target"], write["do"]) == (0, {"kind": "file", "action": "write"})
    assert write["values"] == [["a/", {"function": "user"}], ["4096"], [number], None]
    assert (exchange["target"], exchange["values"]) == (1, [["1024"], None, ["2048"]])
    assert connect["values"] == [None, None, None]


def test_a_step_goes_to_the_target_that_speaks_it(tmp_path: Path) -> None:
    targets = {"web": ["127.0.0.1:80"], **DATABASE}
    request, call = ops(tmp_path, "- get: /\n- sql: select 1", targets)
    assert (request["target"], call["target"]) == (0, 1)


@pytest.mark.parametrize(
    ("steps", "reported"),
    [
        ("- sql: select $1", "one value for each of 1 parameters"),
        ("- {sql: 'select ''$1''', parameters: [1]}", "one value for each of 0 parameters"),
        ("- sql: select ${user.number}", "the same statement for all users"),
        ("- file: {read: a, write: b, size: 1 B}", "must have one of create"),
        ("- file: {read: ../a}", "below the folder"),
        ("- file: {append: a}", "must have size with append"),
        ("- file: {delete: a, size: 1 B}", "must not have size with delete"),
        ("- sql: select 1\n  expect: {rows: -1}", "a number from 0"),
        ("- sql: select $1\n  parameters: ['${absent}']", "variable that a step sets"),
        ("- get: /", "target that speaks HTTP"),
        ("- tcp: {}", "target that speaks tcp, got none"),
        ("- sql: select 1\n  target: other", "a target of the system (db)"),
    ],
)
def test_faults_are_reported_at_their_places(tmp_path: Path, steps: str, reported: str) -> None:
    found = faults(tmp_path, steps)
    assert any(reported in fault for fault in found), found


def test_two_targets_that_speak_it_must_be_named(tmp_path: Path) -> None:
    targets = {"one": DATABASE["db"], "two": DATABASE["db"]}
    assert any("must name its target (one, two)" in fault for fault in faults(tmp_path, "- sql: select 1", targets))


def test_addresses_say_which_driver_and_how() -> None:
    assert target_part(["postgresql://me:s%40t@h:1/d"]) == {
        "scheme": "driver",
        "addresses": ["h:1"],
        "driver": {"kind": "postgresql", "user": "me", "password": "s@t", "database": "d"},
    }
    for scheme in ("mysql", "mariadb"):
        assert speaks([f"{scheme}://me@h/d"]) == "sql"
        assert target_part([f"{scheme}://me:s%40t@h:1/d"]) == {
            "scheme": "driver",
            "addresses": ["h:1"],
            "driver": {"kind": "mysql", "user": "me", "password": "s@t", "database": "d"},
        }
        assert network_address(f"{scheme}://h") == "h:3306"
    socket = target_part(["mysql+unix://me@/run/a%20b.sock?database=d"])
    assert socket["addresses"] == ["unix:/run/a b.sock"]
    assert socket["driver"] == {"kind": "mysql", "user": "me", "password": None, "database": "d"}
    assert target_part(["mysql://h"])["driver"] == {"kind": "mysql", "user": "root", "password": None, "database": None}
    assert target_part(["sqlite:///a%20b.db?synchronous=off&cache=8MiB"])["driver"] == {
        "kind": "sqlite",
        "path": "/a b.db",
        "synchronous": "off",
        "cache_bytes": 2**23,
    }
    assert target_part(["tcp+unix:///run/x.sock"]) == {
        "scheme": "driver",
        "addresses": ["unix:/run/x.sock"],
        "driver": {"kind": "tcp"},
    }
    assert with_place("postgresql://me@host/d?x=1", "127.0.0.1:5432") == "postgresql://me@127.0.0.1:5432/d?x=1"
    with pytest.raises(ValueError, match="tcp://host:port"):
        target_part(["tcp://host"])
    with pytest.raises(ValueError, match="path of a socket"):
        target_part(["mysql+unix://me@?database=d"])
    with pytest.raises(ValueError, match="must be an address such as mysql://host:port"):
        target_part(["mysql:///d"])
