"""Command line: `serve`, `populate`, `reset`, `user`."""

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

# Environment variables for addresses that may contain a login. Other users of the machine can see the arguments of a
# process, but not its environment.
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
    populate = commands.add_parser("populate", help="fill the repository; does nothing when it is so already")
    _add_place(populate)
    populate.add_argument("--scale", type=_SCALE, default=0.001, help="share of the full population (0.001)")
    populate.add_argument("--seed", type=int, default=1, help="another seed gives other documents (1)")
    populate.add_argument("--jobs", type=_COUNT, default=1, help="processes that write content (1)")
    populate.add_argument("--quiet", action="store_true", help="no progress on standard error")
    reset = commands.add_parser("reset", help="bring the repository back to its populated state")
    _add_place(reset)
    user = commands.add_parser("user", help="print a line for the file of users; asks for the password")
    user.add_argument("name")
    user.add_argument("--role", choices=("reader", "editor", "administrator"), default="editor")
    return parser


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="data directory")
    parser.add_argument(
        "--database",
        default=os.environ.get(DATABASE, "sqlite"),
        metavar="sqlite|DSN",
        help=f"sqlite, or a PostgreSQL DSN (${DATABASE}, which other users cannot read, or sqlite)",
    )
    parser.add_argument("--storage-area", type=Path, metavar="DIR", help="content files (DATA/area)")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_place(parser)
    add = parser.add_argument
    add(
        "--listen",
        type=_address,
        default=("127.0.0.1", 8080),
        metavar="HOST:PORT",
        help="port 0 takes a free one",
    )
    add("--users", type=Path, metavar="FILE", help="file of users (DATA/users.txt)")
    add(
        "--ldap",
        default=os.environ.get(LDAP),
        metavar="URL",
        help=f"take users from an LDAP directory instead (${LDAP})",
    )
    add(
        "--ldap-user-dn",
        default=Settings.ldap_user_dn,
        metavar="PATTERN",
        help="name of a user there, {} for the login",
    )
    add(
        "--credentials-lifetime",
        type=_SECONDS,
        default=300.0,
        metavar="S",
        help="how long a verified login is remembered (300)",
    )
    add("--threads", type=_COUNT, default=16, help="worker threads (16)")
    add("--database-pool", type=_COUNT, default=8, help="database connections (8)")
    add(
        "--content-cache-bytes",
        type=_SIZE,
        default=64 << 20,
        metavar="SIZE",
        help="content cache (64MiB), 0 for none",
    )
    add("--handle-cache", type=_HANDLES, default=256, metavar="N", help="open content files kept (256)")
    add(
        "--drop-index",
        action="append",
        default=[],
        metavar="NAME",
        help="run without this index, e.g. search_type",
    )
    add("--sync", choices=("on", "off"), default="on", help="wait for the disk at each write (on)")
    add("--sweep", choices=("on", "off"), default="on", help="remove orphaned content at start (on)")
    add(
        "--keep-alive",
        type=_SECONDS,
        default=75.0,
        metavar="S",
        help="how long an idle connection is kept (75)",
    )
    add("--node", default="node-1", metavar="NAME", help="name of this node, in a header of every answer")


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

    0: done. 1: the program could not start or finish. 2: the command line is wrong. 130: interrupted.
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
