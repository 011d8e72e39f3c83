"""Defines the base class of gateways that can also serve files."""

from __future__ import annotations

from pathlib import Path

from towtank.errors import TargetError
from towtank.system import server_models
from towtank.system.service import Place
from towtank.system.services.private_server import PrivateGateway


class PrivateFileGateway(PrivateGateway):
    """Gateway that forwards requests, or serves the files of a folder."""

    def __init__(self, name: str, part: server_models.FileGateway, base: Path) -> None:
        super().__init__(name, part, base)
        self._files = None if part.files is None else (base / part.files).absolute()

    def configure(self, place: Place) -> None:  # noqa: ARG002
        """Raise an error if the folder to be served does not exist."""
        if self._files is not None and not self._files.is_dir():
            raise TargetError(f"{self.name}: files must be a folder, got {self._files} instead")


def quoted(value: Path | str) -> str:
    """Quote an argument of a configuration directive for Apache httpd or nginx."""
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
