"""A study from an unknown source.

The files that the study may send and serve, and the programs that it may run, are restricted. All its changes to the
machine are listed before the study runs.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from any_conditions import TINY, sh

from towtank.conduct.request import StudyRequest, recorded_request
from towtank.conduct.side_effects import describe_side_effects
from towtank.errors import StudyError
from towtank.report.content.appendix import commands
from towtank.study import find_shipped, load_study, refuse_files_outside

pytestmark = pytest.mark.waits

SENT = "{post: /, file: FILE}"
ROWS = "transactions:"
SYSTEMS = {
    "folder that is served": "services: {web: {kind: nginx, host: here, files: FILE}}",
    "file for workloads": "services: {web: {kind: existing, address: 'http://127.0.0.1:1', exports: {rows: FILE}}}",
    "script": "services: {web: {kind: null_server, host: here},"
    " db: {kind: sqlite, host: here, population: {script: FILE}}}",
    "users": "services: {web: {kind: content_server, host: here, settings: {users: FILE}}}",
}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Folder of a study. A secret file is next to the folder."""
    folder = tmp_path / "study"
    folder.mkdir()
    for name, text in TINY.items():
        (folder / name).write_text(text)
    (tmp_path / "secret").write_text("name\nann\n")
    (tmp_path / "others").mkdir()
    return folder


def change(study: Path, file: str, old: str, new: str) -> None:
    text = (study / file).read_text()
    assert old in text
    (study / file).write_text(text.replace(old, new))


def system_of(study: Path, services: str) -> None:
    (study / "system.yaml").write_text(
        f"schema: towtank/system/1\nname: tiny\nhosts: {{here: {{provider: local}}}}\n{services}\n"
    )


def refused(study: Path) -> str:
    with pytest.raises(StudyError, match="must be below the folder of its study") as error:
        StudyRequest(str(study)).load()
    assert "add --trust" in str(error.value)
    assert StudyRequest(str(study), trusted=True).load().name == "tiny"
    return str(error.value)


@pytest.mark.parametrize("name", ["../secret", "link", "/etc/hostname"])
def test_a_body_from_outside_of_the_study_is_not_sent(study: Path, name: str) -> None:
    (study / "link").symlink_to("../secret")
    change(study, "workload.yaml", "[get: /]", f"[{SENT.replace('FILE', name)}]")
    assert "transactions.look[0].file: " in refused(study)


def test_a_part_and_rows_from_outside_of_the_study_are_not_sent(study: Path) -> None:
    change(study, "workload.yaml", "[get: /]", "[{post: /, multipart: {one: {file: ../secret}}}]")
    assert "multipart.one.file: " in refused(study)
    change(study, "workload.yaml", "[{post: /, multipart: {one: {file: ../secret}}}]", "[{draw: people}, get: /]")
    change(study, "workload.yaml", "transactions:", "data: {people: {csv: ../secret}}\ntransactions:")
    change(study, "workload.yaml", "[{draw: people}, get: /]", '[{draw: people}, {get: "/${people.name}"}]')
    assert "data.people.csv: " in refused(study)


@pytest.mark.parametrize("services", SYSTEMS.values(), ids=SYSTEMS)
def test_what_is_served_or_run_lies_below_the_study(study: Path, services: str) -> None:
    system_of(study, services.replace("FILE", "../others" if "nginx" in services else "../secret"))
    refused(study)
    with pytest.raises(StudyError, match="must be below the folder of its study"):
        refuse_files_outside(str(study / "system.yaml"), study / "system.yaml")


def test_a_link_in_a_folder_that_is_served_leads_nowhere_else(study: Path) -> None:
    (study / "www" / "below").mkdir(parents=True)
    system_of(study, SYSTEMS["folder that is served"].replace("FILE", "www"))
    assert StudyRequest(str(study)).load().name == "tiny"
    (study / "www" / "own").symlink_to("below")
    assert StudyRequest(str(study)).load().name == "tiny"
    (study / "www" / "below" / "root").symlink_to("/")
    refused(study)


def test_files_beside_a_workload_that_studies_share_are_its_own(study: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (study / "workload.yaml").rename(shared / "workload.yaml")
    (shared / "body").write_text("x")
    change(shared, "workload.yaml", "[get: /]", f"[{SENT.replace('FILE', 'body')}]")
    change(study, "study.yaml", "workload: workload.yaml", "workload: ../shared/workload.yaml")
    loaded = StudyRequest(str(study)).load()
    assert f"  reads {shared / 'workload.yaml'}, {shared / 'body'}" in describe_side_effects(loaded)


def test_trust_is_asked_for_again_where_results_are_gone_on_with(study: Path, tmp_path: Path) -> None:
    from test_conduct_request import recorded  # noqa: PLC0415

    change(study, "workload.yaml", "[get: /]", f"[{SENT.replace('FILE', '../secret')}]")
    asked = StudyRequest(str(study), trusted=True)
    results = recorded(asked, tmp_path / "results")
    with pytest.raises(StudyError, match="must be below the folder of its study"):
        recorded_request(results.path, None).load()
    assert recorded_request(results.path, None, trusted=True).load().name == "tiny"
    manifest = {"command": asked.document()}
    found = SimpleNamespace(manifest=manifest, study={"name": "tiny"}, summary={}, name="results")
    assert commands(found)[0].endswith(" --trust")


def test_what_a_study_does_outside_of_its_folder_is_said(study: Path) -> None:
    system_of(
        study,
        "  far: {provider: ssh, address: 127.0.0.2, user: bob}\n"
        "  box: {provider: namespaces, disks: {data: {size: 64 MiB}}}\n"
        "services:\n"
        "  web: {kind: nginx, host: here, members: [content]}\n"
        "  content: {kind: null_server, host: here}\n"
        "  old: {kind: existing, address: 'http://ann:hunter2@127.0.0.1:81'}\n"
        "  store: {kind: folder, host: box, disk: data}\n"
        "targets: {web: {service: web}}",
    )
    text = (study / "system.yaml").read_text()
    (study / "system.yaml").write_text(
        text.replace("hosts: {here: {provider: local}}", "hosts:\n  here: {provider: local}")
    )
    loaded = load_study(study / "study.yaml")
    assert describe_side_effects(loaded) == [
        f"{study / 'study.yaml'} does not ship with Towtank. Outside of its folder it",
        "  starts nginx (web); null_server (content)",
        "  logs in to 127.0.0.2 by SSH as bob and starts programs there",
        "  creates namespaces, control groups and a network for box",
        "  mounts disk data of box",
        "  sends to 127.0.0.2, 127.0.0.1:81",
        "  uses nginx-light as installed on this machine",
    ]


def test_of_a_study_that_ships_nothing_is_said() -> None:
    path = find_shipped("content-users")
    assert path is not None
    assert describe_side_effects(load_study(path)) == []


def test_it_is_said_on_the_command_line_before_the_first_run(study: Path) -> None:
    done = sh("$towtank run study.yaml --no-report --out results", study)
    lines = done.stderr.splitlines()
    assert lines[:2] == [
        "study.yaml does not ship with Towtank. Outside of its folder it",
        "  starts null_server (web)",
    ]
    assert lines[2].startswith("r001 (1/1)")
