"""`towtank init` makes the files of a first study from an address, a command, a description, or a recording."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from towtank import yamlfile
from towtank.errors import StudyError
from towtank.study import Starter, StarterOptions, load_study, starter_of, write_starter
from towtank.study.starter import _faults

IMPORTS = Path(__file__).parents[1] / "data" / "imports"


def made(folder: Path, **options: Any) -> Starter:
    found = starter_of(StarterOptions(folder / "shop", **options))
    write_starter(found)
    load_study(folder / "shop" / "study.yaml")  # Loading the study raises an error if one of the files is not valid.
    return found


def content(folder: Path, name: str) -> Any:
    return yamlfile.load(folder / "shop" / f"{name}.yaml").data


def faults(folder: Path, **options: Any) -> list[str]:
    with pytest.raises(StudyError) as refused:
        starter_of(StarterOptions(folder / "shop", **options))
    return [f"{fault.where}: {fault.message}" for fault in refused.value.faults]


def test_an_address_becomes_a_running_service_and_its_path_a_page(tmp_path: Path) -> None:
    found = made(tmp_path, url="http://127.0.0.1:8080/report?day=1&x=${y}")
    assert found.services == {"app": "http://127.0.0.1:8080"}
    (service,) = content(tmp_path, "system")["services"].values()
    assert service == {"kind": "existing", "host": "here", "address": "http://127.0.0.1:8080"}
    workload = content(tmp_path, "workload")
    assert workload["transactions"]["page"][0]["get"] == "/report?day=1&x=$${y}"
    study = content(tmp_path, "study")
    assert (study["name"], study["factors"]) == ("shop", {"users": [2, 8, 32]})


def test_an_application_elsewhere_is_on_no_host_of_this_machine(tmp_path: Path) -> None:
    made(tmp_path, url="https://user:pw@shop.example")
    assert content(tmp_path, "system")["services"]["app"] == {
        "kind": "existing",
        "address": "https://user:pw@shop.example:443",
    }
    assert (tmp_path / "shop" / "system.yaml").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("command", "port", "service"),
    [
        (
            "python3 app.py --port 8080 --name 'a b'",
            8080,
            {"program": "python3", "arguments": ["app.py", "--port", "${port}", "--name", "a b"], "port": 8080},
        ),
        ("A=1 B=${port} ./serve -p 18080", None, {"program": "../serve", "arguments": ["-p", "18080"], "port": 0}),
        ("serve", 9000, {"program": "serve", "arguments": [], "port": 9000}),
        (
            "cd app && exec serve $HOME ${port}",
            None,
            {"program": "sh", "arguments": ["-c", "cd app && exec serve $HOME ${port}"], "port": 0},
        ),
        ("echo ${HOME}", 80, {"program": "sh", "arguments": ["-c", "echo $${HOME}"], "port": 80}),
    ],
)
def test_a_command_becomes_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, port: int | None, service: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    made(tmp_path, command=command, port=port)
    found = content(tmp_path, "system")["services"]["app"]
    assert {key: found[key] for key in service} == service
    assert found["folder"] == ".."
    assert found.get("environment") == ({"A": "1", "B": "${port}"} if command.startswith("A=1") else None)


@pytest.mark.parametrize(
    ("command", "environment", "arguments"),
    [
        ("TOKEN=x cd a && ./app", {"TOKEN": "x"}, ["-c", "cd a && ./app"]),
        ("A='x;y' B=\"1 2\" C= P=${port} ./app", {"A": "x;y", "B": "1 2", "C": "", "P": "${port}"}, []),
        ("A=1 B=$HOME ./app", {"A": "1"}, ["-c", "B=$HOME ./app"]),
        ("A=1; ./app", None, ["-c", "A=1; ./app"]),
        ("A=1 && ./app", None, ["-c", "A=1 && ./app"]),
        ("A=~/x ./app", None, ["-c", "A=~/x ./app"]),
    ],
)
def test_variables_in_front_of_a_command_are_no_arguments(
    tmp_path: Path, command: str, environment: dict[str, str] | None, arguments: list[str]
) -> None:
    made(tmp_path, command=command, port=8080)
    found = content(tmp_path, "system")["services"]["app"]
    assert (found.get("environment"), found["arguments"]) == (environment, arguments)


def test_the_port_of_a_command_may_be_that_of_the_address(tmp_path: Path) -> None:
    made(tmp_path, command="serve --listen 127.0.0.1:8080", url="http://127.0.0.1:8080/report")
    assert content(tmp_path, "system")["services"]["app"]["arguments"] == ["--listen", "127.0.0.1:${port}"]
    assert content(tmp_path, "workload")["transactions"]["page"][0]["get"] == "/report"


def test_operations_that_read_and_have_their_values_become_steps(tmp_path: Path) -> None:
    found = made(tmp_path, openapi=IMPORTS / "pets.yaml")
    assert found.services == {"pets_example": "http://pets.example:8080"}
    assert found.transactions == ["list_pets"]
    left_out = [line.partition(": ")[2] for line in found.notes if "left out: it " in line and ":" in line]
    assert "POST /pets: left out: it may change data" in left_out
    assert "GET /pets/{petId}: left out: it needs petId and X-Trace, for which it has no example" in left_out


def test_a_description_without_a_server_needs_an_address(tmp_path: Path) -> None:
    description = tmp_path / "api.json"
    paths = {"/pets": {"get": {"responses": {"200": {"description": "pets"}}}}}
    description.write_text(json.dumps({"openapi": "3.0.0", "info": {"title": "Pets"}, "paths": paths}))
    assert "--url: must be given, as" in faults(tmp_path, openapi=description)[0]
    made(tmp_path, openapi=description, url="http://127.0.0.1:81")
    assert content(tmp_path, "system")["services"]["app"]["address"] == "http://127.0.0.1:81"


def test_a_recording_is_loaded_at_its_own_host_or_a_given_one(tmp_path: Path) -> None:
    assert made(tmp_path, har=IMPORTS / "shop.har").services == {"shop_example": "http://shop.example:80"}
    second = tmp_path / "second"
    second.mkdir()
    assert made(second, har=IMPORTS / "shop.har", command="serve ${port}").services == {
        "shop_example": "serve '${port}'"
    }


@pytest.mark.parametrize("options", [{"url": "http://127.0.0.1:1"}, {"har": IMPORTS / "shop.har"}])
@pytest.mark.parametrize("name", ["true", "null", "on"])
def test_a_folder_may_have_the_name_of_a_word_of_yaml(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    found = starter_of(StarterOptions(tmp_path / name, **options))
    write_starter(found)
    assert load_study(found.study).name == name


def test_the_next_command_is_one_for_a_shell(tmp_path: Path) -> None:
    found = starter_of(StarterOptions(tmp_path / "my shop;ls", url="http://[::1]:80"))
    assert shlex.split(found.next_command) == ["towtank", "run", str(tmp_path / "my shop;ls" / "study.yaml")]


def test_what_a_recording_writes_and_leaves_out_is_said(tmp_path: Path) -> None:
    start = "2026-01-01T00:00:00+00:00"
    entries = [
        {"startedDateTime": start, "time": 1, "request": {"method": method, "url": url}, "response": {"status": 200}}
        for method, url in (
            ("GET", "http://a/"),
            ("POST", "http://a/x"),
            ("DELETE", "http://a/x"),
            ("GET", "http://b/"),
        )
    ]
    path = tmp_path / "a.har"
    path.write_text(json.dumps({"log": {"entries": entries}}))
    notes = "\n".join(made(tmp_path, har=path).notes)
    assert "contains 2 requests that write (POST 1, DELETE 1)" in notes
    assert "left out: it goes to another host" in notes
    assert "--host" not in notes


def test_all_wrong_options_are_reported_at_once(tmp_path: Path) -> None:
    made(tmp_path, url="http://127.0.0.1:8080")
    found = faults(tmp_path, url="127.0.0.1:8080", port=70000, har=Path("a"), openapi=Path("b"))
    assert [line.partition(" ")[0] for line in found] == ["--har:", "--port:", "--port:", "--url:", *["FOLDER:"] * 3]
    assert (tmp_path / "shop" / "study.yaml").read_text().startswith("# Written by")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "--url: must be given, or --command, --openapi or --har"),
        ({"command": "serve"}, "--port: must be given with --command"),
        ({"command": "serve 'a", "port": 1}, "--command: must be a command of a shell"),
        ({"command": "A=1", "port": 1}, "--command: must be a program with arguments"),
        ({"command": "serve \udcff", "port": 1}, "--command: must be text in UTF-8 without control characters"),
        ({"command": "serve \x1b[31m", "port": 1}, "--command: must be text in UTF-8 without control characters"),
        ({"url": "http://here/\udcff"}, "--url: must be an address such as http://host:port/page"),
        ({"url": "ftp://here"}, "--url: must be an address such as http://host:port/page"),
        ({"url": "http://h:80/a\nb"}, "--url: must be an address such as http://host:port/page"),
        ({"url": "http://ho st/"}, "--url: must be an address such as http://host:port/page"),
        ({"url": "http://h%0a:80/"}, "--url: must be an address such as http://host:port/page"),
        ({"url": "http://here:99999"}, "--url: must be an address such as http://host:port/page"),
        ({"openapi": IMPORTS / "nowhere.yaml"}, "nowhere"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError) as refused:
        starter_of(StarterOptions(tmp_path / "shop", **options))
    assert words in "\n".join(f"{fault.file} {fault.where}: {fault.message}" for fault in refused.value.faults)
    assert not (tmp_path / "shop").exists()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shop").write_text("")
    assert "FOLDER: must be a folder" in faults(tmp_path, url="http://127.0.0.1:1")[0]


@pytest.mark.parametrize(("port", "right"), [(0, False), (1, True), (65_535, True), (65_536, False)])
def test_a_port_is_a_number_of_sixteen_bits(tmp_path: Path, port: int, right: bool) -> None:
    chosen = StarterOptions(tmp_path / "new", command="serve ${port}", port=port)
    assert (not any(fault.where == "--port" for fault in _faults(chosen))) is right
