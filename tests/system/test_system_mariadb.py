"""A private MariaDB server: its settings, its users, and its messages after a failed start."""

import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pymysql
import pytest

from towtank.errors import TargetError
from towtank.system.mariadb_model import Mariadb as Part
from towtank.system.mariadb_model import MariadbSettings
from towtank.system.services.mariadb import INSTALL_HINT, Mariadb, program
from towtank.system.system import System

needs_server = pytest.mark.skipif(program("mariadbd") is None, reason=f"MariaDB is not installed: {INSTALL_HINT}")
pytestmark = [pytest.mark.waits, pytest.mark.mariadb, pytest.mark.usefixtures("fake_engine")]


def service(**keys: Any) -> Mariadb:
    made = Mariadb("database", Part.model_validate({"kind": "mariadb", "host": "here", **keys}), Path())
    made.ready_within_s = 120.0
    return made


def test_settings_are_written_as_the_server_takes_them() -> None:
    given = {
        "innodb_buffer_pool_size": "64 MiB",
        "innodb_doublewrite": "off",
        "innodb_lock_wait_timeout": "5 s",
        "more": {"long_query_time": 0.5, "log_output": "NONE"},
    }
    assert MariadbSettings.model_validate(given).configuration() == {
        "innodb_buffer_pool_size": 67108864,
        "innodb_flush_log_at_trx_commit": 1,
        "innodb_doublewrite": "OFF",
        "innodb_lock_wait_timeout": 5,
        "max_connections": 151,
        "max_prepared_stmt_count": 1048576,
        "long_query_time": "0.5",
        "log_output": "NONE",
    }


@needs_server
@pytest.mark.timeout(300)
def test_only_its_user_is_let_in_and_a_page_size_is_that_of_its_files(tmp_path: Path) -> None:
    database = service(user="clerk", password="s3.cret", database="shop", settings={"innodb_page_size": "8 KiB"})
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        (address,) = system.up().addresses["database"]
        port = int(address.rpartition(":")[2].partition("/")[0])
        assert address == f"mysql://clerk:s3.cret@127.0.0.1:{port}/shop"
        client = ["mariadb", f"--defaults-file={database.folder / 'client.cnf'}", "-NBe", "select @@innodb_page_size"]
        assert subprocess.run(client, capture_output=True, text=True, check=True).stdout.strip() == "8192"
        for user, password in (("clerk", ""), ("", ""), ("root", "")):
            with pytest.raises(pymysql.OperationalError, match=r"Access denied|Host .* is not allowed"):
                pymysql.connect(host="127.0.0.1", port=port, user=user, password=password)
        folder = database.folder
    assert not folder.exists()


@needs_server
@pytest.mark.timeout(300)
def test_nobody_gets_in_without_the_secret_of_the_run(tmp_path: Path) -> None:
    database, other = service(), service()
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        (address,) = system.up().addresses["database"]
        parts = urlsplit(address)
        assert len(parts.password or "") >= 32
        assert urlsplit(other.dsn).password != parts.password
        for password in ("", "towtank", parts.password[::-1] if parts.password else ""):
            with pytest.raises(pymysql.OperationalError, match="Access denied"):
                pymysql.connect(host="127.0.0.1", port=parts.port or 0, user="towtank", password=password)
        options = database.folder / "client.cnf"
        assert stat.S_IMODE(options.stat().st_mode) & 0o007 == 0
        assert stat.S_IMODE(database.folder.stat().st_mode) & 0o007 == 0


@needs_server
@pytest.mark.timeout(300)
def test_temporary_tables_of_other_servers_stay(tmp_path: Path) -> None:
    database = service()
    with tempfile.NamedTemporaryFile(prefix="#sql-", suffix=".MAD") as other:
        if os.geteuid() == 0:
            shutil.chown(other.name, database.account)
        with System([database], tmp_path / "data", tmp_path / "logs") as system:
            system.up()
            assert Path(other.name).exists()


@needs_server
@pytest.mark.timeout(300)
def test_no_statement_leads_out_of_the_database(tmp_path: Path) -> None:
    database = service()
    with System([database], tmp_path / "data", tmp_path / "logs") as system:
        parts = urlsplit(system.up().addresses["database"][0])
        login = {"user": parts.username, "password": parts.password, "port": parts.port}
        with closing(pymysql.connect(host="127.0.0.1", **login)) as connection, connection.cursor() as cursor:
            for statement in (
                f"SELECT 1 INTO OUTFILE '{database.sockets}/out'",
                "SET GLOBAL general_log = 1",
                "SHUTDOWN",
                "CREATE USER another@'%'",
                "GRANT FILE ON *.* TO towtank@'%'",
                "UPDATE mysql.global_priv SET Priv = '{}'",
                "INSTALL SONAME 'x'",
                "CREATE FUNCTION f RETURNS STRING SONAME 'x.so'",
            ):
                with pytest.raises(pymysql.MySQLError, match=r"denied"):
                    cursor.execute(statement)
            cursor.execute("CREATE DATABASE towtank_more")
            cursor.execute("SELECT count(*) FROM performance_schema.threads")


@needs_server
@pytest.mark.timeout(300)
def test_a_population_runs_no_command(tmp_path: Path) -> None:
    for number, command in enumerate((r"\! touch", "system touch")):
        seen = tmp_path / f"seen-{number}"
        (tmp_path / "commands.sql").write_text(f"create table a (n int);\n{command} {seen}\n")
        with pytest.raises(TargetError, match="its population could not be created"):
            System([service(population={"script": str(tmp_path / "commands.sql")})], tmp_path, tmp_path / "logs").up()
        assert not seen.exists()


@needs_server
@pytest.mark.timeout(300)
def test_wrong_setting_and_wrong_population_show_the_servers_own_words(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="unknown variable 'no-such-setting=1'"):
        System([service(settings={"more": {"no_such_setting": 1}})], tmp_path / "data", tmp_path / "logs").up()
    (tmp_path / "wrong.sql").write_text("create table a (n int);\ncreate tabel b;\n")
    wrong = service(population={"script": str(tmp_path / "wrong.sql")})
    with pytest.raises(TargetError, match=r"(?s)its population could not be created: .*ERROR 1064 \(42000\) at line 2"):
        System([wrong], tmp_path / "data", tmp_path / "logs").up()


def test_machine_without_mariadb_gets_the_install_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("towtank.system.services.mariadb.program", lambda name: None)
    with pytest.raises(TargetError, match="apt-get install mariadb-server"):
        System([service()], tmp_path / "data", tmp_path / "logs").up()
