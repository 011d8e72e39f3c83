"""Kinds of services for the conformance tests, each with an operation to perform and settings to verify."""

from __future__ import annotations

import http.client
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from towtank.observe.command_socket import ask_once
from towtank.observe.redis import ask_redis
from towtank.observe.scraper import ScrapeError
from towtank.system.services.directory_users import PEOPLE, users
from towtank.system.services.openldap import ADMINISTRATOR

_NOBODY = 65534


@dataclass(frozen=True)
class ServiceCase:
    """Kind of service, with the operation and the values that the conformance tests use.

    Attributes
    ----------
    kind : str
    more : str
        Further keys of the service in the system file.
    use : callable
        Performs one operation with the service, and asserts that the operation succeeded.
    settings : str
        Settings that differ from the default.
    asked : callable
        Returns the values that the running process reports for `settings`.
    expected : object
        Expected result of `asked`.
    wrong : dict
        Settings that are refused when the system file is read, each with a part of the error message.
    grows : str
        Name of a counter that `use` increases.
    intrude : callable, optional
        Asserts that the service refuses another operating-system user, if it holds data or accepts commands.
    account : str
        Operating-system user of the server if Towtank runs as root and this user exists; empty if the kind of service
        has none.
    always : str
        Settings for tests that do not pass settings.
    """

    kind: str
    more: str
    use: Callable[[Any], None]
    settings: str
    asked: Callable[[Any], Any]
    expected: Any
    wrong: dict[str, str]
    grows: str
    intrude: Callable[[Any], None] | None = None
    account: str = ""
    always: str = ""


def fetch(address: str, path: str = "/") -> tuple[int, dict[str, str], str]:
    """Send one HTTP/1.1 request on a new connection; return status, headers and body of the response."""
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def proxies(gateway: Any) -> None:
    """Assert that the gateway under test forwards a request to the null server without changing path and query."""
    status, _, body = fetch(gateway.address, "/a/b?c=d%20e")
    assert (status, len(body)) == (200, 100)


def httpd_directives(gateway: Any) -> dict[str, str]:
    """Return directives of the running Apache httpd, read from its page `server-info`."""
    text = fetch(gateway.status_address, "/server-info?config")[2]
    plain = text.replace("&nbsp;", " ").replace("<i>", "").replace("</i>", "")
    lines = [line.split("</tt>")[0].rpartition(":")[2].split() for line in plain.splitlines() if "<tt>" in line]
    wanted = ("MaxRequestWorkers", "ThreadsPerChild", "KeepAlive", "lbmethod")
    return {words[0]: words[1] for words in lines if len(words) == 2 and words[0] in wanted}


def nginx_workers(gateway: Any) -> tuple[int, bool]:
    """Return the number of nginx worker processes, and True if nginx keeps connections open after a response."""
    master = (gateway.folder / "nginx.pid").read_text().strip()
    workers = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    return len(workers), fetch(gateway.address)[1].get("Connection") != "close"


def haproxy_info(gateway: Any) -> tuple[str, str]:
    """Return the connection limit and the number of threads that HAProxy reports."""
    reported = dict(
        line.split(": ", 1) for line in ask_once(str(gateway.commands), "show info").splitlines() if ": " in line
    )
    return reported["Maxconn"], reported["Nbthread"]


def sets_and_gets(store: Any) -> None:
    """Assert that Redis returns a stored value, and None for an unknown key."""
    secret = store._password
    assert ask_redis(store.address, "SET", "key", "a value", password=secret) == "OK"
    assert ask_redis(store.address, "GET", "key", password=secret) == "a value"
    assert ask_redis(store.address, "GET", "another", password=secret) is None


def redis_info(store: Any) -> tuple[str, str]:
    """Return the memory limit and the eviction policy that Redis reports."""
    text = ask_redis(store.address, "INFO", "memory", password=store._password) or ""
    memory = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return memory["maxmemory"], memory["maxmemory_policy"]


def as_another_user(work: Callable[[], object]) -> object:
    """Run a function as an unprivileged operating-system user and return the exception that it raises. Skip the test if
    it does not run as root.
    """
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")
    with ProcessPoolExecutor(1, mp_context=get_context("fork"), initializer=_become_nobody) as pool:
        return pool.submit(work).exception()


def _become_nobody() -> None:
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)


def is_closed_to_strangers(store: Any) -> None:
    """Assert that Redis refuses commands without the password.

    Commands that an intruder could misuse, such as CONFIG and MODULE, are unknown even with the password.
    """
    for words in (("PING",), ("GET", "key")):
        with pytest.raises(ScrapeError, match="NOAUTH"):
            ask_redis(store.address, *words)
    with pytest.raises(ScrapeError, match="WRONGPASS"):
        ask_redis(store.address, "PING", password="towtank")
    for words in (("CONFIG", "SET", "dir", "/tmp"), ("MODULE", "LOAD", "/tmp/x.so"), ("REPLICAOF", "127.0.0.1", "1")):
        with pytest.raises(ScrapeError, match="unknown command"):
            ask_redis(store.address, *words, password=store._password)


