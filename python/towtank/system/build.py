"""Builds a system from a system file, and registers the kinds of services.

To add a kind, define a model of its entry in the system file (see `system/model.py`), add a module under
`system/services/` with a class that implements `Service`, and add an entry to `KINDS`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from towtank.system import model
from towtank.system.hosts.group import build_hosts
from towtank.system.process import Check, Note, no_check, no_note
from towtank.system.service import Service
from towtank.system.service_model import Service as Part
from towtank.system.state import data_folder
from towtank.system.system import System

# Class for each kind of service, as `module:class`. A module is imported only when a system needs it. The arguments of
# the class are the service's name, its entry in the system file, and the folder of the system file.
KINDS: dict[str, str] = {
    "cmis_repository": "towtank.system.services.cmis_repository:CmisRepository",
    "command": "towtank.system.services.command:CommandService",
    "content_server": "towtank.system.services.content_server:ContentServer",
    "existing": "towtank.system.services.existing:Existing",
    "glusterfs_mount": "towtank.system.services.glusterfs_mount:GlusterfsMount",
    "glusterfs_server": "towtank.system.services.glusterfs_server:GlusterfsServer",
    "folder": "towtank.system.services.folder:Folder",
    "haproxy": "towtank.system.services.haproxy:Haproxy",
    "httpd": "towtank.system.services.httpd:Httpd",
    "mariadb": "towtank.system.services.mariadb:Mariadb",
    "nginx": "towtank.system.services.nginx:Nginx",
    "null_server": "towtank.system.services.null_server:NullServer",
    "openldap": "towtank.system.services.openldap:Openldap",
    "postgresql": "towtank.system.services.postgresql:Postgresql",
    "redis": "towtank.system.services.redis:Redis",
    "tcp_peer": "towtank.system.services.tcp_peer:TcpPeer",
    "sqlite": "towtank.system.services.sqlite:Sqlite",
}


def make_service(name: str, part: Part, base: Path) -> Service:
    """Create the service for an entry of a system file.

    Raises
    ------
    KeyError
        If no class is registered for the kind.
    """
    module, _, attribute = KINDS[part.kind].partition(":")
    service: Service = getattr(import_module(module), attribute)(name, part, base)
    return service


def build_system(
    file: model.SystemFile,
    base: Path,
    logs: Path,
    *,
    cpus: list[int] | None = None,
    check: Check = no_check,
    note: Note = no_note,
) -> System:
    """Create the system of a system file, to which the factor levels of the run have been applied, without starting its
    services.

    Relative paths in the file refer to `base`. The system may use all CPUs, unless `cpus` are given. `check` is called
    repeatedly during waits, and `note` with the description of each step.
    """
    services = [make_service(name, part, base) for name, part in file.services.items()]
    hosts = build_hosts(file, base)
    for service in services:
        service.host = hosts.of(file.services[service.name].host)
        service.hosts = [hosts.of(name) for name in file.services[service.name].hosts_used]
        service.ready_within_s = file.start_timeout
        watched = file.services[service.name].observe
        service.pages = [] if watched is None else list(watched.prometheus)
        service.meet([other for other in services if other is not service])
    data = data_folder(file.name, population(file))
    generator = hosts.of(file.generator.host)
    return System(
        services, data, logs, hosts=hosts, generator=generator, kept=(base,), cpus=cpus, check=check, note=note
    )


def population(file: model.SystemFile) -> dict[str, object]:
    """Return the settings that determine the data of the services before the first run.

    Systems with equal settings share one data folder.
    """
    return {
        name: [part.kind, held.model_dump(mode="json")]
        for name, part in file.services.items()
        if (held := getattr(part, "population", None)) is not None
    }
