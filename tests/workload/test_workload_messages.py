from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from towtank.cli.options import OptionCheck
from towtank.conduct.drive import Exchange, Load
from towtank.conduct.drive_targets import prepare_plan
from towtank.errors import StudyError, TowtankError
from towtank.plan import Plan
from towtank.results.folder import RunFolder
from towtank.workload import load_workload
from towtank.workload.targets import host_and_port

TEXT = (
    "schema: towtank/workload/1\nname: w\nparameters: {path: a, count: 3}\n"
    "transactions:\n  t:\n    - {get: '/${parameters.path}'}\ngroups:\n  g: {loop: {mix: {t: 1}}}\n"
)


def workload(folder: Path, text: str = TEXT) -> Path:
    path = folder / "w.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{wait: 1 s}", "got 'wait' instead: the equivalent step is 'think'"),
        ("{parallel: []}", "got 'parallel' instead: there is no equivalent step, see docs/guides/write-a-workload.md"),
        ("{gett: /}", "got 'gett' instead, did you mean 'get'?"),
        ("{name: x, check: {}}", "got 'name', 'check' instead, see docs"),
        ("{}", "got an empty mapping instead"),
        ("just text", "must be a step with one of the keys get, post"),
    ],
)
def test_an_unknown_step_names_its_key_and_what_to_write(tmp_path: Path, step: str, message: str) -> None:
    with pytest.raises(StudyError) as caught:
        load_workload(workload(tmp_path, TEXT.replace("{get: '/${parameters.path}'}", step)))
    (fault,) = caught.value.faults
    assert fault.line == 6
    assert message in fault.message


@pytest.mark.parametrize("address", ["/srv/files", "./files", "~/files"])
def test_a_path_in_place_of_an_address_names_the_form_of_files(address: str) -> None:
    with pytest.raises(ValueError, match="for files, file:///"):
        host_and_port(address)


@pytest.fixture
def listening_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def plan(folder: Path, *changes: str, port: int) -> Plan:
    run = RunFolder.create(folder / "run", {})
    exchange = Exchange(str(workload(folder)), changes=changes)
    return prepare_plan(run, exchange, Load(), [f"127.0.0.1:{port}"], [])


def test_drive_sets_parameters(tmp_path: Path, listening_port: int) -> None:
    made = plan(tmp_path, "parameters.path=b=c", "parameters.count=4", port=listening_port)
    assert made.workload["transactions"][0]["ops"][0]["ops"][0]["path"] == ["/b=c"]


def test_drive_names_every_wrong_change_at_once(tmp_path: Path, listening_port: int) -> None:
    with pytest.raises(StudyError) as caught:
        plan(tmp_path, "parameters.pat=1", "users=3", "parameters.path", port=listening_port)
    messages = [fault.message for fault in caught.value.faults]
    assert "did you mean 'path'?" in messages[0]
    assert [message.startswith("must be parameters.NAME=value") for message in messages] == [False, True, True]


def test_a_long_host_is_not_repeated_whole(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", {})
    with pytest.raises(TowtankError) as caught:
        prepare_plan(run, Exchange(f"http://{'a' * 100_000}/"), Load(), [], [])
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("name", ["Connection", "content-length", "Transfer-Encoding"])
def test_drive_refuses_headers_that_the_engine_sets(name: str) -> None:
    check = OptionCheck()
    check.headers([f"{name}: x", "X-Own: y"])
    with pytest.raises(StudyError, match=f"--header: must not be {name}"):
        check.refuse_faults()


def test_drive_of_a_url_takes_no_changes(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", {})
    with pytest.raises(StudyError, match="--set: must only be given with a workload file"):
        prepare_plan(run, Exchange("http://127.0.0.1:9/", changes=("a=b",)), Load(), [], [])
