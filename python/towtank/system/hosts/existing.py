"""A machine that somebody else runs: services on it are loaded and observed, never started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from towtank.errors import TargetError
from towtank.system.host_model import ExistingHost as Part
from towtank.system.hosts.host import Answer, Capabilities, Room, Watching
from towtank.system.process import Process, ProcessSpec


class ExistingHost:
    """A machine as it is."""

    provider = "existing"

    def __init__(self, name: str, part: Part) -> None:
        self.name, self._part = name, part

    def _refuse(self, what: str) -> NoReturn:
        raise TargetError(f"host {self.name} is of provider existing: {what} it is not for Towtank to do")

    @property
    def address(self) -> str:
        """Services on it say their addresses themselves."""
        self._refuse("choosing an address on")

    @property
    def cpus(self) -> list[int] | None:
        """Nothing of it is pinned."""
        return None

    def capabilities(self) -> Capabilities:
        """It starts nothing."""
        return Capabilities(starts=False, shares_files=False)

    def lacks(self) -> list[str]:
        """Nothing is made."""
        return []

    def prepare(self, room: Room) -> None:
        """It is there, or its services cannot be reached, which they say."""

    def confine(self) -> None:
        """It has its own sizes."""

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:  # noqa: ARG002
        """Refused."""
        self._refuse(f"starting {spec.name} on")

    def execute(
        self,
        command: list[str],
        limit_s: float = 60.0,  # noqa: ARG002
        environment: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> Answer:
        """Refused."""
        self._refuse(f"running {command[0]} on")

    def outside(self, path: Path | str) -> Path:
        """Refused."""
        self._refuse(f"looking at {path} of")

    def make_folder(self, path: Path | str, owner: str | None = None) -> None:  # noqa: ARG002
        """Refused."""
        self._refuse(f"making {path} on")

    def make_private_folder(self, path: Path | str, group: str | None = None) -> None:  # noqa: ARG002
        """Refused."""
        self._refuse(f"making {path} on")

    def write(self, path: Path | str, text: str, group: str | None = None) -> None:  # noqa: ARG002
        """Refused."""
        self._refuse(f"writing {path} on")

    def read(self, path: Path | str) -> str | None:
        """Refused."""
        self._refuse(f"reading {path} of")

    def put(self, source: Path, target: Path | str) -> None:  # noqa: ARG002
        """Refused."""
        self._refuse(f"writing {target} on")

    def get(self, source: Path | str, target: Path) -> None:  # noqa: ARG002
        """Refused."""
        self._refuse(f"reading {source} of")

    def remove(self, path: Path | str) -> None:
        """Refused."""
        self._refuse(f"removing {path} from")

    def engine(self) -> Path:
        """Refused."""
        self._refuse("using programs of")

    def python(self) -> str:
        """Refused."""
        self._refuse("using programs of")

    @property
    def temporary(self) -> Path:
        """Refused."""
        self._refuse("making temporary files on")

    def disk(self, name: str) -> Path:
        """Refused."""
        self._refuse(f"using disk {name} of")

    def free_ports(self, count: int = 1) -> int:  # noqa: ARG002
        """Refused."""
        self._refuse("choosing ports on")

    def require_free(self, port: int, owner: str) -> None:  # noqa: ARG002
        """Refused."""
        self._refuse(f"listening on port {port} of")

    def facts(self) -> dict[str, Any]:
        """What the system file says of it."""
        return {
            "provider": self.provider,
            **self._part.model_dump(mode="json", exclude={"provider"}, exclude_none=True),
        }

    def watching(self) -> Watching:
        """Its page of metrics, where it has one."""
        if self._part.metrics is None:
            return Watching()
        from towtank.observe import PrometheusScraper  # noqa: PLC0415 - only where something is observed

        return Watching([PrometheusScraper(f"host-{self.name}", "host", self._part.metrics)])

    def ended(self) -> list[str]:
        """Nothing of it was started."""
        return []

    def tear_down(self) -> None:
        """It stays."""
