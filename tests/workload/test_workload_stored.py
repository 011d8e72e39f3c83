from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError
from towtank.files import engine_path
from towtank.workload import compile_workload, load_workload
from towtank.workload.reading_back import read_back_workload

WORKLOAD = """\
schema: towtank/workload/1
name: keeping
parameters: {place: /documents}
data:
  names: {columns: [name], rows: [[a], [b]]}
transactions:
  add:
    - draw: names
    - post: ${parameters.place}
      body: ${names.name}
      extract: {id: "$.id"}
      stores: {documents: "${id}"}
  change:
    - set: {kept: one}
    - put: /documents/${kept}
      multipart: {title: x, content: {generated: {size: 1 KiB}}}
      replaces: {documents: "${kept}"}
    - delete: /documents/${kept}
      removes: {documents: "${kept}"}
  look:
    - get: ${parameters.place}/${stored.key}
      reads: documents
groups:
  users: {loop: {think: 1 s, mix: {add: 50, change: 50}}}
stored:
  documents: {read_back: look}
"""
TARGETS = {"web": ["127.0.0.1:1"]}


def written(folder: Path, *changes: tuple[str, str], text: str = WORKLOAD) -> Path:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "workload.yaml"
    path.write_text(text)
    return path


def requests(plan: dict[str, Any], kind: str = "request") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def walk(ops: list[dict[str, Any]]) -> None:
        for op in ops:
            if op["op"] == kind:
                found.append(op)
            walk(op.get("ops", []))

    for transaction in plan["transactions"]:
        walk(transaction["ops"])
    return found


def test_users_note_what_they_do_and_do_not_read_back(tmp_path: Path) -> None:
    plan = compile_workload(load_workload(written(tmp_path)), targets=TARGETS)
    assert [transaction["name"] for transaction in plan["transactions"]] == ["add", "change"]
    number = plan["variables"].index
    notes = [(request["note"]["does"], request["note"]["of"], request["note"]["key"]) for request in requests(plan)]
    assert notes == [
        ("stores", "documents", [{"variable": number("id"), "encode": "none"}]),
        ("replaces", "documents", [{"variable": number("kept"), "encode": "none"}]),
        ("removes", "documents", [{"variable": number("kept"), "encode": "none"}]),
    ]


def test_who_reads_back_takes_each_key_once_and_goes_on_after_a_failure(tmp_path: Path) -> None:
    keys = tmp_path / "keys.csv"
    keys.write_text("key\none\ntwo\n")
    workload = load_workload(written(tmp_path)).with_parameters({"place": "/elsewhere"})
    plan = compile_workload(read_back_workload(workload, "documents", keys), targets=TARGETS)
    (pool,) = plan["pools"]
    assert (pool["name"], pool["order"], pool["csv"]) == ("stored", "unique", engine_path(keys.resolve()))
    (request,) = requests(plan)
    assert request["path"] == ["/elsewhere/", {"variable": 0, "encode": "none"}]
    assert request["note"] == {"does": "reads", "of": "documents", "key": [{"variable": 0, "encode": "none"}]}
    assert request["on_failure"] == "go_on"
    assert [group["name"] for group in plan["groups"]] == ["read_back"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("stores: {documents:", "stores: {papers:", "must be a kind of `stored` (documents), got 'papers'"),
        ("{read_back: look}", "{read_back: lok}", "must be a transaction of this file"),
        (
            "mix: {add: 50, change: 50}",
            "mix: {add: 50, look: 50}",
            "must not be a transaction that reads back after the run",
        ),
        ("      reads: documents\n", "", "must have one request with `reads: documents`, got none"),
        ("      body: ${names.name}\n", "", "must have exactly one content if it stores an item"),
        ('stores: {documents: "${id}"}', 'stores: {documents: "${uuid}"}', "must be a key made of variables"),
        ('stores: {documents: "${id}"}', 'stores: {documents: "${nothing}"}', "got 'nothing'"),
        ("  names: {", "  stored: {columns: [key], rows: [[x]]}\n  names: {", "must have another name"),
        ("    - set: {kept: one}", '    - set: {kept: "${stored.key}"}', "only in the transaction that reads back"),
        ("/${stored.key}\n", "/${stored.key}/${names.name}\n", "must be drawn before it is used"),
        (
            "      removes: {documents:",
            '      stores: {documents: "x"}\n      removes: {documents:',
            "must have one of stores, replaces, removes, reads, got stores and removes",
        ),
    ],
)
def test_faults_are_reported_at_their_places(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(StudyError) as found:
        load_workload(written(tmp_path, (old, new)))
    assert message in str(found.value)


def test_what_reads_back_has_no_pages(tmp_path: Path) -> None:
    look = "    - get: ${parameters.place}/${stored.key}\n      reads: documents\n"
    paged = "    - page: p\n      steps: [{get: '/${stored.key}', reads: documents}]\n"
    with pytest.raises(StudyError, match="must be a list of steps without pages"):
        load_workload(written(tmp_path, (look, paged)))


FILES = """\
schema: towtank/workload/1
name: keeping
transactions:
  put:
    - set: {kept: one}
    - {file: {put: "${kept}", size: 1 KiB}, stores: {files: "${kept}"}}
    - {file: {put: "${kept}", size: 2 KiB}, replaces: {files: "${kept}"}}
    - {file: {delete: "${kept}"}, removes: {files: "${kept}"}}
  look:
    - {file: {read: "${stored.key}"}, reads: files}
groups:
  users: {loop: {think: 1 s, mix: {put: 100}}}
stored:
  files: {read_back: look}
"""
FOLDER = {"folder": ["file:///somewhere"]}


def files(folder: Path, *changes: tuple[str, str]) -> Path:
    return written(folder, *changes, text=FILES)


def test_files_that_are_put_whole_are_noted_and_read_back(tmp_path: Path) -> None:
    workload = load_workload(files(tmp_path))
    plan = compile_workload(workload, targets=FOLDER)
    assert [
        (request["do"]["action"], request["note"]["does"], request["note"]["of"]) for request in requests(plan, "call")
    ] == [
        ("put", "stores", "files"),
        ("put", "replaces", "files"),
        ("delete", "removes", "files"),
    ]
    keys = tmp_path / "keys.csv"
    keys.write_text("key\none\n")
    back = compile_workload(read_back_workload(workload, "files", keys), targets=FOLDER)
    (call,) = requests(back, "call")
    assert (call["note"]["does"], call["on_failure"]) == ("reads", "go_on")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('put: "${kept}", size: 1 KiB', 'append: "${kept}", size: 1 KiB'),
            "must be put for a step that stores an item",
        ),
        (('{read: "${stored.key}"}', '{read: "${stored.key}", size: 1 B}'), "must read the whole file"),
        (('removes: {files: "${kept}"}', 'stores: {files: "${kept}"}'), "must be put for a step that stores an item"),
        (
            ('stores: {files: "${kept}"}', 'stores: {others: "${kept}"}'),
            "must be a kind of `stored` (files), got 'others'",
        ),
        (('stores: {files: "${kept}"}', 'stores: {files: "${uuid}"}'), "must be a key made of variables"),
    ],
)
def test_what_a_file_must_be_to_be_noted(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(StudyError) as raised:
        load_workload(files(tmp_path, change))
    assert any(message in fault.message for fault in raised.value.faults), raised.value.faults
