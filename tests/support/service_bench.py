"""Builds a system with one service under test from a generated system file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service_cases import ServiceCase

from towtank.system.build import build_system
from towtank.system.model import load_system
from towtank.system.system import System


@dataclass
class Bench:
    """Folder with a generated system file, and the system that is built from it."""

    folder: Path
    case: ServiceCase
    system: System | None = None

    def file(self, settings: str = "", port: int = 0) -> Path:
        """Write a system file with the service under test and a null server; return the path of the file."""
        path = self.folder / "system.yaml"
        settings = settings or self.case.always
        given = f"settings: {{{settings}}}, " if settings else ""
        path.write_text(
            "schema: towtank/system/1\n"
            "name: conformance\n"
            "hosts: {here: {provider: local}}\n"
            "services:\n"
            "  web: {kind: null_server, host: here, settings: {ports: 2, body: 100 B}}\n"
            f"  served: {{kind: {self.case.kind}, host: here, port: {port}, {given}{self.case.more}}}\n"
            "start_timeout: 30 s\n"
        )
        (self.folder / "site").mkdir(exist_ok=True)
        return path

    def make(self, settings: str = "", port: int = 0) -> System:
        """Build the system from the system file; do not start it."""
        path = self.file(settings, port)
        self.system = build_system(load_system(path), self.folder, self.folder / "logs")
        return self.system

    def service(self) -> Any:
        assert self.system is not None
        return next(service for service in self.system._services if service.name == "served")
