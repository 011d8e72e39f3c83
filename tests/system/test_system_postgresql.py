"""A private PostgreSQL server starts beside other servers, answers queries, and leaves no files or processes behind."""

import hmac
import os
import stat
import subprocess
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from canaries import Arguments, canary, found_in, search

from towtank.errors import TargetError
from towtank.system import model
from towtank.system.postgresql_model import PostgresqlSettings
from towtank.system.services.postgresql import INSTALL_HINT, Postgresql, program, scram_verifier
from towtank.system.sql_models import SqlPopulation
from towtank.system.system import System

needs_server = pytest.mark.skipif(program("postgres") is None, reason=f"PostgreSQL is not installed: {INSTALL_HINT}")
pytestmark = [pytest.mark.waits, pytest.mark.postgresql, pytest.mark.usefixtures("fake_engine")]


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
        assert endpoints.tiers["database"].kind == "postgresql"
    assert not folder.parent.exists()


def refused(dsn: str, query: str = "SELECT 1") -> str:
    """Run a query that the server must refuse; return the error message of psql."""
    command = [str(program("psql")), "-wAt", dsn, "-c", query]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode != 0, said.stdout
    return said.stderr


@needs_server
def test_nobody_gets_in_without_the_secret_of_the_run(tmp_path: Path) -> None:
    database, other = service(), service()
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        system.up()
        parts = urlsplit(database.dsn)
        password = parts.password or ""
        assert len(password) >= 32
        assert urlsplit(other.dsn).password != password
        place = f"127.0.0.1:{parts.port}"
        for login in ("towtank", "postgres"):
            assert "no password supplied" in refused(f"postgresql://{login}@{place}/postgres")
            assert "authentication failed" in refused(f"postgresql://{login}:{password[::-1]}@{place}/postgres")
        assert "authentication failed" in refused(f"postgresql://postgres:{password}@{place}/postgres")
        sockets = f"postgresql:///postgres?host={database.sockets}&port={parts.port}"
        for login in ("towtank", "postgres"):
            assert "no password supplied" in refused(f"{sockets}&user={login}")
        assert "trust" not in database._rules.read_text()


@needs_server
def test_no_statement_of_a_study_leads_out_of_the_database(tmp_path: Path) -> None:
    database = service()
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        system.up()
        ask(database.dsn, "CREATE TABLE t (line text)")
        for statement in (
            "COPY t FROM PROGRAM 'id'",
            "COPY t TO '/tmp/towtank-out'",
            "SELECT pg_read_file('/etc/passwd')",
            "ALTER SYSTEM SET archive_command = 'id'",
            "CREATE FUNCTION f() RETURNS int AS '/tmp/x.so' LANGUAGE c",
        ):
            said = refused(database.dsn, statement)
            assert "permission denied" in said or "must be superuser" in said, said
        assert ask(database.dsn, "SELECT count(*) FROM pg_stat_statements WHERE query LIKE 'CREATE TABLE t%'") == "1"


@needs_server
def test_what_root_writes_for_the_server_cannot_be_planted(tmp_path: Path) -> None:
    database = service()
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        system.up()
        folder = database.folder.stat()
        assert folder.st_uid == os.geteuid()
        assert stat.S_IMODE(folder.st_mode) in (0o700, 0o710)
        for file in (database._rules, database._beginning):
            assert stat.S_IMODE(file.stat().st_mode) & 0o027 == 0, "no access for others, no writes for the group"
        assert not (database.folder / "superuser").exists()


def populated(folder: Path, script: str) -> Postgresql:
    (folder / "population.sql").write_text(script)
    population = SqlPopulation(script=str(folder / "population.sql"))
    return Postgresql("database", model.Postgresql(kind="postgresql", host="here", population=population), Path())


@needs_server
@pytest.mark.parametrize("command", ["\\! touch {seen}", "\\set a `touch {seen}`", "\\o | touch {seen}", "\\i {seen}"])
def test_a_population_runs_no_command(tmp_path: Path, command: str) -> None:
    seen = tmp_path / "seen"
    database = populated(tmp_path, f"CREATE TABLE a (n int);\n{command.format(seen=seen)}\n")
    with pytest.raises(TargetError, match="backslash commands are restricted"):
        System([database], tmp_path / "data", tmp_path / "logs").up()
    assert not seen.exists()


