"""The requested study (its file and options) is stored in the results folder and read from it."""

from pathlib import Path

import pytest

from towtank.conduct.provenance import data_files, keep_files
from towtank.conduct.request import StudyRequest, new_results_folder, recorded_request
from towtank.documents import plain
from towtank.errors import StudyError
from towtank.results.folder import ResultsFolder, RunFolder
from towtank.study import load_study

STUDY = """
schema: towtank/study/1
name: tiny
system: system.yaml
workload: workload.yaml
factors: {users: [2, 4]}
load: {stages: {steady: 1 s}}
presets:
  long: {load: {stages: {steady: 1 min}}}
"""
SYSTEM = """
schema: towtank/system/1
name: tiny
services:
  content: {kind: existing, address: "http://127.0.0.1:80"}
"""
WORKLOAD = """
schema: towtank/workload/1
name: look
transactions:
  look: [{get: /}]
groups:
  readers: {loop: {mix: {look: 100}}}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    folder.mkdir()
    for name, text in (("study", STUDY), ("system", SYSTEM), ("workload", WORKLOAD)):
        (folder / f"{name}.yaml").write_text(text)
    return folder


def recorded(request: StudyRequest, folder: Path) -> ResultsFolder:
    files = plain(keep_files(request.load(), folder))
    return ResultsFolder.create(folder, {"command": request.document(), "files": files})


def test_request_is_read_back_with_all_its_changes(study: Path, tmp_path: Path) -> None:
    asked = StudyRequest(str(study), "long", 3, 7, ("load.stages.settle=2 s",), ("example.test",))
    loaded = asked.load()
    assert (loaded.study.repetitions, loaded.study.seed, loaded.study.load.stages.settle) == (3, 7, 2.0)
    results = recorded(asked, tmp_path / "results")
    again = recorded_request(results.path, None)
    assert Path(again.study) == study / "study.yaml"
    assert again.load().describe() == loaded.describe()
    assert again.allowed == (), "the results of others must not allow any address"
    assert recorded_request(results.path, None, ("example.test",)).allowed == ("example.test",)


@pytest.mark.parametrize(
    ("at_least", "complete", "more", "expected"),
    [(0, 2, 3, 5), (0, 1, 3, 5), (4, 4, 3, 7), (4, 2, 2, 4), (4, 2, 3, 5)],
    ids=["of the file", "interrupted", "after more", "the same again", "more than before"],
)
def test_runs_that_are_added_count_from_the_runs_that_are_there(
    study: Path, tmp_path: Path, *, at_least: int, complete: int, more: int, expected: int
) -> None:
    results = recorded(StudyRequest(str(study), at_least=at_least), tmp_path / "results")
    planned = at_least or 2
    results.update(design=[{"run": f"r{block:03d}", "repetition": block} for block in range(1, planned + 1)])
    for block in range(1, complete + 1):
        RunFolder.create(results.run_path(f"r{block:03d}"), {"status": "complete"})
    assert recorded_request(results.path, None, more=more).at_least == expected
    assert recorded_request(results.path, None).at_least == at_least


def test_changed_study_is_taken_from_its_copies(study: Path, tmp_path: Path) -> None:
    results = recorded(StudyRequest(str(study)), tmp_path / "results")
    (study / "workload.yaml").write_text(WORKLOAD.replace("look", "stare"))
    again = recorded_request(results.path, None)
    assert Path(again.study) == results.path / "files" / "study.yaml"
    assert again.load().workload.file.name == "look"


def test_files_that_have_gone_are_taken_from_their_copies(study: Path, tmp_path: Path) -> None:
    results = recorded(StudyRequest(str(study)), tmp_path / "results")
    (study / "system.yaml").unlink()
    assert recorded_request(results.path, None).load().system.name == "tiny"


OUTSIDE = "203.0.113.9"
HEAD = "schema: towtank/system/1\nname: tiny\n"
HERE = "hosts: {here: {provider: local}}\nservices:\n  content: {kind: content_server, host: here, settings: {"
EXISTING = "services: {content: {kind: existing, address: 'http://127.0.0.1:80', "
SYSTEMS = {
    "existing": f"services: {{content: {{kind: existing, address: 'http://{OUTSIDE}:80'}}}}",
    "ssh": f"hosts: {{far: {{provider: ssh, address: {OUTSIDE}}}}}\n"
    "services: {content: {kind: null_server, host: far}}",
    "metrics of a host": f"hosts: {{far: {{provider: existing, metrics: 'http://{OUTSIDE}:9100/metrics'}}}}\n"
    + EXISTING
    + "host: far}}",
    "database": HERE + f"database: 'postgresql://user@{OUTSIDE}/content'}}}}",
    "directory": HERE + f"ldap: 'ldap://{OUTSIDE}:389'}}}}",
    "page of a service": EXISTING + f"observe: {{prometheus: 'http://{OUTSIDE}:9100/metrics'}}}}}}",
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_address_of_a_system_is_left_out_of_the_check(study: Path, system: str) -> None:
    (study / "system.yaml").write_text(f"{HEAD}{SYSTEMS[system]}\n")
    with pytest.raises(StudyError, match=f"--i-may-load {OUTSIDE}"):
        StudyRequest(str(study)).load()
    asked = StudyRequest(str(study), allowed=(OUTSIDE,))
    assert asked._check_targets(load_study(study / "study.yaml"))[OUTSIDE] == [OUTSIDE]


def test_leave_is_asked_for_again_where_results_are_gone_on_with(study: Path, tmp_path: Path) -> None:
    (study / "system.yaml").write_text(SYSTEM.replace("127.0.0.1", OUTSIDE))
    results = recorded(StudyRequest(str(study), allowed=(OUTSIDE,)), tmp_path / "results")
    with pytest.raises(StudyError, match=f"--i-may-load {OUTSIDE}"):
        recorded_request(results.path, None).load()
    assert recorded_request(results.path, None, (OUTSIDE,)).load().numbers == {OUTSIDE: [OUTSIDE]}


def test_results_without_a_request_are_refused(tmp_path: Path) -> None:
    results = ResultsFolder.create(tmp_path, {})
    with pytest.raises(StudyError, match="must contain the arguments of `towtank run`"):
        recorded_request(results.path, None)


def test_every_wrong_change_is_reported(study: Path) -> None:
    with pytest.raises(StudyError) as caught:
        StudyRequest(str(study), changes=("seed", "=3")).load()
    assert len(caught.value.faults) == 2


def test_new_folder_is_never_one_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "20261120-180501")
    names = []
    for _ in range(3):
        folder = new_results_folder("tiny")
        folder.mkdir(parents=True)
        names.append(str(folder))
    assert names == [f"results/tiny-20261120-180501{suffix}" for suffix in ("", "-2", "-3")]


def test_files_of_one_name_in_several_folders_are_kept_apart(study: Path, tmp_path: Path) -> None:
    for name in ("system", "workload"):
        (study / name).mkdir()
        (study / f"{name}.yaml").rename(study / name / "file.yaml")
    text = STUDY.replace("system.yaml", "system/file.yaml").replace("workload.yaml", "workload/file.yaml")
    (study / "study.yaml").write_text(text)
    results = recorded(StudyRequest(str(study)), tmp_path / "results")
    assert (results.path / "files" / "system-file.yaml").read_text() == SYSTEM
    assert (results.path / "files" / "workload-file.yaml").read_text() == WORKLOAD
    assert Path(recorded_request(results.path, None).study) == study / "study.yaml"
    (study / "workload" / "file.yaml").write_text(WORKLOAD.replace("look", "stare"))
    with pytest.raises(StudyError, match=r"workload/file\.yaml: --resume: must be unchanged") as refused:
        recorded_request(results.path, None)
    assert len(refused.value.faults) == 1


def test_a_byte_order_mark_is_no_change(study: Path, tmp_path: Path) -> None:
    (study / "workload.yaml").write_bytes(b"\xef\xbb\xbf" + WORKLOAD.encode())
    results = recorded(StudyRequest(str(study)), tmp_path / "results")
    assert Path(recorded_request(results.path, None).study) == study / "study.yaml"


@pytest.mark.parametrize("after", ["name\nbob\n", None])
def test_rows_that_have_changed_are_not_mixed_with_the_old_ones(study: Path, tmp_path: Path, after: str | None) -> None:
    (study / "rows.csv").write_text("name\nann\n")
    (study / "workload.yaml").write_text(
        WORKLOAD.replace("transactions:", "data: {people: {csv: rows.csv}}\ntransactions:").replace(
            "{get: /}", '{draw: people}, {get: "/${people.name}"}'
        )
    )
    request = StudyRequest(str(study))
    loaded = request.load()
    data = plain(data_files(loaded))
    manifest = {"command": request.document(), "files": plain(keep_files(loaded, tmp_path / "results")), "data": data}
    results = ResultsFolder.create(tmp_path / "results", manifest)
    assert Path(recorded_request(results.path, None).study) == study / "study.yaml"
    (study / "rows.csv").unlink()
    if after is not None:
        (study / "rows.csv").write_text(after)
    with pytest.raises(StudyError, match=r"rows\.csv: --resume: must be unchanged") as refused:
        recorded_request(results.path, None)
    assert refused.value.exit_status == 2


NAMED = ["body.bin", "www/page", "ca.pem", "serve.sh", "work/app.py", "app.ini", "rows.csv"]


@pytest.mark.parametrize("place", NAMED)
def test_no_file_that_a_study_names_is_left_out_of_the_hashes(study: Path, tmp_path: Path, place: str) -> None:
    for name in ("www", "work"):
        (study / name).mkdir()
    for name in NAMED:
        (study / name).write_text("before")
    (study / "workload.yaml").write_text(WORKLOAD.replace("get: /", "post: /, file: body.bin"))
    (study / "system.yaml").write_text(
        f"{HEAD}hosts: {{here: {{provider: local}}}}\nservices:\n  web: {{kind: nginx, host: here, files: www}}\n"
        "  app: {kind: command, host: here, program: ./serve.sh, folder: work, arguments: [app.py], port: 0, "
        "files: {app.ini: app.ini}, population: {command: [sort, ../rows.csv]}}\n"
        "  content: {kind: existing, address: 'https://127.0.0.1:80'}\n"
        "targets: {content: {service: content, tls: {ca: ca.pem}}}\n"
    )
    request = StudyRequest(str(study))
    loaded = request.load()
    manifest = {"command": request.document(), "files": plain(keep_files(loaded, tmp_path / "results"))}
    results = ResultsFolder.create(tmp_path / "results", {**manifest, "data": plain(data_files(loaded))})
    assert Path(recorded_request(results.path, None).study) == study / "study.yaml"
    (study / place).write_text("after")
    named = "www" if place.startswith("www") else place
    with pytest.raises(StudyError, match=rf"{named}: --resume: must be unchanged"):
        recorded_request(results.path, None)


COMMAND = f"{HEAD}hosts: {{here: {{provider: local}}}}\nservices:\n  app: {{kind: command, host: here, port: 0, "


@pytest.mark.parametrize(
    ("system", "refused"),
    [
        (COMMAND + "program: python3, arguments: [app/app.py]}", True),
        (COMMAND + "program: python3, folder: app}", True),
        (COMMAND + "program: bin/serve, folder: /usr}", True),
        (COMMAND + "program: serve, folder: /usr, ready: {command: [./ready]}}", True),
        (COMMAND + "program: serve, folder: '${settings.at}', settings: {at: app}}", True),
        (HEAD + EXISTING + "watch: {pid_file: app.pid}}}", True),
        (COMMAND + "program: /bin/serve, folder: /usr}", False),
        (HEAD + EXISTING + "watch: {pid_file: /run/app.pid}}}", False),
    ],
)
def test_no_program_of_a_changed_study_is_looked_for_in_its_results(
    study: Path, tmp_path: Path, system: str, refused: bool
) -> None:
    (study / "system.yaml").write_text(system + "\n")
    results = recorded(StudyRequest(str(study)), tmp_path / "results")
    (study / "study.yaml").write_text(STUDY.replace("[2, 4]", "[2, 4, 8]"))
    again = recorded_request(results.path, None)
    if not refused:
        assert again.load().path.is_relative_to(results.path)
        return
    with pytest.raises(StudyError, match=r"study\.yaml: --resume: must be unchanged .* beside it") as caught:
        again.load()
    assert caught.value.hint == "restore it, or begin new results with `towtank run`"


def test_named_files_are_not_looked_for_in_the_results(study: Path, tmp_path: Path) -> None:
    (study / "page.html").write_text("")
    (study / "workload.yaml").write_text(WORKLOAD.replace("get: /", "post: /, file: page.html"))
    request = StudyRequest(str(study))
    loaded = request.load()
    manifest = {"command": request.document(), "files": plain(keep_files(loaded, tmp_path / "results"))}
    results = ResultsFolder.create(tmp_path / "results", {**manifest, "data": plain(data_files(loaded))})
    (study / "study.yaml").write_text(STUDY + "title: later\n")
    with pytest.raises(StudyError, match=r"study\.yaml: --resume: must be unchanged .* beside it"):
        recorded_request(results.path, None)
