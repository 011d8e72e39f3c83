"""Services of kind `command` in system files: wrong references, templates and checks are reported with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from towtank.conduct.side_effects import _commands
from towtank.errors import StudyError
from towtank.secrets import redacted, redacted_setting
from towtank.study.named_files import files_of_system
from towtank.system.build import build_system
from towtank.system.command_model import Command
from towtank.system.model import SystemFile, load_system
from towtank.system.placeholders import Reference, filled, references

HEAD = """\
schema: towtank/system/1
name: own
hosts:
  here: {provider: local}
services:
  database: {kind: postgresql, host: here}
  store: {kind: redis, host: here}
"""


def system_of(folder: Path, *services: str) -> SystemFile:
    path = folder / "system.yaml"
    path.write_text(HEAD + "".join(f"  {service}\n" for service in services))
    return load_system(path)


def faults_of(folder: Path, *services: str) -> list[str]:
    with pytest.raises(StudyError) as refused:
        system_of(folder, *services)
    return [str(fault).replace(f"{folder}/", "") for fault in refused.value.faults]


def program(**keys: str) -> str:
    given = {"kind": "command", "host": "here", "program": "sleep", "port": "0", **keys}
    return f"app: {{{', '.join(f'{key}: {value}' for key, value in given.items() if value)}}}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("'${settings.worker}'", "a name in settings of the service (workers), got 'worker' instead, did you mean"),
        ("'${values.rows}'", "a name in values of the service (there is none), got 'rows' instead"),
        ("'${files.app.ini}'", "a name in files of the service (there is none), got 'app.ini' instead"),
        ("'${services.databse.host}'", "another service of this file (database, store), got 'databse' instead"),
        ("'${services.app.host}'", "another service of this file (database, store), got 'app' instead"),
        ("'${services.database.uri}'", "a part among address, host, port, url, user, password, database, settings.KEY"),
        ("'${services.database.settings.max_conections}'", "did you mean 'max_connections'"),
        ("'${services.database.url}'", "must be in environment or in a file"),
        ("'${services.store.password}'", "must be in environment or in a file"),
        ("'${services.store.user}'", "must be a service with a login"),
        ("'${HOME}'", "(write $${ for a literal ${), got ${HOME} instead"),
        ("'${port.name}'", "must be ${host}, ${port}"),
        ("'${port'", "must close every ${"),
    ],
)
def test_a_wrong_reference_is_reported_with_its_place(tmp_path: Path, arguments: str, words: str) -> None:
    (found,) = faults_of(tmp_path, program(arguments=f"[{arguments}]", settings="{workers: 2}"))
    assert found.startswith("system.yaml:8:")
    assert "services.app.arguments[0]: " in found
    assert words in found


def test_all_faults_are_reported_at_once_those_of_templates_with_their_own_places(tmp_path: Path) -> None:
    (tmp_path / "app.ini").write_text("[pool]\nsize = ${settings.pool}\nhome = $${HOME}\n")
    found = faults_of(
        tmp_path,
        program(
            files="{app.ini: app.ini, other.ini: nowhere.ini}",
            environment="{URL: '${services.database.url}', KEY: '${oops}'}",
            after="[nobody]",
        ),
    )
    assert [line.partition(": must")[0] for line in found] == [
        "app.ini:2:8: services.app.files.app.ini",
        "system.yaml:8:98: services.app.files.other.ini",
        "system.yaml:8:164: services.app.environment.KEY",
        "system.yaml:8:184: services.app.after[0]",
    ]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"port": ""}, "must have a port, or ready with"),
        ({"port": "", "ready": "{log: x}", "metrics": "/metrics"}, "must have a port for metrics, got none"),
        ({"port": "", "ready": "{page: /}"}, "must have a port for ready.page, got none"),
        ({"port": "", "ready": "{log: x}", "arguments": "['${port}']"}, "must be a service with a port for ${port}"),
        ({"ready": "{log: x, page: /}"}, "must have exactly one of port, page, log and command, got page and log"),
        ({"ready": "{}"}, "must have exactly one of port, page, log and command, got none"),
        ({"ready": "{port: 5, status: 204}"}, "must have a status only with a page"),
        ({"ready": "{log: '('}"}, "must be a regular expression"),
        ({"speaks": "tcp", "metrics": "/metrics"}, "must speak http if it has metrics"),
        ({"exports": "{rows: rows.csv}"}, "must have a population that creates the files of exports"),
        ({"environment": "{A-B: 1}"}, "must be the name of a variable"),
        ({"environment": "{TOWTANK_RUN: 1}"}, "must be the name of a variable"),
        ({"environment_from": "{A: HOME}"}, "must be the name of a variable that begins with TOWTANK_"),
        ({"files": "{../a: b}"}, "must be a relative path in the folder of the run"),
        ({"program": "'${port}'"}, "must refer to settings, ${scratch} or ${data} only"),
        ({"settings": "{a: [1]}"}, "services.app.settings.a: must be text, a number, true or false"),
        ({"stop": "{signal: KILL}"}, "must be TERM, INT, HUP, QUIT, USR1 or USR2"),
    ],
)
def test_wrong_keys_are_refused(tmp_path: Path, keys: dict[str, str], words: str) -> None:
    assert words in "\n".join(faults_of(tmp_path, program(**keys)))


def test_programs_that_need_each_other_are_refused(tmp_path: Path) -> None:
    found = faults_of(
        tmp_path,
        program(arguments="['${services.front.address}']"),
        "front: {kind: haproxy, host: here, members: [app]}",
    )
    assert [
        line for line in found if "must not depend on itself through the services that it refers to (front)" in line
    ]


def test_a_service_with_copies_is_not_one_address(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    app = program(arguments="['${services.web.address}']")
    path.write_text(
        HEAD.replace("{provider: local}", "{provider: local}\n  many: {provider: local, copies: 2}")
        + f"  {app}\n  web: {{kind: null_server, host: many}}\n"
    )
    with pytest.raises(StudyError, match="must be a service on a host without copies, got 'web' instead"):
        load_system(path)


def test_services_that_it_refers_to_are_started_first(tmp_path: Path) -> None:
    (tmp_path / "app.ini").write_text("cache = ${services.store.url}\n")
    file = system_of(
        tmp_path,
        program(environment="{URL: '${services.database.url}'}", files="{app.ini: app.ini}", after="[other]"),
        "other: {kind: null_server, host: here}",
    )
    app = next(each for each in build_system(file, tmp_path, tmp_path)._services if each.name == "app")
    assert [service.name for service in app.requires()] == ["other", "database", "store"]


def test_a_program_without_a_port_is_no_target(tmp_path: Path) -> None:
    file = system_of(tmp_path, program(port="", ready="{log: started}"), "web: {kind: null_server, host: here}")
    assert list(file.all_targets) == ["web"]


def test_the_population_is_kept_unless_it_depends_on_the_run(tmp_path: Path) -> None:
    def keeps(command: str, **more: str) -> bool:
        app = system_of(tmp_path, program(population=f"{{command: {command}, values: {{rows: 5}}}}", **more))
        service = app.services["app"]
        assert isinstance(service, Command)
        return service.keeps_population

    assert keeps("[make, '${data}', '${values.rows}', '${settings.size}']", settings="{size: 3}")
    assert not keeps("[make, '${services.database.address}']")
    assert not keeps("[make, '${data}']", environment="{URL: '${services.database.url}'}")


def test_a_stranger_s_study_names_its_commands(tmp_path: Path) -> None:
    file = system_of(
        tmp_path,
        program(
            arguments="[5, --token, abc]",
            population="{command: [make, '${data}']}",
            ready="{command: [check]}",
        ),
    )
    shown = [line for line in _commands([file]) if "app" not in line]
    assert shown == ["runs `sleep 5 --token '***'`", "runs `make '${data}'`", "runs `check`"]


def test_templates_are_files_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "app.ini").write_text("")
    file = system_of(tmp_path, program(files="{conf/app.ini: app.ini}"))
    (named,) = files_of_system(file, tmp_path / "system.yaml")
    assert (named.path, named.key) == (tmp_path / "app.ini", "services.app.files.conf/app.ini")


def test_secret_arguments_and_variables_are_not_stored() -> None:
    stored = redacted(
        {
            "arguments": ["app.py", "--password", "hunter2", "--token=hunter2", "--verbose", "--secret", "--port=80"],
            "environment": {
                **{
                    "DB_PASSWORD": "hunter2",
                    "URL": "postgresql://shop:hunter2@host/shop",
                    "DSN": "hunter2",
                    "TOKEN": "4",
                },
                **{"MODE": "test", "WORKERS": "4", "DEBUG": "true", "AT": "${services.db.address}"},
            },
            "population": {"command": ["env", "X=hunter2", "N=3", "mysql", "-pHunter2", "shop"]},
        }
    )
    assert stored == {
        "arguments": ["app.py", "--password", "***", "--token=***", "--verbose", "--secret", "--port=80"],
        "environment": {
            **{"DB_PASSWORD": "***", "URL": "***", "DSN": "***", "TOKEN": "***"},
            **{"MODE": "test", "WORKERS": "4", "DEBUG": "true", "AT": "${services.db.address}"},
        },
        "population": {"command": ["env", "X=***", "N=3", "mysql", "-p***", "shop"]},
    }
    assert redacted_setting("services.app.environment.DSN=hunter2") == "services.app.environment.DSN=***"
    assert redacted_setting("services.app.environment.N=4") == "services.app.environment.N=4"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("TOKEN=hunter2 N=4 ./app", "TOKEN=*** N=4 ./app"),
        ("cd a&&KEY='hunter 2' exec ./app", "cd a&&KEY=*** exec ./app"),
        ('export A="hunter2"; mysql -uroot -phunter2 x|sort -p5', "export A=***; mysql -uroot -p*** x|sort -p5"),
        ("redis-cli -a hunter2 ping; ls -a x", "redis-cli -a *** ping; ls -a x"),
        ("./app --password hunter2 --size 4", "./app --password *** --size 4"),
        ("A=$(cat key) B=`id` ./app", "A=$(cat key) B=`id` ./app"),
    ],
)
def test_secrets_in_a_text_for_a_shell_are_not_stored(text: str, shown: str) -> None:
    assert redacted({"program": "sh", "arguments": ["-c", text]})["arguments"] == ["-c", shown]


def test_a_place_is_filled_and_a_literal_stays() -> None:
    text = "a=${settings.a} b=${ port } c=$${HOME} d=$HOME"
    assert filled(text, lambda place: place.name or place.section.upper()) == "a=a b=PORT c=${HOME} d=$HOME"
    assert list(references(text)) == [
        Reference("${settings.a}", "settings", "a", 2),
        Reference("${ port }", "port", "", 18),
    ]
