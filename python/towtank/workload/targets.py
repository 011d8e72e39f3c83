"""Checks addresses before load is sent: local and private addresses are allowed, all others only with permission."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from towtank.dialing import fact, next_step
from towtank.errors import Fault, StudyError, TargetError
from towtank.units import shown

# Loopback networks, private networks (RFC 1918, RFC 4193), link-local networks (RFC 3927, RFC 4291), and the benchmark
# network (RFC 2544). The benchmark network is never routed, and contains the hosts of Towtank's systems.
_OWN = [
    ipaddress.ip_network(network)
    for network in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "169.254.0.0/16",
        "198.18.0.0/15",
        "::1/128",
        "fc00::/7",
        "fe80::/10",
    )
]
# Addresses of the metadata services of clouds, in link-local and private networks. These services return secrets, so
# load must never be sent to them.
_METADATA = [ipaddress.ip_network(network) for network in ("169.254.169.0/24", "169.254.170.0/24", "fd00:ec2::/32")]


def is_own(address: str) -> bool:
    """Return True if a numeric address is in one of the networks `_OWN` and not that of a cloud metadata service."""
    number = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(number, ipaddress.IPv6Address) and number.ipv4_mapped is not None:
        number = number.ipv4_mapped
    return any(number in network for network in _OWN) and not any(number in network for network in _METADATA)


def host_and_port(address: str) -> tuple[str, int]:
    """Split `host:port` or `http://host:port/...`; the default port is 80 (https: 443).

    Raises
    ------
    ValueError
        If the address is invalid.
    """
    if address.startswith(("/", ".", "~")):
        path = f"file://{address}" if address.startswith("/") else "file:///path"
        raise ValueError(
            f"must be an address such as host:port, http://host:port or, for files, file:///path ({shown(path)}), got "
            f"{shown(address)} instead"
        )
    parts = urlsplit(address if "://" in address else f"//{address}")
    if not parts.hostname:
        raise ValueError(f"must be an address such as host:port or http://host:port, got {shown(address)} instead")
    try:
        port = parts.port
    except ValueError:
        raise ValueError(f"must have a port from 0 to 65535, got {address!r} instead") from None
    return parts.hostname, port or (443 if parts.scheme == "https" else 80)


def login_in_addresses(addresses: Sequence[str]) -> tuple[str, str] | None:
    """Return the user and the password that all given HTTP addresses contain; None if they contain no login.

    Raises
    ------
    ValueError
        If the logins differ.

    Examples
    --------
    >>> login_in_addresses(["http://shop:a%20b@127.0.0.1:80", "shop:a%20b@127.0.0.1:81"])
    ('shop', 'a b')
    """
    logins = set()
    for address in addresses:
        parts = urlsplit(address if "://" in address else f"//{address}")
        name, password = unquote(parts.username or ""), unquote(parts.password or "")
        logins.add(None if parts.username is None else (name, password))
    if len(logins) > 1:
        raise ValueError("must have the same login in every address, or no login in any")
    return logins.pop() if logins else None


def check_targets(
    addresses: Iterable[str], allowed: Iterable[str] = (), *, where: str = "target", permit: str = "--i-may-load"
) -> dict[str, list[str]]:
    """Check that every address is permitted, as a target of load or as a receiver of data.

    Parameters
    ----------
    addresses : iterable of str
        `host:port` or `http://host:port/...`.
    allowed : iterable of str
        Hosts permitted by the option `permit`, as names or numeric addresses.
    where, permit : str
        Subject of the faults, and name of the option that permits an address.

    Returns
    -------
    dict of str to list of str
        Numeric addresses of each host, in the order in which they are tried (RFC 6724). Connections use these
        addresses instead of the name, so that the target cannot change after the check.

    Raises
    ------
    StudyError
        Lists all invalid addresses, and all hosts outside loopback and private networks that are not permitted.
    TargetError
        If a name cannot be resolved.
    """
    permitted = {host.lower() for host in allowed}
    resolved: dict[str, list[str]] = {}
    faults: list[Fault] = []
    refused: list[str] = []
    for address in addresses:
        try:
            host, port = host_and_port(address)
        except ValueError as error:
            faults.append(Fault.of_option(where, str(error)))
            continue
        numbers = resolved.get(host) or _resolve(host, port)
        resolved[host] = numbers
        outside = [number for number in numbers if not is_own(number)]
        if outside and host.lower() not in permitted and not set(outside) <= permitted and host not in refused:
            refused.append(host)
            shown = host if host in outside else f"{host} ({', '.join(outside)})"
            message = f"must be on this machine or in a private network, got {shown} instead"
            faults.append(Fault.of_option(where, message))
    if faults:
        options = " ".join(f"{permit} {host}" for host in refused)
        rule = {"--i-may-load": "load only systems that you are allowed to load"}.get(
            permit, "the measurements would leave your network"
        )
        hint = f"{rule}; if this is permitted, add {options}" if refused else None
        raise StudyError(faults, hint=hint)
    return resolved


def pinned_plan(plan: Mapping[str, Any], numbers: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Replace host names in a plan by the checked addresses, so that the engine contacts no other address.

    Parameters
    ----------
    plan : dict
        Plan of the engine. Requests and the check of certificates still use the name of the target.
    numbers : mapping of str to sequence of str
        Numeric addresses by host name, as returned by `check_targets`.

    Raises
    ------
    TargetError
        If an address is neither in a loopback, private or link-local network nor among the checked addresses.
    """
    targets = [
        target_with_fallbacks(target, [_pinned(address, numbers) for address in target["addresses"]])
        for target in plan["targets"]
    ]
    return {**plan, "targets": targets}


def target_with_fallbacks(target: Mapping[str, object], ways: Sequence[Sequence[str]]) -> dict[str, object]:
    """Return a target of a plan with the first address of each name, and its other addresses as fallbacks, in the order
    in which they are tried.
    """
    further = [list(each[1:]) for each in ways]
    known = {**target, "addresses": [each[0] for each in ways]}
    return {**known, "fallbacks": further} if any(further) else known


def numeric_address(number: str, port: int) -> str:
    """Return a numeric address with its port in the form of URLs, with IPv6 addresses in brackets."""
    return f"[{number}]:{port}" if ":" in number else f"{number}:{port}"


def _pinned(address: str, numbers: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the checked addresses of a target's host, with the port, in the order of the engine's attempts."""
    if address.startswith("unix:"):
        return [address]
    host, port = host_and_port(address)
    if host in numbers:
        return [numeric_address(number, port) for number in numbers[host]]
    if is_numeric_address(host) and (is_own(host) or any(host in checked for checked in numbers.values())):
        return [numeric_address(host, port)]
    raise TargetError(f"{host}: must be an address that was checked before the first run, got a different address")


def is_numeric_address(host: str) -> bool:
    """Return True if a host is a numeric address."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _resolve(host: str, port: int) -> list[str]:
    """Resolve a host name to all its addresses, in the order of `getaddrinfo` (RFC 6724)."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        message = f"{host}: must be a host that can be resolved, got: {fact(error)}"
        raise TargetError(message, hint=next_step(error)) from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
