"""Lists the third-party servers on this machine for `towtank doctor`."""

from __future__ import annotations

from towtank.observe import Offer
from towtank.system.packages import DOWNLOADS, PACKAGES, Ability, Download, Need
from towtank.system.releases import Release


def examine_services() -> list[Offer]:
    """Return an entry for the report of `towtank doctor` for each kind of third-party server."""
    return [offer_of(need) for need in (*PACKAGES, *DOWNLOADS)]


def _words(need: Need) -> tuple[str, str]:
    """Return the name of a package, file or ability that is needed, and the message that it is missing."""
    if isinstance(need, Download):
        return need.name, "not fetched"
    if isinstance(need, Release):
        return need.kind, "not unpacked"
    return need.kind, need.lacking if isinstance(need, Ability) else "not installed"


def offer_of(need: Need) -> Offer:
    """Return an entry for the report of `towtank doctor` about a package, file or ability that a service needs."""
    name, absent = _words(need)
    found = need.found()
    if found is None:
        return Offer(name, "note", None, f"{absent}; for {need.purpose}", need.install)
    return Offer(name, "ok", found, need.purpose)
