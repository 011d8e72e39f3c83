"""Files are replaced atomically. Anything that is not a regular file is not replaced."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from towtank.analysis.run.inputs import inputs
from towtank.conduct.provenance import require_no_results
from towtank.errors import StudyError
from towtank.files import NotAFileError, put, put_text, read_regular
from towtank.results.folder import ResultsFolder, RunFolder
from towtank.results.manifests import RunManifest, usable_part
from towtank.secrets import open_private, put_private


def test_a_pipe_and_a_folder_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, words in (("pipe", "a named pipe"), ("folder", "a folder")):
        with pytest.raises(NotAFileError, match=words):
            put_text(tmp_path / name, "new")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_a_symbolic_link_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    put_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    put_text(path, "old")
    for mode in (0o600, 0o640):
        path.chmod(mode)
        put_text(path, "new")
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("planted", ["link", "pipe"])
def test_nothing_planted_at_the_temporary_name_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr("secrets.token_hex", lambda _: "known")
    place = tmp_path / ".towtank-known.tmp"
    place.symlink_to(victim) if planted == "link" else os.mkfifo(place)
    with pytest.raises(FileExistsError):
        put_text(tmp_path / "file", "new")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "file").exists()


def test_temporary_names_are_unpredictable(tmp_path: Path) -> None:
    seen: list[str] = []
    for _ in range(2):
        put(tmp_path / "file", lambda path: seen.append(path.name))
    assert seen[0] != seen[1]


def test_the_new_name_is_on_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, forced = tmp_path / "run.json", []
    path.write_text("old")
    fsync = os.fsync

    def seen(descriptor: int) -> None:
        forced.append((Path(f"/proc/self/fd/{descriptor}").readlink(), path.read_text()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", seen)
    put_text(path, "new")
    ((first, before), (second, after)) = forced
    assert (first.parent, before) == (tmp_path, "old")
    assert (second, after) == (tmp_path, "new")


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def fill(path: Path) -> None:
        path.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "file").write_text("old")
    with pytest.raises(OSError, match="No space left"):
        put(tmp_path / "file", fill)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_replaces_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def refuse(_path: Path, _target: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    put_private(tmp_path / "file", "first", replace=False)
    with pytest.raises(FileExistsError):
        put_private(tmp_path / "file", "second", replace=False)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "first")]
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"study": {"factors": [1]}}, "study.factors[0]"),
        ({"study": {"factors": [{"name": "users", "levels": []}]}}, "study.factors[0].levels"),
        ({"study": {"objectives": 5}}, "study.objectives"),
        ({"study": {"claims": {"a": 1}}}, "study.claims"),
    ],
)
def test_a_study_manifest_of_another_form_is_refused_with_its_place(
    tmp_path: Path, document: object, place: str
) -> None:
    (tmp_path / "study.json").write_text(json.dumps(document))
    with pytest.raises(StudyError) as raised:
        _ = ResultsFolder(tmp_path).manifest
    assert [fault.where for fault in raised.value.faults] == [place]


@pytest.mark.parametrize(
    "text", ["{}", "[]", "no JSON", '{"changes": "a=b"}', '{"changes": [1]}', '{"changes": null}', "\\xff"]
)
def test_secrets_of_another_form_are_refused_in_a_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.json").write_text('{"command": {"changes": ["parameters.pass=***"]}}')
    (tmp_path / "secrets.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(StudyError, match=r"secrets\.json: .*must be a (JSON object|list of texts)"):
        _ = ResultsFolder(tmp_path).changes


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_device_in_a_results_folder_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    def plant(path: Path) -> None:
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")

    run = RunFolder.create(tmp_path / "r001", {"status": "complete"})
    plant(tmp_path / "study.json")
    plant(run.path / "stored.json")
    plant(run.path / "events.ndjson")
    plant(run.engine / "engine.json")
    with pytest.raises(StudyError, match=r"must be a regular file, got a (named pipe|device)"):
        _ = ResultsFolder(tmp_path).manifest
    with pytest.raises(NotAFileError):
        list(run.events())
    with pytest.raises(NotAFileError):
        read_regular(run.stored)
    assert inputs(run, {}, []) is not None


def test_a_pipe_without_a_reader_cannot_be_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device or address"):
        open_private(tmp_path / "pipe", follow=True)


def test_a_pipe_with_a_reader_takes_everything(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with open_private(tmp_path / "pipe", follow=True) as stream:
        assert os.get_blocking(stream.fileno())
        stream.write("all")
    assert os.read(reader, 10) == b"all"
    os.close(reader)


@pytest.mark.parametrize("linked", [False, True])
def test_a_folder_of_another_user_is_refused_for_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    folder = tmp_path / "out"
    folder.mkdir(mode=0o755)
    asked = tmp_path / "link" if linked else folder
    if linked:
        asked.symlink_to(folder)
    require_no_results(asked)
    folder.chmod(0o757)
    with pytest.raises(StudyError, match="must not be writable by other users"):
        require_no_results(asked)
    folder.chmod(0o755)
    monkeypatch.setattr("os.geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(StudyError, match="must belong to the current user"):
        require_no_results(asked)


def test_brackets_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text('{"a": ' + "[" * 100_000)
    with pytest.raises(StudyError, match="must be a JSON object"):
        _ = ResultsFolder(tmp_path).manifest


def test_a_tier_without_content_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"tiers": {"content": null}}')
    with pytest.raises(StudyError) as raised:
        _ = RunFolder(tmp_path).manifest
    assert [fault.where for fault in raised.value.faults] == ["tiers.content"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"tiers": {"content": {"cpus": [0.5]}}}', "tiers.content.cpus[0]"),
        ('{"tiers": {"content": {"cpus": [-1]}}}', "tiers.content.cpus[0]"),
        ('{"pinning": {"system": ["0"]}}', "pinning.system[0]"),
    ],
)
def test_a_cpu_that_cannot_be_is_refused_with_its_place(tmp_path: Path, text: str, where: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(StudyError) as raised:
        _ = RunFolder(tmp_path).manifest
    assert [fault.where for fault in raised.value.faults] == [where]


def test_of_a_manifest_with_one_wrong_key_the_others_are_usable() -> None:
    tiers = {"content": {"cpus": [0], "kind": "content_server"}}
    found = usable_part({"run": "r001", "tiers": tiers, "pinning": {"system": [0.5]}, "users": 4}, RunManifest)
    assert found == {"run": "r001", "tiers": tiers, "users": 4}
