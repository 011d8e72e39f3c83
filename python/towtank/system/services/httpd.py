"""Runs Apache httpd with the event MPM, as a load balancer for HTTP/1.1 or as a server of files.

httpd 2.4 has no random balancing method. For the policy `random`, each member gets a balancer of its own, and a
`RewriteMap` of type `rnd` selects one of the balancers for each request. httpd thus pools connections and counts
requests by member, as with the other policies.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

from towtank.system import server_models
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_http
from towtank.system.service import Place
from towtank.system.services.file_gateway import PrivateFileGateway, quoted
from towtank.system.services.private_server import server_account

_METHODS = {"round_robin": "byrequests", "by_traffic": "bytraffic", "least_busy": "bybusyness", "random": "byrequests"}
_MODULES = ("mpm_event", "authz_core", "status", "info", "dir", "mime")
_GATEWAY_MODULES = ("proxy", "proxy_http", "proxy_balancer", "slotmem_shm", "rewrite")
_PLACES = (Path("/usr/lib/apache2/modules"), Path("/usr/lib64/httpd/modules"), Path("/usr/lib/httpd/modules"))
_ACCOUNTS = ("www-data", "apache", "nobody")
_STATUS = "/server-status"


class Httpd(PrivateFileGateway):
    """Apache httpd that Towtank starts for the system under test."""

    kind = "httpd"
    program: ClassVar[str] = "apache2"
    title: ClassVar[str] = "Apache httpd"
    install: ClassVar[str] = "apt-get install apache2-bin"

    def __init__(self, name: str, part: server_models.Httpd, base: Path) -> None:
        super().__init__(name, part, base)
        self._settings = part.settings

    def configure(self, place: Place) -> None:
        """Write `httpd.conf`, and for the policy `random` the list from which httpd selects balancers."""
        super().configure(place)
        lines = [*self._server(), *self._workers(), *self._observed()]
        lines += self._balancers() if self._files is None else self._site()
        self.write("httpd.conf", "\n".join(lines) + "\n")

    def _server(self) -> list[str]:
        """Return the directives of `httpd.conf` for address, user and modules."""
        modules = list(_MODULES)
        if self._files is None:
            modules += [*_GATEWAY_MODULES, f"lbmethod_{_METHODS[self._settings.policy]}"]
        user = server_account(_ACCOUNTS) if os.geteuid() == 0 else None
        return [
            f"ServerRoot {quoted(self.folder)}",
            f"DefaultRuntimeDir {quoted(self.folder)}",
            f"PidFile {quoted(self.folder / 'httpd.pid')}",
            f"ServerName {self.host.address}",
            f"Listen {self.address}",
            f"Listen {self.status_address}",
            *(f"LoadModule {module}_module {quoted(self._modules() / f'mod_{module}.so')}" for module in modules),
            *([f"User {user}"] if user else []),
            "ErrorLog /dev/stderr",
            "LogLevel warn",
            "TypesConfig /dev/null",
        ]

    def _workers(self) -> list[str]:
        """Return the directives of `httpd.conf` for processes, threads and connections."""
        given = self._settings
        threads, workers = given.threads_per_child, given.max_request_workers
        return [
            f"ThreadLimit {threads}",
            f"ServerLimit {workers // threads}",
            f"StartServers {given.start_servers}",
            f"ThreadsPerChild {threads}",
            f"MaxRequestWorkers {workers}",
            f"MinSpareThreads {min(workers, 3 * threads)}",
            f"MaxSpareThreads {workers}",
            "MaxConnectionsPerChild 0",
            f"KeepAlive {'On' if given.keep_alive else 'Off'}",
            f"KeepAliveTimeout {round(1000 * given.keep_alive_timeout)}ms",
            f"MaxKeepAliveRequests {given.keep_alive_requests}",
            f"Timeout {given.timeout:.0f}",
        ]

    def _observed(self) -> list[str]:
        """Return the directives of `httpd.conf` for the status and configuration pages, which use a separate port."""
        proxied = ["ProxyStatus On"] if self._files is None else []
        return [
            "ExtendedStatus On",
            *proxied,
            f"<VirtualHost {self.status_address}>",
            f"<Location {_STATUS}>",
            "SetHandler server-status",
            "</Location>",
            "<Location /server-info>",
            "SetHandler server-info",
            "</Location>",
            "</VirtualHost>",
        ]

    def _balancers(self) -> list[str]:
        """Return the directives of `httpd.conf` for one balancer with all members, or, with the policy `random`, for
        one balancer per member.
        """
        given = self._settings
        most = f" max={given.member_connections}" if given.member_connections is not None else ""
        members = {name: f"BalancerMember http://{address}{most}" for name, address in self.members.items()}
        # Balancers are named by numbers instead of member names, because some versions of httpd refuse underscores in
        # the host name of a URL.
        groups = [[line] for line in members.values()] if given.policy == "random" else [list(members.values())]
        lines = []
        for number, group in enumerate(groups):
            method = f"ProxySet lbmethod={_METHODS[given.policy]}"
            lines += [f"<Proxy balancer://m{number}>", *group, method, "</Proxy>"]
        return [*lines, f"<VirtualHost {self.address}>", *self._forwarding(len(groups)), "</VirtualHost>"]

    def _forwarding(self, groups: int) -> list[str]:
        if self._settings.policy != "random":
            return ["ProxyPass / balancer://m0/"]
        drawn = self.write("members.txt", f"all {'|'.join(f'm{number}' for number in range(groups))}\n")
        return [
            "RewriteEngine On",
            f"RewriteMap members {quoted(f'rnd:{drawn}')}",
            "RewriteRule ^/?(.*)$ balancer://${members:all}/$1 [P,L]",
        ]

    def _site(self) -> list[str]:
        return [
            f"<VirtualHost {self.address}>",
            f"DocumentRoot {quoted(str(self._files))}",
            f"<Directory {quoted(str(self._files))}>",
            "Require all granted",
            "</Directory>",
            "</VirtualHost>",
        ]

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return the parent process, which runs in the foreground and starts its children."""
        command = [self.path, "-DFOREGROUND", "-d", str(self.folder), "-f", str(self.folder / "httpd.conf")]
        return [ProcessSpec(self.name, command, grace_s=3.0)]

    def _modules(self) -> Path:
        """Return the folder of the modules beside the program or, without one, that of the distribution."""
        places = (Path(self.path).parent.parent / "lib/apache2/modules", *_PLACES)
        return next((place for place in places if place.is_dir()), _PLACES[0])

    def ready(self) -> str | None:
        """Return None if httpd serves its status page; otherwise the reason."""
        return refuses_http(self.status_address, f"{_STATUS}?auto")

    def scrapers(self) -> list[Any]:
        """Return a scraper of httpd's status page."""
        from towtank.observe import HttpdScraper  # noqa: PLC0415 - only where something is observed

        members = {address: name for name, address in self.members.items()}
        return [HttpdScraper(self.name, f"http://{self.status_address}{_STATUS}?auto", members)]
