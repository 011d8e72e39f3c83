"""Represents a machine that Towtank does not operate: it only sends requests to the services there and observes
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from towtank.errors import TargetError
from towtank.system.host_model import ExistingHost as Part
from towtank.system.hosts.host import Answer, Capabilities, HostSettings, Watching
from towtank.system.process import Process, ProcessSpec


class ExistingHost:
    """Machine on which services already run, and which Towtank does not change."""

    provider = "existing"

    def __init__(self, name: str, part: Part) -> None:
        self.name, self._part = name, part

    def _refuse(self, what: str) -> NoReturn:
        raise TargetError(f"host {self.name} is of provider existing, so {what} it is not possible")

    @property
    def address(self) -> str:
        """Refuse to return an address, because the system file contains an address for each service."""
        self._refuse("choosing an address on")

    @property
    def cpus(self) -> list[int] | None:
        """None, because Towtank does not pin processes on the existing machine."""
        return None

    def capabilities(self) -> Capabilities:
        """Return no capabilities, because services cannot be started on the existing machine."""
        return Capabilities(starts=False, shares_files=False)

    def lacks(self) -> list[str]:
        """Return an empty list, because Towtank creates nothing on the existing machine."""
        return []

    def prepare(self, room: HostSettings) -> None:
        """Do nothing. If the services of the existing machine are unreachable, the checks of the services report
        this.
        """

    def confine(self, folders: Sequence[Path] = ()) -> None:
        """Do nothing, because Towtank sets no limits on the existing machine."""

    def process(self, spec: ProcessSpec, log: Path, cpus: list[int] | None = None) -> Process:  # noqa: ARG002
        """Refuse to start a process, because Towtank starts nothing on the existing machine."""
        self._refuse(f"starting {spec.name} on")

    def execute(
        self,
        command: list[str],
        limit_s: float = 60.0,  # noqa: ARG002
        environment: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> Answer:
        """Refuse to run a command, because Towtank starts nothing on the existing machine."""
        self._refuse(f"running {command[0]} on")

    def outside(self, path: Path | str) -> Path:
        """Refuse to return a path, because Towtank has no access to the files of the existing machine."""
        self._refuse(f"accessing {path} of")

    def make_folder(self, path: Path | str, owner: str | None = None) -> None:  # noqa: ARG002
        """Refuse to make a folder on the existing machine, because Towtank does not change it."""
        self._refuse(f"making {path} on")

    def make_private_folder(self, path: Path | str, group: str | None = None) -> None:  # noqa: ARG002
        """Refuse to make a private folder on the existing machine, because Towtank does not change it."""
        self._refuse(f"making {path} on")

    def write(self, path: Path | str, text: str, group: str | None = None) -> None:  # noqa: ARG002
        """Refuse to write a file on the existing machine, because Towtank does not change it."""
        self._refuse(f"writing {path} on")

    def read(self, path: Path | str) -> str | None:
        """Refuse to read a file of the existing machine, because Towtank has no access to its files."""
        self._refuse(f"reading {path} of")

    def put(self, source: Path, target: Path | str) -> None:  # noqa: ARG002
        """Refuse to copy files to the existing machine, because Towtank does not change it."""
        self._refuse(f"writing {target} on")

    def get(self, source: Path | str, target: Path) -> None:  # noqa: ARG002
        """Refuse to copy files from the existing machine, because Towtank has no access to its files."""
        self._refuse(f"reading {source} of")

    def remove(self, path: Path | str) -> None:
        """Refuse to remove a file of the existing machine, because Towtank does not change it."""
        self._refuse(f"removing {path} from")

    def engine(self) -> Path:
        """Refuse to return a path: Towtank has no engine on the existing machine."""
        self._refuse("using programs of")

    def python(self) -> str:
        """Refuse to return a path: Towtank uses no Python interpreter on the existing machine."""
        self._refuse("using programs of")

    @property
    def temporary(self) -> Path:
        """Refuse to make temporary files on the existing machine, because Towtank does not change it."""
        self._refuse("making temporary files on")

    def disk(self, name: str) -> Path:
        """Refuse to return a mount point: Towtank creates no disks on the existing machine."""
        self._refuse(f"using disk {name} of")

    def free_ports(self, count: int = 1) -> int:  # noqa: ARG002
        """Refuse to choose free ports, because Towtank starts no services on the existing machine."""
        self._refuse("choosing ports on")

    def require_free(self, port: int, owner: str) -> None:  # noqa: ARG002
        """Refuse to check whether a port is free, because Towtank starts no services on the existing machine."""
        self._refuse(f"listening on port {port} of")

    def facts(self) -> dict[str, object]:
        """Return the entry of the host in the system file, for the manifest of the run."""
        return {
            "provider": self.provider,
            **self._part.model_dump(mode="json", exclude={"provider"}, exclude_none=True),
        }

    def watching(self) -> Watching:
        """Return a scraper for the metrics page of the existing machine, if the system file names one."""
        if self._part.metrics is None:
            return Watching()
        from towtank.observe import PrometheusScraper  # noqa: PLC0415 - only where something is observed

        return Watching([PrometheusScraper(f"host-{self.name}", "host", self._part.metrics)])

    def ended(self) -> list[str]:
        """Return an empty list, because no program of Towtank can end on the existing machine."""
        return []

    def tear_down(self) -> None:
        """Do nothing, because the existing machine keeps running after the study."""
