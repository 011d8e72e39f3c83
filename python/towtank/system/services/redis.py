"""Runs a Redis server that is empty at its start, and whose data are not kept."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any, ClassVar

from towtank.system import server_models
from towtank.system.process import ProcessSpec
from towtank.system.service import Place
from towtank.system.services.private_server import PrivateServer

# Commands that could access files or programs outside the server, and are disabled.
_KEPT_BACK = ("CONFIG", "MODULE", "DEBUG", "REPLICAOF", "SLAVEOF")


class Redis(PrivateServer):
    """Redis server that Towtank starts for the system under test."""

    kind = "redis"
    program: ClassVar[str] = "redis-server"
    title: ClassVar[str] = "Redis"
    install: ClassVar[str] = "apt-get install redis-server"
    accounts: ClassVar[tuple[str, ...]] = ("redis",)

    def __init__(self, name: str, part: server_models.Redis, base: Path) -> None:
        super().__init__(name, part.port, part, base)
        self._part, self._settings = part, part.settings
        self._password = part.password or secrets.token_hex(16)

    def configure(self, place: Place) -> None:  # noqa: ARG002
        """Write the configuration file `redis.conf`."""
        given = self._settings
        lines = [
            f"bind {self.host.address}",
            f"requirepass {self._password}",
            *(f'rename-command {name} ""' for name in _KEPT_BACK),
            f"port {self._port}",
            f'dir "{self.make_own_folder("data")}"',
            "daemonize no",
            'save ""',
            'logfile ""',
            f"maxmemory {given.max_memory}",
            f"maxmemory-policy {given.eviction}",
            f"io-threads {given.threads}",
            f"maxclients {given.max_clients}",
            f"appendonly {'yes' if given.append_only else 'no'}",
            f"appendfsync {given.append_sync}",
            f"databases {given.databases}",
        ]
        self.write("redis.conf", "\n".join(lines) + "\n")

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        command = self.as_server([self.path, str(self.folder / "redis.conf")])
        return [ProcessSpec(self.name, command, grace_s=3.0)]

    def ready(self) -> str | None:
        """Return None if the server responds to a ping; otherwise the reason."""
        from towtank.observe import ScrapeError, ask_redis  # noqa: PLC0415 - the scraper speaks its protocol

        try:
            answer = ask_redis(self.address, "PING", password=self._password)
        except ScrapeError as error:
            return str(error.args[0])
        return None if answer == "PONG" else f"it responds to a ping with {answer!r}"

    def client_url(self) -> str | None:
        """Return the URL of the server, with its password."""
        return f"redis://:{self._password}@{self.address}"

    def settings_used(self) -> dict[str, object]:
        """Return the settings, the program or package if the system file names one, and the port."""
        return {**self._part.configuration, **super().settings_used(), "port": self._port}

    def scrapers(self) -> list[Any]:
        """Return a scraper of the output of the command `INFO`."""
        from towtank.observe import RedisScraper  # noqa: PLC0415 - only where something is observed

        return [RedisScraper(self.name, self.address, self._password)]
