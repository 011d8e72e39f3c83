"""Creates a folder for the files of virtual users, which the engine reads and writes without a server."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path
from urllib.parse import quote

from towtank.errors import TargetError
from towtank.system import plain_models
from towtank.system.service import Place, Service

_PREFIX = "towtank-folder-"


class Folder(Service):
    """Folder for the files of virtual users, created for each run."""

    kind = "folder"

    def __init__(self, name: str, part: plain_models.Folder, base: Path) -> None:  # noqa: ARG002
        super().__init__(name)
        self._part = part
        self._path: Path | None = None

    def prepare(self, place: Place) -> None:
        """Create the folder at a path that this process and the engine can access."""
        base = place.scratch if self._part.disk is None else self.host.outside(self.host.disk(self._part.disk))
        self._path = base / f"{_PREFIX}{secrets.token_hex(4)}"
        try:
            self._path.mkdir(parents=True)
        except OSError as error:
            raise TargetError(f"{self.name}: its folder cannot be created: {error}") from error

    def stopped(self) -> None:
        """Remove the folder with its files."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)

    def addresses(self) -> list[str]:
        """Return the URL of the folder."""
        if self._path is None:
            raise TargetError(f"{self.name} was not prepared")
        return [f"file://{quote(str(self._path))}" + ("?direct=on" if self._part.settings.direct else "")]

    def settings_used(self) -> dict[str, object]:
        """Return the settings of the folder in the system file."""
        return self._part.settings.model_dump(mode="json")
