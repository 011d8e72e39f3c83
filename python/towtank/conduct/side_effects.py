"""Lists the effects of a study outside its folder, which are shown before the first run of a user's study."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from towtank.secrets import redacted, redacted_text
from towtank.system import Mount, NamespacesHost, SshHost
from towtank.terminal import visible

if TYPE_CHECKING:
    from pathlib import Path

    from towtank.study import Study
    from towtank.system import SystemFile

# Largest number of names, for example of hosts, that are listed in one line. [1]
_NAMES_AT_MOST = 8


def describe_side_effects(study: Study) -> list[str]:
    """Describe the programs, hosts, addresses, mounts and files outside its folder that a study uses, as lines of text;
    empty for a study that comes with Towtank.
    """
    if study.is_shipped:
        return []
    systems = list({run.system.model_dump_json(): run.system for run in study.design()}.values())
    of_systems = [*_programs(systems), *_commands(systems), *_hosts(systems), *_addresses(study, systems)]
    lines = dict.fromkeys([*of_systems, *_files(study), *_packages(systems)])
    return [f"{visible(str(study.path))} does not ship with Towtank. Outside of its folder it"] + [
        f"  {visible(redacted_text(line))}" for line in lines
    ]


def _programs(systems: Iterable[SystemFile]) -> Iterator[str]:
    """Describe the servers that the study starts, grouped by kind."""
    kinds: dict[str, dict[str, None]] = {}
    for system in systems:
        for name, service in system.services.items():
            if service.starts and service.is_process:
                kinds.setdefault(service.kind, {})[name] = None
    if kinds:
        yield "starts " + "; ".join(f"{kind} ({_names(names)})" for kind, names in kinds.items())


def _commands(systems: Iterable[SystemFile]) -> Iterator[str]:
    """Describe the commands by which the study runs programs of its own."""
    for system in systems:
        for service in system.services.values():
            yield from (f"runs `{shlex.join(redacted(command))}`" for command in service.commands)


def _hosts(systems: Iterable[SystemFile]) -> Iterator[str]:
    """Describe the hosts that the study creates, the machines it logs in to, and the file systems it mounts."""
    made: dict[str, None] = {}
    mounted: dict[str, None] = {}
    for system in systems:
        for name, host in system.hosts.items():
            if isinstance(host, NamespacesHost):
                made[name] = None
                mounted |= {f"disk {disk} of {name}": None for disk in host.disks}
            elif isinstance(host, SshHost):
                user = f"as {host.user} " if host.user else ""
                yield f"logs in to {host.address} by SSH {user}and starts programs there"
        mounted |= {name: None for name, service in system.services.items() if isinstance(service, Mount)}
    if made:
        yield f"creates namespaces, control groups and a network for {_names(made)}"
    if mounted:
        yield f"mounts {_names(mounted)}"


def _addresses(study: Study, systems: Iterable[SystemFile]) -> Iterator[str]:
    """Describe the addresses, with the IP addresses of host names, to which the study sends requests."""
    places = dict.fromkeys(_place(study, address) for system in systems for address in system.addresses)
    if places:
        yield f"sends to {_names(places)}"


def _place(study: Study, address: str) -> str:
    parts = urlsplit(address if "://" in address else f"//{address}")
    host = parts.hostname or address
    place = parts.netloc.rpartition("@")[2] or address
    numbers = [number for number in study.numbers.get(host, ()) if number != host]
    return f"{place} ({', '.join(numbers)})" if numbers else place


def _files(study: Study) -> Iterator[str]:
    """Describe the files that the study reads outside its folder."""
    folder = study.path.parent.resolve()
    own: list[Path | None] = [study.system_document.path, study.workload.document.path]
    own += [study.trace_path, study.sizing_path]
    read = [path for path in own if path is not None] + [named.path for named in study.named_files()]
    away = dict.fromkeys(str(path.resolve()) for path in read if not path.resolve().is_relative_to(folder))
    if away:
        yield f"reads {_names(away)}"


def _packages(systems: Iterable[SystemFile]) -> Iterator[str]:
    """Describe the installed packages that the servers of the study use."""
    from towtank.system import packages_of  # noqa: PLC0415 - only for a study that does not ship

    names = dict.fromkeys(
        name
        for package in packages_of({service.kind for system in systems for service in system.services.values()})
        for name in package.names
    )
    if names:
        yield f"uses {_names(names)} as installed on this machine"


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _NAMES_AT_MOST
    return ", ".join(listed[:_NAMES_AT_MOST]) + (f" and {more} more" if more > 0 else "")
