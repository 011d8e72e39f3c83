"""Runs the engine's TCP peer, which receives and sends bytes. A run with it measures the network."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from towtank.system import plain_models
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_connection, refuses_unix
from towtank.system.service import Place, Service

UNIX = "unix:"


class TcpPeer(Service):
    """TCP peer, run by one process `towtank-engine peer`."""

    kind = "tcp_peer"

    def __init__(self, name: str, part: plain_models.TcpPeer, base: Path) -> None:  # noqa: ARG002
        super().__init__(name)
        self._settings = part.settings
        self._listen = ""

    def prepare(self, place: Place) -> None:
        """Choose the port, or check that the port in the system file is free. A Unix socket is created in the folder of
        the run instead.
        """
        port = self._settings.port
        if self._settings.unix:
            self._listen = f"{UNIX}{place.scratch / 'peer.sock'}"
            return
        if port:
            self.host.require_free(port, self.name)
        self._listen = f"{self.host.address}:{port or self.host.free_ports()}"

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        given = self._settings
        command = [str(self.host.engine()), "peer", "--listen", self._listen]
        command += ["--take", str(given.take), "--give", str(given.give)]
        return [ProcessSpec(self.name, command, grace_s=1.0)]

    def ready(self) -> str | None:
        """Return None if the peer accepts connections; otherwise the reason."""
        return (refuses_unix if self._settings.unix else refuses_connection)(self._listen)

    def addresses(self) -> list[str]:
        """Return the URL on which the peer listens."""
        if self._settings.unix:
            return [f"tcp+unix://{quote(self._listen.removeprefix(UNIX))}"]
        return [f"tcp://{self._listen}"]

    def settings_used(self) -> dict[str, object]:
        """Return the settings, with the actual address."""
        return {**self._settings.model_dump(mode="json"), "listen": self._listen}
