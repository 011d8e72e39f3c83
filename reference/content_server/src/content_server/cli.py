"""Command line with the commands `serve`, `populate`, `reset` and `user`."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from content_server import __version__
from content_server.errors import StartError
from content_server.settings import Settings, parse_size

# Environment variables for the options `--database` and `--ldap`. The values may contain a password, and other users of
# the machine can read the arguments of a process, but not its environment.
DATABASE, LDAP = "CONTENT_SERVER_DATABASE", "CONTENT_SERVER_LDAP"


def _checked(convert: Callable[[str], Any], accept: Callable[[Any], bool], wanted: str) -> Callable[[str], Any]:
    def check(text: str) -> Any:
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not accept(value):
            raise argparse.ArgumentTypeError(f"must be {wanted}, got {text!r}")
        return value

    return check


_COUNT = _checked(int, lambda value: value >= 1, "a whole number of at least 1")
_HANDLES = _checked(int, lambda value: value >= 0, "a whole number of at least 0")
_SECONDS = _checked(float, lambda value: 0 <= value < 1e9, "seconds of at least 0")
_SCALE = _checked(float, lambda value: 0 < value <= 1, "a number above 0 and at most 1")
_SIZE = _checked(parse_size, lambda _: True, "a size such as 64MiB")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"must be HOST:PORT, got {text!r}")
    return host.strip("[]"), int(port)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="content-server", description="A content server that speaks CMIS 1.1.")
    parser.add_argument("--version", action="version", version=f"content-server {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    _add_serve(commands.add_parser("serve", help="run one node"))
    populate = commands.add_parser(
        "populate", help="fill the repository with generated documents, unless it contains them already"
    )
    _add_place(populate)
    populate.add_argument(
        "--scale",
        type=_SCALE,
        default=0.001,
        help="number of documents, as a share of the full population (default: 0.001)",
    )
    populate.add_argument("--seed", type=int, default=1, help="seed of the generated documents (default: 1)")
    populate.add_argument(
        "--jobs", type=_COUNT, default=1, help="number of processes that write content files (default: 1)"
    )
    populate.add_argument("--quiet", action="store_true", help="show no progress on standard error")
    reset = commands.add_parser("reset", help="restore the repository to its state after populate")
    _add_place(reset)
    user = commands.add_parser("user", help="ask for a password, and print the user's line for the file of users")
    user.add_argument("name")
    user.add_argument("--role", choices=("reader", "editor", "administrator"), default="editor")
    return parser


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="data directory")
    parser.add_argument(
        "--database",
        default=os.environ.get(DATABASE, "sqlite"),
        metavar="sqlite|DSN",
        help=f"sqlite, or a PostgreSQL DSN (default: ${DATABASE}, which other users cannot read, otherwise sqlite)",
    )
    parser.add_argument(
        "--storage-area", type=Path, metavar="DIR", help="directory of the content files (default: DATA/area)"
    )


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_place(parser)
    add = parser.add_argument
    add(
        "--listen",
        type=_address,
        default=("127.0.0.1", 8080),
        metavar="HOST:PORT",
        help="address and port to listen on; with port 0, a free port is chosen",
    )
    add("--users", type=Path, metavar="FILE", help="file of users (default: DATA/users.txt)")
    add(
        "--ldap",
        default=os.environ.get(LDAP),
        metavar="URL",
        help=f"LDAP directory of users, instead of the file (default: ${LDAP})",
    )
    add(
        "--ldap-user-dn",
        default=Settings.ldap_user_dn,
        metavar="PATTERN",
        help="distinguished name of a user in the LDAP directory; {} stands for the login name",
    )
    add(
        "--credentials-lifetime",
        type=_SECONDS,
        default=300.0,
        metavar="S",
        help="time for which a verified login is cached, in seconds (default: 300)",
    )
    add("--threads", type=_COUNT, default=16, help="number of worker threads (default: 16)")
    add("--database-pool", type=_COUNT, default=8, help="number of database connections (default: 8)")
    add(
        "--content-cache-bytes",
        type=_SIZE,
        default=64 << 20,
        metavar="SIZE",
        help="size of the content cache; 0 for no cache (default: 64MiB)",
    )
    add(
        "--handle-cache",
        type=_HANDLES,
        default=256,
        metavar="N",
        help="largest number of cached open content files (default: 256)",
    )
    add(
        "--drop-index",
        action="append",
        default=[],
        metavar="NAME",
        help="drop this database index, such as search_type",
    )
    add("--sync", choices=("on", "off"), default="on", help="wait until each write is on disk (default: on)")
    add(
        "--sweep",
        choices=("on", "off"),
        default="on",
        help="remove content files without metadata at start (default: on)",
    )
    add(
        "--keep-alive",
        type=_SECONDS,
        default=75.0,
        metavar="S",
        help="time after which an idle connection is closed, in seconds (default: 75)",
    )
    add(
        "--node",
        default="node-1",
        metavar="NAME",
        help="name of this node in a header of every response (default: node-1)",
    )


def _settings(arguments: argparse.Namespace) -> Settings:
    return Settings(
        data=arguments.data,
        host=arguments.listen[0],
        port=arguments.listen[1],
        database=arguments.database,
        storage_area=arguments.storage_area,
        users=arguments.users,
        ldap=arguments.ldap,
        ldap_user_dn=arguments.ldap_user_dn,
        credentials_lifetime=arguments.credentials_lifetime,
        threads=arguments.threads,
        database_pool=arguments.database_pool,
        content_cache_bytes=arguments.content_cache_bytes,
        handle_cache=arguments.handle_cache,
        drop_index=tuple(arguments.drop_index),
        sync=arguments.sync == "on",
        sweep=arguments.sweep == "on",
        keep_alive=arguments.keep_alive,
        node=arguments.node,
    )


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command == "serve":
        from content_server.serve import serve

        return serve(_settings(arguments))
    if arguments.command == "user":
        from content_server.users import hash_password

        password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
        print(f"{arguments.name}:{hash_password(password)}:{arguments.role}")
        return 0
    settings = Settings(data=arguments.data, database=arguments.database, storage_area=arguments.storage_area)
    if arguments.command == "populate":
        from content_server.populate.population import populate

        print(populate(settings, arguments.scale, arguments.seed, arguments.jobs, arguments.quiet))
        return 0
    from content_server.populate.snapshot import reset

    print(reset(settings))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return the exit status.

    The status is 0 after success, 1 if the command could not start or finish, 2 for a wrong command line, and 130 if
    interrupted.
    """
    parsed = _parser().parse_args(arguments)
    try:
        return _run(parsed)
    except StartError as error:
        print(f"content-server: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"content-server: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
