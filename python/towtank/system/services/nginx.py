"""Runs nginx, as a load balancer for HTTP/1.1 or as a server of files.

The page `stub_status` does not count requests by upstream server (member). nginx therefore writes the number of the
member to a log, two bytes for each request, and flushes the log once per second. A scraper reads this log.
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

_POLICIES = {"round_robin": [], "random": ["random;"], "least_busy": ["least_conn;"], "by_client": ["ip_hash;"]}
_STATUS = "/status"
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
MEMBERS_LOG = "members.log"


class Nginx(PrivateFileGateway):
    """nginx that Towtank starts for the system under test."""

    kind = "nginx"
    program: ClassVar[str] = "nginx"
    title: ClassVar[str] = "nginx"
    install: ClassVar[str] = "apt-get install nginx-light"
    accounts: ClassVar[tuple[str, ...]] = ("www-data", "nginx", "http")

    def __init__(self, name: str, part: server_models.Nginx, base: Path) -> None:
        super().__init__(name, part, base)
        self._settings = part.settings
        if self._files is not None:
            self._account = None

    def configure(self, place: Place) -> None:
        """Write the configuration file `nginx.conf`."""
        super().configure(place)
        given = self._settings
        # To serve files that only root can read, nginx runs as root if Towtank does.
        user = [f"user {self._account or 'root'};"] if os.geteuid() == 0 else []
        lines = [
            "daemon off;",
            *user,
            f"pid {quoted(self.folder / 'nginx.pid')};",
            "error_log stderr warn;",
            f"worker_processes {given.workers};",
            f"events {{ worker_connections {given.worker_connections}; }}",
            "http {",
            *self._http(),
            *(self._upstream() if self._files is None else []),
            *self._front(),
            f"server {{ listen {self.status_address}; access_log off; location {_STATUS} {{ stub_status; }} }}",
            "}",
        ]
        self.write("nginx.conf", "\n".join(lines) + "\n")

    def _http(self) -> list[str]:
        given = self._settings
        kept = f"{round(1000 * given.keep_alive_timeout)}ms" if given.keep_alive else "0"
        return [
            "default_type application/octet-stream;",
            "access_log off;",
            f"sendfile {'on' if given.sendfile else 'off'};",
            f"keepalive_timeout {kept};",
            f"keepalive_requests {given.keep_alive_requests};",
            *(f"{name}_temp_path {quoted(self.folder / f'{name}_temp')};" for name in _TEMPORARY),
        ]

    def _upstream(self) -> list[str]:
        """Return the directives for the upstream servers (members), and for their numbers in the log."""
        given = self._settings
        kept = [f"keepalive {given.member_connections_kept};"] if given.member_connections_kept else []
        addresses = list(self.members.values())
        return [
            "upstream members {",
            # The zone is shared memory, through which all workers have the same state of the members.
            "zone members 256k;",
            *_POLICIES[given.policy],
            *(f"server {address};" for address in addresses),
            *kept,
            "}",
            "map $upstream_addr $member {",
            "default -;",
            *(f'"{address}" {number};' for number, address in enumerate(addresses)),
            "}",
            "log_format members $member;",
        ]

    def _front(self) -> list[str]:
        if self._files is not None:
            return [f"server {{ listen {self.address}; root {quoted(self._files)}; }}"]
        wait = f"{round(1000 * self._settings.timeout)}ms"
        return [
            f"server {{ listen {self.address};",
            f"access_log {quoted(self.folder / MEMBERS_LOG)} members buffer=64k flush=1s;",
            "location / {",
            "proxy_pass http://members;",
            "proxy_http_version 1.1;",
            'proxy_set_header Connection "";',
            "proxy_set_header Host $http_host;",
            f"proxy_read_timeout {wait}; proxy_send_timeout {wait}; proxy_connect_timeout {wait};",
            "} }",
        ]

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return the master process, which starts the workers."""
        command = [self.path, "-e", "stderr", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")]
        return [ProcessSpec(self.name, command, grace_s=3.0)]

    def ready(self) -> str | None:
        """Return None if nginx serves its status page; otherwise the reason."""
        return refuses_http(self.status_address, _STATUS)

    def scrapers(self) -> list[Any]:
        """Return a scraper of the status page, and of the log of members if nginx forwards requests."""
        from towtank.observe import NginxScraper  # noqa: PLC0415 - only where something is observed

        log = None if self._files is not None else self.folder / MEMBERS_LOG
        return [NginxScraper(self.name, f"http://{self.status_address}{_STATUS}", log, list(self.members))]
