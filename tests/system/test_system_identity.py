"""Files of other users in a temporary folder must not block Towtank, which neither removes such files nor follows
links.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from towtank.system import state
from towtank.system.hosts import cleaning
from towtank.system.identity import is_own_folder, note_identity, noted_identity, own_identity
from towtank.system.keeper import take_down
from towtank.system.scratch import sweep_scratch
from towtank.system.services import mariadb, postgresql

pytestmark = pytest.mark.waits

GONE = "4194304 1"
HERE = Path("/proc/self/ns/pid").stat().st_ino


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(cleaning, "IMAGES", folder)
    return folder


def planted(folder: Path, kind: str) -> Path:
    """Create a folder with an invalid owner file; return the path of the owner file."""
    folder.mkdir()
    note = folder / "owner"
    if kind == "pipe":
        os.mkfifo(note)
    elif kind == "device":
        note.symlink_to("/dev/zero")
    elif kind == "link":
        (folder / "real").write_text(GONE)
        note.symlink_to("real")
    else:
        note.write_text(f"{GONE} {'0' * 10**6}")
    return note


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["pipe", "device", "link", "long"])
def test_a_note_that_is_none_holds_nobody_up(temporary: Path, kind: str) -> None:
    assert noted_identity(planted(temporary / "folder", kind)) is None
    for prefix in (postgresql.Postgresql.prefix, mariadb.Mariadb.prefix):
        planted(temporary / f"{prefix}x", kind)
    planted(temporary / "towtank-abcdef", kind)
    for service in (postgresql.Postgresql, mariadb.Mariadb):
        service._sweep(service.__new__(service))
        assert (temporary / f"{service.prefix}x").exists()
    assert not cleaning.is_owned("towtank-abcdef")


def test_a_note_of_ours_is_read(temporary: Path) -> None:
    me = own_identity()
    for note in (note_identity(), f"{me[0]} {me[1]}"):
        (temporary / "owner").write_text(note)
        assert noted_identity(temporary / "owner") == me
    assert noted_identity(temporary / "nothing") is None


def test_folders_of_another_container_are_left_alone(temporary: Path) -> None:
    names = [f"towtank-{name}" for name in ("postgresql-x", f"system-4194304-1-{HERE + 1}-x", "abcdef")]
    for name in names:
        (temporary / name).mkdir()
        (temporary / name / "owner").write_text(f"{GONE} {HERE + 1}")
    postgresql.Postgresql._sweep(postgresql.Postgresql.__new__(postgresql.Postgresql))
    sweep_scratch()
    assert cleaning.is_owned("towtank-abcdef")
    assert sorted(path.name for path in temporary.iterdir()) == sorted(names)


def test_folders_whose_owner_is_gone_are_removed(temporary: Path) -> None:
    for name in ("postgresql-x", f"system-4194304-1-{HERE}-x"):
        (temporary / f"towtank-{name}").mkdir()
        (temporary / f"towtank-{name}" / "owner").write_text(f"{GONE} {HERE}")
    postgresql.Postgresql._sweep(postgresql.Postgresql.__new__(postgresql.Postgresql))
    sweep_scratch()
    assert list(temporary.iterdir()) == []


def test_folders_behind_links_are_not_removed(temporary: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "owner").write_text(GONE)
    names = ("towtank-postgresql-x", f"towtank-system-4194304-1-{HERE}-x", "towtank-abcdef")
    for name in names:
        (temporary / name).symlink_to(elsewhere)
    postgresql.Postgresql._sweep(postgresql.Postgresql.__new__(postgresql.Postgresql))
    sweep_scratch()
    assert "towtank-abcdef" not in cleaning.prefixes()
    cleaning.clean("towtank-abcdef")
    assert (elsewhere / "owner").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the owner of a folder")
def test_folders_and_states_of_others_are_left_alone(temporary: Path, tmp_path: Path) -> None:
    for name in ("towtank-postgresql-x", f"towtank-system-4194304-1-{HERE}-x", "towtank-abcdef"):
        (temporary / name).mkdir()
        (temporary / name / "owner").write_text(GONE)
        os.chown(temporary / name, 65534, 65534)
        assert not is_own_folder(temporary / name)
    postgresql.Postgresql._sweep(postgresql.Postgresql.__new__(postgresql.Postgresql))
    sweep_scratch()
    assert "towtank-abcdef" not in cleaning.prefixes()
    assert len(list(temporary.iterdir())) == 3
    file = state.up_folder(tmp_path) / "theirs.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"keeper": state.remember(os.getpid())}))
    os.chown(file, 65534, 65534)
    assert take_down(tmp_path) == [], "a state file of another user must be ignored"
    assert file.exists()
