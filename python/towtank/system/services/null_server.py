"""Runs the engine's null server, which responds immediately with a fixed body.

It needs only a small and known amount of CPU time, so that a run with it measures the load generator itself.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from towtank.system import model
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_connection
from towtank.system.service import Place, Service


class NullServer(Service):
    """Server with fixed responses, run by one process `towtank-engine null-server`."""

    kind = "null_server"

    def __init__(self, name: str, part: model.NullServer, base: Path) -> None:  # noqa: ARG002
        super().__init__(name)
        self._settings = part.settings
        self._port = part.settings.port
        self._ports = part.settings.ports
        given = part.settings.seed
        self._seed = secrets.randbits(63) if given is None else given

    def prepare(self, place: Place) -> None:  # noqa: ARG002
        """Choose the ports, or check that the ports in the system file are free."""
        if self._settings.port:
            for port in range(self._port, self._port + self._ports):
                self.host.require_free(port, self.name)
        else:
            self._port = self.host.free_ports(self._ports)

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        given = self._settings
        command = [str(self.host.engine()), "null-server", "--listen", f"{self.host.address}:{self._port}"]
        command += ["--ports", str(self._ports), "--threads", str(given.threads), "--body", str(given.body)]
        if given.delay > 0:
            command += ["--delay", repr(1000 * given.delay)]
        if given.work > 0:
            command += ["--work", repr(1000 * given.work), "--work-variation", given.work_variation]
            command += ["--seed", str(self._seed)]
        return [ProcessSpec(self.name, command, grace_s=1.0)]

    def ready(self) -> str | None:
        """Return None if the server accepts connections; otherwise the reason.

        The first port suffices, because the server begins to listen on all its ports at the same time.
        """
        return refuses_connection(self.addresses()[0])

    def addresses(self) -> list[str]:
        """Return an address `host:port` for each port of the server."""
        return [f"{self.host.address}:{port}" for port in range(self._port, self._port + self._ports)]

    def settings_used(self) -> dict[str, object]:
        """Return the settings of the null server with the actual port and seed."""
        draws = self._settings.work > 0 and self._settings.work_variation != "constant"
        seed = self._seed if draws else self._settings.seed
        return {**self._settings.model_dump(mode="json"), "port": self._port, "seed": seed}
