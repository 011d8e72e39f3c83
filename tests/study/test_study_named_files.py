from __future__ import annotations

from pathlib import Path

import pytest
from small_study import Files

from towtank.errors import StudyError
from towtank.study import load_study
from towtank.study.named_files import (
    NamedFile,
    files_of_system,
    has_paths_beside,
    leads_out,
    refuse_named_outside,
)
from towtank.study.systems import find_system, refuse_files_outside, systems_of
from towtank.system import load_system

SERVICES = """\
schema: towtank/system/1
name: several
hosts:
  here: {provider: local}
  far: {provider: ssh, address: 127.0.0.2, user: bob, key: keys/id, known_hosts: keys/known}
services:
  web: {kind: nginx, host: here, files: www}
  content: {kind: content_server, host: here, settings: {users: users.csv}}
  db: {kind: sqlite, host: here, population: {script: fill.sql}}
  old: {kind: existing, address: "https://127.0.0.1:1", exports: {rows: rows.csv}}
targets:
  old: {service: old, tls: {ca: ca.pem}}
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file beside the folder of a study."""
    (tmp_path / "study").mkdir()
    path = tmp_path / "secret"
    path.write_text("secret")
    return path


def named(folder: Path, text: str, *, leaves: bool = True) -> NamedFile:
    return NamedFile(folder / text, str(folder / "system.yaml"), "key", leaves)


def test_only_files_whose_content_leaves_must_lie_below_the_study(tmp_path: Path, outside: Path) -> None:
    folder = tmp_path / "study"
    (folder / "own").write_text("own")
    refuse_named_outside([named(folder, "own"), named(folder, "../secret", leaves=False)], folder)
    with pytest.raises(StudyError) as raised:
        refuse_named_outside([named(folder, "own"), named(folder, "../secret"), named(folder, "/etc")], folder)
    assert [(fault.line, fault.column, fault.where) for fault in raised.value.faults] == [(0, 0, "key")] * 2
    assert str(outside) in str(raised.value)


def test_the_folder_of_the_naming_file_is_allowed_too(tmp_path: Path, outside: Path) -> None:
    shared = NamedFile(outside, str(tmp_path / "workload.yaml"), "key")
    assert leads_out(shared, tmp_path / "study") is None
    assert leads_out(NamedFile(outside, str(tmp_path / "study" / "w.yaml"), "key"), tmp_path / "study") == outside


def test_links_are_followed_to_where_they_lead(tmp_path: Path, outside: Path) -> None:
    folder = tmp_path / "study"
    below = folder / "www" / "below"
    below.mkdir(parents=True)
    (below / "page").write_text("x")
    (folder / "www" / "own").symlink_to("below")
    assert leads_out(named(folder, "www"), folder) is None
    (below / "link").symlink_to(outside)
    assert leads_out(named(folder, "www"), folder) == outside
    assert leads_out(named(folder, "www/below/link"), folder) == outside


def test_each_key_that_names_a_file_is_found(files: Files) -> None:
    files.system.write_text(SERVICES)
    system = load_system(files.system)
    found = {each.key: (each.path, each.leaves) for each in files_of_system(system, files.system)}
    assert found == {
        "services.web.files": (files.folder / "www", True),
        "services.content.settings.users": (files.folder / "users.csv", True),
        "services.db.population.script": (files.folder / "fill.sql", True),
        "services.old.exports.rows": (files.folder / "rows.csv", True),
        "targets.old.tls.ca": (files.folder / "ca.pem", False),
        "hosts.far.key": (files.folder / "keys/id", False),
        "hosts.far.known_hosts": (files.folder / "keys/known", False),
    }


def test_data_files_and_bodies_of_a_workload_are_found(files: Files) -> None:
    files.edit("workload", "data:\n", "data:\n  people: {csv: people.csv}\n")
    files.edit(
        "workload",
        "    - draw: documents\n",
        "    - draw: people\n    - {post: /, file: body.bin}\n    - draw: documents\n",
    )
    (files.folder / "people.csv").write_text("name\nann\n")
    (files.folder / "body.bin").write_text("body")
    found = load_study(files.study).named_files()
    assert [(each.path.name, each.key, each.leaves) for each in found] == [
        ("people.csv", "data.people.csv", True),
        ("body.bin", "transactions.view[1].file", True),
    ]
    assert {each.file for each in found} == {str(files.workload)}


@pytest.mark.parametrize(
    ("service", "beside"),
    [
        ("kind: command, program: /usr/bin/server, folder: /srv", False),
        ("kind: command, program: ./server, folder: /srv", True),
        ("kind: command, program: server, folder: /srv", False),
        ("kind: command, program: /usr/bin/server", True),
        ("kind: command, program: /usr/bin/server, folder: '${scratch}'", False),
        ("kind: command, program: /usr/bin/server, folder: '${data}/x'", False),
        ("kind: redis, program: releases/8/redis-server", True),
        ("kind: redis, program: /opt/redis/redis-server", False),
        ("kind: redis", False),
    ],
)
def test_relative_folders_and_programs_depend_on_the_folder_of_the_system(
    files: Files, service: str, beside: bool
) -> None:
    text = "schema: towtank/system/1\nname: one\nhosts: {here: {provider: local}}\n"
    files.system.write_text(f"{text}services: {{web: {{host: here, port: 8080, {service}}}}}\n")
    assert has_paths_beside(load_system(files.system)) is beside


def test_a_system_is_found_by_its_file_or_by_its_study(files: Files) -> None:
    for argument in (files.system, files.study, files.folder):
        assert find_system(str(argument)) == ("one-server", files.system)
    assert [(system.name, folder) for system, folder in systems_of(str(files.system))] == [("one-server", files.folder)]


def test_the_systems_of_a_study_are_those_of_its_levels_each_once(files: Files) -> None:
    found = systems_of(str(files.study))
    settings = [list(system.services["content"].settings.drop_index) for system, _ in found]
    assert sorted(settings) == [[], ["search_type"]]
    assert {folder for _, folder in found} == {files.folder}


def test_a_system_that_serves_a_file_outside_is_refused(files: Files) -> None:
    refuse_files_outside(str(files.study), files.system)
    files.edit("system", "threads: 8", "threads: 8\n      users: ../users.csv")
    with pytest.raises(StudyError, match="must be below the folder of its study"):
        refuse_files_outside(str(files.study), files.system)


def test_a_study_beside_the_shipped_ones_is_not_shipped(files: Files) -> None:
    assert not load_study(files.study).is_shipped
