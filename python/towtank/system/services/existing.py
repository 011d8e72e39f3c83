"""Represents a service that Towtank loads and observes, but neither starts nor stops."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from towtank.errors import TargetError
from towtank.system import model
from towtank.system.reach import refuses_connection
from towtank.system.service import Service
from towtank.system.watched import roots_of


class Existing(Service):
    """Service that already runs, with its addresses and, optionally, a metrics page and files for workloads."""

    kind = "existing"

    def __init__(self, name: str, part: model.Existing, base: Path) -> None:
        super().__init__(name)
        self._part, self._base = part, base

    def ready(self) -> str | None:
        """Return the addresses that refuse connections and the named processes that do not run, with reasons; None if
        the service is ready.
        """
        refusals = [refusal for address in self.addresses() if (refusal := refuses_connection(address))]
        try:
            self.watched()
        except TargetError as error:
            refusals.append(str(error))
        return "; ".join(refusals) or None

    def watched(self) -> list[int]:
        """Return the ids of the processes that the system file names, without duplicates."""
        found = [pid for named in self._part.watch for pid in roots_of(named, self._base)]
        return list(dict.fromkeys(found))

    def addresses(self) -> list[str]:
        """Return the addresses of the service without scheme and login."""
        return [urlsplit(address).netloc.rpartition("@")[2] for address in self._part.address]

    def client_url(self) -> str | None:
        """Return the first address of the service as in the system file, with scheme and login."""
        return self._part.address[0]

    def settings_used(self) -> dict[str, object]:
        """Return the addresses, the path of the metrics page, and the descriptions of processes from the system
        file.
        """
        watch = [str(named) for named in self._part.watch]
        return {
            "address": list(self._part.address),
            "metrics": self._part.metrics,
            **({"watch": watch} if watch else {}),
        }

    def scrapers(self) -> list[Any]:
        """Return a scraper of the metrics page for each address; it sends the login in the address."""
        from towtank.observe import PrometheusScraper  # noqa: PLC0415 - only where something is observed

        if self._part.metrics is None:
            return []
        urls = [f"http://{urlsplit(address).netloc}{self._part.metrics}" for address in self._part.address]
        return [
            PrometheusScraper(self.name if number == 1 else f"{self.name}-{number}", self.kind, url)
            for number, url in enumerate(urls, start=1)
        ]

    def exports(self) -> Mapping[str, Path]:
        """Return the paths of files for workloads, by name; relative paths refer to the folder of the system file."""
        return {name: (self._base / path).absolute() for name, path in self._part.exports.items()}
