"""A private PostgreSQL: comes up beside others, takes queries, leaves nothing behind."""

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from towtank.errors import TargetError
from towtank.system import model
from towtank.system.postgresql_model import PostgresqlSettings
from towtank.system.services.postgresql import INSTALL_HINT, Postgresql, program
from towtank.system.system import System

needs_server = pytest.mark.skipif(program("postgres") is None, reason=f"PostgreSQL is not installed: {INSTALL_HINT}")
pytestmark = [pytest.mark.postgresql, pytest.mark.usefixtures("fake_engine")]


def service(**settings: Any) -> Postgresql:
    part = model.Postgresql(kind="postgresql", host="here", settings=PostgresqlSettings(**settings))
    made = Postgresql("database", part, Path())
    made.ready_within_s = 60.0
    return made


def ask(dsn: str, query: str) -> str:
    psql = program("psql")
    assert psql is not None
    return subprocess.run([psql, "-At", dsn, "-c", query], capture_output=True, text=True, check=True).stdout.strip()


@needs_server
def test_private_instance_comes_up_with_its_settings_and_leaves_nothing(tmp_path: Path) -> None:
    database = service(shared_buffers="32MB")
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        endpoints = system.up()
        folder = database.data
        assert ask(database.dsn, "SHOW shared_buffers") == "32MB"
        assert ask(database.dsn, "SELECT 1 + 1") == "2"
        assert endpoints.settings["database"]["shared_buffers"] == "32MB"
        assert endpoints.addresses == {"database": [database.dsn]}
        assert endpoints.tiers["database"]["kind"] == "postgresql"
    assert not folder.parent.exists()


@needs_server
def test_folder_of_a_killed_conductor_is_swept(tmp_path: Path) -> None:
    stale = Path(tempfile.mkdtemp(prefix="towtank-postgresql-"))
    (stale / "owner").write_text("4194304 1")
    mine = Path(tempfile.mkdtemp(prefix="towtank-postgresql-"))
    with System([service()], tmp_path / "data", tmp_path / "logs") as system:
        system.up()
        assert not stale.exists()
        assert mine.exists()  # nobody says whose it is, so it is left alone
    mine.rmdir()


@needs_server
def test_wrong_setting_shows_the_servers_own_words(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match='unrecognized configuration parameter "no_such_setting"'):
        System([service(more={"no_such_setting": 1})], tmp_path / "data", tmp_path / "logs").up()


def test_machine_without_postgresql_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("towtank.system.services.postgresql.program", lambda name: None)
    with pytest.raises(TargetError, match="apt-get install postgresql"):
        System([service()], tmp_path / "data", tmp_path / "logs").up()
    assert [path.name for path in tmp_path.iterdir()] == ["towtank-engine"]
