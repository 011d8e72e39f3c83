"""Output of `towtank validate` and `towtank list` as text and JSON."""

from __future__ import annotations

import json
from pathlib import Path

from in_process import towtank as run

from towtank.workload.drivers import SPOKEN


def test_validate_gives_one_json_document(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("schema: towtank/system/1\nname: 5\nservices: {a: {kind: nothing}}\n")
    done = run("validate", str(path), "--json")
    assert done.returncode == 2
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert document["schema"] == "towtank/validate/1"
    assert document["valid"] is False
    assert document["files"] == [{"file": str(path), "kind": "system", "valid": False}]
    assert [(each["line"], each["column"], each["where"]) for each in document["faults"]] == [
        (2, 7, "name"),
        (3, 22, "services.a.kind"),
    ]
    assert all(each["file"] == str(path) and each["message"].startswith("must be ") for each in document["faults"])


def test_validate_of_what_ships() -> None:
    done = run("validate", "content-users", "--json")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert (document["valid"], document["faults"]) == (True, [])


def test_validate_without_a_file_says_how_it_is_used() -> None:
    done = run("validate")
    assert done.returncode == 2
    assert "FILE" in done.stderr
    assert "Traceback" not in done.stderr


def test_list_shows_what_ships() -> None:
    done = run("list", "--json")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["schema"] == "towtank/list/1"
    names = {section: [entry["name"] for entry in document[section]] for section in document if section != "schema"}
    assert "content-users" in names["studies"]
    assert {"content_server", "existing"} <= set(names["service_kinds"])
    assert set(names["drivers"]) == SPOKEN
    assert all(entry["summary"] for section in names for entry in document[section])
    sources = {entry["name"]: entry["source"] for entry in document["studies"]}
    assert sources["database-queries"] == "capabilities reference for business servers, chapter 4"
    assert sources["runtime-memory"] == "sizing guide for a requirements server"
    assert all(sources.values()), "each shipped study must have a claim with a source"


def test_list_for_people_has_one_line_each() -> None:
    document = json.loads(run("list", "--json").stdout)
    lines = run("list").stdout.splitlines()
    entries = [entry for section, entries in document.items() if section != "schema" for entry in entries]
    assert len(lines) == len(entries) + len(document) - 1
    assert all(any(entry["summary"] in line for line in lines) for entry in entries)
    # Commands accept a workload or system by its path only, so the list shows each path, and each path once.
    files = [entry["file"] for section in ("workloads", "systems") for entry in document[section]]
    assert len({Path(file).resolve() for file in files}) == len(files)
    for entry in entries:
        shown = Path(entry["file"]).name if entry.get("file") in files else entry["name"]
        source = f" ({entry['source']})" if entry.get("source") else ""
        assert any(line.endswith(f"  {entry['summary']}{source}") and shown in line for line in lines)


def test_a_wrong_command_line_is_not_an_internal_fault() -> None:
    for arguments in (["list", "--bogus"], ["validate", "--jsn", "x"], ["nonsense"], ["validate"]):
        done = run(*arguments)
        assert done.returncode == 2, (arguments, done)
        assert "internal fault" not in done.stderr
        assert "Traceback" not in done.stderr
