"""Prepares the targets of `towtank drive`, given by a URL or by a workload file with addresses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from towtank.conduct.connecting import UNIX, ConnectionOptions
from towtank.conduct.drive import (
    Exchange,
    Load,
    plan_of,
    require_reachable,
    split_url,
    url_plan,
)
from towtank.errors import COMMAND_LINE, Fault, StudyError
from towtank.plan import Plan
from towtank.results import RunFolder
from towtank.spelling import did_you_mean
from towtank.units import shown
from towtank.workload import (
    check_targets,
    drivers,
    host_and_port,
    is_numeric_address,
    login_in_addresses,
    numeric_address,
    target_with_fallbacks,
)
from towtank.yamlfile import parse_value

if TYPE_CHECKING:
    from towtank.workload import Workload


def is_workload(target: str) -> bool:
    """Return True if a target is a workload file rather than a URL."""
    return "://" not in target and (target.endswith((".yaml", ".yml")) or Path(target).is_file())


def prepare_plan(
    run: RunFolder,
    exchange: Exchange,
    load: Load,
    addresses: list[str],
    allowed: list[str],
    *,
    connections: ConnectionOptions | None = None,
) -> Plan:
    """Check the target, connect to it once, and return the plan for the engine.

    The URL of `exchange` may be the path of a workload file. `addresses` are then the addresses of its targets:
    `NAME=host:port`, or `host:port` for the default target; for TLS, `https://host:port`. `allowed` are hosts that may
    be loaded although they are neither local nor private. The default of `connections` is that of the command line.

    Raises
    ------
    StudyError
        If the target or an address is invalid or not allowed.
    TargetError
        If a target accepts no connection.
    """
    connections = connections or ConnectionOptions()
    connections.check(load.load_threads)
    if is_workload(exchange.url):
        return _workload_plan(run, exchange, load, addresses, allowed, connections=connections)
    for option, given in (("--address", addresses), ("--set", exchange.changes)):
        if given:
            raise StudyError.of_option(option, "must only be given with a workload file")
    parts = split_url(exchange.url)
    if parts.username is not None and any(name.lower() == "authorization" for name, _ in exchange.headers):
        message = "must not be Authorization if the URL has a login, because the login is sent in this header"
        raise StudyError.of_option("--header", message)
    if parts.scheme == "http" and connections.has_tls:
        message = "must be an https:// URL with --insecure, --cacert, --cert or --key"
        raise StudyError.of_option("TARGET", message)
    _refuse_logins(connections.connect_to)
    places = _places(list(connections.connect_to) or [exchange.url], allowed)
    return url_plan(run, exchange, load, [require_reachable(each) for each in places], connections)


def _places(addresses: list[str], allowed: list[str]) -> list[list[str]]:
    """Return for each address the list of addresses to which a connection can be opened.

    These are the socket itself for a Unix socket, and all IP addresses of the host for a host name.
    """
    return [_place(each, allowed) for each in addresses]


def _place(address: str, allowed: list[str]) -> list[str]:
    if address.startswith(UNIX):
        return [address]
    if drivers.speaks([address]) == "http":
        return _numeric(address, allowed)
    try:
        place = drivers.network_address(address)
        drivers.target_part([address])
    except ValueError as error:
        raise StudyError.of_option("--address", str(error)) from None
    if place is None or place.startswith(UNIX):
        return [address]
    return [drivers.with_place(address, each) for each in _numeric(place, allowed)]


def _numeric(address: str, allowed: list[str]) -> list[str]:
    """Resolve the host name of an address to all its IP addresses, so that the run need not resolve the name again."""
    try:
        host, port = host_and_port(address)
    except ValueError as error:
        raise StudyError.of_option("--address", str(error)) from None
    return [numeric_address(number, port) for number in check_targets([address], allowed)[host]]


def _workload_plan(
    run: RunFolder,
    exchange: Exchange,
    load: Load,
    addresses: list[str],
    allowed: list[str],
    *,
    connections: ConnectionOptions,
) -> Plan:
    from towtank.workload import compile_workload, load_workload  # noqa: PLC0415 - not needed to load a URL

    workload = load_workload(exchange.url)
    if exchange.changes:
        workload = workload.with_parameters(_parameters(exchange.changes, list(workload.file.parameters)))
    _refuse_request_options(exchange, load)
    if connections.connect_to:
        message = "must only be given with a URL; with a workload file, --address gives the target"
        raise StudyError.of_option("--connect-to", message)
    given = _by_target(workload, addresses)
    ways = {name: _places(each, allowed) for name, each in given.items()}
    targets = {name: [place[0] for place in each] for name, each in ways.items()}
    options = {name: _options(each, connections) for name, each in given.items()}
    logins = {name: login for name, each in given.items() if (login := _login(each)) is not None}
    if connections.has_tls and not any("tls" in each for each in options.values()):
        message = "must be https://host:port for a target with --insecure, --cacert, --cert or --key"
        raise StudyError.of_option("--address", message)
    compiled = compile_workload(workload, targets=targets, options=options, logins=logins)
    compiled["connections"] = connections.connections_part(compiled["connections"])
    compiled["targets"] = [_reached(target, ways.get(target["name"], [])) for target in compiled["targets"]]
    return plan_of(run, load, {"limits": {}, **compiled})


def _reached(target: dict[str, Any], ways: list[list[str]]) -> dict[str, Any]:
    """Return a target of the plan that connects to the first reachable IP address of each host name.

    The other IP addresses of each host name are added as alternatives.
    """
    if not target["addresses"]:
        return target
    speaks_http = target["scheme"] != "driver"
    places = [each if speaks_http else [drivers.network_address(way) or way for way in each] for each in ways]
    found = {each[0].removeprefix("http://").rstrip("/"): each for each in places}
    return target_with_fallbacks(target, [require_reachable(found.get(each, [each])) for each in target["addresses"]])


def _parameters(changes: tuple[str, ...], known: list[str]) -> dict[str, object]:
    """Parse the values of workload parameters from the command line; the raised error contains all faults."""
    values, faults = {}, []
    for text in changes:
        path, equals, value = text.partition("=")
        section, dot, name = path.strip().partition(".")
        if not equals or not dot or section != "parameters":
            faults.append("must be parameters.NAME=value: only parameters can be set, got " + shown(text))
        elif name not in known:
            allowed = f"a parameter of the workload ({', '.join(known) or 'it has none'})"
            faults.append(f"must be {allowed}, got {shown(name)} instead{did_you_mean(name, known)}")
        else:
            values[name] = parse_value(value, COMMAND_LINE, f"parameters.{name}").plain()
    if faults:
        raise StudyError([Fault.of_option("--set", message) for message in faults])
    return values


def _options(addresses: list[str], connections: ConnectionOptions) -> dict[str, object]:
    """Return the keys of a target in the plan that depend on its addresses and on the connection options.

    For TLS, the keys include the host name with which the server's certificate is compared.
    """
    secure = [address for address in addresses if address.startswith("https://")]
    if not secure:
        return {**_named(addresses[0]), **connections.http_part}
    if len(secure) < len(addresses):
        message = "must be https:// for all addresses of a target, or for none"
        raise StudyError.of_option("--address", message)
    host = secure[0].removeprefix("https://").partition("/")[0].rpartition("@")[2]
    return {"scheme": "https", "host": host, "tls": connections.tls_part(), **connections.http_part}


def _named(address: str) -> dict[str, object]:
    """Return the entry for the Host header if an address has a host name. All requests send this header, whichever IP
    address of the host they use.
    """
    if address.startswith(UNIX) or drivers.speaks([address]) != "http":
        return {}
    authority = address.removeprefix("http://").partition("/")[0].rpartition("@")[2]
    return {} if is_numeric_address(host_and_port(address)[0]) else {"host": authority}


def _login(addresses: list[str]) -> tuple[str, str] | None:
    """Return the user name and password in the addresses of an HTTP target; None for targets of other protocols."""
    if any(drivers.speaks([address]) != "http" for address in addresses):
        return None
    try:
        return login_in_addresses(addresses)
    except ValueError as error:
        raise StudyError.of_option("--address", str(error)) from None


def _refuse_logins(addresses: tuple[str, ...]) -> None:
    """Refuse a login in `--connect-to`, because it belongs in the URL."""
    if any("@" in address for address in addresses if not address.startswith(UNIX)):
        message = "must have no login; a login in the URL is sent with every request"
        raise StudyError.of_option("--connect-to", message)


def _refuse_request_options(exchange: Exchange, load: Load) -> None:
    """Refuse options that describe a single request, because the workload file defines the requests."""
    plain = Exchange(exchange.url)
    given = {
        "--method": exchange.method != plain.method,
        "--header": exchange.headers != plain.headers,
        "--body": exchange.body != plain.body,
        "--timeout": exchange.timeout_s != plain.timeout_s,
        "--think": load.think_s != 0.0,
    }
    message = "must not be given with a workload file, which defines the requests itself"
    faults = [Fault.of_option(option, message) for option, present in given.items() if present]
    if faults:
        raise StudyError(faults)


def _by_target(workload: Workload, addresses: list[str]) -> dict[str, list[str]]:
    """Group the addresses by the name of their target. Addresses without a name belong to the default target."""
    only = workload.file.defaults.target or "target"
    found: dict[str, list[str]] = {}
    for text in addresses:
        name, equals, address = text.partition("=")
        # In `http://host/?a=b`, the `=` belongs to the address, and does not follow the name of a target.
        named = bool(equals) and "://" not in name
        found.setdefault(name if named else only, []).append(address if named else text)
    if not found:
        message = "must give the address of the workload's target, as NAME=host:port"
        raise StudyError.of_option("--address", message)
    return found
