"""Reads addresses of targets that the engine reaches through drivers, and converts them for the engine's plan."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from towtank.secrets import redacted_text
from towtank.units import size

# Protocol for each scheme of a target's address. A scheme that is not listed stands for HTTP.
_SPEAKS = {
    "postgresql": "sql",
    "postgres": "sql",
    "mysql": "sql",
    "mariadb": "sql",
    "mysql+unix": "sql",
    "sqlite": "sql",
    "file": "file",
    "tcp": "tcp",
    "tcp+unix": "tcp",
    "ldap": "ldap",
}
SPOKEN = frozenset({"http", *_SPEAKS.values()})
"""Protocols that targets may speak."""
_PORTS = {"postgresql": 5432, "postgres": 5432, "mysql": 3306, "mariadb": 3306, "ldap": 389}
_MYSQL = {"mysql", "mariadb", "mysql+unix"}
_SOCKETS = {"tcp+unix", "mysql+unix"}
_WITHOUT_LOGIN = {"sqlite", "file", "tcp", "tcp+unix"}


def speaks(addresses: Sequence[str]) -> str:
    """Return the protocol of a target: `http`, or the protocol that its driver implements."""
    scheme, separator, _ = (addresses[0] if addresses else "").partition("://")
    return _SPEAKS.get(scheme, "http") if separator else "http"


def network_address(address: str) -> str | None:
    """Return `host:port` from the address of a driver's target, or `unix:PATH` for a socket; None for a file.

    Raises
    ------
    ValueError
        If the address is invalid.
    """
    parts = urlsplit(address)
    if "@" in parts.netloc and parts.scheme in _WITHOUT_LOGIN:
        raise ValueError(f"must have no login: {parts.scheme}:// uses none, got {redacted_text(address)!r} instead")
    if parts.scheme in {"sqlite", "file"}:
        return None
    if parts.scheme in _SOCKETS:
        if not parts.path.strip("/"):
            raise ValueError(f"must be an address such as {parts.scheme}:///path of a socket, got {address!r} instead")
        return f"unix:{unquote(parts.path)}"
    if parts.scheme == "tcp" and parts.port is None:
        raise ValueError(f"must be an address such as tcp://host:port, got {address!r} instead")
    if not parts.hostname:
        raise ValueError(f"must be an address such as {parts.scheme}://host:port, got {address!r} instead")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{parts.port or _PORTS[parts.scheme]}"


def with_place(address: str, place: str) -> str:
    """Return an address with its host and port replaced by `place`, which has the form `host:port`."""
    parts = urlsplit(address)
    entry, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{entry}{at}{place}"))


def target_part(addresses: Sequence[str]) -> dict[str, object]:
    """Return a target that a driver reaches, in the form of the engine's plan, except its name and balancing.

    Parameters
    ----------
    addresses : sequence of str
        `postgresql://user@host:port/database`, `mysql://user:password@host:port/database` (or `mariadb://`),
        `mysql+unix://user@/path/of/socket?database=name`, `sqlite:///path?synchronous=normal&cache=8MiB`,
        `file:///folder?direct=on`, `tcp://host:port`, `tcp+unix:///path` or `ldap://cn%3Dreader:password@host:port`.

    Raises
    ------
    ValueError
        If an address is invalid, or if the addresses differ in user, password or database.
    """
    if any(_server(address) != _server(addresses[0]) for address in addresses[1:]):
        shown = ", ".join(map(redacted_text, addresses))
        raise ValueError(f"must be the same user, password and database at each address, got {shown}")
    places = [place for each in addresses if (place := network_address(each)) is not None]
    return {"scheme": "driver", "addresses": places, "driver": _server(addresses[0])}


def _server(address: str) -> dict[str, object]:
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query))
    if parts.scheme == "sqlite":
        cache = options.get("cache")
        return {
            "kind": "sqlite",
            "path": unquote(parts.path),
            "synchronous": options.get("synchronous", "full"),
            "cache_bytes": None if cache is None else size(cache),
        }
    if parts.scheme == "file":
        return {"kind": "file", "root": unquote(parts.path), "direct": options.get("direct") == "on"}
    if parts.scheme in {"tcp", "tcp+unix"}:
        return {"kind": "tcp"}
    password = None if parts.password is None else unquote(parts.password)
    if parts.scheme == "ldap":
        return {
            "kind": "ldap",
            "user": None if parts.username is None else unquote(parts.username),
            "password": password,
        }
    if parts.scheme in _MYSQL:
        in_path = unquote(parts.path.lstrip("/")) if parts.scheme not in _SOCKETS else ""
        return {
            "kind": "mysql",
            "user": unquote(parts.username or "root"),
            "password": password,
            "database": in_path or options.get("database") or None,
        }
    user = unquote(parts.username or "postgres")
    return {
        "kind": "postgresql",
        "user": user,
        "password": password,
        "database": unquote(parts.path.lstrip("/")) or user,
    }
