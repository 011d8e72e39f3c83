"""The engine's own null server: answers at once with a fixed body.

What it costs is known and small, so it shows what the generator itself can do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from towtank.system import model
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_connection
from towtank.system.service import Place, PlainService


class NullServer(PlainService):
    """One `towtank-engine null-server`."""

    kind = "null_server"

    def __init__(self, name: str, part: model.NullServer, base: Path) -> None:  # noqa: ARG002
        super().__init__(name)
        self._settings = part.settings
        self._port = part.settings.port
        self._ports = part.settings.ports

    def prepare(self, place: Place) -> None:  # noqa: ARG002
        """Choose or check the ports."""
        if self._settings.port:
            for port in range(self._port, self._port + self._ports):
                self.host.require_free(port, self.name)
        else:
            self._port = self.host.free_ports(self._ports)

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """One process."""
        given = self._settings
        command = [str(self.host.engine()), "null-server", "--listen", f"{self.host.address}:{self._port}"]
        command += ["--ports", str(self._ports), "--threads", str(given.threads), "--body", str(given.body)]
        if given.delay > 0:
            command += ["--delay", repr(1000 * given.delay)]
        return [ProcessSpec(self.name, command, grace_s=1.0)]

    def ready(self) -> str | None:
        """Ready when it takes connections: it listens on all ports before it takes any."""
        return refuses_connection(self.addresses()[0])

    def addresses(self) -> list[str]:
        """One address for each port."""
        return [f"{self.host.address}:{port}" for port in range(self._port, self._port + self._ports)]

    def settings_used(self) -> dict[str, Any]:
        """The settings, with the port chosen."""
        return {**self._settings.model_dump(mode="json"), "port": self._port}
