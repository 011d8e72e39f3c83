"""Runs HAProxy as a load balancer for HTTP/1.1, and observes it through its command socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from towtank.system import server_models
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_connection
from towtank.system.service import Place
from towtank.system.services.private_server import PrivateGateway

_POLICIES = {"round_robin": "roundrobin", "random": "random(1)", "least_busy": "leastconn", "by_client": "source"}
# Weight of each member (server that receives requests), which is the number of points of the member on HAProxy's hash
# ring. With few points, the policy `random` would distribute requests unequally. [1]
_WEIGHT = 256
# Name of the cookie that assigns a client to a member. HAProxy removes the cookie from the requests that it forwards.
_COOKIE = "MEMBER"
# Number of open files that HAProxy needs besides two per connection, for example for listeners and pipes. [1]
_OTHER_FILES = 1000


class Haproxy(PrivateGateway):
    """HAProxy that Towtank starts for the system under test."""

    kind = "haproxy"
    program: ClassVar[str] = "haproxy"
    title: ClassVar[str] = "HAProxy"
    install: ClassVar[str] = "apt-get install haproxy"
    accounts: ClassVar[tuple[str, ...]] = ("haproxy",)

    def __init__(self, name: str, part: server_models.Haproxy, base: Path) -> None:
        super().__init__(name, part, base)
        self._settings = part.settings

    def configure(self, place: Place) -> None:  # noqa: ARG002
        """Write the configuration file `haproxy.cfg`."""
        given = self._settings
        wait = f"{round(1000 * given.timeout)}ms"
        most = f" maxconn {given.member_connections}" if given.member_connections is not None else ""
        check = "" if given.health_check is None else f" check inter {round(1000 * given.health_check)}ms fall 2 rise 2"
        lines = [
            "global",
            f"  maxconn {given.max_connections}",
            f"  nbthread {given.threads}",
            # The command socket accepts commands that change HAProxy, so only the user of HAProxy may open it.
            f"  stats socket {self.commands} mode 600 level operator",
            "  log stderr format raw local0 notice",
            "defaults",
            "  mode http",
            "  log global",
            f"  timeout connect {wait}",
            f"  timeout client {wait}",
            f"  timeout server {wait}",
            f"  timeout queue {round(1000 * given.queue_timeout)}ms",
            f"  timeout http-keep-alive {round(1000 * given.keep_alive_timeout)}ms",
            *([] if given.keep_alive else ["  option httpclose"]),
            *([] if given.health_check is None else ["  option redispatch 1"]),
            "frontend front",
            f"  bind {self.address}",
            "  default_backend members",
            "backend members",
            f"  balance {_POLICIES[given.policy]}",
            *([f"  cookie {_COOKIE} insert indirect nocache"] if given.sticky else []),
            *(
                f"  server {name} {address} weight {_WEIGHT}{most}{check}{f' cookie {name}' if given.sticky else ''}"
                for name, address in self.members.items()
            ),
        ]
        self.make_own_folder("run")
        self.write("haproxy.cfg", "\n".join(lines) + "\n")

    @property
    def commands(self) -> Path:
        """Path of HAProxy's command socket, which accepts commands and reports counters."""
        return self.folder / "run" / "commands"

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """Return the HAProxy process, which runs in the foreground.

        HAProxy refuses to start if its connections may need more open files than the limit allows. If Towtank is root,
        the limit is therefore raised.
        """
        command = self.as_server([self.path, "-db", "-f", str(self.folder / "haproxy.cfg")])
        if self._account is not None:
            files = 2 * self._settings.max_connections + _OTHER_FILES
            command = ["prlimit", f"--nofile={files}:{files}", *command]
        return [ProcessSpec(self.name, command, grace_s=3.0)]

    def ready(self) -> str | None:
        """Return None if HAProxy accepts requests and commands; otherwise the reason."""
        return refuses_connection(self.address) or (
            None if self.commands.is_socket() else "it does not accept commands yet"
        )

    def scrapers(self) -> list[Any]:
        """Return a scraper that reads HAProxy's counters through the command socket."""
        from towtank.observe import HaproxyScraper  # noqa: PLC0415 - only where something is observed

        return [HaproxyScraper(self.name, str(self.commands))]
