"""How a study was asked for, kept in its results and read back from them."""

from pathlib import Path

import pytest

from towtank.conduct.provenance import keep_files
from towtank.conduct.request import StudyRequest, new_folder, recorded_request
from towtank.errors import StudyError
from towtank.results.folder import ResultsFolder

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
    files = keep_files(request.load(), folder)
    return ResultsFolder.create(folder, {"command": request.document(), "files": files})


def test_request_is_read_back_with_all_its_changes(study: Path, tmp_path: Path) -> None:
    asked = StudyRequest(str(study), "long", 3, 7, ("load.stages.settle=2 s",), ("example.test",))
    loaded = asked.load()
    assert (loaded.study.repetitions, loaded.study.seed, loaded.study.load.stages.settle) == (3, 7, 2.0)
    results = recorded(asked, tmp_path / "results")
    again = recorded_request(results.path, None)
    assert Path(again.study) == study / "study.yaml"
    assert again.load().describe() == loaded.describe()
    assert again.allowed == ("example.test",)


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


def test_results_without_a_request_are_refused(tmp_path: Path) -> None:
    results = ResultsFolder.create(tmp_path, {})
    with pytest.raises(StudyError, match="must tell how its study was asked for"):
        recorded_request(results.path, None)


def test_every_wrong_change_is_told(study: Path) -> None:
    with pytest.raises(StudyError) as caught:
        StudyRequest(str(study), changes=("seed", "=3")).load()
    assert len(caught.value.faults) == 2


def test_new_folder_is_never_one_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "20261120-180501")
    names = []
    for _ in range(3):
        folder = new_folder("tiny")
        folder.mkdir(parents=True)
        names.append(str(folder))
    assert names == [f"results/tiny-20261120-180501{suffix}" for suffix in ("", "-2", "-3")]