def takes_commands_of_its_owner_alone(gateway: Any) -> None:
    """Assert that other operating-system users cannot use HAProxy's command socket."""
    socket_path = str(gateway.commands)
    assert stat.S_IMODE(gateway.commands.stat().st_mode) == 0o600
    assert isinstance(as_another_user(partial(ask_once, socket_path, "show info")), ScrapeError)


def has_no_known_administrator(directory: Any) -> None:
    """Assert that slapd refuses guessed administrator passwords, and refuses changes without a login."""
    import ldap3  # noqa: PLC0415 - only where slapd is tested

    server = ldap3.Server(directory.url, get_info=ldap3.NONE)
    for word in ("towtank", "secret", "admin"):
        guess = ldap3.Connection(server, ADMINISTRATOR, word)
        assert not guess.bind()
        guess.unbind()
    stranger = ldap3.Connection(server, auto_bind=True)
    assert not stranger.add(f"cn=planted,{PEOPLE}", "person", {"sn": "planted"})
    stranger.unbind()
    right = ldap3.Connection(server, ADMINISTRATOR, directory._password)
    assert right.bind()
    right.unbind()


def asks_strangers_for_a_secret(database: Any) -> None:
    """Assert that PostgreSQL refuses logins without a password."""
    from towtank.system.services.postgresql import program  # noqa: PLC0415

    for user in ("towtank", "postgres"):
        where = database.dsn.rpartition("@")[2].partition("/")[0]
        command = [str(program("psql")), "-wXc", "SELECT 1", f"postgresql://{user}@{where}/postgres"]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (said.returncode != 0, "no password supplied" in said.stderr) == (True, True)


def denies_strangers(database: Any) -> None:
    """Assert that MariaDB refuses logins without a password."""
    import pymysql  # noqa: PLC0415 - only where MariaDB is tested

    for user in ("towtank", "root", ""):
        with pytest.raises(pymysql.OperationalError, match="denied"):
            pymysql.connect(host="127.0.0.1", port=database._port, user=user, password="")


def finds_a_user(directory: Any) -> None:
    """Assert that an LDAP search finds a generated user, and that the user can log in with the generated password
    only.
    """
    import ldap3  # noqa: PLC0415 - only where slapd is tested

    user = list(users(3, seed=5))[-1]
    server = ldap3.Server(directory.url, get_info=ldap3.NONE)
    right = ldap3.Connection(server, user.dn, user.password, auto_bind=True)
    right.search(PEOPLE, f"(uid={user.name})", attributes=["mail"])
    assert [entry["attributes"]["mail"] for entry in right.response] == [[f"{user.name}@example.org"]]
    right.unbind()
    wrong = ldap3.Connection(server, user.dn, "wrong")
    assert not wrong.bind()
    wrong.unbind()


def slapd_limits(directory: Any) -> tuple[int, int]:
    """Return the number of threads and the size of the database that slapd reports."""
    scraper = directory.scrapers()[0]
    values = scraper.scrape()
    scraper.close()
    return int(values["openldap_threads_limit"]), int(values["openldap_pages_limit"]) * os.sysconf("SC_PAGE_SIZE")


def psql(database: Any, query: str) -> str:
    from towtank.system.services.postgresql import program  # noqa: PLC0415

    command = [str(program("psql")), "-XAt", database.dsn, "-c", query]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def writes_and_reads(database: Any) -> None:
    """Assert that PostgreSQL returns a stored row."""
    psql(database, "CREATE TABLE IF NOT EXISTS tried (number integer)")
    psql(database, "INSERT INTO tried VALUES (42)")
    assert "42" in psql(database, "SELECT number FROM tried")


def shown(database: Any) -> tuple[str, ...]:
    """Return some settings of the running PostgreSQL server."""
    return tuple(psql(database, f"SHOW {name}") for name in ("work_mem", "synchronous_commit", "checkpoint_timeout"))


