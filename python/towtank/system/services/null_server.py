"""The engine's own null server: answers at once with a fixed body, or misbehaves on purpose.

What it costs is known and small, so it shows what the generator itself can do; its ways to misbehave are for tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.engine import binary
from towtank.system.ports import free_port, require_free
from towtank.system.process import ProcessSpec
from towtank.system.reach import refuses_connection
from towtank.system.service import Place, PlainService

_HOST = "127.0.0.1"


class NullServer(PlainService):
    """One `towtank-engine null-server`.

    Settings: `port` (a free one by default), `threads`, `body` (size of the answer [bytes]), `misbehave`.
    """

    kind = "null_server"
    ready_within_s = 10.0

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name, settings)
        self._port: int | None = None

    def prepare(self, place: Place) -> None:  # noqa: ARG002
        """Choose or check the port."""
        fixed = self.settings.get("port")
        if fixed:
            require_free(_HOST, int(fixed), self.name)
        self._port = int(fixed) if fixed else free_port(_HOST)

    def processes(self, place: Place) -> list[ProcessSpec]:  # noqa: ARG002
        """One process."""
        command = [str(binary()), "null-server", "--listen", f"{_HOST}:{self._port}"]
        for key, option in (("threads", "--threads"), ("body", "--body"), ("misbehave", "--misbehave")):
            if self.settings.get(key) is not None:
                command += [option, str(self.settings[key])]
        return [ProcessSpec(self.name, command, grace_s=1.0)]

    def ready(self) -> str | None:
        """Ready when it takes connections."""
        return refuses_connection(self.addresses()[0])

    def addresses(self) -> list[str]:
        """The one address."""
        return [f"{_HOST}:{self._port}"]

    def settings_used(self) -> dict[str, Any]:
        """The settings, with the port chosen."""
        return {**self.settings, "port": self._port}