@needs_server
def test_a_population_brings_its_rows(tmp_path: Path) -> None:
    rows = "".join(f"{number}\t\\N\n" for number in range(3))
    database = populated(tmp_path, f"CREATE TABLE a (n int, t text);\nCOPY a FROM STDIN;\n{rows}\\.\nSELECT 1;\n")
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        system.up()
        assert ask(database.dsn, "SELECT sum(n), count(t) FROM a") == "3|0"


def test_the_databases_of_a_system_have_one_secret_and_those_of_another_system_have_another() -> None:
    """All databases of a system have the same secret, because a target with several databases uses the same login for
    all of them.
    """
    several, other = [service() for _ in range(4)], service()
    for database in several:
        database.meet([each for each in several if each is not database])
    assert len({database._login()["PGPASSWORD"] for database in several}) == 1
    assert other._login() != several[0]._login()


@needs_server
def test_a_population_is_on_the_disk_before_the_run_though_its_user_is_no_superuser(tmp_path: Path) -> None:
    database = populated(tmp_path, "CREATE TABLE a AS SELECT generate_series(1, 1000) AS n;\nVACUUM ANALYZE a;\n")
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        system.up()
        assert ask(database.dsn, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == "f"
        before = ask(database.dsn, "SELECT checkpoint_lsn FROM pg_control_checkpoint()")
        written = ask(database.dsn, f"SELECT pg_current_wal_lsn() - '{before}'::pg_lsn")
        assert float(written) < 1e5, "a checkpoint must follow the creation of the data"


@needs_server
def test_a_script_may_ask_for_a_checkpoint_where_postgresql_can_grant_it(tmp_path: Path) -> None:
    database = populated(tmp_path, "CREATE TABLE a (n int);\nVACUUM ANALYZE;\n")
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        system.up()
        known = ask(database.dsn, "SELECT count(*) FROM pg_roles WHERE rolname = 'pg_checkpoint'") == "1"
        if known:
            ask(database.dsn, "CHECKPOINT")
        else:
            assert "must be superuser" in refused(database.dsn, "CHECKPOINT")


@needs_server
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run clients as another user")
def test_clients_run_as_the_user_of_the_server(tmp_path: Path) -> None:
    database = service()
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        system.up()
        assert database._load(Path("population.sql"))[:2] == ["setpriv", "--reuid=postgres"]


@needs_server
def test_its_secrets_are_no_arguments_and_in_no_log(tmp_path: Path) -> None:
    database = service(more={"log_statement": "all"})
    database._secret, database._superuser_password = canary("user"), canary("superuser")
    with Arguments().watching() as arguments, System([database], tmp_path / "data", tmp_path / "logs") as system:
        system.up()
        assert ask(database.dsn, "SELECT 1") == "1"
        assert found_in(repr(system.processes())) == []
    assert "psql" in " ".join(arguments.seen)
    mine = [str(program("psql")), "-At"]
    assert [text for text in arguments.found.values() if not text.startswith(" ".join(mine))] == []
    assert search(tmp_path / "logs").open == {}


def test_a_verifier_is_that_of_the_standard() -> None:
    # Example of RFC 7677, section 3. The test computes the server signature with the key in the verifier.
    first = "n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    exchange = f"{first},r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}"
    key = scram_verifier("pencil", b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")).rpartition(":")[2]
    signature = hmac.digest(b64decode(key), exchange.encode(), "sha256")
    assert b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@needs_server
def test_folder_of_a_killed_conductor_is_swept(tmp_path: Path) -> None:
    stale = Path(tempfile.mkdtemp(prefix="towtank-postgresql-"))
    (stale / "owner").write_text("4194304 1")
    mine = Path(tempfile.mkdtemp(prefix="towtank-postgresql-"))
    with System([service()], tmp_path / "data", tmp_path / "logs") as system:
        system.up()
        assert not stale.exists()
        assert mine.exists()  # `mine` has no file that states its owner, so it is not removed
    mine.rmdir()


@needs_server
def test_wrong_setting_shows_the_servers_own_words(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match='unrecognized configuration parameter "no_such_setting"'):
        System([service(more={"no_such_setting": 1})], tmp_path / "data", tmp_path / "logs").up()


def test_machine_without_postgresql_gets_the_install_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("towtank.system.services.postgresql.program", lambda name: None)
    with pytest.raises(TargetError, match="apt-get install postgresql"):
        System([service()], tmp_path / "data", tmp_path / "logs").up()
    assert [path.name for path in tmp_path.iterdir()] == ["towtank-engine"]