def mariadb_answer(database: Any, query: str) -> str:
    """Return the result of a query, executed with the command-line client of MariaDB."""
    from towtank.system.services.mariadb import program  # noqa: PLC0415

    options = f"--defaults-file={database.folder / 'client.cnf'}"
    command = [str(program("mariadb")), options, "-NB", "-e", query, "towtank"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def keeps_a_row(database: Any) -> None:
    """Assert that MariaDB returns a stored row."""
    mariadb_answer(database, "CREATE TABLE IF NOT EXISTS tried (number integer)")
    mariadb_answer(database, "INSERT INTO tried VALUES (42)")
    assert "42" in mariadb_answer(database, "SELECT number FROM tried")


def mariadb_variables(database: Any) -> list[str]:
    """Return some settings of the running MariaDB server."""
    names = ("innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "tx_isolation", "innodb_doublewrite")
    return mariadb_answer(database, f"SELECT {', '.join(f'@@{name}' for name in names)}, @@long_query_time").split()


def answers_with_its_arguments(program: Any) -> None:
    """Assert that the program responds, and that its response contains its working folder."""
    status, _, body = fetch(program.address)
    assert (status, Path(json.loads(body)["folder"]).name) == (200, "site")


def its_arguments(program: Any) -> list[str]:
    found: list[str] = json.loads(fetch(program.address)[2])["arguments"]
    return found


_SERVER = Path(__file__).with_name("command_server.py")
_MEMBER = 'balancer_member_requests_total{member="web-1"}'
CASES = (
    ServiceCase(
        "httpd",
        "members: web",
        proxies,
        "max_request_workers: 40, threads_per_child: 10, keep_alive: false",
        httpd_directives,
        {"MaxRequestWorkers": "40", "ThreadsPerChild": "10", "KeepAlive": "Off"},
        {
            "max_request_workers: 30, threads_per_child: 20": "multiple of threads_per_child",
            "max_request_workers: 0": "must be at least 1",
            "policy: by_magic": "must be round_robin, random, by_traffic or least_busy",
            "threads: 5": "unknown key 'threads'",
        },
        _MEMBER,
    ),
    ServiceCase(
        "nginx",
        "members: web",
        proxies,
        "workers: 3, keep_alive: false",
        nginx_workers,
        (3, False),
        {
            "worker_connections: 5": "must be at least 16",
            "keep_alive_timeout: 5": "with its unit",
            "policy: 3": "must be",
        },
        _MEMBER,
    ),
    ServiceCase(
        "haproxy",
        "members: [web]",
        proxies,
        "max_connections: 123, threads: 2",
        haproxy_info,
        ("123", "2"),
        {"threads: 65": "must be at most 64", "max_connections: many": "must be a whole number"},
        _MEMBER,
        takes_commands_of_its_owner_alone,
        "haproxy",
    ),
    ServiceCase(
        "redis",
        "",
        sets_and_gets,
        "max_memory: 10 MiB, eviction: allkeys-lru",
        redis_info,
        ("10485760", "allkeys-lru"),
        {"eviction: lru": "must be", "max_memory: 10": "with its unit"},
        'redis_calls_total{command="get"}',
        is_closed_to_strangers,
        "redis",
    ),
    ServiceCase(
        "openldap",
        "population: {users: 3, seed: 5}",
        finds_a_user,
        "threads: 4, max_size: 8 MiB",
        slapd_limits,
        (4, 8 * 2**20),
        {"threads: 1": "must be at least 2", "indexes: [phone]": "must be", "idle_timeout: 1500 ms": "whole seconds"},
        'openldap_completed_total{operation="search"}',
        has_no_known_administrator,
        "openldap",
    ),
    ServiceCase(
        "postgresql",
        "",
        writes_and_reads,
        "work_mem: 5 MiB, synchronous_commit: off, checkpoint_timeout: 2 min",
        shown,
        ("5MB", "off", "2min"),
        {
            "work_mem: 1kB": "must be at least 64kB",
            "shared_bufers: 1GB": "did you mean 'shared_buffers'",
            "checkpoint_timeout: 5 s": "must be from 30 s",
            "more: {port: 5}": "which Towtank sets itself",
        },
        "pg_stat_database_rows_inserted_total",
        asks_strangers_for_a_secret,
        "postgres",
    ),
    ServiceCase(
        "mariadb",
        "",
        keeps_a_row,
        "innodb_buffer_pool_size: 16 MiB, innodb_flush_log_at_trx_commit: 2, innodb_doublewrite: off, "
        "transaction_isolation: READ-COMMITTED, more: {long_query_time: 2.5}",
        mariadb_variables,
        [str(16 * 2**20), "2", "READ-COMMITTED", "0", "2.500000"],
        {
            "innodb_buffer_pool_size: 1 MiB": "must be at least 5242880",
            "innodb_bufer_pool_size: 1 GiB": "did you mean 'innodb_buffer_pool_size'",
            "innodb_flush_log_at_trx_commit: 4": "must be at most 3",
            "innodb_page_size: 5 KiB": "must be 4, 8, 16, 32 or 64 KiB",
            "innodb_lock_wait_timeout: 1500 ms": "whole seconds",
            "more: {datadir: /tmp}": "which Towtank sets itself",
            "more: {max_connections: 10}": "write it beside `more`",
        },
        "mariadb_rows_inserted_total",
        denies_strangers,
        "mysql",
    ),
    ServiceCase(
        "command",
        f'program: {sys.executable}, arguments: [{_SERVER}, "${{host}}", "${{port}}", '
        '"--workers=${settings.workers}", "--sync=${settings.sync}"], metrics: /metrics, folder: site',
        answers_with_its_arguments,
        "workers: 4, sync: true",
        its_arguments,
        ["--workers=4", "--sync=true"],
        {"workers: [1]": "must be", "a b: 1": "must be a name"},
        "tried_requests_total",
        always="workers: 2, sync: false",
    ),
)
