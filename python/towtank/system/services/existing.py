"""A service that somebody else keeps running: it is reached, never started or stopped."""

from __future__ import annotations

from typing import Any

from towtank.system.reach import refuses_connection
from towtank.system.service import PlainService


class Existing(PlainService):
    """Addresses only.

    Settings: `addresses`, a list of `host:port`.
    """

    kind = "existing"
    ready_within_s = 5.0

    def ready(self) -> str | None:
        """Ready when every address takes connections."""
        refusals = [refusal for address in self.addresses() if (refusal := refuses_connection(address))]
        return "; ".join(refusals) or None

    def addresses(self) -> list[str]:
        """The addresses as given."""
        given: Any = self.settings.get("addresses", [])
        return [given] if isinstance(given, str) else [str(address) for address in given]
