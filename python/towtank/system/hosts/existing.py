"""Represents a machine that Towtank does not operate: it only sends requests to the services there and observes
them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from towtank.errors import TargetError
from towtank.system.host_model import ExistingHost as Part
from towtank.system.hosts.host import Capabilities, StandingHost, Watching


def _refuses(what: str) -> Callable[..., Any]:
    """Return a method that raises TargetError, because Towtank neither changes the machine nor has access to it.

    The text names the refused action; its replacement fields are for the positional arguments of the method.
    """

    def refuse(self: ExistingHost, *given: Any, **_: Any) -> NoReturn:
        self._refuse(what.format(*given))

    return refuse


class ExistingHost(StandingHost):
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
    def temporary(self) -> Path:
        """Refuse to make temporary files on the existing machine, because Towtank does not change it."""
        self._refuse("making temporary files on")

    process = _refuses("starting {.name} on")
    execute = _refuses("running {[0]} on")
    outside = _refuses("accessing {} of")
    make_folder = make_private_folder = _refuses("making {} on")
    write = _refuses("writing {} on")
    put = _refuses("writing {1} on")
    read = get = _refuses("reading {} of")
    remove = _refuses("removing {} from")
    engine = python = _refuses("using programs of")
    disk = _refuses("using disk {} of")
    free_ports = _refuses("choosing ports on")
    require_free = _refuses("listening on port {} of")

    def capabilities(self) -> Capabilities:
        """Return no capabilities, because services cannot be started on the existing machine."""
        return Capabilities(starts=False, shares_files=False)

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

    def tear_down(self) -> None:
        """Do nothing, because the existing machine keeps running after the study."""
